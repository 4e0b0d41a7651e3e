// The switches, and the two rewrites that join.
#include "compiler/passes/rewrites.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <limits>
#include <map>

#include <fmt/format.h>

#include "compiler/graph/sample.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/shards.h"

namespace cs::passes {

namespace {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::ValueId;

constexpr std::string_view kProducts[] = {"whole", "rule", "estimate"};

ValueId add_like(Graph& g, const Node& like, const std::string& op, std::vector<ValueId> inputs, Attrs attrs,
                 Diag& diag) {
  Node n;
  n.name = g.fresh_name(like.name + "_joined");
  n.op = op;
  n.inputs = std::move(inputs);
  n.attrs = std::move(attrs);
  n.loc = like.loc;
  n.where = like.where;
  n.from = like.from;
  n.from_op = like.from_op;
  const std::string name = n.name;
  const NodeId id = g.add_node(std::move(n));
  const ValueId v = g.add_result(id, g.fresh_name(name + "_out"));
  return graph::infer_node(g, id, diag) ? v : ValueId{};
}

// ---- parts

class Parts {
 public:
  Parts(Graph& g, NodeId concat, Diag& diag)
      : g_(g),
        diag_(diag),
        rank_(g.value(g.node(concat).outputs[0]).type.rank()),
        axis_(axis_of(concat, "axis")) {}

  // What these values are parts of, if the operators between are the same for all; nothing is changed.
  bool can(const std::vector<ValueId>& parts) const {
    if (whole_of(parts)) return true;
    const NodeId first = g_.value(parts[0]).producer;
    if (!first.valid() || g_.op(first).kind != ops::OpKind::elementwise) return false;
    for (const ValueId v : parts)
      if (!alike(first, v)) return false;
    bool any = false;
    for (size_t k = 0; k < g_.node(first).inputs.size(); ++k) {
      if (same_number(parts, k)) continue;
      if (!can(operands(parts, k))) return false;
      any = true;
    }
    return any;
  }

  ValueId make(const std::vector<ValueId>& parts) {
    if (const auto whole = whole_of(parts)) return *whole;
    const Node first = g_.node(g_.value(parts[0]).producer);
    std::vector<ValueId> inputs;
    for (size_t k = 0; k < first.inputs.size(); ++k)
      inputs.push_back(same_number(parts, k) ? first.inputs[k] : make(operands(parts, k)));
    return add_like(g_, first, first.op, std::move(inputs), first.attrs, diag_);
  }

 private:
  int64_t axis_of(NodeId id, const char* name) const {
    const int64_t axis = ops::attr_int(g_.op(id), g_.node(id).attrs, name);
    return axis < 0 ? axis + rank_ : axis;
  }
  // All results of one split along the axis, in their order.
  std::optional<ValueId> whole_of(const std::vector<ValueId>& parts) const {
    const NodeId split = g_.value(parts[0]).producer;
    if (!split.valid() || g_.node(split).op != "split" || g_.node(split).outputs != parts ||
        axis_of(split, "axis") != axis_)
      return std::nullopt;
    return g_.node(split).inputs[0];
  }
  bool alike(NodeId first, ValueId v) const {
    const graph::Value& value = g_.value(v);
    if (!value.producer.valid() || value.users.size() != 1 || value.is_output || value.type.rank() != rank_)
      return false;
    const Node &a = g_.node(first), &b = g_.node(value.producer);
    return a.op == b.op && a.attrs == b.attrs && a.inputs.size() == b.inputs.size();
  }
  // Operand k is the same one number for all of them.
  bool same_number(const std::vector<ValueId>& parts, size_t k) const {
    const std::vector<ValueId> list = operands(parts, k);
    const ops::Tensor* first = list[0].valid() ? g_.constant_of(list[0]) : nullptr;
    if (first == nullptr || first->elements() != 1) return false;
    return std::ranges::all_of(list, [&](ValueId v) {
      const ops::Tensor* t = v.valid() ? g_.constant_of(v) : nullptr;
      return t != nullptr && *t == *first;
    });
  }
  std::vector<ValueId> operands(const std::vector<ValueId>& parts, size_t k) const {
    std::vector<ValueId> list;
    for (const ValueId v : parts) list.push_back(g_.node(g_.value(v).producer).inputs[k]);
    return list;
  }

  Graph& g_;
  Diag& diag_;
  const int rank_;
  const int64_t axis_;
};

// ---- products of one value

// A product of a matrix with a constant one, whose bias is constant if it has one.
bool may_join(const Graph& g, NodeId id) {
  const Node& n = g.node(id);
  if (n.op != "gemm" && n.op != "matmul") return false;
  const ops::Tensor* w = g.constant_of(n.inputs[1]);
  const bool biased = n.inputs.size() > 2 && n.inputs[2].valid();
  if (w == nullptr || w->type.rank() != 2 || g.value(n.inputs[0]).type.rank() != 2) return false;
  if (n.op == "gemm" &&
      (ops::attr_int(g.op(id), n.attrs, "trans_a") != 0 || ops::attr_int(g.op(id), n.attrs, "trans_b") != 0))
    return false;
  const ops::Tensor* b = biased ? g.constant_of(n.inputs[2]) : nullptr;
  return !biased || (b != nullptr && b->elements() == w->type.shape[1]);
}

// Columns of matrices with equal rows side by side.
ops::Tensor side_by_side(const std::vector<const ops::Tensor*>& parts, int64_t rows) {
  int64_t columns = 0;
  for (const ops::Tensor* t : parts) columns += t->elements() / rows;
  const ops::TensorType& first = parts[0]->type;
  ops::Tensor all({first.dtype, first.rank() == 2 ? ops::Shape{rows, columns} : ops::Shape{columns}});
  const size_t element = size_t(data_type_bytes(first.dtype));
  size_t to = 0;
  for (int64_t r = 0; r < rows; ++r)
    for (const ops::Tensor* t : parts) {
      const size_t run = size_t(t->elements() / rows) * element;
      std::memcpy(all.bytes.data() + to, t->bytes.data() + size_t(r) * run, run);
      to += run;
    }
  return all;
}

bool join_products_of(Graph& g, const std::vector<NodeId>& products, Diag& diag) {
  const Node first = g.node(products[0]);
  std::vector<const ops::Tensor*> weights, biases;
  std::vector<int64_t> extents;
  for (const NodeId id : products) {
    const Node& n = g.node(id);
    weights.push_back(g.constant_of(n.inputs[1]));
    extents.push_back(weights.back()->type.shape[1]);
    if (n.inputs.size() > 2 && n.inputs[2].valid()) biases.push_back(g.constant_of(n.inputs[2]));
  }
  const int64_t rows = weights[0]->type.shape[0];
  std::vector<ValueId> inputs = {
      first.inputs[0], g.add_constant(g.fresh_name(first.name + "_weights"), side_by_side(weights, rows))};
  if (!biases.empty()) {
    ops::Tensor all = side_by_side(biases, 1);
    all.type.shape = {all.elements()};
    inputs.push_back(g.add_constant(g.fresh_name(first.name + "_biases"), std::move(all)));
  }
  const ValueId product = add_like(g, first, first.op, std::move(inputs), first.attrs, diag);
  if (!product.valid()) return false;
  Node split;
  split.name = g.fresh_name(first.name + "_split");
  split.op = "split";
  split.inputs = {product};
  split.where = first.where;
  split.loc = first.loc;
  ops::set_attr(split.attrs, "axis", int64_t(1));
  ops::set_attr(split.attrs, "split", extents);
  const NodeId parts = g.add_node(std::move(split));
  for (size_t k = 0; k < products.size(); ++k)
    g.add_result(parts, g.fresh_name(g.node(products[k]).name + "_part"));
  if (!graph::infer_node(g, parts, diag)) return false;
  for (size_t k = 0; k < products.size(); ++k) {
    g.replace_uses(g.node(products[k]).outputs[0], g.node(parts).outputs[k]);
    g.erase(products[k]);
  }
  return true;
}

}  // namespace

std::string Rewrites::text() const {
  const auto cut = [](const char* key, int64_t parts) { return parts == 1 ? "" : fmt::format(" {}={}", key, parts); };
  return fmt::format("parts={} batch_products={} products={}{}{}{}{}{}", parts ? "on" : "off", batch_products,
                     kProducts[size_t(products)], cut("shards", shards), cut("columns", columns), cut("heads", heads),
                     cut("sums", sums), attention ? " attention=on" : "");
}

bool read_rewrite(std::string_view text, Rewrites& r, std::string& why) {
  const size_t sign = text.find('=');
  const std::string_view key = text.substr(0, sign), value = sign == text.npos ? "" : text.substr(sign + 1);
  if (key == "parts" && (value == "on" || value == "off")) {
    r.parts = value == "on";
    return true;
  }
  if (key == "attention" && (value == "on" || value == "off")) {
    r.attention = value == "on";
    return true;
  }
  const auto count = [&](int64_t& to, int64_t least, int64_t most) {
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), to);
    return error == std::errc() && end == value.data() + value.size() && to >= least && to <= most;
  };
  if (key == "shards" && value == "auto") {
    r.shards = kBestShards;
    return true;
  }
  if (key == "shards" && count(r.shards, 1, kMostShards)) return true;
  if (key == "batch_products" && count(r.batch_products, 0, std::numeric_limits<int64_t>::max())) return true;
  if (key == "columns" && count(r.columns, 1, kMostColumns)) return true;
  if (key == "heads" && count(r.heads, 1, kMostShards)) return true;
  if (key == "sums" && count(r.sums, 1, kMostShards)) return true;
  const auto product = std::ranges::find(kProducts, value);
  if (key == "products" && product != std::end(kProducts)) {
    r.products = Products(product - std::begin(kProducts));
    return true;
  }
  why = fmt::format(
      "'{}' is no rewrite; there are parts=on|off, batch_products=N, products=whole|rule|estimate, shards=N|auto, "
      "heads=N and sums=N from 1 to {}, columns=N from 1 to {}, attention=on|off",
      text, kMostShards, kMostColumns);
  return false;
}

bool join_parts(Graph& g, PassContext& context) {
  for (const NodeId id : g.topological()) {
    if (!context.rewrites.parts || !g.node(id).alive || g.node(id).op != "concat" ||
        g.node(id).inputs.size() < 2)
      continue;
    const ValueId result = g.node(id).outputs[0];
    Parts parts(g, id, context.diag);
    const std::vector<ValueId> inputs = g.node(id).inputs;
    if (!g.value(inputs[0]).producer.valid() || !parts.can(inputs)) continue;
    const ValueId whole = parts.make(inputs);
    if (!whole.valid()) return false;
    const graph::Value& from = g.value(whole);
    if (g.value(result).is_output && (from.is_output || !from.producer.valid()))
      continue;  // an output needs a node
    g.value(whole).sample_dim = g.value(result).sample_dim;
    g.value(whole).sample_stride = g.value(result).sample_stride;
    g.replace_uses(result, whole);
    g.erase(id);
  }
  g.remove_dead();
  return true;
}

bool join_products(Graph& g, PassContext& context) {
  if (context.rewrites.batch_products < 1) return true;
  std::map<std::tuple<ValueId, std::string, bool, DataType>, std::vector<NodeId>> of;  // by operand and kind
  for (const NodeId id : g.topological()) {
    if (!may_join(g, id) || g.value(g.node(id).outputs[0]).is_output) continue;
    const Node& n = g.node(id);
    const bool biased = n.inputs.size() > 2 && n.inputs[2].valid();
    of[{n.inputs[0], n.op, biased, g.value(n.inputs[1]).type.dtype}].push_back(id);
  }
  for (const auto& entry : of) {
    const std::vector<NodeId>& products = entry.second;
    const auto same = [&](NodeId id) { return g.node(id).attrs == g.node(products[0]).attrs; };
    if (products.size() < 2 || int64_t(products.size()) < context.rewrites.batch_products ||
        !std::all_of(products.begin(), products.end(), same))
      continue;
    if (!join_products_of(g, products, context.diag)) return false;
  }
  return graph::propagate_samples(g, context.diag);
}

}  // namespace cs::passes
