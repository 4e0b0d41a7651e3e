// Sharding of a region: which part of every statement and buffer one PE of the row needs.
#include <algorithm>

#include "compiler/autogen/region.h"

namespace cs::autogen {

namespace {

using ops::LoopAccess;
using ops::LoopStatement;

int64_t ceil_div(int64_t a, int64_t b) { return a >= 0 ? (a + b - 1) / b : -(-a / b); }
int64_t floor_div(int64_t a, int64_t b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }

// The axis along which the statement moves furthest through its result, -1 if none can be restricted: what it
// writes must depend on nothing but the counters, and every round of the axis must lie behind the one before.
int outer_axis(const LoopStatement& s, int64_t steps) {
  if (s.out.index >= 0 || steps > 1) return -1;
  int axis = -1;
  for (size_t k = 0; k < s.extents.size(); ++k) {
    if (s.out.strides[k] > 0 && (axis < 0 || s.out.strides[k] > s.out.strides[size_t(axis)])) axis = int(k);
  }
  return axis;
}

struct Flat {  // a statement with its block
  const LoopStatement* s = nullptr;
  int64_t steps = 1;
  size_t block = 0;
};

std::vector<Flat> flat(const Region& r) {
  std::vector<Flat> list;
  for (size_t b = 0; b < r.program.blocks.size(); ++b) {
    for (const LoopStatement& s : r.program.blocks[b].statements) {
      list.push_back({&s, r.program.blocks[b].steps, b});
    }
  }
  return list;
}

class Sharder {
 public:
  Sharder(const Region& r, RegionShare& share) : r_(r), list_(flat(r)), share_(share) {
    share_.stored.resize(r.program.buffers.size());
    share_.statements.resize(list_.size());
    need_.resize(r.program.buffers.size());
  }

  void run() {
    for (size_t i = 0; i < share_.sent.size(); ++i) {
      size_t buffer = size_t(r_.result_buffer[i]);
      need_[buffer].include(share_.sent[i]);
      share_.stored[buffer].include(share_.sent[i]);
    }
    // Statements of a repeated block read what later ones of the round before wrote: until nothing changes.
    for (size_t end = list_.size(); end > 0;) {
      size_t begin = end;
      while (begin > 0 && list_[begin - 1].block == list_[end - 1].block) --begin;
      std::vector<Interval> before;
      do {
        before = need_;
        for (size_t i = end; i-- > begin;) statement(i);
      } while (list_[begin].steps > 1 && need_ != before);
      end = begin;
    }
  }

 private:
  Interval range(const LoopAccess& a, const std::vector<int64_t>& extents, int64_t steps) const {
    ops::AddressRange r = ops::address_range(a, extents, steps);
    if (a.index >= 0) {
      int64_t span = a.index_stride * (a.index_extent - 1);
      (span < 0 ? r.first : r.last) += span;
    }
    return {r.first, r.last};
  }

  void statement(size_t i) {
    const LoopStatement& s = *list_[i].s;
    StatementShare& share = share_.statements[i];
    const Interval& need = need_[size_t(s.out.buffer)];
    share = {};
    if (need.empty()) return;
    std::vector<int64_t> extents = s.extents;
    LoopAccess out = s.out;
    share.axis = outer_axis(s, list_[i].steps);
    share.active = true;
    if (share.axis >= 0) {
      size_t axis = size_t(share.axis);
      extents[axis] = 1;
      Interval round = range(out, extents, 1);
      int64_t stride = out.strides[axis];
      share.first = std::max<int64_t>(0, ceil_div(need.first - round.last, stride));
      int64_t last = std::min(s.extents[axis] - 1, floor_div(need.last - round.first, stride));
      share.count = last - share.first + 1;
      extents[axis] = share.count;
    }
    if (share.axis >= 0 && share.count <= 0) {
      share = {};
      return;
    }
    auto here = [&](LoopAccess a) {
      if (share.axis >= 0) a.offset += a.strides[size_t(share.axis)] * share.first;
      return range(a, extents, list_[i].steps);
    };
    share_.stored[size_t(s.out.buffer)].include(here(s.out));
    for (const LoopAccess& a : s.loads) {
      if (a.buffer == ops::kCounter) continue;
      Interval read = here(a);
      need_[size_t(a.buffer)].include(read);
      share_.stored[size_t(a.buffer)].include(read);
    }
  }

  const Region& r_;
  std::vector<Flat> list_;
  RegionShare& share_;
  std::vector<Interval> need_;
};

// Elements of a unit of result i: the largest that any statement writing it moves by.
int64_t unit_of(const Region& r, size_t i) {
  int buffer = r.result_buffer[i];
  int64_t elements = r.program.buffers[size_t(buffer)].type.elements(), unit = 1;
  for (const Flat& f : flat(r)) {
    if (f.s->out.buffer != buffer) continue;
    int axis = outer_axis(*f.s, f.steps);
    bool single = f.s->extents.empty() && f.steps == 1 && f.s->out.index < 0;
    unit = std::max(unit, axis >= 0 ? f.s->out.strides[size_t(axis)] : single ? 1 : elements);
  }
  return std::min(unit, elements);
}

}  // namespace

void Interval::include(Interval other) {
  if (other.empty()) return;
  if (empty()) {
    *this = other;
    return;
  }
  first = std::min(first, other.first);
  last = std::max(last, other.last);
}

int64_t RegionShare::words_stored() const {
  int64_t n = 0;
  for (const Interval& i : stored) n += i.count();
  return n;
}

double RegionShare::points(const Region& r) const {
  double total = 0;
  std::vector<Flat> list = flat(r);
  for (size_t i = 0; i < list.size(); ++i) {
    if (!statements[i].active) continue;
    double n = double(list[i].steps);
    for (size_t k = 0; k < list[i].s->extents.size(); ++k) {
      n *= double(int(k) == statements[i].axis ? statements[i].count : list[i].s->extents[k]);
    }
    total += n;
  }
  return total;
}

int64_t region_units(const Region& r) {
  int64_t units = 1;
  for (size_t i = 0; i < r.results.size(); ++i) {
    int64_t elements = r.program.buffers[size_t(r.result_buffer[i])].type.elements();
    units = std::max(units, ceil_div(elements, unit_of(r, i)));
  }
  return units;
}

std::vector<RegionShare> shard_region(const Region& r, int pes) {
  std::vector<RegionShare> shares(static_cast<size_t>(pes));
  for (size_t i = 0; i < r.results.size(); ++i) {
    int64_t elements = r.program.buffers[size_t(r.result_buffer[i])].type.elements();
    int64_t unit = unit_of(r, i), chunk = ceil_div(ceil_div(elements, unit), pes) * unit;
    for (int p = 0; p < pes; ++p) {
      int64_t first = std::min(elements, p * chunk), last = std::min(elements, (p + 1) * chunk) - 1;
      shares[size_t(p)].sent.push_back({first, last});
    }
  }
  for (RegionShare& share : shares) Sharder(r, share).run();
  return shares;
}

}  // namespace cs::autogen
