// Looking rows up, attributes with their defaults, checks of a node against its row, and the work of one
// call.
#include "runtime/ops/ops.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "runtime/ops/operations.h"
#include "runtime/ops/rules.h"
#include "runtime/support/yaml.h"

namespace cs::ops {

namespace {

constexpr std::string_view kAttrKinds[] = {"an integer", "a number", "a text", "a list of integers",
                                           "a list of numbers"};

bool kind_matches(AttrKind kind, const AttrValue& v) {
  switch (kind) {
    case AttrKind::integer:
      return std::holds_alternative<int64_t>(v);
    case AttrKind::real:
      return std::holds_alternative<double>(v) || std::holds_alternative<int64_t>(v);
    case AttrKind::text:
      return std::holds_alternative<std::string>(v);
    // One integer stands for a list of one: the decomposition of softmax writes axes=axis.
    case AttrKind::integers:
      return std::holds_alternative<std::vector<int64_t>>(v) || std::holds_alternative<int64_t>(v);
    case AttrKind::reals:
      return std::holds_alternative<std::vector<double>>(v);
  }
  return false;
}

const AttrDef& attr_def(const OpDef& op, std::string_view name) {
  for (const AttrDef& a : op.attrs) {
    if (a.name == name) return a;
  }
  check_failed("attribute exists", __FILE__, __LINE__,
               fmt::format("{} has no attribute '{}'", op.name, name));
}

const AttrValue& attr_value(const OpDef& op, const Attrs& attrs, std::string_view name) {
  const AttrDef& def = attr_def(op, name);
  const AttrValue* v = find_attr(attrs, name);
  return v != nullptr && kind_matches(def.kind, *v) ? *v : def.value;
}

}  // namespace

std::string_view op_kind_name(OpKind kind) {
  constexpr std::string_view kNames[] = {"elementwise", "contraction", "reduction", "compound",
                                         "view",        "movement",    "source",    "loops"};
  return kNames[size_t(kind)];
}

const OpDef* find_op(std::string_view name) {
  static const std::map<std::string_view, const OpDef*> rows = [] {
    std::map<std::string_view, const OpDef*> m;
    for (const OpDef& d : op_table()) CS_CHECK(m.emplace(d.name, &d).second, "operator row twice");
    return m;
  }();
  auto it = rows.find(name);
  return it == rows.end() ? nullptr : it->second;
}

const OpDef* find_onnx_op(std::string_view onnx_name) {
  static const std::map<std::string_view, const OpDef*> rows = [] {
    std::map<std::string_view, const OpDef*> m;
    for (const OpDef& d : op_table()) {
      for (std::string_view n : d.onnx) CS_CHECK(m.emplace(n, &d).second, "ONNX name in two rows");
    }
    return m;
  }();
  auto it = rows.find(onnx_name);
  return it == rows.end() ? nullptr : it->second;
}

std::vector<std::string> op_names() {
  std::vector<std::string> names;
  for (const OpDef& d : op_table()) names.emplace_back(d.name);
  return names;
}

const Expr& op_expression(const OpDef& op) {
  static const std::map<std::string_view, Expr> expressions = [] {
    std::map<std::string_view, Expr> m;
    for (const OpDef& d : op_table()) {
      if (d.expression.empty()) continue;
      std::vector<std::string_view> attrs;
      for (const AttrDef& a : d.attrs) attrs.push_back(a.name);
      std::string error;
      std::optional<Expr> e = parse_expr(d.expression, d.operands, attrs, error);
      CS_CHECK(e.has_value(), fmt::format("expression of {}: {}", d.name, error));
      m.emplace(d.name, std::move(*e));
    }
    return m;
  }();
  auto it = expressions.find(op.name);
  CS_CHECK(it != expressions.end(), fmt::format("{} has no expression", op.name));
  return it->second;
}

const AttrValue* find_attr(const Attrs& attrs, std::string_view name) {
  for (const auto& [n, v] : attrs) {
    if (n == name) return &v;
  }
  return nullptr;
}

void set_attr(Attrs& attrs, std::string_view name, AttrValue value) {
  auto it = std::lower_bound(attrs.begin(), attrs.end(), name,
                             [](const auto& a, std::string_view n) { return a.first < n; });
  if (it != attrs.end() && it->first == name) {
    it->second = std::move(value);
  } else {
    attrs.insert(it, {std::string(name), std::move(value)});
  }
}

int64_t attr_int(const OpDef& op, const Attrs& attrs, std::string_view name) {
  return std::get<int64_t>(attr_value(op, attrs, name));
}

double attr_real(const OpDef& op, const Attrs& attrs, std::string_view name) {
  const AttrValue& v = attr_value(op, attrs, name);
  if (const auto* i = std::get_if<int64_t>(&v)) return double(*i);
  return std::get<double>(v);
}

std::string attr_text(const OpDef& op, const Attrs& attrs, std::string_view name) {
  return std::get<std::string>(attr_value(op, attrs, name));
}

std::vector<int64_t> attr_ints(const OpDef& op, const Attrs& attrs, std::string_view name) {
  const AttrValue& v = attr_value(op, attrs, name);
  if (const auto* i = std::get_if<int64_t>(&v)) return {*i};
  return std::get<std::vector<int64_t>>(v);
}

Attrs with_defaults(const OpDef& op, const Attrs& attrs) {
  Attrs all = attrs;
  for (const AttrDef& a : op.attrs) {
    if (!a.required && find_attr(all, a.name) == nullptr) set_attr(all, a.name, a.value);
  }
  return all;
}

bool check_node(const OpDef& op, const Attrs& attrs, size_t inputs, std::vector<std::string>& errors) {
  size_t before = errors.size();
  size_t most = op.operands.size(), least = most - size_t(op.optional_operands);
  if (inputs < least || (inputs > most && !op.variadic)) {
    std::string want = op.variadic     ? fmt::format("at least {}", least)
                       : least == most ? std::to_string(least)
                                       : fmt::format("{} to {}", least, most);
    errors.push_back(
        fmt::format("{} needs {} operand{}, has {}", op.name, want, want == "1" ? "" : "s", inputs));
  }
  std::vector<std::string> known;
  for (const AttrDef& a : op.attrs) known.emplace_back(a.name);
  for (const auto& [attr, value] : attrs) {
    const std::string& name = attr;  // a structured binding cannot be captured
    auto def =
        std::find_if(op.attrs.begin(), op.attrs.end(), [&](const AttrDef& a) { return a.name == name; });
    if (def == op.attrs.end()) {
      std::string near = nearest(name, known);
      errors.push_back(fmt::format("{} has no attribute '{}'{}", op.name, name,
                                   near.empty() ? "" : fmt::format("; did you mean '{}'?", near)));
    } else if (!kind_matches(def->kind, value)) {
      errors.push_back(
          fmt::format("attribute '{}' of {} must be {}", name, op.name, kAttrKinds[size_t(def->kind)]));
    }
  }
  for (const AttrDef& a : op.attrs) {
    if (a.required && find_attr(attrs, a.name) == nullptr) {
      errors.push_back(fmt::format("{} needs the attribute '{}'", op.name, a.name));
    }
  }
  return errors.size() == before;
}

bool values_known(const ShapeContext& c, std::string& error) {
  for (int k : c.op.constant_operands) {
    if (c.input(size_t(k)) == nullptr || c.value(size_t(k)) != nullptr) continue;
    error = fmt::format("operand '{}' must be a constant: the shape of the result depends on its values",
                        c.op.operands[size_t(k)]);
    return false;
  }
  return true;
}

bool infer_types(const OpDef& op, const Attrs& attrs, std::span<const TensorType* const> inputs,
                 std::vector<TensorType>& outputs, std::string& error,
                 std::span<const Tensor* const> values) {
  std::vector<std::string> errors;
  bool ok = check_node(op, attrs, inputs.size(), errors);
  size_t needed = op.operands.size() - size_t(op.optional_operands);
  for (size_t i = 0; ok && i < inputs.size(); ++i) {
    if (inputs[i] == nullptr && (i < needed || op.variadic)) {
      errors.push_back(fmt::format("operand {} of {} is missing", i, op.name));
      ok = false;
    }
  }
  if (!ok) {
    error = errors.front();
    return false;
  }
  ShapeContext c{op, attrs, inputs, values};
  if (!values_known(c, error) || !op.shape(c, outputs, error)) return false;
  for (const TensorType& t : outputs) {
    if (!checked_elements(t.shape)) {
      error = fmt::format("the result {} is too large", type_text(t));
      return false;
    }
  }
  return true;
}

bool check_results(const OpDef& op, size_t named, size_t all, std::string& error) {
  size_t least = op.variadic_results ? all : op.results.size() - size_t(op.optional_results);
  if (named >= least && named <= all) return true;
  error = fmt::format("{} gives {}{} result{}, {} {} named", op.name,
                      least < all ? fmt::format("{} to ", least) : "", all, all == 1 ? "" : "s", named,
                      named == 1 ? "is" : "are");
  return false;
}

namespace {

// Per point. A quotient by what stands still along the innermost axis is a product with its reciprocal.
int64_t statement_operations(const LoopStatement& s) {
  const std::vector<ExprNode>& nodes = s.value.nodes;
  auto n = int64_t(operations_of(s.value));
  for (const ExprNode& node : nodes) {
    if (node.kind != ExprKind::div || nodes[size_t(node.b)].kind != ExprKind::input) continue;
    const std::vector<int64_t>& strides = s.loads[size_t(nodes[size_t(node.b)].index)].strides;
    if (!strides.empty() && strides.back() == 0) n -= operations_of(ExprKind::div) - 1;
  }
  return n;
}

// Operations of all statements; a combination other than assignment counts as one.
int64_t loop_flops(const OpDef& op, const Attrs& attrs, std::span<const TensorType* const> inputs,
                   std::span<const TensorType> outputs) {
  LoopProgram program;
  std::string ignored;
  if (!loops_of(op, attrs, inputs, outputs, program, ignored)) return 0;
  int64_t flops = 0;
  for (const LoopBlock& block : program.blocks) {
    for (const LoopStatement& s : block.statements) {
      int64_t points = block.steps;
      for (int64_t e : s.extents) points *= e;
      flops += points * ((s.combine == Combine::assign ? 0 : 1) + statement_operations(s));
    }
  }
  return flops;
}

}  // namespace

int64_t op_flops(const OpDef& op, const Attrs& attrs, std::span<const TensorType* const> inputs,
                 std::span<const TensorType> outputs) {
  if (outputs.empty()) return 0;
  int64_t n = outputs[0].elements();
  switch (op.kind) {
    case OpKind::elementwise:
      return int64_t(op.flops) * n;
    case OpKind::contraction: {
      int64_t k = op.name == "gemm" ? inputs[0]->shape[attr_int(op, attrs, "trans_a") != 0 ? 0 : 1]
                                    : inputs[0]->shape.back();
      bool bias = inputs.size() > 2 && inputs[2] != nullptr;
      return int64_t(op.flops) * n * k + (bias ? n : 0);
    }
    case OpKind::reduction:
      return inputs[0]->elements();
    case OpKind::compound:
      if (op.steps == nullptr) return int64_t(op.flops) * inputs[0]->elements();
      return loop_flops(op, attrs, inputs, outputs);
    case OpKind::loops:
      return loop_flops(op, attrs, inputs, outputs);
    case OpKind::view:
    case OpKind::movement:
    case OpKind::source:
      break;
  }
  return 0;
}

}  // namespace cs::ops
