// What is done for the sake of others' mistakes, old forms and habits, each under its condition alone: a table, so that
// every one has a reason and a test, and so that a report says which of them a model or a program met.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace cs {

enum class Workaround : uint8_t {
  onnx_weights_as_inputs,
  onnx_operand_at_axis,
  onnx_softmax_of_matrices,
  onnx_pad_paddings,
  onnx_norm_is_test,
  csl_import_beside_layout,
  csl_rpc,
};

struct WorkaroundRow {
  std::string_view id;         // "onnx-pad-paddings"
  std::string_view condition;  // under which it is done
  std::string_view reason, test;
};
// In the order of the enumeration.
std::span<const WorkaroundRow> workaround_rows();

// Where it is done; from any thread.
void note_workaround(Workaround);
// How often, in this process.
int64_t times_worked_around(Workaround);

}  // namespace cs
