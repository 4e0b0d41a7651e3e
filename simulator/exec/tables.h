// Private to simulator/exec: the value functions by instruction, one list per file.
#pragma once

#include <span>

#include "simulator/exec/exec.h"

namespace cs::sim {

struct NamedFn {
  isa::Op op;
  ElementFn fn;
  uint8_t flops = 0;
};

std::span<const NamedFn> integer_functions();         // integer.cpp
std::span<const NamedFn> single_functions();          // single.cpp
std::span<const NamedFn> half_functions(Fp16Format);  // half.cpp

}  // namespace cs::sim
