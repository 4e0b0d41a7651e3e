// Functions of formulas: those of the language, short names of reductions, and rows of the operator table.
#include "runtime/ops/formula_functions.h"

#include <algorithm>

namespace cs::ops {

namespace {

struct BuiltIn {
  std::string_view name;
  size_t least, most;
  bool takes_axis;
};
constexpr BuiltIn kBuiltIn[] = {
    {"select", 3, 3, false},   // select(c, a, b): a where c, b elsewhere
    {"power", 2, 2, false},    // a ^ b
    {"pick", 2, 2, true},      // pick(x, i): x at index i of the axis, which goes; 0 where there is none
    {"chosen", 2, 2, true},    // chosen(i, x): true where the place along the axis of x is index i
    {"along", 2, 2, true},     // along(v, x): the list v along the axis of x
    {"expand", 1, 1, true},    // a new axis of extent 1
    {"size", 1, 1, true},      // number of elements, or extent of the axis
    {"rank", 1, 1, false},     // number of dimensions
    {"given", 1, 1, false},    // 1 if the operand is there, else 0
    {"integer", 1, 1, false},  // 1 if the elements are integers, else 0
    {"real", 1, 1, false},     // as floating-point numbers
    {"same", 2, 2, false},     // 1 if both have the same shape, else 0
    {"fail", 1, 1, false},     // fail("why"): an error where a select chooses it
};

struct ShortName {
  std::string_view name, row;
};
constexpr ShortName kReductions[] = {
    {"sum", "reduce_sum"}, {"mean", "reduce_mean"}, {"max", "reduce_max"}, {"min", "reduce_min"}};

bool has_attr(const OpDef& row, std::string_view name) {
  return std::any_of(row.attrs.begin(), row.attrs.end(), [&](const AttrDef& a) { return a.name == name; });
}

// Rows that a formula can call: one tensor out of tensors that must all be there, numbers as attributes.
bool callable(const OpDef& row) {
  if (row.results.size() != 1 || row.variadic || row.variadic_results || row.loss) return false;
  if (row.optional_operands != 0 || !row.constant_operands.empty() || row.operands.empty()) return false;
  if (row.kind != OpKind::elementwise && row.kind != OpKind::reduction && row.kind != OpKind::contraction &&
      row.kind != OpKind::compound)
    return false;
  return std::all_of(row.attrs.begin(), row.attrs.end(), [](const AttrDef& a) {
    return a.kind == AttrKind::integer || a.kind == AttrKind::real || a.name == "axes";
  });
}

std::optional<FormulaFunction> of_row(const OpDef* row) {
  if (row == nullptr || !callable(*row)) return std::nullopt;
  FormulaFunction f;
  f.name = row->name;
  f.row = row;
  f.least = f.most = row->operands.size();
  f.kind = row->kind == OpKind::elementwise ? FormulaFunction::Kind::elementwise
           : has_attr(*row, "axes")         ? FormulaFunction::Kind::reduction
                                            : FormulaFunction::Kind::along;
  f.takes_axis = has_attr(*row, "axes") || has_attr(*row, "axis");
  if (f.kind == FormulaFunction::Kind::reduction) {
    f.named = {"keep"};
  } else {
    for (const AttrDef& a : row->attrs)
      if (a.name != "axis") f.named.emplace_back(a.name);
  }
  return f;
}

}  // namespace

std::optional<FormulaFunction> formula_function(std::string_view name, size_t operands) {
  for (const BuiltIn& b : kBuiltIn)
    if (b.name == name)
      return FormulaFunction{
          FormulaFunction::Kind::built_in, b.name, nullptr, b.least, b.most, b.takes_axis, {}};
  for (const ShortName& s : kReductions)
    if (s.name == name && (operands == 1 || find_op(name) == nullptr)) return of_row(find_op(s.row));
  return of_row(find_op(name));
}

std::vector<std::string> formula_function_names() {
  std::vector<std::string> names;
  for (const BuiltIn& b : kBuiltIn) names.emplace_back(b.name);
  for (const ShortName& s : kReductions) names.emplace_back(s.name);
  for (const OpDef& row : op_table())
    if (callable(row)) names.emplace_back(row.name);
  return names;
}

}  // namespace cs::ops
