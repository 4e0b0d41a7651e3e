// Recorded runs of ONNX models: MODEL.onnx with test_data_set_N/{input,output}_K.pb beside it, the form in which
// ONNX's own conformance tests and the public model zoo come.
//
// A conformance test gives every operand of its one node at run time, also those that a compiler needs before
// (the shape of Reshape). Exactly these, the operands that the operator's row takes as constants, are bound to
// the recorded values; everything else stays an input.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/ops/tensor.h"
#include "runtime/support/diag.h"

namespace cs::frontend {

struct OnnxSet {
  std::string model;                                             // bytes of the model, constants bound
  std::vector<std::pair<std::string, ops::Tensor>> inputs, outputs;  // names as in the graph
  std::vector<std::pair<std::string, int64_t>> dims;             // symbols that are not the samples
};

// `folder` holds input_K.pb, in the order of the graph's run-time inputs, and output_K.pb.
std::optional<OnnxSet> read_onnx_set(const std::string& model_file, const std::string& folder, Diag&);

}  // namespace cs::frontend
