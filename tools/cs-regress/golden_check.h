// When does an output agree with a golden vector? The tolerance table of the format, per class of operation:
//
// clang-format off
//                  fp32                                  fp16
//   elementwise    4 units in the last place             2 units in the last place of fp16
//   products       k · eps · Σ|a||b| for k products      the same, accumulated in fp32, plus 1 unit of fp16
//   norm           1e-5 of the value                     2e-3 of the value
//   transformer    1e-4 of the value                     1e-2 of the tensor's largest value
//   loss           1e-5 of the value plus 1e-6 of the    2e-3 of the value
//                  tensor's largest value
//   optimizer      1e-6 of the value                     the same, then rounded to fp16
// clang-format on
//
// The error of a float32 library (Floor::max_abs) is always allowed. NaN and ±inf must be in the same places;
// a finite expectation beyond the format must be ±inf.
#pragma once

#include <string>

#include "tools/cs-regress/golden_ops.h"

namespace cs::golden {

struct Verdict {
  bool ok = true;
  double error = 0;      // largest |output - expected| of the elements that are finite
  double used = 0;       // largest part of its tolerance that an element uses; above 1 it fails
  std::string rule;      // "4 ulp"
  std::string mismatch;  // the first element that fails
};

std::string rule_text(Accuracy, DataType);

// `dtype` computed the output; `magnitudes` (products only) holds Σ|a||b| of every element, `terms` the k.
Verdict check_output(const ops::Tensor& output, const ops::Tensor& expected, const Floor&, Accuracy,
                     DataType dtype, const std::vector<double>& magnitudes, double terms,
                     const std::vector<bool>& free_elements);

// Σ|a||b| of every element of an output of the graph: the graph over absolute values in double, differences
// as sums. Nothing (with `error`) if a row cannot be evaluated on the host.
std::optional<std::vector<double>> magnitudes_of(const CaseGraph&, const std::string& output,
                                                 std::string& error);
// How many products or summands go into one element of an output at most.
double terms_of(const graph::Graph&, const std::string& output);

}  // namespace cs::golden
