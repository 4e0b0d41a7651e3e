// Private to exec_*.cpp: the value functions by instruction, one list per file.
#pragma once

#include <span>

#include "simulator/engine/exec.h"

namespace cs::sim {

struct NamedFn {
  isa::Op op;
  ElementFn fn;
  uint8_t flops = 0;
};

std::span<const NamedFn> integer_functions();         // exec_integer.cpp
std::span<const NamedFn> single_functions();          // exec_single.cpp
std::span<const NamedFn> half_functions(Fp16Format);  // exec_half.cpp

}  // namespace cs::sim
