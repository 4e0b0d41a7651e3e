// Bytes that are equal if and only if the loops are that they were made from, names apart: keys of what is
// computed once for all loops that are alike.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "compiler/autogen/region.h"

namespace cs::autogen {

class LoopKey {
 public:
  void number(int64_t);
  void numbers(std::span<const int64_t>);
  void real(double);
  void text(std::string_view);
  void expression(const ops::Expr&);
  // With these numbers in the place of those of the buffers.
  void access(const ops::LoopAccess&, int64_t buffer);
  // With the numbers that `number_of` gives for buffers.
  template <class NumberOf>
  void statement(const ops::LoopStatement& s, NumberOf number_of) {
    number(int64_t(s.combine));
    numbers(s.extents);
    access(s.out, number_of(s.out.buffer));
    number(int64_t(s.loads.size()));
    for (const ops::LoopAccess& a : s.loads) access(a, number_of(a.buffer));
    expression(s.value);
  }
  void region(const Region&);
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

}  // namespace cs::autogen
