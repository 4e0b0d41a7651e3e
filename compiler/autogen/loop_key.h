// Bytes that are equal if and only if the loops are that they were made from, names apart: keys of what is
// computed once for all loops that are alike.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "compiler/autogen/region.h"

namespace cs::autogen {

class LoopKey {
 public:
  void number(int64_t);
  void numbers(std::span<const int64_t>);
  void real(double);
  void expression(const ops::Expr&);
  // With these numbers in the place of those of the buffers.
  void access(const ops::LoopAccess&, int64_t buffer);
  void region(const Region&);
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

}  // namespace cs::autogen
