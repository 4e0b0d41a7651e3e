// A table of which no PE can hold a single column becomes parts of rows: every part is gathered for itself,
// with the indices that lie outside moved to its edge, and its rows are selected where they lie inside.
//
//   y = gather(table, i)   →   y0 = gather(table[0:r], i0);  yk = where(kr ≤ i < (k+1)r,
//   gather(table[kr:(k+1)r], ik), y(k-1))
//
// Indices from -rows to -1 count from the end, as gather has them. The last dimension of a table is cut
// freely among PEs, so a column (one element per row, 4 bytes in a PE) is the least that one of them keeps.
#include <cstring>

#include <fmt/format.h>

#include "compiler/passes/passes.h"

namespace cs::passes {
namespace {

using graph::Graph;
using graph::NodeId;
using graph::ValueId;

constexpr int64_t kBytesInPe = 4;
// Part of a PE's memory for the column; the rest is for code, indices and results.
constexpr double kColumnShare = 0.75;

// Adds nodes in place of one that is taken apart.
class Parts {
 public:
  Parts(Graph& g, NodeId id, Diag& diag) : g_(g), node_(g.node(id)), diag_(diag) {}

  ValueId op(const char* row, std::vector<ValueId> inputs, Attrs attrs = {}) {
    graph::Node n;
    n.name = g_.fresh_name(fmt::format("{}_{}", node_.name, row));
    n.op = row;
    n.inputs = std::move(inputs);
    n.attrs = std::move(attrs);
    n.loc = node_.loc;
    n.where = node_.where;
    n.from = node_.from.empty() ? node_.name : node_.from;
    n.from_op = node_.from.empty() ? node_.op : node_.from_op;
    const std::string name = n.name;
    const NodeId made = g_.add_node(std::move(n));
    const ValueId result = g_.add_result(made, g_.fresh_name(name + "_out"));
    good_ = graph::infer_node(g_, made, diag_) && good_;
    return result;
  }
  ValueId number(DataType type, int64_t value) {
    ops::Tensor t(ops::TensorType{type, {}});
    t.set(0, double(value));
    return g_.add_constant(g_.fresh_name(fmt::format("{}_{}", node_.name, value)), std::move(t));
  }
  // Rows from `first` of a constant.
  ValueId rows(const ops::Tensor& table, int64_t first, int64_t count) {
    ops::TensorType type = table.type;
    const size_t row = table.bytes.size() / size_t(type.shape[0]);
    type.shape[0] = count;
    ops::Tensor part(type);
    std::memcpy(part.bytes.data(), table.bytes.data() + size_t(first) * row, size_t(count) * row);
    return g_.add_constant(g_.fresh_name(fmt::format("{}_rows_{}", node_.name, first)), std::move(part));
  }
  bool good() const { return good_; }

 private:
  Graph& g_;
  const graph::Node node_;  // by value: adding nodes moves the graph's
  Diag& diag_;
  bool good_ = true;
};

// The index with as many dimensions of 1 behind it as a row of the table has.
ValueId beside_rows(Parts& parts, const Graph& g, ValueId index, size_t row_rank) {
  ops::Shape shape = g.value(index).type.shape;
  shape.insert(shape.end(), row_rank, 1);
  return parts.op("reshape", {index}, {{"shape", std::move(shape)}});
}

bool split(Graph& g, NodeId id, int64_t rows_per_part, Diag& diag) {
  const ValueId index = g.node(id).inputs[1], result = g.node(id).outputs[0];
  const ops::Tensor table = *g.constant_of(g.node(id).inputs[0]);
  const int64_t rows = table.type.shape[0];
  const DataType type = g.value(index).type.dtype;
  Parts p(g, id, diag);
  const ValueId zero = p.number(type, 0);
  const ValueId from_start =
      p.op("where", {p.op("less", {index, zero}), p.op("add", {index, p.number(type, rows)}), index});
  ValueId made;
  for (int64_t first = 0; first < rows; first += rows_per_part) {
    const int64_t count = std::min(rows_per_part, rows - first);
    const ValueId inside = first == 0 ? from_start : p.op("sub", {from_start, p.number(type, first)});
    const ValueId last = p.op("min", {inside, p.number(type, count - 1)});
    const ValueId part =
        p.op("gather", {p.rows(table, first, count), p.op("max", {last, zero})}, {{"axis", int64_t(0)}});
    // What lies behind this part is chosen from a later one.
    made = first == 0 ? part
                      : p.op("where", {beside_rows(p, g, p.op("greater_or_equal", {inside, zero}),
                                                   table.type.shape.size() - 1),
                                       part, made});
  }
  if (!p.good()) return false;
  if (g.value(result).is_output) {
    made = p.op("identity", {made});
  }
  g.replace_uses(result, made);
  g.erase(id);
  return true;
}

}  // namespace

bool split_tables(Graph& g, PassContext& context) {
  if (context.policy == Policy::disabled) return true;  // the host holds any table
  const auto memory = int64_t(double(context.machine.core.memory_bytes) * kColumnShare);
  const int64_t rows_per_part = memory / kBytesInPe;
  for (NodeId id : g.topological()) {
    const graph::Node& n = g.node(id);
    if (!n.alive || n.op != "gather" || n.assignment.origin) continue;
    const ops::Tensor* table = n.inputs[0].valid() ? g.constant_of(n.inputs[0]) : nullptr;
    if (table == nullptr || table->type.shape.empty() || table->type.shape[0] <= rows_per_part) continue;
    if (ops::attr_int(g.op(id), n.attrs, "axis") != 0 || g.constant_of(n.inputs[1]) != nullptr) continue;
    // Parts of equal size, one row more or less.
    const int64_t rows = table->type.shape[0], parts = (rows + rows_per_part - 1) / rows_per_part;
    if (!split(g, id, (rows + parts - 1) / parts, context.diag)) return false;
  }
  g.remove_dead();
  return true;
}

}  // namespace cs::passes
