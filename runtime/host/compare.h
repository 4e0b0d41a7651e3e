// When do results agree? The rule of the design document, in one place.
//
//   floats     max|out - expected| <= tolerance * max|expected| per output: 1e-4 in fp32, 2e-2 in fp16 and
//   bf16 integers   exactly NaN, inf   in the same places; a finite expectation beyond the format's range
//   must be ±inf
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/host/npz.h"

namespace cs {

struct CheckResult {
  int tensors = 0;       // compared
  double max_abs = 0;    // largest |out - expected|
  double max_rel = 0;    // largest of them over max|expected| of its tensor
  double tolerance = 0;  // relative tolerance used; the widest one if outputs differ in type
  bool ok = true;
  std::string mismatch;  // the first difference: tensor, index, both values; empty if ok
};

// `dtype` as in HostPart ("fp32", "fp16", "bf16"); an output that itself has 16 bits is held to those.
// `tighten` > 0 replaces a tolerance if it is smaller.
double default_tolerance(const std::string& dtype);
CheckResult compare_outputs(const std::vector<NamedArray>& outputs, const std::vector<NamedArray>& expected,
                            const std::string& dtype, double tighten = 0);

}  // namespace cs
