// A table of which no PE can hold a single column becomes parts of rows (table_parts.h). The last dimension of a table
// is cut freely among PEs, so a column (one element per row, 4 bytes in a PE) is the least that one of them keeps.
#include <cstring>
#include <map>
#include <memory>
#include <tuple>

#include <fmt/format.h>

#include "compiler/passes/passes.h"
#include "compiler/passes/table_parts.h"

namespace cs::passes {
namespace {

using graph::Graph;
using graph::NodeId;
using graph::ValueId;

constexpr int64_t kBytesInPe = 4;
// Part of a PE's memory for the column; the rest is for code, indices and results.
constexpr double kColumnShare = 0.75;

// Rows from `first` of a constant.
ValueId rows_of(Rewriter& r, const ops::Tensor& table, int64_t first, int64_t count) {
  ops::TensorType type = table.type;
  const size_t row = table.bytes.size() / size_t(type.shape[0]);
  type.shape[0] = count;
  ops::Tensor part(type);
  std::memcpy(part.bytes.data(), table.bytes.data() + size_t(first) * row, size_t(count) * row);
  return r.constant(fmt::format("rows_{}", first), std::move(part));
}

// Of tables that several nodes gather from (shards of a sample): by table, first row and number of rows. A part is as
// large as a PE's memory allows, and all parts together as large as the table.
using Parts = std::map<std::tuple<std::shared_ptr<const ops::Tensor>, int64_t, int64_t>, ValueId>;

bool split(Graph& g, NodeId id, int64_t rows_per_part, Parts& parts, Diag& diag) {
  const auto shared = g.shared_constant_of(g.node(id).inputs[0]);
  const ops::Tensor& table = *shared;
  const int64_t rows = table.type.shape[0];
  Rewriter r(g, id, diag);
  std::vector<TablePart> list;
  for (int64_t first = 0; first < rows; first += rows_per_part) {
    const int64_t count = std::min(rows_per_part, rows - first);
    const auto [known, is_new] = parts.try_emplace({shared, first, count});
    if (is_new) known->second = rows_of(r, table, first, count);
    list.push_back({known->second, count});
  }
  return r.replace({gather_from_parts(r, list, 0)});
}

}  // namespace

bool split_tables(Graph& g, PassContext& context) {
  if (context.policy == Policy::disabled) return true;  // the host holds any table
  const auto memory = int64_t(double(context.machine.core.memory_bytes) * kColumnShare);
  const int64_t rows_per_part = memory / kBytesInPe;
  std::vector<NodeId> nodes = g.topological();
  Parts made_parts;
  for (size_t i = 0; i < nodes.size(); ++i) {
    const NodeId id = nodes[i];
    const graph::Node& n = g.node(id);
    if (!n.alive || n.op != "gather" || n.assignment.origin) continue;
    const ops::Tensor* table = n.inputs[0].valid() ? g.constant_of(n.inputs[0]) : nullptr;
    if (table == nullptr || table->type.shape.empty()) continue;
    // A part that did not fit (indices and results take room too) is halved.
    const bool halve =
        !context.fallbacks.refused(n.name, Origin::autogen).empty() && table->type.shape[0] > 1;
    if (table->type.shape[0] <= rows_per_part && !halve) continue;
    if (ops::attr_int(g.op(id), n.attrs, "axis") != 0 || g.constant_of(n.inputs[1]) != nullptr) continue;
    // Parts of equal size, one row more or less.
    const int64_t rows = table->type.shape[0];
    const int64_t parts = std::max<int64_t>(halve ? 2 : 1, (rows + rows_per_part - 1) / rows_per_part);
    const size_t before = g.node_slots();
    if (!split(g, id, (rows + parts - 1) / parts, made_parts, context.diag)) return false;
    for (size_t made = before; made < g.node_slots(); ++made) nodes.push_back(NodeId{int32_t(made)});
  }
  g.remove_dead();
  return true;
}

}  // namespace cs::passes
