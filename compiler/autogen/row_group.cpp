// Building a group: the expressions of its nodes joined into one.
#include "compiler/autogen/row_group.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "compiler/autogen/expression.h"
#include "compiler/autogen/functions.h"
#include "runtime/ops/operations.h"

namespace cs::autogen {

namespace {

using graph::Graph;
using graph::NodeId;
using graph::ValueId;
using ops::ExprKind;
using ops::ExprNode;

bool is_row_reduction(const std::string& op) {
  return op == "reduce_sum" || op == "reduce_mean" || op == "reduce_max" || op == "reduce_min";
}

// How often each element of `from`, in its order, stands in `to`: in place (`inner`), or all of them again
// and again. Nothing if it is neither.
bool repeats(const ops::TensorType& from, const ops::TensorType& to, bool inner) {
  const std::vector<int64_t> strides = ops::broadcast_strides(from.shape, to.shape);
  bool repeated = inner;  // going outwards, in the part in which strides must be 0
  for (size_t d = strides.size(); d-- > 0;) {
    if (to.shape[d] == 1) continue;
    if ((strides[d] == 0) != repeated) {
      if (repeated != inner) return false;
      repeated = !repeated;
    }
  }
  return true;
}

// What a slice, or a number of every row, can meet: its like, numbers of the row, and constants that are the
// same in all rows.
enum class Operand : uint8_t { slice, number, none };
Operand operand_kind(const Graph& g, ValueId v, const ops::TensorType& result, int64_t rows, int64_t n) {
  const ops::TensorType& type = g.value(v).type;
  const int64_t have = type.elements();
  const bool constant = g.value(graph::source_of(g, v)).is_constant(), slice = result.elements() == rows * n;
  if (constant && have == 1) return Operand::number;
  if (constant) return slice && have == n && repeats(type, result, false) ? Operand::slice : Operand::none;
  if (have == result.elements()) return slice ? Operand::slice : Operand::number;
  return slice && have == rows && repeats(type, result, true) ? Operand::number : Operand::none;
}

// Its operands are such, and vector instructions can compute what it does with slices.
bool elementwise_fits(const Graph& g, NodeId id, int64_t rows, int64_t n, std::string& why) {
  const graph::Node& node = g.node(id);
  const ops::OpDef& op = g.op(id);
  std::vector<bool> numbers;
  for (ValueId v : node.inputs) {
    const Operand kind =
        v.valid() ? operand_kind(g, v, g.value(node.outputs[0]).type, rows, n) : Operand::number;
    numbers.push_back(kind == Operand::number);
    if (kind != Operand::none) continue;
    why = fmt::format("operand '{}' {} is neither per row nor per element of a row", g.value(v).name,
                      ops::type_text(g.value(v).type));
    return false;
  }
  const ops::Expr e = rewrite_for_vectors(
      ops::bind_attrs(ops::op_expression(op), ops::with_defaults(op, node.attrs)), numbers);
  const std::vector<Range> ranges = ranges_of(e);
  std::vector<bool> number;
  for (size_t i = 0; i < e.nodes.size(); ++i) {
    const ExprNode& x = e.nodes[i];
    number.push_back(x.kind != ExprKind::input || numbers[size_t(x.index)]);
    for (int o : {x.a, x.b, x.c}) number[i] = number[i] && (o < 0 || number[size_t(o)]);
    if (number[i] || x.kind == ExprKind::input || has_vector_form(e, int(i), ranges)) continue;
    why = fmt::format("{} of a row takes a loop of scalars", ops::expr_kind_name(x.kind));
    return false;
  }
  return true;
}

class Builder {
 public:
  Builder(const Graph& g, RowGroup& group, std::string& why, bool resident)
      : g_(g), group_(group), why_(why), resident_(resident) {}

  bool run(std::span<const NodeId> nodes) {
    group_ = {};
    int64_t n = 0;
    for (NodeId id : nodes) {
      if (g_.op(id).kind == ops::OpKind::reduction && !row_member(g_, id, group_.rows, n, why_, resident_))
        return false;
    }
    if (n == 0) return fail("it reduces no row");
    group_.n = n;
    for (NodeId id : nodes) {
      if (!row_member(g_, id, group_.rows, n, why_, resident_)) return false;
      const bool ok = g_.op(id).kind == ops::OpKind::reduction ? reduction(id) : elementwise(id);
      if (!ok) return false;
    }
    return has_one_result(nodes) && finish();
  }

 private:
  bool fail(std::string why) {
    why_ = std::move(why);
    return false;
  }

  bool has_one_result(std::span<const NodeId> nodes) {
    group_.result = graph::source_of(g_, g_.node(nodes.back()).outputs[0]);
    for (NodeId id : nodes) {
      for (ValueId v : g_.node(id).outputs) {
        if (v != g_.node(nodes.back()).outputs[0] && used_outside(v, nodes))
          return fail(fmt::format("'{}' is needed outside", g_.value(v).name));
      }
    }
    if (!group_.operand.valid()) return fail("all its operands are constant");
    const ops::TensorType& type = g_.value(group_.result).type;
    if (type.elements() != group_.rows * group_.n) return fail("its result is no row");
    group_.expr.root = made_.at(group_.result);
    return true;
  }

  bool used_outside(ValueId v, std::span<const NodeId> nodes) const {
    if (g_.value(v).is_output) return true;
    return std::any_of(g_.value(v).users.begin(), g_.value(v).users.end(), [&](NodeId user) {
      if (graph::is_transparent(g_, user)) return used_outside(g_.node(user).outputs[0], nodes);
      return std::find(nodes.begin(), nodes.end(), user) == nodes.end();
    });
  }

  int input(RowInputKind kind, ValueId value, int of) {
    const RowInput wanted{kind, value, of};
    auto it = std::find(group_.inputs.begin(), group_.inputs.end(), wanted);
    const auto index = int(it - group_.inputs.begin());
    if (it == group_.inputs.end()) group_.inputs.push_back(wanted);
    return group_.expr.input(index);
  }

  bool reduction(NodeId id) {
    const graph::Node& node = g_.node(id);
    int of = 0;
    const ValueId source = graph::source_of(g_, node.inputs[0]);
    if (g_.value(source).type.elements() != group_.rows * group_.n || !operand(node.inputs[0], of))
      return fail("it reduces something else than a row");
    ops::Expr& e = group_.expr;
    const RowInputKind kind = node.op == "reduce_max"   ? RowInputKind::largest
                              : node.op == "reduce_min" ? RowInputKind::smallest
                                                        : RowInputKind::sum;
    int result = input(kind, {}, of);
    if (node.op == "reduce_mean") result = e.make(ExprKind::mul, result, e.constant(1.0 / double(group_.n)));
    made_[node.outputs[0]] = result;
    return true;
  }

  bool elementwise(NodeId id) {
    const graph::Node& node = g_.node(id);
    const ops::OpDef& op = g_.op(id);
    std::vector<int> operands;
    for (ValueId v : node.inputs) {
      int at = 0;
      if (!operand(v, at)) return false;
      operands.push_back(at);
    }
    const ops::Expr own = ops::bind_attrs(ops::op_expression(op), ops::with_defaults(op, node.attrs));
    std::vector<int> at;
    for (const ExprNode& n : own.nodes) {
      const auto of = [&](int o) { return o < 0 ? -1 : at[size_t(o)]; };
      if (n.kind == ExprKind::attr) return fail(fmt::format("attribute '{}' has no value", n.name));
      at.push_back(n.kind == ExprKind::constant ? group_.expr.constant(n.value)
                   : n.kind == ExprKind::input  ? operands[size_t(n.index)]
                                                : group_.expr.make(n.kind, of(n.a), of(n.b), of(n.c)));
    }
    made_[node.outputs[0]] = at[size_t(own.root)];
    return true;
  }

  bool operand(ValueId wanted, int& at) {
    const ValueId v = graph::source_of(g_, wanted);
    if (auto it = made_.find(v); it != made_.end()) {
      at = it->second;
      return true;
    }
    const graph::Value& value = g_.value(v);
    if (const ops::Tensor* constant = g_.constant_of(v)) {
      at = constant->elements() == 1 ? group_.expr.constant(constant->get(0))
                                     : input(RowInputKind::constant, v, -1);
      return true;
    }
    if (value.type.elements() != group_.rows * group_.n)
      return fail(fmt::format("operand '{}' is made by another kernel", value.name));
    if (group_.operand.valid() && group_.operand != v)
      return fail(fmt::format("'{}' and '{}' are two streams", g_.value(group_.operand).name, value.name));
    group_.operand = v;
    at = input(RowInputKind::row, v, -1);
    return true;
  }

  // The form that vector instructions want, which must be there.
  bool finish() {
    std::vector<bool> numbers;
    for (const RowInput& in : group_.inputs) numbers.push_back(!in.is_slice());
    std::vector<int> moved;
    group_.expr = rewrite_for_vectors(group_.expr, numbers, &moved);
    for (RowInput& in : group_.inputs) {
      if (in.of >= 0) in.of = moved[size_t(in.of)];
    }
    const std::vector<bool> number = group_.numbers();
    const std::vector<Range> ranges = ranges_of(group_.expr, group_.largest_of());
    const std::vector<bool> used = uses();
    if (number[size_t(group_.expr.root)]) return fail("its result is one number per row");
    for (size_t i = 0; i < group_.expr.nodes.size(); ++i) {
      const ExprNode& n = group_.expr.nodes[i];
      if (!used[i]) continue;
      group_.flops += ops::operations_of(n.kind) * double(group_.rows) * (number[i] ? 1 : double(group_.n));
      if (number[i] || n.kind == ExprKind::input) continue;
      if (!has_vector_form(group_.expr, int(i), ranges))
        return fail(fmt::format("{} of a row takes a loop of scalars", ops::expr_kind_name(n.kind)));
    }
    for (const RowInput& in : group_.inputs) {
      if (in.is_slice()) continue;
      if (number[size_t(in.of)]) return fail("it reduces one number per row");
      group_.flops += double(group_.rows * group_.n);
    }
    return true;
  }

  std::vector<bool> uses() const {
    std::vector<bool> used(group_.expr.nodes.size(), false);
    used[size_t(group_.expr.root)] = true;
    for (const RowInput& in : group_.inputs) {
      if (in.of >= 0) used[size_t(in.of)] = true;
    }
    for (size_t i = used.size(); i-- > 0;) {
      const ExprNode& n = group_.expr.nodes[i];
      for (int o : {n.a, n.b, n.c}) {
        if (used[i] && o >= 0) used[size_t(o)] = true;
      }
    }
    return used;
  }

  const Graph& g_;
  RowGroup& group_;
  std::string& why_;
  bool resident_;
  std::map<ValueId, int> made_;  // node of the expression
};

}  // namespace

std::vector<bool> RowGroup::numbers() const {
  std::vector<bool> list;
  for (const ExprNode& n : expr.nodes) {
    bool number = n.kind != ExprKind::input || !inputs[size_t(n.index)].is_slice();
    for (int o : {n.a, n.b, n.c}) number = number && (o < 0 || list[size_t(o)]);
    list.push_back(number);
  }
  return list;
}

std::vector<int> RowGroup::largest_of() const {
  std::vector<int> list;
  for (const RowInput& in : inputs) list.push_back(in.kind == RowInputKind::largest ? in.of : -1);
  return list;
}

std::vector<ValueId> RowGroup::constants() const {
  std::vector<ValueId> list;
  for (const RowInput& in : inputs) {
    if (in.kind == RowInputKind::constant) list.push_back(in.value);
  }
  return list;
}

kernels::Work RowGroup::work(const kernels::RowCost& cost) const {
  kernels::Work work;
  work.kind = kernels::rows_kind();
  work.row = n;
  work.n = work.m = rows * n;
  work.constants = int(constants().size());
  work.flops_per_element = flops / double(rows * n);
  work.row_cost = cost;
  return work;
}

bool row_member(const Graph& g, NodeId id, int64_t& rows, int64_t& n, std::string& why, bool resident) {
  const ops::OpDef& op = g.op(id);
  const bool reduces = op.kind == ops::OpKind::reduction && is_row_reduction(g.node(id).op);
  if (!reduces && op.kind != ops::OpKind::elementwise) {
    why = fmt::format("{} is neither elementwise nor a sum or maximum of rows", g.node(id).op);
    return false;
  }
  const std::optional<kernels::Work> work = kernels::work_of(g, id, why);
  if (!work) return false;
  if (work->half && !resident) {
    why = "its streams are not f32";
    return false;
  }
  if (reduces && n == 0) rows = work->rows, n = work->n;
  const bool fits = reduces ? work->rows == rows && work->n == n : work->m == rows * n || work->m == rows;
  if (!fits || n < 2) why = fmt::format("{} is not of {} rows of {} elements", g.node(id).name, rows, n);
  return fits && n >= 2 && (reduces || elementwise_fits(g, id, rows, n, why));
}

bool make_row_group(const Graph& g, std::span<const NodeId> nodes, RowGroup& group, std::string& why,
                    bool resident) {
  return Builder(g, group, why, resident).run(nodes);
}

}  // namespace cs::autogen
