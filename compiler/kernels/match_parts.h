// Pieces of matching that kinds of kernels share.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/graph/graph.h"

namespace cs::kernels {

inline const graph::Value& operand(const graph::Graph& g, const graph::Node& node, size_t i) {
  return g.value(node.inputs[i]);
}
// PEs compute in f32; streams may be 16-bit floats.
bool is_computed(const graph::Graph&, const graph::Value&);

// Whether a gemm takes this operand, 0 or 1, transposed; never of another operator. And its factor, 1 of
// others.
bool is_transposed(const graph::Node&, int operand);
double factor_of(const graph::Node&);
// The bias of a gemm (gemm_bias.cpp), zeros where there is none: one value per output.
bool has_bias(const graph::Node&);
std::vector<float> bias_of(const graph::Graph&, const graph::Node&, int64_t m);
bool bias_is_constant(const graph::Graph&, const graph::Node&, std::string& why);
// It is constant and the same for all rows.
bool bias_fits(const graph::Graph&, const graph::Node&, int64_t m, std::string& why);

}  // namespace cs::kernels
