// The bytes of weights.bin, of which parts may be made only when somebody reads them: the weights of a large
// network are in memory once, as the model has them, and never as all its PEs hold them.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace cs {

class Weights {
 public:
  // Takes bytes; false if it wants no more.
  using Take = std::function<bool(std::string_view)>;
  // Passes its bytes on in order, some at a time, the same ones every time; false if they were not wanted.
  using Source = std::function<bool(const Take&)>;

  Weights() = default;
  Weights(std::vector<uint8_t> bytes);  // NOLINT(google-explicit-constructor): bytes are weights
  uint64_t size() const { return size_; }
  void append(std::string_view bytes);
  void append(uint64_t size, Source);
  bool read(const Take&) const;
  std::vector<uint8_t> bytes() const;

 private:
  struct Part {
    std::vector<uint8_t> bytes;
    Source source;  // instead of bytes
    uint64_t size = 0;
  };
  std::vector<Part> parts_;
  uint64_t size_ = 0;
};

}  // namespace cs
