// Sharding of a region: which rounds of every statement and which addresses of every buffer one PE needs.
//
// Needs go backwards, from the results to the operands, as runs (region.h). A statement that writes a buffer
// of which runs with period T are needed keeps, of the axis that moves furthest within T, the rounds that
// meet them. What it then reads is again a set of runs, whose period is that of the axes which move further
// than all others together. A buffer whose accesses do not fit its runs is needed whole, and everything
// starts again.
#include <algorithm>
#include <numeric>

#include "compiler/autogen/region.h"

namespace cs::autogen {

namespace {

using ops::LoopAccess;
using ops::LoopStatement;

int64_t ceil_div(int64_t a, int64_t b) { return a >= 0 ? (a + b - 1) / b : -(-a / b); }
int64_t floor_div(int64_t a, int64_t b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }

struct Axis {
  int64_t stride = 0, extent = 1;
  int64_t span() const { return stride * (extent - 1); }
};

std::vector<Axis> axes_of(const LoopAccess& a, const LoopStatement& s, int64_t steps) {
  std::vector<Axis> list;
  for (size_t k = 0; k < s.extents.size(); ++k) list.push_back({a.strides[k], s.extents[k]});
  list.push_back({a.step, steps});
  if (a.index >= 0) list.push_back({a.index_stride, a.index_extent});
  std::erase_if(list, [](const Axis& x) { return x.stride == 0 || x.extent == 1; });
  return list;
}

Runs whole_range(const LoopAccess& a, const std::vector<Axis>& axes) {
  int64_t first = a.offset, last = a.offset;
  for (const Axis& x : axes) (x.stride < 0 ? first : last) += x.span();
  return interval(first, last);
}

// Addresses of an access as runs. Axes that move further than all smaller ones together become the period.
Runs runs_of(const LoopAccess& a, const LoopStatement& s, int64_t steps) {
  std::vector<Axis> axes = axes_of(a, s, steps);
  Runs plain = whole_range(a, axes);
  if (std::any_of(axes.begin(), axes.end(), [](const Axis& x) { return x.stride < 0; })) return plain;
  std::sort(axes.begin(), axes.end(), [](const Axis& x, const Axis& y) { return x.stride < y.stride; });
  int64_t inner = 0;
  for (size_t k = 0; k < axes.size(); ++k) {
    int64_t period = 0;
    for (size_t o = k; o < axes.size(); ++o) period = std::gcd(period, axes[o].stride);
    // Worth its handling if the gaps are no crumbs; a run costs a PE as much as about 24 words that pass.
    int64_t crumbs = k > 0 ? std::max<int64_t>(4, inner / 4) : 24;
    if (period > inner + a.offset % std::max<int64_t>(1, period) && period - inner > crumbs) {
      Runs r{a.offset, inner + 1, period, 1};
      for (size_t o = k; o < axes.size(); ++o) r.count += axes[o].span() / period;
      return r;
    }
    inner += axes[k].span();
  }
  return plain;
}

// Splits an axis that crosses the period into one that jumps by periods and one within.
void split_axes(LoopStatement& s, int64_t period) {
  for (size_t k = 0; k < s.extents.size(); ++k) {
    int64_t stride = s.out.strides[k];
    if (stride <= 0 || stride >= period || period % stride != 0) continue;
    int64_t within = period / stride;
    if (s.extents[k] <= within || s.extents[k] % within != 0) continue;
    s.extents.insert(s.extents.begin() + int64_t(k), s.extents[k] / within);
    s.extents[k + 1] = within;
    auto split = [&](LoopAccess& a) {
      a.strides.insert(a.strides.begin() + int64_t(k), a.strides[k] * within);
    };
    split(s.out);
    for (LoopAccess& a : s.loads) split(a);
    ++k;
  }
}

void restrict_axis(LoopStatement& s, size_t axis, int64_t first, int64_t count) {
  s.extents[axis] = count;
  s.out.offset += s.out.strides[axis] * first;
  for (LoopAccess& a : s.loads) a.offset += a.strides[axis] * first;
}

// Keeps the rounds that write something needed; false if there is none.
bool restrict(LoopStatement& s, int64_t steps, const Runs& need) {
  if (s.out.index >= 0) return true;
  int64_t period = need.count > 1 ? need.stride : INT64_MAX / 4;
  if (need.count > 1) split_axes(s, period);
  int64_t low = s.out.offset % period, high = low;  // of one round, within the period
  int axis = -1;
  for (size_t k = 0; k < s.extents.size(); ++k) {
    int64_t stride = s.out.strides[k];
    if (stride == 0 || s.extents[k] == 1 || stride % period == 0) continue;
    if (stride > period) return true;
    if (stride > 0 && (axis < 0 || stride > s.out.strides[size_t(axis)])) axis = int(k);
  }
  for (size_t k = 0; k < s.extents.size(); ++k) {
    int64_t stride = s.out.strides[k];
    if (int(k) == axis || stride % period == 0) continue;
    (stride < 0 ? low : high) += stride * (s.extents[k] - 1);
  }
  if (s.out.step % period != 0) (s.out.step < 0 ? low : high) += s.out.step * (steps - 1);
  int64_t first_needed = need.first % period, last_needed = first_needed + need.run - 1;
  if (axis < 0) return high >= first_needed && low <= last_needed;
  int64_t stride = s.out.strides[size_t(axis)], extent = s.extents[size_t(axis)];
  if (low < 0 || high + stride * (extent - 1) >= period) return true;
  int64_t first = std::max<int64_t>(0, ceil_div(first_needed - high, stride));
  int64_t last = std::min(extent - 1, floor_div(last_needed - low, stride));
  if (last < first) return false;
  restrict_axis(s, size_t(axis), first, last - first + 1);
  return true;
}

// Every axis either jumps by whole periods or stays within the run.
bool fits(const LoopAccess& a, const LoopStatement& s, int64_t steps, const Runs& r) {
  if (r.count <= 1) return true;
  int64_t low = a.offset % r.stride, high = low;
  for (const Axis& x : axes_of(a, s, steps)) {
    if (x.stride % r.stride != 0) (x.stride < 0 ? low : high) += x.span();
  }
  int64_t first = r.first % r.stride;
  return low >= first && high < first + r.run;
}

class Sharder {
 public:
  Sharder(const Region& r, const std::vector<Runs>& sent, const std::vector<bool>& whole)
      : r_(r), sent_(sent), whole_(whole), need_(r.program.buffers.size()), stored_(need_) {}

  // False if a buffer has to be whole, which it then is in `whole`.
  bool run(RegionShare& share, std::vector<bool>& whole) {
    for (size_t i = 0; i < sent_.size(); ++i) add(stored_, r_.result_buffer[i], sent_[i]);
    need_ = stored_;
    share.program = r_.program;
    for (size_t b = r_.program.blocks.size(); b-- > 0;) block(r_.program.blocks[b], share.program.blocks[b]);
    share.stored = stored_;
    return check(share, whole);
  }

 private:
  void add(std::vector<Runs>& list, int buffer, const Runs& runs) const {
    size_t b = size_t(buffer);
    if (runs.empty()) return;
    list[b] = whole_[b] ? interval(0, r_.program.buffers[b].type.elements() - 1) : hull(list[b], runs);
  }

  // Statements of a repeated block read what later ones of the round before wrote: until nothing changes.
  void block(const ops::LoopBlock& from, ops::LoopBlock& to) {
    std::vector<Runs> before;
    do {
      before = need_;
      to.statements.clear();
      for (size_t i = from.statements.size(); i-- > 0;) statement(from.statements[i], from.steps, to);
    } while (from.steps > 1 && need_ != before);
    std::reverse(to.statements.begin(), to.statements.end());
  }

  void statement(LoopStatement s, int64_t steps, ops::LoopBlock& to) {
    const Runs& need = need_[size_t(s.out.buffer)];
    if (need.empty() || !restrict(s, steps, need)) return;
    add(stored_, s.out.buffer, runs_of(s.out, s, steps));
    for (const LoopAccess& a : s.loads) {
      if (a.buffer == ops::kCounter) continue;
      Runs read = runs_of(a, s, steps);
      add(need_, a.buffer, read);
      add(stored_, a.buffer, read);
    }
    to.statements.push_back(std::move(s));
  }

  bool check(const RegionShare& share, std::vector<bool>& whole) const {
    bool ok = true;
    for (const ops::LoopBlock& block : share.program.blocks) {
      for (const LoopStatement& s : block.statements) {
        auto one = [&](const LoopAccess& a) {
          if (a.buffer == ops::kCounter || fits(a, s, block.steps, share.stored[size_t(a.buffer)])) return;
          whole[size_t(a.buffer)] = true;
          ok = false;
        };
        one(s.out);
        for (const LoopAccess& a : s.loads) one(a);
      }
    }
    return ok;
  }

  const Region& r_;
  const std::vector<Runs>& sent_;
  const std::vector<bool>& whole_;
  std::vector<Runs> need_, stored_;
};

// The runs with the period of `other`, if that divides their own: the same runs and some between them.
Runs with_period(const Runs& r, const Runs& other) {
  bool divides = r.count > 1 && other.count > 1 && r.stride > other.stride && r.stride % other.stride == 0;
  if (!divides || r.first % other.stride + r.run > other.stride) return r;
  return {r.first, r.run, other.stride, (r.count - 1) * (r.stride / other.stride) + 1};
}

// Both within the period that one of them has; a plain interval if that is none for the other.
Runs same_period(const Runs& a, const Runs& b) {
  Runs plain = interval(std::min(a.first, b.first), std::max(a.last(), b.last()));
  int64_t period = std::max(a.count > 1 ? a.stride : 0, b.count > 1 ? b.stride : 0);
  auto within = [&](const Runs& r) {
    return (r.count == 1 || r.stride == period) && r.first % period + r.run <= period;
  };
  if (period == 0 || !within(a) || !within(b)) return plain;
  int64_t block_a = a.first / period, block_b = b.first / period, block = std::min(block_a, block_b);
  int64_t low = std::min(a.first % period, b.first % period);
  int64_t high = std::max(a.first % period + a.run, b.first % period + b.run);
  int64_t count = std::max(block_a + a.count, block_b + b.count) - block;
  if (count == 1) return plain;
  return {block * period + low, high - low, period, count};
}

// Runs that lie apart, like the gates of a cell in one vector: their distance as the period. Empty if it is
// none.
Runs finer_period(const Runs& a, const Runs& b) {
  int64_t period = a.count > 1 ? a.stride : b.count > 1 ? b.stride : 0;
  if (period > 0 && ((a.count > 1 && a.stride != period) || (b.count > 1 && b.stride != period))) return {};
  int64_t distance = period > 0 ? std::abs(b.first % period - a.first % period) : std::abs(b.first - a.first);
  if (distance == 0 || (period > 0 && period % distance != 0)) return {};
  int64_t run = std::max(a.run, b.run), first = std::min(a.first, b.first);
  if (first % distance + run > distance) return {};
  int64_t last = std::max(a.first + a.stride * (a.count - 1), b.first + b.stride * (b.count - 1));
  return {first, run, distance, (last - first) / distance + 1};
}

// The part of a result with so many elements that PE `pe` sends.
Runs part_of(int64_t elements, const ShardAxis& axis, int pes, int pe) {
  if (pes == 1) return interval(0, elements - 1);
  int64_t chunk = ceil_div(axis.extent, pes);
  int64_t first = std::min(axis.extent, pe * chunk), last = std::min(axis.extent, (pe + 1) * chunk);
  int64_t period = axis.stride * axis.extent;
  return {first * axis.stride, (last - first) * axis.stride, period, elements / period};
}

}  // namespace

Runs interval(int64_t first, int64_t last) { return {first, last - first + 1, 0, 1}; }

Runs hull(const Runs& x, const Runs& y) {
  if (x.empty()) return y;
  if (y.empty()) return x;
  Runs a = with_period(x, y), b = with_period(y, x);
  Runs same = same_period(a, b), finer = finer_period(a, b);
  return !finer.empty() && finer.words() < same.words() ? finer : same;
}

LoopAccess local_access(const LoopAccess& a, const Runs& stored) {
  LoopAccess l = a;
  if (stored.count <= 1) {
    l.offset -= stored.first;
    return l;
  }
  auto local = [&](int64_t stride) {
    return stride % stored.stride == 0 ? stride / stored.stride * stored.run : stride;
  };
  l.offset = (a.offset / stored.stride - stored.first / stored.stride) * stored.run +
             a.offset % stored.stride - stored.first % stored.stride;
  l.step = local(a.step);
  for (int64_t& stride : l.strides) stride = local(stride);
  l.index_stride = local(a.index_stride);
  return l;
}

int64_t RegionShare::words_stored() const {
  int64_t n = 0;
  for (const Runs& r : stored) n += r.words();
  return n;
}

std::vector<ShardAxis> shard_axes(const Region& r) {
  const ops::Shape& shape = r.program.buffers[size_t(r.result_buffer[0])].type.shape;
  std::vector<ShardAxis> list;
  auto add = [&](ShardAxis axis) {
    if (axis.extent > 1 && std::find(list.begin(), list.end(), axis) == list.end()) list.push_back(axis);
  };
  int64_t stride = 1;
  for (size_t d = shape.size(); d-- > 0; stride *= shape[d]) {
    int64_t leading = 1;
    for (size_t o = 0; o <= d; ++o) leading *= shape[o];
    add({stride, leading});
    add({stride, shape[d]});
  }
  std::reverse(list.begin(), list.end());  // outer dimensions first
  if (list.empty()) list.push_back({r.program.buffers[size_t(r.result_buffer[0])].type.elements(), 1});
  return list;
}

RegionShare shard_region(const Region& r, const ShardAxis& axis, int pes, int pe) {
  std::vector<Runs> sent;
  for (size_t i = 0; i < r.results.size(); ++i) {
    int64_t elements = r.program.buffers[size_t(r.result_buffer[i])].type.elements();
    int64_t period = axis.stride * axis.extent;
    // Further results are cut in the same way if they can be; else the first PE sends them.
    ShardAxis own = elements % period == 0 ? axis : ShardAxis{elements, 1};
    sent.push_back(part_of(elements, own, pes, pe));
  }
  RegionShare share;
  std::vector<bool> whole(r.program.buffers.size(), false);
  for (bool done = false; !done;) {
    std::vector<bool> next = whole;
    share = {};
    done = Sharder(r, sent, whole).run(share, next);
    done = done || next == whole;
    whole = next;
  }
  share.sent = sent;
  return share;
}

}  // namespace cs::autogen
