// Buffers are numbered in the order in which a statement names them: of a buffer it counts where it is read
// again, and whether it holds integers.
#include "compiler/autogen/statement_costs.h"

#include <algorithm>

#include <fmt/format.h>

#include "compiler/autogen/loop_key.h"
#include "compiler/autogen/region_code.h"
#include "compiler/autogen/region_estimate.h"

namespace cs::autogen {

namespace {

constexpr size_t kMost = 10'000;  // statements that are remembered: some megabytes

class Numbered {
 public:
  Numbered(const Region& r, const std::vector<ByteRows>& bytes) : r_(r), odd_(odd_buffers(r)), bytes_(bytes) {}
  int of(int buffer) {
    if (buffer == ops::kCounter) return buffer;
    const auto it = std::find(buffers_.begin(), buffers_.end(), buffer);
    if (it == buffers_.end()) return buffers_.push_back(buffer), int(buffers_.size()) - 1;
    return int(it - buffers_.begin());
  }
  bool integer(size_t number) const {
    return !data_type_is_float(r_.program.buffers[size_t(buffers_[number])].type.dtype);
  }
  bool odd(size_t number) const { return !odd_.empty() && odd_[size_t(buffers_[number])]; }
  ByteRows bytes(size_t number) const {
    return bytes_.empty() ? ByteRows{} : bytes_[size_t(buffers_[number])];
  }
  size_t size() const { return buffers_.size(); }

 private:
  const Region& r_;
  const std::vector<bool> odd_;
  const std::vector<ByteRows>& bytes_;
  std::vector<int> buffers_;
};

std::string key_of(const ops::LoopStatement& s, int64_t steps, const Region& r, Numbered& numbered) {
  LoopKey key;
  key.number(int64_t(r.by_library) + 2 * int64_t(r.resident));
  key.number(steps);
  key.statement(s, [&](int buffer) { return numbered.of(buffer); });
  for (size_t b = 0; b < numbered.size(); ++b)
    for (const int64_t n : {int64_t(numbered.integer(b)) + 2 * int64_t(numbered.odd(b)), numbered.bytes(b).row})
      key.number(n);
  return key.bytes();
}

StatementCost write(ops::LoopStatement s, int64_t steps, const Region& r, Numbered& numbered,
                    const Machine& machine) {
  s.out.buffer = numbered.of(s.out.buffer);
  for (ops::LoopAccess& a : s.loads) a.buffer = numbered.of(a.buffer);
  std::vector<std::string> names;
  std::vector<bool> integers, odd, constants(numbered.size(), false);
  std::vector<ByteRows> bytes;
  for (size_t b = 0; b < numbered.size(); ++b) {
    bytes.push_back(numbered.bytes(b));
    names.push_back(fmt::format("b{}", b));
    integers.push_back(numbered.integer(b));
    odd.push_back(numbered.odd(b));
  }
  RegionCode code;
  append_statement(s, steps, {names, integers, constants, machine, r.by_library, r.resident, 2, odd, bytes}, code);
  return {code.cycles, code.scratch_words, code.lines.size(), code.short_lines, code.uses_math};
}

}  // namespace

StatementCost StatementCosts::of(const Region& r, const ops::LoopStatement& s, int64_t steps,
                                 const std::vector<ByteRows>& bytes) {
  Numbered numbered(r, bytes);
  std::string key = key_of(s, steps, r, numbered);
  {
    const std::lock_guard lock(mutex_);
    const auto found = known_.find(key);
    if (found != known_.end()) return found->second;
  }
  const StatementCost cost = write(s, steps, r, numbered, machine_);
  const std::lock_guard lock(mutex_);
  if (known_.size() >= kMost) known_.clear();
  return known_.emplace(std::move(key), cost).first->second;
}

}  // namespace cs::autogen
