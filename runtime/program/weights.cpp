// Parts of weights, one behind the other.
#include "runtime/program/weights.h"

#include "runtime/support/diag.h"

namespace cs {

Weights::Weights(std::vector<uint8_t> bytes) : size_(bytes.size()) {
  parts_.push_back({std::move(bytes), {}, size_});
}

void Weights::append(std::string_view bytes) {
  if (parts_.empty() || parts_.back().source) parts_.emplace_back();
  Part& part = parts_.back();
  part.bytes.insert(part.bytes.end(), bytes.begin(), bytes.end());
  part.size += bytes.size();
  size_ += bytes.size();
}

void Weights::append(uint64_t size, Source source) {
  if (size == 0) return;
  parts_.push_back({{}, std::move(source), size});
  size_ += size;
}

bool Weights::read(const Take& take) const {
  for (const Part& part : parts_) {
    if (!part.source) {
      if (!take({reinterpret_cast<const char*>(part.bytes.data()), part.bytes.size()})) return false;
      continue;
    }
    uint64_t passed = 0;
    const auto count = [&](std::string_view bytes) {
      passed += bytes.size();
      return take(bytes);
    };
    if (!part.source(count)) return false;
    CS_CHECK(passed == part.size, "a part of the weights has not the size that was said");
  }
  return true;
}

std::vector<uint8_t> Weights::bytes() const {
  std::vector<uint8_t> all;
  all.reserve(size_);
  read([&](std::string_view bytes) {
    all.insert(all.end(), bytes.begin(), bytes.end());
    return true;
  });
  return all;
}

}  // namespace cs
