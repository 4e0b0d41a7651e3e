// Typed indices and vectors indexed by them: ids survive copying, printing and serialising, pointers do not.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace cs::graph {

template <typename Tag>
struct Id {
  int32_t index = -1;
  bool valid() const { return index >= 0; }
  auto operator<=>(const Id&) const = default;
};

template <typename IdType, typename T>
class IdVector {
 public:
  IdType push(T item) {
    items_.push_back(std::move(item));
    return {int32_t(items_.size()) - 1};
  }
  T& operator[](IdType id) { return items_[size_t(id.index)]; }
  const T& operator[](IdType id) const { return items_[size_t(id.index)]; }
  bool has(IdType id) const { return id.index >= 0 && size_t(id.index) < items_.size(); }
  size_t size() const { return items_.size(); }

 private:
  std::vector<T> items_;
};

}  // namespace cs::graph
