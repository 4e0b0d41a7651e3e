// What costs more than options allow is never chosen, and is no part of a key.
#include "compiler/mapping/known_floorplans.h"

#include <type_traits>
#include <utility>

#include "runtime/support/files.h"

namespace cs::mapping {
namespace {

class Bytes {
 public:
  template <class... T>
  void add(T... values) {
    (append(values), ...);
  }
  const std::string& all() const { return bytes_; }

 private:
  template <class T>
  void append(T value) {
    static_assert(std::is_arithmetic_v<T> || std::is_enum_v<T>);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  std::string bytes_;
};

// 32 digits.
std::string key_of(const FloorplanProblem& p, const FloorplanOptions& o) {
  Bytes key;
  key.add(o.seed, o.starts, o.moves, p.width, p.height, p.may_turn, p.pins, p.cost_weight, p.length_weight);
  key.add(p.kinds.size(), p.kernels.size(), p.wires.size());
  for (const auto& kind : p.kinds) {
    size_t count = 0;
    for (const Alternative& a : kind) {
      if (a.cost > o.max_cost) continue;
      key.add(a.w, a.h, a.cost);
      ++count;
    }
    key.add(count);
  }
  for (const int kind : p.kernels) key.add(kind);
  for (const Wire& w : p.wires) key.add(w.from, w.to, w.weight);
  return wide_hash_text(key.all());
}

}  // namespace

KnownFloorplans::Rects KnownFloorplans::rects(const FloorplanProblem& p, const FloorplanOptions& o,
                                              const std::function<Rects()>& search) {
  const std::string key = key_of(p, o);
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = known_.find(key); known != known_.end()) return known->second;
  }
  Rects found = search();
  const std::lock_guard lock(mutex_);
  return known_.emplace(key, std::move(found)).first->second;
}

}  // namespace cs::mapping
