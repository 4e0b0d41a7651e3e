// Formulas become steps: from the root on, every node once, and of a decided select only the chosen form.
#include "runtime/ops/formula.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "runtime/ops/formula_functions.h"
#include "runtime/ops/formula_steps.h"
#include "runtime/ops/rules.h"

namespace cs::ops {

namespace {

using Node = FormulaNode;
using Function = FormulaFunction;
using Value = FormulaValue;

Value number_value(double v) { return {Value::Kind::number, v, {}, {}}; }

class Lowering : FormulaSteps {
 public:
  Lowering(const Formula& formula, const FormulaCall& call, std::string& error)
      : FormulaSteps(call.operands, error), formula_(formula), call_(call), values_(formula.nodes.size()) {
    for (size_t k = 0; k < call.operands.size(); ++k) {
      const TensorType* t = type_of(k);
      if (t == nullptr || !data_type_is_float(t->dtype)) continue;
      if (!given_) given_ = t->dtype;
      if (t->dtype == DataType::f64) computed_ = DataType::f64;
    }
  }

  bool run(std::vector<DecompositionStep>& steps, TensorType& result) {
    const Node& root = formula_.nodes[size_t(formula_.root)];
    Value y = value(formula_.root);
    if (!ok()) return false;
    if (!y.is_tensor())
      fail(root, "the result must be a tensor; nothing here depends on an operand's elements");
    if (y.type.dtype == DataType::boolean) y = converted(root, y, computed_);
    const DataType dtype = data_type_is_float(y.type.dtype) ? given_.value_or(computed_) : y.type.dtype;
    y = converted(root, y, dtype);
    if (is_operand(y.text)) y = step(root, "identity", {y});
    if (!ok()) return false;
    finish(y.text, steps);
    result = y.type;
    return true;
  }

 private:
  const TensorType* type_of(size_t operand) const {
    return operand < call_.types.size() ? call_.types[operand] : nullptr;
  }
  // Truth values as the numbers 0 and 1.
  Value numeric(const Node& at, const Value& v) {
    return v.is_tensor() && v.type.dtype == DataType::boolean ? converted(at, v, computed_) : v;
  }

  // ---- nodes

  Value value(int node) {
    if (!ok()) return {};
    std::optional<Value>& known = values_[size_t(node)];
    if (!known) known = compute(formula_.nodes[size_t(node)]);
    return *known;
  }
  Value compute(const Node& n) {
    switch (n.kind) {
      case Node::Kind::number:
        return number_value(n.value);
      case Node::Kind::text:
        return {Value::Kind::text, 0, n.word, {}};
      case Node::Kind::operand:
        return operand(n);
      case Node::Kind::attr:
        return attribute(n);
      case Node::Kind::call:
        break;
    }
    const std::optional<Function> f = formula_function(n.word, n.args.size());
    if (n.word == "select") return select(n);
    if (n.word == "given") return number_value(raw(n.args[0]) != nullptr ? 1 : 0);
    std::vector<Value> args;
    for (const int a : n.args) {
      args.push_back(value(a));
      if (ok() && args.back().kind == Value::Kind::absent)
        fail(formula_.nodes[size_t(a)],
             fmt::format("'{0}' is not given; select(given({0}), ...) asks first", args.back().text));
    }
    if (!ok()) return {};
    if (f->kind == Function::Kind::built_in) return built_in(n, args);
    if (f->kind == Function::Kind::elementwise) return elementwise(n, *f, args);
    return whole(n, *f, args);
  }
  const TensorType* raw(int node) const { return type_of(size_t(formula_.nodes[size_t(node)].index)); }
  Value operand(const Node& n) {
    const std::string name(call_.operands[size_t(n.index)]);
    const TensorType* t = type_of(size_t(n.index));
    if (t == nullptr) return {Value::Kind::absent, 0, name, {}};
    Value v{Value::Kind::tensor, 0, name, *t};
    if (t->dtype == DataType::boolean) return v;
    if (data_type_is_float(t->dtype)) return converted(n, v, computed_);
    // So that -100, or the number of a class, is a value of the type.
    const int bytes = data_type_bytes(t->dtype);
    const bool wide = bytes == 8 || t->dtype == DataType::u32;
    return converted(n, v, wide ? DataType::i64 : DataType::i32);
  }
  Value attribute(const Node& n) {
    const AttrValue* v = find_attr(call_.attrs, n.word);
    if (v == nullptr) return fail(n, fmt::format("attribute '{}' has no value", n.word));
    if (const auto* whole = std::get_if<int64_t>(v)) return number_value(double(*whole));
    if (const auto* real = std::get_if<double>(v)) return number_value(*real);
    if (const auto* text = std::get_if<std::string>(v)) return {Value::Kind::text, 0, *text, {}};
    return fail(n, fmt::format("attribute '{}' is a list", n.word));
  }
  Value select(const Node& n) {
    Value c = value(n.args[0]);
    if (!ok()) return {};
    if (c.is_number()) return value(n.args[c.number != 0 ? 1 : 2]);
    if (!c.is_tensor() || c.type.dtype != DataType::boolean)
      return fail(formula_.nodes[size_t(n.args[0])],
                  "a condition was expected: a comparison, or and, or, not of some");
    const Value a = numeric(n, value(n.args[1])), b = numeric(n, value(n.args[2]));
    if (!ok()) return {};
    for (const Value& v : {a, b})
      if (v.kind == Value::Kind::absent) return fail(n, fmt::format("'{}' is not given", v.text));
    const DataType dtype = a.is_tensor() ? a.type.dtype : b.is_tensor() ? b.type.dtype : computed_;
    return step(n, "where", {c, tensor(n, a, dtype), tensor(n, b, dtype)});
  }

  Attrs attributes(const Node& n, const Function& f) {
    Attrs attrs;
    for (const auto& [name, node] : n.named) {
      const std::string& key = name;  // a structured binding cannot be captured
      const Value v = value(node);
      if (!ok()) return {};
      if (!v.is_number()) fail(n, fmt::format("'{}' of '{}' must be a number", name, n.word));
      const auto def = std::find_if(f.row->attrs.begin(), f.row->attrs.end(),
                                    [&](const AttrDef& a) { return a.name == key; });
      const bool whole = def != f.row->attrs.end() && def->kind == AttrKind::integer;
      if (whole && (v.number != std::floor(v.number) || std::abs(v.number) > 0x1p31))
        fail(n, fmt::format("'{}' of '{}' must be an integer, not {}", name, n.word, v.number));
      if (!ok()) return {};
      set_attr(attrs, name, whole ? AttrValue(int64_t(v.number)) : AttrValue(v.number));
    }
    return attrs;
  }
  // Numbers are computed, tensors become a step; numbers beside tensors are of the same type.
  Value elementwise(const Node& n, const Function& f, std::vector<Value> args) {
    const OpDef& row = *f.row;
    if (n.word == "equal" && args[0].kind == Value::Kind::text && args[1].kind == Value::Kind::text)
      return number_value(args[0].text == args[1].text ? 1 : 0);
    for (const Value& v : args)
      if (v.kind == Value::Kind::text)
        return fail(n, "a text can only be compared with another one, by == and !=");
    const Attrs attrs = attributes(n, f);
    if (!ok()) return {};
    if (std::none_of(args.begin(), args.end(), [](const Value& v) { return v.is_tensor(); })) {
      std::vector<double> numbers, scratch;
      for (const Value& v : args) numbers.push_back(v.number);
      return number_value(
          expr_value<double>(bind_attrs(op_expression(row), with_defaults(row, attrs)), numbers, scratch));
    }
    const bool logic = n.word == "and" || n.word == "or" || n.word == "xor" || n.word == "not";
    for (Value& v : args) {
      if (!logic) v = numeric(n, v);
      if (logic && (!v.is_tensor() || v.type.dtype != DataType::boolean))
        return fail(n, fmt::format("'{}' combines comparisons", n.word));
    }
    const auto first = std::find_if(args.begin(), args.end(), [](const Value& v) { return v.is_tensor(); });
    const DataType dtype = ok() ? first->type.dtype : computed_;
    for (Value& v : args) v = tensor(n, v, dtype);
    return step(n, row.name, args, attrs);
  }
  // Reductions, and rows along an axis.
  Value whole(const Node& n, const Function& f, const std::vector<Value>& given) {
    std::vector<Value> args;
    for (const Value& v : given) {
      if (!v.is_tensor()) return fail(n, fmt::format("'{}' needs a tensor, not a number", n.word));
      args.push_back(numeric(n, v));
    }
    if (!ok()) return {};
    const int rank = args[0].type.rank();
    Attrs attrs;
    if (f.kind == Function::Kind::along) {
      attrs = attributes(n, f);
      if (ok() && !n.axis.empty()) set_attr(attrs, "axis", int64_t(axis(n, rank)));
      return step(n, f.name, args, attrs);
    }
    const bool all = n.axis.empty() || n.axis == "all";
    if (rank == 0 && all && f.row->kind == OpKind::reduction) return args[0];
    if (!all) attrs.push_back({"axes", std::vector<int64_t>{axis(n, rank)}});
    const Value keep = n.named.empty() ? number_value(0) : value(n.named[0].second);
    if (ok() && !keep.is_number()) fail(n, "keep must be a number");
    attrs.push_back({"keepdims", int64_t(keep.number != 0)});
    return step(n, f.name, args, attrs);
  }

  // An axis of a tensor with `rank` dimensions, by name or number.
  int axis(const Node& n, int rank, std::string_view otherwise = "last") {
    const std::string name(n.axis.empty() ? otherwise : std::string_view(n.axis));
    int64_t at = -1;
    if (name == "all") fail(n, fmt::format("'{}' goes along one axis", n.word));
    if (name == "class") at = rank > 1 ? 1 : 0;
    if (name == "batch") at = 0;
    if (name != "class" && name != "batch" && name != "last" && name != "all") at = std::stoll(name);
    const std::optional<int> normal = normal_axis(at, rank);
    if (!normal) fail(n, fmt::format("axis {} does not exist in a tensor with {} dimensions", name, rank));
    return normal.value_or(0);
  }

  Value built_in(const Node& n, const std::vector<Value>& args) {
    if (n.word == "power") return power(n, args[0], args[1]);
    if (n.word == "fail")
      return args[0].kind == Value::Kind::text ? refuse(args[0].text) : fail(n, "fail() needs a text");
    const Value& x = args[0];
    for (const Value& v : args)
      if (!v.is_tensor()) return fail(n, fmt::format("'{}' needs a tensor, not a number or a text", n.word));
    const Shape& shape = x.type.shape;
    if (n.word == "rank") return number_value(x.type.rank());
    if (n.word == "integer")
      return number_value(!data_type_is_float(x.type.dtype) && x.type.dtype != DataType::boolean ? 1 : 0);
    if (n.word == "same") return number_value(shape == args[1].type.shape ? 1 : 0);
    if (n.word == "real") return converted(n, x, computed_);
    if (n.word == "pick") return pick(n, x, args[1]);
    if (n.word == "size") {
      if (n.axis.empty() || n.axis == "all") return number_value(double(x.type.elements()));
      const int a = axis(n, x.type.rank());
      return number_value(ok() ? double(shape[size_t(a)]) : 0);
    }
    const int rank = n.word == "expand" ? x.type.rank() + 1 : args.back().type.rank();
    const int a = axis(n, rank, n.word == "expand" ? "last" : "class");
    if (!ok()) return {};
    if (n.word == "expand") return inserted(n, x, a);
    const int64_t extent = args[1].type.shape[size_t(a)];
    if (n.word == "chosen") {
      Shape rest = args[1].type.shape;
      rest.erase(rest.begin() + a);
      if (shape != rest)
        return fail(n, fmt::format("the index is {}, {} would choose from {}", type_text(x.type),
                                   dims_text(rest), type_text(args[1].type)));
      return chosen(n, x, extent, a);
    }
    if (x.type.rank() != 1 || shape[0] != extent)
      return fail(n, fmt::format("{} is no list of {} elements", type_text(x.type), extent));
    return laid_along(n, x, rank, a);
  }
  Value power(const Node& n, const Value& x, const Value& e) {
    if (x.is_tensor() && e.is_number()) {
      Value v = numeric(n, x);
      if (e.number == 1) return v;
      if (e.number == 2) return step(n, "square", {v});
      if (e.number == 3) return step(n, "mul", {step(n, "square", {v}), v});
      if (e.number == 4) return step(n, "square", {step(n, "square", {v})});
      if (e.number == 0.5) return step(n, "sqrt", {v});
      if (e.number == -1) return step(n, "reciprocal", {v});
    }
    return elementwise(n, *formula_function("pow", 2), {x, e});
  }
  Value inserted(const Node& n, const Value& x, int axis) {
    Shape shape = x.type.shape;
    shape.insert(shape.begin() + axis, 1);
    return reshaped(n, x, shape);
  }
  Value laid_along(const Node& n, const Value& v, int rank, int axis) {
    Shape shape(size_t(rank - axis), 1);
    shape[0] = v.type.shape[0];
    return reshaped(n, v, shape);
  }
  // True where the place along a new axis of the index is the index.
  Value chosen(const Node& n, const Value& index, int64_t extent, int axis) {
    if (data_type_is_float(index.type.dtype) || index.type.dtype == DataType::boolean)
      return fail(n, fmt::format("an index must have integers, not {}", type_text(index.type)));
    std::vector<double> places;
    for (int64_t k = 0; k < extent; ++k) places.push_back(double(k));
    Shape shape(size_t(index.type.rank() + 1 - axis), 1);
    shape[0] = extent;
    return step(n, "equal",
                {inserted(n, index, axis), constant(n, std::move(places), shape, index.type.dtype)});
  }
  Value pick(const Node& n, const Value& given, const Value& index) {
    const int rank = index.type.rank() + 1, a = axis(n, rank, "class");
    if (!ok()) return {};
    Value x = numeric(n, given);
    const bool list = x.type.rank() == 1 && rank > 1;
    Shape rest = x.type.shape;
    if (!list && x.type.rank() == rank) rest.erase(rest.begin() + a);
    if (!list && rest != index.type.shape)
      return fail(n, fmt::format("{} does not choose along axis {} of {}", type_text(index.type), a,
                                 type_text(x.type)));
    const Value hit = chosen(n, index, x.type.shape[list ? 0 : size_t(a)], a);
    if (list) x = laid_along(n, x, rank, a);
    if (!ok()) return {};
    const Value only = step(n, "where", {hit, x, tensor(n, number_value(0), x.type.dtype)});
    return step(n, "reduce_sum", {only}, {{"axes", std::vector<int64_t>{a}}, {"keepdims", int64_t(0)}});
  }

  const Formula& formula_;
  const FormulaCall& call_;
  std::vector<std::optional<Value>> values_;
  DataType computed_ = DataType::f32;
  std::optional<DataType> given_;  // of the first operand with floating-point numbers
};

const Formula& formula_of(const OpDef& op, std::vector<std::string_view>& attrs) {
  for (const AttrDef& a : op.attrs) attrs.push_back(a.name);
  static thread_local std::vector<std::pair<const OpDef*, Formula>> parsed;
  for (const auto& [row, formula] : parsed)
    if (row == &op) return formula;
  std::string error;
  std::optional<Formula> f = parse_formula(op.decomposition, op.operands, attrs, error);
  CS_CHECK(f.has_value(), fmt::format("formula of {}: {}", op.name, error));
  parsed.reserve(op_table().size());
  return parsed.emplace_back(&op, std::move(*f)).second;
}

bool lower_row(const ShapeContext& c, std::vector<DecompositionStep>& steps, TensorType& result,
               std::string& error) {
  std::vector<std::string_view> names;
  const Formula& formula = formula_of(c.op, names);
  const Attrs attrs = with_defaults(c.op, c.attrs);
  return lower_formula(formula, {c.op.operands, c.inputs, attrs}, steps, result, error);
}

}  // namespace

bool lower_formula(const Formula& formula, const FormulaCall& call, std::vector<DecompositionStep>& steps,
                   TensorType& result, std::string& error) {
  error.clear();
  return Lowering(formula, call, error).run(steps, result);
}

bool shape_formula(const ShapeContext& c, std::vector<TensorType>& outputs, std::string& error) {
  std::vector<DecompositionStep> steps;
  outputs.resize(1);
  return lower_row(c, steps, outputs[0], error);
}

bool steps_formula(const ShapeContext& c, std::vector<DecompositionStep>& steps, std::string& error) {
  TensorType ignored;
  return lower_row(c, steps, ignored, error);
}

}  // namespace cs::ops
