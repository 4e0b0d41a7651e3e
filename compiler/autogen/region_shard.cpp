// Sharding of a region: which rounds of every statement and which addresses of every buffer one PE needs.
//
// Needs go backwards, from the results to the operands, as runs (runs.h). A statement that writes a buffer
// keeps, per digit of the addresses needed, of the axis that moves it furthest the rounds that meet them.
// What it then reads is again a set of runs. A buffer whose accesses do not fit its runs is needed whole, and
// everything starts again.
#include <algorithm>
#include <cstdlib>

#include "compiler/autogen/byte_rows.h"
#include "compiler/autogen/region_module.h"

namespace cs::autogen {

namespace {

constexpr int64_t kEndless = INT64_MAX;

using ops::LoopAccess;
using ops::LoopStatement;

int64_t ceil_div(int64_t a, int64_t b) { return a >= 0 ? (a + b - 1) / b : -(-a / b); }
int64_t floor_div(int64_t a, int64_t b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }

std::vector<Moves> axes_of(const LoopAccess& a, const LoopStatement& s, int64_t steps) {
  std::vector<Moves> list;
  for (size_t k = 0; k < s.extents.size(); ++k) list.push_back({a.strides[k], s.extents[k]});
  list.push_back({a.step, steps});
  if (a.index >= 0) list.push_back({a.index_stride, a.index_extent});
  std::erase_if(list, [](const Moves& x) { return x.stride == 0 || x.extent == 1; });
  return list;
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

// Of an axis that crosses the period but ends within one, the part behind the last whole period. Only of a
// statement whose order does not matter.
bool cut_remainder(LoopStatement& s, int64_t period, LoopStatement& rest) {
  for (size_t k = 0; k < s.extents.size(); ++k) {
    int64_t stride = s.out.strides[k];
    if (s.out.index >= 0 || stride <= 0 || stride >= period || period % stride != 0) continue;
    int64_t within = period / stride, whole = s.extents[k] / within * within;
    if (whole == 0 || whole == s.extents[k]) continue;
    rest = s;
    restrict_axis(rest, k, whole, s.extents[k] - whole);
    restrict_axis(s, k, 0, whole);
    return true;
  }
  return false;
}

// One digit of the address that a statement writes: where it goes without its furthest axis, and that axis.
struct Digit {
  int64_t low = 0, high = 0, size = 0;
  int axis = -1;
  int64_t by = 0;  // of the axis, in steps of the digit
};

// The level that a step moves; -1 if it moves several.
int level_of(int64_t stride, const std::vector<Level>& levels) {
  for (size_t k = 0; k < levels.size(); ++k) {
    if (stride % levels[k].stride != 0) continue;
    return k > 0 && std::abs(stride) >= levels[k - 1].stride ? -1 : int(k);
  }
  return -1;
}

// False if an axis moves several digits, or one of them out of its range. Lists are used again: this is asked millions
// of times.
bool digits_of(const LoopStatement& s, int64_t steps, const std::vector<Level>& levels,
               std::vector<Digit>& digits) {
  static thread_local std::vector<Moves> axes;
  static thread_local std::vector<int> level;
  digits.clear();
  axes.clear();
  level.clear();
  for (size_t k = 0; k < levels.size(); ++k) {
    Digit d;
    d.size = k == 0 ? INT64_MAX / 4 : levels[k - 1].stride / levels[k].stride;
    d.low = d.high = s.out.offset / levels[k].stride % d.size;
    digits.push_back(d);
  }
  for (size_t k = 0; k < s.extents.size(); ++k) axes.push_back({s.out.strides[k], s.extents[k]});
  axes.push_back({s.out.step, steps});
  if (s.out.index >= 0) axes.push_back({s.out.index_stride, s.out.index_extent});
  for (size_t k = 0; k < axes.size(); ++k) {
    bool moves = axes[k].stride != 0 && axes[k].extent > 1;
    level.push_back(moves ? level_of(axes[k].stride, levels) : -1);
    if (moves && level[k] < 0) return false;
    if (!moves || k >= s.extents.size()) continue;
    Digit& d = digits[size_t(level[k])];
    int64_t by = axes[k].stride / levels[size_t(level[k])].stride;
    if (by > d.by) d.axis = int(k), d.by = by;
  }
  for (size_t k = 0; k < axes.size(); ++k) {
    if (level[k] < 0 || int(k) == digits[size_t(level[k])].axis) continue;
    int64_t span = axes[k].stride / levels[size_t(level[k])].stride * (axes[k].extent - 1);
    (span < 0 ? digits[size_t(level[k])].low : digits[size_t(level[k])].high) += span;
  }
  return std::all_of(digits.begin() + 1, digits.end(), [&](const Digit& d) {
    return d.low >= 0 && d.high + (d.axis < 0 ? 0 : d.by * (s.extents[size_t(d.axis)] - 1)) < d.size;
  });
}

// Keeps the rounds that write something needed; false if there is none. Of the axes of a digit the one that
// moves it furthest; where one round of that is left, of the next one too, and so on.
bool restrict(LoopStatement& s, int64_t steps, const Runs& need) {
  if (s.out.offset < 0) return true;
  for (bool fewer = true; fewer;) {
    fewer = false;
    static thread_local std::vector<Digit> digits;
    if (!digits_of(s, steps, need.levels, digits)) return true;
    for (size_t k = 0; k < digits.size(); ++k) {
      const Digit& d = digits[k];
      int64_t first = need.levels[k].first, last = first + need.levels[k].count - 1;
      if (d.axis < 0) {
        if (d.high < first || d.low > last) return false;
        continue;
      }
      int64_t from = std::max<int64_t>(0, ceil_div(first - d.high, d.by));
      int64_t to = std::min(s.extents[size_t(d.axis)] - 1, floor_div(last - d.low, d.by));
      if (to < from) return false;
      fewer = fewer || to - from + 1 < s.extents[size_t(d.axis)];
      restrict_axis(s, size_t(d.axis), from, to - from + 1);
    }
  }
  return true;
}

constexpr int64_t kWorthCutting = 64;  // words of a round; less is computed though nobody needs it

// A first or last round of the axis that moves a digit furthest, of which only a part is needed, becomes a
// statement of its own: what begins in the middle of one head and ends in that of another is no whole head.
bool cut_edge(LoopStatement& s, int64_t steps, const Runs& need, LoopStatement& edge) {
  static thread_local std::vector<Digit> digits;
  if (s.out.index >= 0 || s.out.offset < 0 || !digits_of(s, steps, need.levels, digits)) return false;
  for (size_t k = 0; k < digits.size(); ++k) {
    const Digit& d = digits[k];
    const int64_t first = need.levels[k].first, last = first + need.levels[k].count - 1;
    if (d.axis < 0 || d.high - d.low + 1 < kWorthCutting || d.high - d.low >= d.by) continue;
    const int64_t from = std::max<int64_t>(0, ceil_div(first - d.high, d.by));
    const int64_t to = std::min(s.extents[size_t(d.axis)] - 1, floor_div(last - d.low, d.by));
    const bool front = d.low + d.by * from<first, back = d.high + d.by * to> last;
    if (to <= from || (!front && !back)) continue;
    edge = s;
    restrict_axis(edge, size_t(d.axis), front ? from : to, 1);
    restrict_axis(s, size_t(d.axis), front ? from + 1 : from, to - from);
    return true;
  }
  return false;
}

class Sharder {
 public:
  Sharder(const Region& r, const std::vector<Runs>& sent, const std::vector<bool>& whole, bool fine)
      : r_(r), sent_(sent), whole_(whole), fine_(fine), need_(r.program.buffers.size()), stored_(need_) {}

  // False if a buffer has to be whole, which it then is in `whole`. `kept`: what is read of each state.
  bool run(RegionShare& share, std::vector<bool>& whole, const std::vector<Runs>& kept) {
    for (size_t i = 0; i < sent_.size(); ++i) add(stored_, r_.result_buffer[i], sent_[i]);
    for (size_t k = 0; k < kept.size(); ++k) add(stored_, r_.states[k].kept, kept[k]);
    need_ = stored_;
    share.program.buffers = r_.program.buffers;
    for (const ops::LoopBlock& block : r_.program.blocks) share.program.blocks.push_back({block.steps, {}});
    for (size_t b = r_.program.blocks.size(); b-- > 0;) block(r_.program.blocks[b], share.program.blocks[b]);
    share.stored = stored_;
    return check(share, whole);
  }

 private:
  void add(std::vector<Runs>& list, int buffer, const Runs& runs) const {
    size_t b = size_t(buffer);
    if (runs.empty()) return;
    const int64_t elements = r_.program.buffers[b].type.elements();
    if (const auto bytes = r_.bytes.find(buffer); bytes != r_.bytes.end()) {  // whole rows
      const int64_t row = bytes->second.row;
      int64_t first = runs.first() / row * row, last = std::min(elements - 1, runs.last() / row * row + row - 1);
      if (!list[b].empty()) first = std::min(first, list[b].first()), last = std::max(last, list[b].last());
      list[b] = interval(first, last);
      return;
    }
    // What comes in a stream, or from a table, ends with its last element; other arrays may be longer than
    // needed.
    const bool ends = r_.program.buffers[b].kind == ops::BufferKind::operand;
    const bool whole = whole_[b] || (ends && runs.last() >= elements);
    list[b] = whole ? interval(0, elements - 1) : hull(list[b], runs, ends ? elements : kEndless);
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
    if (need.empty()) return;
    LoopStatement rest;
    for (size_t k = 0; k + 1 < need.levels.size(); ++k) {
      if (!cut_remainder(s, need.levels[k].stride, rest)) continue;
      statement(rest, steps, to);
      return statement(std::move(s), steps, to);
    }
    for (size_t k = 0; k + 1 < need.levels.size(); ++k) split_axes(s, need.levels[k].stride);
    if (cut_edge(s, steps, need, rest)) {
      statement(rest, steps, to);
      return statement(std::move(s), steps, to);
    }
    if (!restrict(s, steps, need)) return;
    add(stored_, s.out.buffer, runs_of(s.out.offset, axes_of(s.out, s, steps), fine_));
    for (const LoopAccess& a : s.loads) {
      if (a.buffer == ops::kCounter) continue;
      Runs read = runs_of(a.offset, axes_of(a, s, steps), fine_);
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
          if (a.buffer == ops::kCounter) return;
          const Runs& stored = share.stored[size_t(a.buffer)];
          if (moves_within(a.offset, axes_of(a, s, block.steps), stored)) return;
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
  bool fine_;
  std::vector<Runs> need_, stored_;
};

Send send_of(const Runs& sent, const Runs& stored) {
  Send s{local_address(sent.first(), stored), sent.run(), {}};
  for (size_t k = 0; k + 1 < sent.levels.size(); ++k) {
    s.loops.push_back({sent.levels[k].count, local_stride(sent.levels[k].stride, stored)});
  }
  return s;
}

// Whether no result depends on the state, as running statistics that only the next step reads.
bool is_read_by_itself_alone(const Region& r, const KeptState& state) {
  std::vector<bool> read(r.program.buffers.size(), false);
  for (const int result : r.result_buffer) read[size_t(result)] = true;
  const auto reads = [&](const LoopAccess& a) {
    bool more = false;
    for (const int b : {a.buffer, a.index}) {
      if (b < 0 || read[size_t(b)]) continue;
      read[size_t(b)] = more = true;
    }
    return more;
  };
  for (bool more = true; more;) {
    more = false;
    for (const ops::LoopBlock& block : r.program.blocks)
      for (const LoopStatement& s : block.statements) {
        if (!read[size_t(s.out.buffer)]) continue;
        for (const LoopAccess& a : s.loads) more = reads(a) || more;
      }
  }
  return !read[size_t(state.kept)];
}

}  // namespace

int64_t words_stored(const Region& r, const RegionShare& share) {
  int64_t n = 0;
  for (size_t b = 0; b < share.stored.size(); ++b)
    n += in_bytes(r, share, int(b))    ? words_in_bytes(r.bytes.at(int(b)), share.stored[b].words())
         : is_stored(r, share, int(b)) ? share.stored[b].words()
                                       : 0;
  for (const auto& [b, parts] : r.constant_parts) n += parts * share.stored[size_t(b)].words();  // and those of a round
  return n;
}

bool is_stored(const Region& r, const RegionShare& share, int buffer) {
  for (size_t k = 0; k < share.receive.size(); ++k) {
    if (r.operand_buffer[k] == buffer && share.receive[k].buffer != buffer) return false;
  }
  return !share.stored[size_t(buffer)].empty();
}

RegionShare local_share(RegionShare local) {
  auto move = [&](LoopStatement& s, bool repeated) {
    s.out = local_access(s.out, local.stored[size_t(s.out.buffer)]);
    if (!repeated) s.out.step = 0;
    for (LoopAccess& a : s.loads) {
      if (!repeated) a.step = 0;
      if (a.buffer != ops::kCounter) a = local_access(a, local.stored[size_t(a.buffer)]);
    }
  };
  for (ops::LoopBlock& block : local.program.blocks) {
    for (LoopStatement& s : block.statements) move(s, block.steps > 1);
  }
  for (LoopStatement& s : local.once) move(s, false);
  return local;
}

bool same_program(const RegionShare& a, const RegionShare& b) {
  auto same_size = [](const Runs& x, const Runs& y) { return x.words() == y.words(); };
  // What a walk passes over differs by data, but for whether it does, and what is passed over alone.
  auto same_walk = [](const Walk& x, const Walk& y) {
    const bool alike = (x.before > 0) == (y.before > 0) && (x.after > 0) == (y.after > 0) &&
                       short_gaps(x) == short_gaps(y) && (x.run > 0 || x.before == y.before);
    return alike && x.run == y.run && std::equal(x.loops.begin(), x.loops.end(), y.loops.begin(), y.loops.end(),
                                        [](const auto& l, const auto& m) { return l.count == m.count; });
  };
  auto same_turns = [](const Turns& x, const Turns& y) {
    return x.places == y.places && x.inner_places == y.inner_places && x.words == y.words &&
           x.turns == y.turns;
  };
  auto same_place = [](const Receive& x, const Receive& y) {
    return x.buffer == y.buffer && x.first == y.first && x.steps == y.steps &&
           std::equal(x.moves.begin(), x.moves.end(), y.moves.begin(), y.moves.end(),
                      [](const Moves& m, const Moves& n) { return m.extent == n.extent; });
  };
  return a.program.blocks == b.program.blocks && a.once == b.once && a.out == b.out &&
         std::equal(a.receive.begin(), a.receive.end(), b.receive.begin(), same_place) &&
         std::equal(a.stored.begin(), a.stored.end(), b.stored.begin(), same_size) &&
         std::equal(a.walks.begin(), a.walks.end(), b.walks.begin(), same_walk) &&
         std::equal(a.turns.begin(), a.turns.end(), b.turns.begin(), same_turns);
}

RegionShare shard_region(const Region& r, const RegionCut& cut, int x, int y) {
  RegionShare share;
  std::vector<Runs> sent;
  std::vector<Turns> turns(r.results.size());
  for (size_t i = 0; i < r.results.size(); ++i) {
    int64_t elements = r.program.buffers[size_t(r.result_buffer[i])].type.elements();
    sent.push_back(part_of(elements, cut, x, y));
    turns_of(elements, cut, false, x, y, turns[i]);
  }
  std::vector<bool> whole(r.program.buffers.size(), false);
  // What a sample reads of a state, the one before has to make; until that reads nothing more. A state that no
  // result reads is cut as a result would be.
  std::vector<Runs> kept(r.states.size());
  for (size_t k = 0; k < kept.size(); ++k)
    if (is_read_by_itself_alone(r, r.states[k]))
      kept[k] = part_of(r.program.buffers[size_t(r.states[k].kept)].type.elements(), cut, x, y);
  for (bool done = false; !done;) {
    std::vector<bool> next = whole;
    share = {};
    done = Sharder(r, sent, whole, cut.fine).run(share, next, kept);
    done = done || next == whole;
    whole = next;
    for (size_t k = 0; k < kept.size(); ++k) {
      const Runs& read = share.stored[size_t(r.states[k].kept)];
      if (kept[k] != read) done = false;
      kept[k] = read;
    }
  }
  share.sent = sent;
  share.turns = turns;
  for (size_t i = 0; i < sent.size(); ++i) {
    const Runs& stored = share.stored[size_t(r.result_buffer[i])];
    share.out.push_back(sent[i].empty() ? Send{} : send_of(sent[i], stored));
  }
  return share;
}

}  // namespace cs::autogen
