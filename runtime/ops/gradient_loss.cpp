// Rows of losses' backward passes, made of the rows of the losses.
#include <algorithm>
#include <deque>
#include <map>
#include <set>

#include <fmt/format.h>

#include "runtime/ops/gradient_steps.h"
#include "runtime/ops/rows.h"
#include "runtime/ops/rules.h"

namespace cs::ops {

namespace {

constexpr std::string_view kWanted = "wanted";

const OpDef& base_of(const ShapeContext& c) {
  const OpDef* row = find_op(c.op.gradient_of);
  CS_CHECK(row != nullptr, fmt::format("{} is the gradient of no row", c.op.name));
  return *row;
}

Attrs base_attrs(const ShapeContext& c) {
  Attrs attrs = c.attrs;
  std::erase_if(attrs, [](const auto& a) { return a.first == kWanted; });
  return attrs;
}

// Optional operands at the end that are absent count for nothing.
std::vector<const TensorType*> base_inputs(const ShapeContext& c, const OpDef& row) {
  std::vector<const TensorType*> inputs(
      c.inputs.begin(), c.inputs.begin() + int64_t(std::min(c.inputs.size(), row.operands.size())));
  while (inputs.size() > row.operands.size() - size_t(row.optional_operands) && inputs.back() == nullptr)
    inputs.pop_back();
  return inputs;
}

bool shape_gradient_row(const ShapeContext& c, std::vector<TensorType>& outputs, std::string& error) {
  const OpDef& row = base_of(c);
  const std::vector<const TensorType*> inputs = base_inputs(c, row);
  std::vector<TensorType> results;
  if (!infer_types(row, base_attrs(c), inputs, results, error)) return false;
  bool any = false;
  for (size_t k = 0; k < results.size() && k < row.results.size(); ++k) {
    const TensorType* dy = c.input(row.operands.size() + k);
    any = any || dy != nullptr;
    if (dy != nullptr && *dy != results[k])
      return fail(
          error, fmt::format("the gradient '{}' is {}, its result {}", c.op.operands[row.operands.size() + k],
                             type_text(*dy), type_text(results[k])));
  }
  if (!any) return fail(error, "no result has a gradient");
  for (int64_t k : attr_ints(c.op, c.attrs, kWanted)) {
    if (k < 0 || k >= int64_t(row.operands.size()))
      return fail(error, fmt::format("operand {} is wanted, {} has {}", k, row.name, row.operands.size()));
  }
  for (size_t k = 0; k < row.operands.size(); ++k)
    outputs.push_back(k < inputs.size() && inputs[k] != nullptr ? *inputs[k] : TensorType{});
  return true;
}

bool steps_gradient_row(const ShapeContext& c, std::vector<DecompositionStep>& steps, std::string& error) {
  const OpDef& row = base_of(c);
  const Attrs attrs = base_attrs(c);
  const std::vector<const TensorType*> inputs = base_inputs(c, row);
  std::vector<TensorType> results;
  if (!infer_types(row, attrs, inputs, results, error)) return false;
  const std::vector<int64_t> list = attr_ints(c.op, c.attrs, kWanted);
  GradientCall call{row, attrs, inputs, results, {}, {}};
  for (size_t k = 0; k < inputs.size(); ++k)
    call.wanted.push_back(list.empty() || std::find(list.begin(), list.end(), int64_t(k)) != list.end());
  for (size_t k = 0; k < results.size(); ++k)
    call.given.push_back(c.input(row.operands.size() + k) != nullptr);
  std::vector<DecompositionStep> forward;
  const std::vector<std::string> operands(row.operands.begin(), row.operands.end());
  if (!decompose(row, attrs, inputs, forward, error) ||
      !gradient_of_steps(call, forward, operands, {row.results.begin(), row.results.end()}, true, steps,
                         error))
    return false;
  std::map<std::string, std::string> names;
  std::vector<std::string> wanted;
  for (size_t k = 0; k < row.operands.size(); ++k) {
    const std::string number = std::to_string(k);
    names["x" + number] = row.operands[k];
    names["dx" + number] = c.op.results[k];
    if (call.wants(k)) wanted.push_back("dx" + number);
  }
  for (size_t k = 0; k < row.results.size(); ++k)
    names["dy" + std::to_string(k)] = c.op.operands[row.operands.size() + k];
  drop_unused(steps, wanted);
  drop_copies(steps);
  std::set<std::string> made;
  for (const DecompositionStep& s : steps) made.insert(s.results.begin(), s.results.end());
  for (size_t k = 0; k < row.operands.size(); ++k) {
    const std::string name = "dx" + std::to_string(k);
    if (call.wants(k) && !made.contains(name))
      Steps(steps).result(name, "constant_of_shape", {}, fill(0, *inputs[k]));
  }
  const auto rename = [&](std::string& name) {
    if (const auto it = names.find(name); it != names.end()) name = it->second;
  };
  for (DecompositionStep& s : steps) {
    std::for_each(s.operands.begin(), s.operands.end(), rename);
    std::for_each(s.results.begin(), s.results.end(), rename);
  }
  return true;
}

}  // namespace

OpDef gradient_row(const OpDef& row) {
  // Names of rows are views: those that are made here live as long as the program.
  static std::deque<std::string> names;
  const auto name = [](std::string text) { return std::string_view(names.emplace_back(std::move(text))); };
  OpDef d;
  d.name = name(std::string(row.name) + "_gradient");
  d.kind = OpKind::compound;
  d.operands = row.operands;
  for (std::string_view r : row.results) d.operands.push_back(name("d_" + std::string(r)));
  d.optional_operands = row.optional_operands + int(row.results.size());
  d.results.clear();
  for (std::string_view x : row.operands) d.results.push_back(name("d_" + std::string(x)));
  d.optional_results = int(d.results.size());
  d.attrs = row.attrs;
  d.attrs.push_back(integers(kWanted));
  d.shape = shape_gradient_row;
  d.steps = steps_gradient_row;
  d.ulp = row.ulp;
  d.gradient_of = row.name;
  d.no_gradient = "second derivatives are not taken";
  d.note = "the backward pass of a loss, made of its row";
  return d;
}

void add_gradient_rows(std::vector<OpDef>& table) {
  std::vector<OpDef> made;
  for (const OpDef& d : table) {
    if (d.loss) made.push_back(gradient_row(d));
  }
  for (OpDef& d : made) table.push_back(std::move(d));
}

}  // namespace cs::ops
