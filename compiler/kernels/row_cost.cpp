// What the library's kernels for whole rows take per element, and what their operators take at least.
#include "compiler/kernels/cost_parts.h"
#include "runtime/ops/operations.h"

namespace cs::kernels {

namespace {

// DSR loads, calls and scalars of a row.
double row_cycles(std::string_view name) {
  return name == "softmax" ? 197 : name == "log_softmax" ? 236 : name == "layer_norm" ? 254 : 221;
}

// The passes of softmax.csl and layer_norm.csl but the last, and that one.
struct Passes {
  double but_last = 0, last = 0;  // the last writes to memory; to the fabric it takes a cycle
};

Passes passes_of(std::string_view name, const Machine& m) {
  const double add = 1 / rate("fadds", 1, m), sum = 1 / rate("fadds", 2, m),
               multiply = 1 / rate("fmuls", 2, m);
  const double multiply_add = 1 / rate("fmacs", 2, m), scale = 1 / rate("fmuls", 1, m);
  if (name == "rms_norm") return {1 / rate("fmovs", 1, m) + multiply + sum + multiply, scale};
  if (name == "layer_norm") return {sum + 2 * add + multiply + sum + multiply, multiply_add};
  // The maximum goes to a register.
  const double largest = 1, bound = 1 / rate("fmaxs", 1, m);
  const double halves = 1.0 / m.simd("and16") + 1.0 / m.simd("add16");
  const double power = 2 * add + sum + halves + multiply_add + 4 * (multiply + add);
  if (name == "log_softmax") return {largest + add + scale + bound + power + sum, add};
  return {largest + multiply_add + bound + power + sum, scale};
}

// As autogen::least_cycles() of the operator's rows.
double least_of(std::string_view name, const Machine& m) {
  const double add = 1 / rate("fadds", 2, m), by_number = 1 / rate("fadds", 1, m),
               product = 1 / rate("fmuls", 2, m);
  const double multiply_add = 1 / rate("fmacs", 1, m);
  // The square and its sum, the scale, and the inverse; centred also the mean, the difference, and the bias
  // with the inverse.
  if (name == "rms_norm") return product + add + product + multiply_add;
  if (name == "layer_norm") return add + by_number + product + add + product + multiply_add;
  // The largest, the difference, the exponential, the sum, and the product with the inverse or the difference
  // from its logarithm.
  const double exponential = ops::operations_of(ops::ExprKind::exp) / m.peak_flops_per_cycle(false);
  const double last = name == "log_softmax" ? by_number : product;
  return 1 / rate("fmaxs", 2, m) + by_number + exponential + add + last;
}

}  // namespace

RowCost library_row_cost(std::string_view name, const Machine& m) {
  const Passes passes = passes_of(name, m);
  RowCost cost;
  cost.per_element = passes.but_last + 1;
  cost.resident = passes.but_last + passes.last;
  cost.per_row = row_cycles(name);
  cost.temporaries = name == "softmax" || name == "log_softmax" ? 3 : 2;
  cost.least = least_of(name, m);
  return cost;
}

}  // namespace cs::kernels
