// ONNX messages as our tensors and attributes. Internal to the frontend: includes protobuf.
#pragma once

#include <optional>
#include <string>

#include <onnx/onnx-data_pb.h>
#include <onnx/onnx_pb.h>

#include "runtime/ops/ops.h"

namespace cs::frontend {

// Parses a message; false if the bytes are truncated or damaged. Silences protobuf's own talk on stderr.
bool parse_message(std::string_view bytes, google::protobuf::MessageLite& message);

std::optional<DataType> onnx_dtype(int elem_type);
std::string onnx_dtype_name(int elem_type);  // for messages, also of types we do not have
// Reads raw_data or the typed field. `error` says what is wrong.
std::optional<ops::Tensor> onnx_tensor(const onnx::TensorProto&, std::string& error);
// A list of texts becomes words in one. Nothing if the attribute has no form of ours (graphs, sparse
// tensors).
std::optional<AttrValue> onnx_attr(const onnx::AttributeProto&);
// "transB" -> "trans_b"
std::string snake_case(const std::string&);

}  // namespace cs::frontend
