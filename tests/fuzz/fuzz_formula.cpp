// Any text as a formula: refused with a message, or lowered to steps whose rows take them and whose names
// exist.
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "runtime/ops/formula.h"

namespace {

using namespace cs;

// Types of the steps one after another; the last one must be y of the type that was promised.
void follow(const std::vector<ops::DecompositionStep>& steps, std::map<std::string, ops::TensorType> types,
            const ops::TensorType& promised) {
  for (const ops::DecompositionStep& s : steps) {
    std::vector<const ops::TensorType*> operands;
    for (const std::string& name : s.operands) operands.push_back(&types.at(name));
    std::vector<ops::TensorType> made;
    std::string error;
    const ops::OpDef* row = ops::find_op(s.op);
    if (row == nullptr || !ops::infer_types(*row, s.attrs, operands, made, error)) std::abort();
    types[s.results.at(0)] = made.at(0);
  }
  if (steps.empty() || steps.back().results.at(0) != "y" || types.at("y") != promised) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::vector<std::string_view> operands = {"input", "target", "weight", "half", "mask"};
  const std::vector<std::string_view> names = {"reduction", "alpha", "full"};
  const Attrs attrs = {{"alpha", 0.5}, {"full", int64_t(1)}, {"reduction", std::string("mean")}};
  const ops::TensorType input{DataType::f32, {4, 3}}, target{DataType::i64, {4}}, half{DataType::f16, {}},
      mask{DataType::boolean, {3}};
  const std::vector<const ops::TensorType*> types = {&input, &target, nullptr, &half, &mask};
  std::string error;
  const auto f = ops::parse_formula({reinterpret_cast<const char*>(data), size}, operands, names, error);
  if (f.has_value() != error.empty()) std::abort();
  if (!f) return 0;
  std::vector<ops::DecompositionStep> steps;
  ops::TensorType result;
  const bool ok = ops::lower_formula(*f, {operands, types, attrs}, steps, result, error);
  if (ok != error.empty()) std::abort();
  if (ok) follow(steps, {{"input", input}, {"target", target}, {"half", half}, {"mask", mask}}, result);
  return 0;
}
