// Bytes: the memory of an array, whoever holds it. Of its own, taken over from a vector, or somebody else's.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace wafersmith {

// A value: copies have memory of their own, moving keeps the address. What is borrowed must be there as long as
// this and its copies are, which borrow too; writing makes it a copy of its own first.
class Bytes {
 public:
  Bytes() = default;
  explicit Bytes(size_t size) { *this = take(std::vector<std::byte>(size)); }
  // The vector's memory, without a copy.
  template <typename T>
  static Bytes take(std::vector<T>&& values) {
    static_assert(std::is_trivially_copyable_v<T>);
    Bytes out;
    auto held = std::make_shared<std::vector<T>>(std::move(values));
    out.data_ = reinterpret_cast<std::byte*>(held->data());
    out.size_ = held->size() * sizeof(T);
    out.held_ = std::move(held);
    return out;
  }
  // Somebody else's memory, without a copy.
  static Bytes borrow(const void* data, size_t size) {
    Bytes out;
    out.data_ = const_cast<std::byte*>(static_cast<const std::byte*>(data));  // written to by nobody: data()
    out.size_ = size;
    return out;
  }

  Bytes(const Bytes& other) { *this = other; }
  Bytes& operator=(const Bytes& other) {
    if (this == &other) return *this;
    return *this = other.borrowed() ? borrow(other.data_, other.size_) : other.copied(other.size_);
  }
  Bytes(Bytes&& other) noexcept { *this = std::move(other); }
  Bytes& operator=(Bytes&& other) noexcept {
    held_ = std::exchange(other.held_, nullptr);
    data_ = std::exchange(other.data_, nullptr);
    size_ = std::exchange(other.size_, 0);
    return *this;
  }
  ~Bytes() = default;

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  bool borrowed() const { return size_ > 0 && !held_; }
  const std::byte* data() const { return data_; }
  std::byte* data() {
    if (borrowed()) *this = copied(size_);
    return data_;
  }
  const std::byte& operator[](size_t i) const { return data_[i]; }
  std::byte& operator[](size_t i) { return data()[i]; }
  const std::byte* begin() const { return data_; }
  const std::byte* end() const { return data_ + size_; }
  // New bytes are zeros.
  void resize(size_t size) {
    if (size != size_) *this = copied(size);
  }
  bool operator==(const Bytes& other) const {
    return size_ == other.size_ && (size_ == 0 || std::memcmp(data_, other.data_, size_) == 0);
  }

 private:
  Bytes copied(size_t size) const {
    Bytes out(size);
    if (size_ > 0 && size > 0) std::memcpy(out.data_, data_, size < size_ ? size : size_);
    return out;
  }

  std::shared_ptr<void> held_;  // null: nothing, or borrowed
  std::byte* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace wafersmith
