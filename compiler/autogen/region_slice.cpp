// Slicing of a region in time: the share that one of `parts` PEs would have, taken by all of them one part
// after another.
#include <algorithm>
#include <cstdlib>
#include <limits>

#include "compiler/autogen/region.h"

namespace cs::autogen {

namespace {

constexpr int64_t kEnoughWords = 8000;  // all buffers of a part: then its share fits a few PEs
// Buffers of a region of which something may stay for several parts: more than 16 PEs hold.
constexpr int64_t kWorthHolding = 16 * 12288;

// Leading dimensions divided as far as a part of so many words has the form of the whole; else flat.
ops::Shape part_shape(ops::Shape shape, int64_t words, int64_t parts) {
  for (int64_t& dim : shape) {
    if (dim == 1) continue;
    int64_t by = dim % parts == 0 ? parts : parts % dim == 0 ? dim : 1;
    dim /= by;
    parts /= by;
    if (by == 1) break;
  }
  return ops::TensorType{DataType::f32, shape}.elements() == words ? shape : ops::Shape{words};
}

// The share with the addresses of what it stores, as a region of its own.
Region local_region(const Region& r, const RegionShare& share, int64_t parts) {
  Region slice = r;
  slice.program = share.program;
  for (size_t b = 0; b < slice.program.buffers.size(); ++b) {
    ops::TensorType& type = slice.program.buffers[b].type;
    int64_t words = std::max<int64_t>(1, share.stored[b].words());
    if (words != type.elements()) type.shape = part_shape(type.shape, words, parts);
  }
  for (ops::LoopBlock& block : slice.program.blocks) {
    for (ops::LoopStatement& s : block.statements) {
      auto local = [&](ops::LoopAccess& a) {
        if (a.buffer != ops::kCounter) a = local_access(a, share.stored[size_t(a.buffer)]);
      };
      local(s.out);
      for (ops::LoopAccess& a : s.loads) local(a);
      merge_axes(s);
    }
  }
  return slice;
}

// Part `k` of `parts` of a buffer with so many elements, as a plain interval.
Runs part(int64_t elements, int64_t parts, int64_t k) {
  return interval(k * (elements / parts), (k + 1) * (elements / parts) - 1);
}

// Parts of a constant of which the first one, of `parts`, reads so many words; 1: it may be the same for all
// of them.
int64_t parts_of_constant(const Region& r, int buffer, const RegionShare& first, int64_t parts) {
  const int64_t words = first.stored[size_t(buffer)].words(), all = r.elements(buffer);
  const bool in_parts = words > 0 && words < all && all % words == 0 && parts % (all / words) == 0;
  return in_parts && r.bytes.count(buffer) == 0 ? all / words : 1;
}

// For how many parts in turn what the first one reads of every operand stays; false if one of them is not
// read in equal parts, or none changes with every part.
bool find_stays(const Region& r, const RegionShare& first, int64_t parts, std::vector<int64_t>& stays) {
  stays.clear();
  for (int b : r.operand_buffer) {
    const int64_t words = first.stored[size_t(b)].words(), all = r.elements(b);
    if (words == 0 || parts * words % all != 0) return false;
    stays.push_back(parts * words / all);
    if (parts % stays.back() != 0) return false;
  }
  return std::find(stays.begin(), stays.end(), 1) != stays.end();
}

// Streams fall into equal parts in order, and constants are the same for all parts; beside what stays they
// may fall into parts as well.
bool in_step(const Region& r, const RegionShare& share, const RegionShare& first, int64_t parts, int64_t k,
             const std::vector<int64_t>& stays) {
  auto elements = [&](int b) { return r.program.buffers[size_t(b)].type.elements(); };
  for (size_t i = 0; i < r.operands.size(); ++i) {
    const int b = r.operand_buffer[i];
    if (share.stored[size_t(b)] != part(elements(b), parts / stays[i], k / stays[i])) return false;
  }
  for (size_t i = 0; i < r.results.size(); ++i) {
    int64_t n = elements(r.result_buffer[i]);
    bool fits =
        n % parts == 0 && share.sent[i].words() == n / parts && share.sent[i].first() == k * (n / parts);
    if (!fits) return false;
  }
  const bool some_stay = std::any_of(stays.begin(), stays.end(), [](int64_t n) { return n > 1; });
  for (int b : r.constant_buffer) {
    const int64_t of = some_stay ? parts_of_constant(r, b, first, parts) : 1;
    const Runs next = of > 1 ? part(elements(b), of, k % of) : first.stored[size_t(b)];
    if (share.stored[size_t(b)] != next) return false;
  }
  return true;
}

// Parts that stand for all: the first and last ones, and for every loop the parts one round of it further,
// and those before them. Addresses being affine, what holds one round further holds every round further.
std::vector<int64_t> sample_parts(const Region& r, int64_t parts) {
  std::vector<int64_t> list = {0, 1, parts / 2, parts - 1};
  const auto add = [&](const ops::LoopAccess& a) {
    if (a.buffer == ops::kCounter) return;
    const int64_t words = std::max<int64_t>(1, r.program.buffers[size_t(a.buffer)].type.elements() / parts);
    for (int64_t stride : a.strides)
      for (int64_t k : {std::abs(stride) / words - 1, std::abs(stride) / words}) list.push_back(k);
  };
  for (const ops::LoopBlock& block : r.program.blocks) {
    for (const ops::LoopStatement& s : block.statements) {
      add(s.out);
      for (const ops::LoopAccess& a : s.loads) add(a);
    }
  }
  std::erase_if(list, [&](int64_t k) { return k < 0 || k >= parts; });
  std::vector<int64_t> once;
  for (int64_t k : list)
    if (std::find(once.begin(), once.end(), k) == once.end()) once.push_back(k);
  return once;
}

// The region of one of `parts` parts along the axis, if all parts have the same program.
bool take_part(const Region& r, const ShardAxis& axis, int64_t parts, Region& slice) {
  RegionShare first = shard_region(r, in_row(axis, parts), 0, 0);
  std::vector<int64_t> stays;
  if (!find_stays(r, first, parts, stays)) return false;
  slice = local_region(r, first, parts);
  if (std::any_of(stays.begin(), stays.end(), [](int64_t n) { return n > 1; })) {
    slice.stays = stays;
    for (int b : r.constant_buffer)
      if (const int64_t of = parts_of_constant(r, b, first, parts); of > 1) slice.constant_parts[b] = of;
  }
  for (int64_t k : sample_parts(r, parts)) {
    RegionShare share = shard_region(r, in_row(axis, parts), int(k), 0);
    if (!in_step(r, share, first, parts, k, stays) || local_region(r, share, parts).program != slice.program)
      return false;
  }
  return true;
}

int64_t words(const Region& r) {
  int64_t n = 0;
  for (const ops::LoopBuffer& b : r.program.buffers) n += b.type.elements();
  return n;
}

// Without those of what stays for several parts.
int64_t changing_words(const Region& r) {
  int64_t n = words(r);
  for (size_t i = 0; i < r.operands.size(); ++i)
    if (r.stays_for(i) > 1) n -= r.elements(r.operand_buffer[i]);
  return n;
}

// Those above one, ascending.
std::vector<int64_t> divisors(int64_t n) {
  std::vector<int64_t> small, large;
  for (int64_t d = 1; d * d <= n; ++d) {
    if (n % d != 0) continue;
    if (d > 1) small.push_back(d);
    if (d * d < n) large.push_back(n / d);
  }
  small.insert(small.end(), large.rbegin(), large.rend());
  return small;
}

// Parts of the results are equal; and of the operands, unless some may stay.
bool streams_divide(const Region& r, int64_t parts, bool may_stay) {
  auto divides = [&](int b) { return r.program.buffers[size_t(b)].type.elements() % parts == 0; };
  return (may_stay || std::all_of(r.operand_buffer.begin(), r.operand_buffer.end(), divides)) &&
         std::all_of(r.result_buffer.begin(), r.result_buffer.end(), divides);
}

}  // namespace

bool large_enough_to_slice(const Region& r) { return words(r) > kEnoughWords; }

int64_t slice_region(Region& r) {
  if (!r.states.empty()) return 1;  // a part would keep those of another one
  // With several streams, one of them may wait for the whole sample of another, which the slice would hold
  // up.
  const bool in_step = r.operands.size() == 1 || r.may_wait;
  if (!large_enough_to_slice(r) || (!in_step && words(r) <= kWorthHolding)) return 1;
  const bool may_stay = r.operands.size() > 1 && words(r) > kWorthHolding;
  int64_t elements = r.program.buffers[size_t(r.result_buffer[0])].type.elements(), best = 1;
  Region sliced;
  for (const ShardAxis& axis : shard_axes(r.program.buffers[size_t(r.result_buffer[0])].type.shape)) {
    if (axis.stride * axis.extent != elements) continue;
    for (int64_t parts : divisors(axis.extent)) {
      if (parts > std::numeric_limits<int>::max()) break;  // a cut counts its parts in 32 bits
      Region trial;
      if (parts <= best || !streams_divide(r, parts, may_stay) || !take_part(r, axis, parts, trial)) continue;
      if (trial.stays.empty() ? !in_step : !may_stay) continue;
      best = parts;
      sliced = std::move(trial);
      if (changing_words(sliced) <= kEnoughWords) break;
    }
    if (best > 1 && changing_words(sliced) <= kEnoughWords) break;
  }
  if (best > 1) r = std::move(sliced);
  return best;
}

}  // namespace cs::autogen
