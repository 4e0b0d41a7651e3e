// Both are lowered for the same small operands and compared as lists of operations; names of results are
// their numbers, so that only what is computed counts.
#include "compiler/frontend/loss_match.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "compiler/frontend/loss_config_read.h"
#include "compiler/graph/yaml_values.h"

namespace cs::frontend {

namespace {

using ops::TensorType;
using Operations = std::vector<std::string>;

const TensorType kLike{DataType::f32, {2, 3}}, kClasses{DataType::i32, {2}}, kRows{DataType::f32, {2}};

// Empty if the row refuses such operands. `names`: what its operands are called here.
Operations operations_of(const ops::OpDef& row, const Attrs& attrs, const std::vector<TensorType>& types,
                         const std::vector<std::string>& names) {
  std::vector<const TensorType*> inputs;
  for (const TensorType& t : types) inputs.push_back(&t);
  std::vector<ops::DecompositionStep> steps;
  std::string error;
  Operations out;
  if (!ops::decompose(row, attrs, inputs, steps, error)) return out;
  std::map<std::string, std::string> known;
  for (size_t k = 0; k < names.size(); ++k) known[std::string(row.operands[k])] = names[k];
  for (const ops::DecompositionStep& s : steps) {
    if (s.op == "constant") {  // part of who uses it
      known[s.results[0]] =
          fmt::format("{}", fmt::join(std::get<std::vector<double>>(*ops::find_attr(s.attrs, "value")), " "));
      continue;
    }
    std::vector<std::string> operands;
    for (const std::string& o : s.operands) operands.push_back(known[o]);
    const std::string more = s.attrs.empty() ? "" : " " + graph::attrs_text(s.attrs);
    out.push_back(fmt::format("{}({}){}", s.op, fmt::join(operands, ", "), more));
    known[s.results[0]] = fmt::format("%{}", out.size());
  }
  return out;
}

std::vector<TensorType> types_of(const CustomLoss& loss) {
  std::vector<TensorType> types;
  for (size_t k = 0; k < loss.formula.inputs.size(); ++k)
    types.push_back(loss.facts.is_index[k] ? kClasses : kLike);
  return types;
}

std::vector<TensorType> types_of(const LossKind& kind, const ops::OpDef& row) {
  std::vector<TensorType> types(row.operands.size() - size_t(row.optional_operands), kLike);
  if (kind.targets == Targets::classes) types.back() = kClasses;
  if (kind.targets == Targets::rows) types.back() = kRows;
  return types;
}

}  // namespace

LossMatch match_catalogue(const CustomLoss& loss) {
  const std::vector<TensorType> types = types_of(loss);
  const Operations own = operations_of(*ops::find_op(ops::kCustomLoss),
                                       ops::custom_loss_attrs(loss.formula, loss.values, "mean", false),
                                       types, loss.formula.inputs);
  LossMatch best;
  size_t most = 0;
  for (const LossKind& kind : loss_kinds()) {
    const ops::OpDef& row = *ops::find_op(kind.row);
    if (kind.targets == Targets::labels || types_of(kind, row) != types) continue;
    const Operations other = operations_of(row, {}, types, loss.formula.inputs);
    const size_t same =
        size_t(std::mismatch(own.begin(), own.end(), other.begin(), other.end()).first - own.begin());
    if (!best.name.empty() && same <= most) continue;
    most = same;
    const auto at = [&](const Operations& list) {
      return same < list.size() ? list[same] : std::string("(the end)");
    };
    best = {kind.name, own == other && !own.empty(), int(same) + 1, at(other), at(own)};
  }
  return best;
}

}  // namespace cs::frontend
