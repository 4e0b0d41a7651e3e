// Baselines: every generated kernel alone, beside the same operators by hand or by primitives on its rectangle.
//
//   1. the nodes of the kernel are copied into a graph of their own: operands become inputs, what leaves the kernel
//   outputs
//   2. `self` maps that graph as it is, forced onto the rectangle that the kernel has in the network
//   3. `bases` are what stands against it:
//        one kernel of the library, where it has one for the whole: a product, a sum, a chain over one stream (whose
//        operators the library's kernel of that kind stands for)
//        else the operators one after the other, each the library's or generated alone, each on the whole
//        rectangle or what it can use of it; their cycles are added; a single operator that the library does not
//        have, as its primitives in that way
#include <algorithm>
#include <map>
#include <memory>

#include <fmt/format.h>

#include "compiler/graph/expand.h"
#include "compiler/kernels/kind.h"
#include "compiler/mapping/alone.h"
#include "compiler/mapping/mapping.h"

namespace cs::mapping {

namespace {

using graph::Graph;
using graph::NodeId;
using graph::ValueId;

// A program that stands against a kernel, or one of several that do so in turn.
struct Part {
  std::string name;
  CopyForm form;
  std::vector<NodeId> nodes;
  std::shared_ptr<const Graph> primitives = {};  // where the nodes are; null: in the network
};
using Counterpart = std::vector<Part>;  // empty: there is none

std::string name_of(const Counterpart& c) {
  std::string name;
  for (const Part& p : c) name += (name.empty() ? "" : ", then ") + p.name;
  return name;
}

// Values from outside the chain, and whether all have as many elements as the result.
size_t streams_of(const Graph& g, const std::vector<NodeId>& nodes, bool& equal) {
  std::vector<ValueId> seen;
  for (NodeId id : nodes) {
    for (ValueId v : g.node(id).inputs) {
      if (!v.valid() || g.value(v).is_constant()) continue;
      NodeId producer = g.value(graph::source_of(g, v)).producer;
      if (producer.valid() && among(nodes, producer)) continue;
      equal = equal && g.value(v).type.elements() == g.value(g.node(nodes.back()).outputs[0]).type.elements();
      if (std::find(seen.begin(), seen.end(), v) == seen.end()) seen.push_back(v);
    }
  }
  return seen.size();
}

// The library's elementwise kernel, which stands for all of its kind.
const kernels::Row* stand_in(const Graph& g, NodeId id) {
  return g.op(id).kind == ops::OpKind::elementwise ? kernels::stand_in_for(g, id) : nullptr;
}

Part by_stand_in(const kernels::Row& row, const std::vector<NodeId>& nodes) {
  return {std::string(row.name), {CopyForm::Kind::library, row.ops.front()}, nodes};
}

// The operators one after the other. One that neither the library nor its stand-in can do stands for itself, so
// alone it is no counterpart.
Counterpart one_by_one(const Graph& g, const std::vector<NodeId>& nodes) {
  Counterpart parts;
  for (NodeId id : nodes) {
    if (graph::is_transparent(g, id)) continue;
    std::string why;
    if (const kernels::Row* row = kernels::match_handwritten(g, id, why))
      parts.push_back({std::string(row->name), {CopyForm::Kind::library, {}}, {id}});
    else if (kernels::generator_for(g, id, why) != nullptr)
      parts.push_back({g.node(id).op, {CopyForm::Kind::alone, {}}, {id}});
    else
      return {};
  }
  if (parts.size() != 1 || parts[0].form.kind == CopyForm::Kind::library) return parts;
  const kernels::Row* row = stand_in(g, parts[0].nodes[0]);
  return row != nullptr ? Counterpart{by_stand_in(*row, parts[0].nodes)} : Counterpart{};
}

// A product of two streams as what it is the sum of: (M, K, 1) times (1, K, N), summed over K.
bool expand_product(Graph& g, NodeId id, Diag& diag) {
  const graph::Node node = g.node(id);
  if (node.op != "matmul") return false;
  std::vector<int64_t> a = g.value(node.inputs[0]).type.shape, b = g.value(node.inputs[1]).type.shape;
  if (a.size() < 2 || b.size() < 2) return false;
  a.push_back(1);
  b.insert(b.end() - 2, 1);
  const ops::DecompositionStep steps[] = {
      {{"left"}, "reshape", {"a"}, {{"shape", a}}},
      {{"right"}, "reshape", {"b"}, {{"shape", b}}},
      {{"all"}, "mul", {"left", "right"}, {}},
      {{"y"}, "reduce_sum", {"all"}, {{"axes", std::vector<int64_t>{-2}}, {"keepdims", int64_t(0)}}}};
  std::map<std::string, ValueId> values{{"a", node.inputs[0]}, {"b", node.inputs[1]}};
  if (!graph::add_steps(g, node, steps, values, diag)) return false;
  g.replace_uses(node.outputs[0], values.at("y"));
  g.erase(id);
  return true;
}

// An operator that no kernel of the library does, as what its row decomposes it into.
Counterpart by_primitives(const Graph& g, NodeId id) {
  const bool product = g.op(id).kind == ops::OpKind::contraction;
  if (!product && g.op(id).kind != ops::OpKind::compound && g.op(id).primitives == nullptr) return {};
  const auto primitives = std::make_shared<Graph>();
  Diag none;
  const std::optional<NodeId> node = graph::alone(g, id, *primitives, none);
  if (!node || !(product ? expand_product(*primitives, *node, none) : graph::expand_all(*primitives, *node, none)))
    return {};
  Counterpart parts = one_by_one(*primitives, primitives->topological());
  for (Part& part : parts) part.primitives = primitives;
  return parts;
}

// A library's product with the elementwise operators behind it as the epilogue that the library has.
Counterpart product_by_hand(const Graph& g, const std::vector<NodeId>& nodes) {
  std::string why;
  const kernels::Row* product = kernels::match_handwritten(g, nodes.front(), why);
  if (product == nullptr) return one_by_one(g, nodes);
  if (nodes.size() == 1) return {{std::string(product->name), {CopyForm::Kind::library, {}}, nodes}};
  const kernels::Row* row = stand_in(g, nodes.back());
  if (row == nullptr || row->epilogue.empty()) return one_by_one(g, nodes);
  return {{fmt::format("{} + {}", product->name, row->name), {CopyForm::Kind::library, row->ops.front()}, nodes}};
}

Counterpart counterpart(const Graph& g, const std::vector<NodeId>& nodes) {
  if (kernels::writes_groups(g, nodes.front())) {
    Counterpart parts = one_by_one(g, nodes);
    return parts.empty() && nodes.size() == 1 ? by_primitives(g, nodes[0]) : parts;
  }
  const ops::OpKind kind = g.op(nodes.front()).kind;
  if (kind == ops::OpKind::contraction) {
    Counterpart parts = product_by_hand(g, nodes);
    return parts.empty() && nodes.size() == 1 ? by_primitives(g, nodes[0]) : parts;
  }
  if (kind != ops::OpKind::elementwise) return one_by_one(g, nodes);
  bool equal = true;
  const kernels::Row* row = stand_in(g, nodes.front());
  if (row != nullptr && streams_of(g, nodes, equal) == 1 && equal) return {by_stand_in(*row, nodes)};
  return one_by_one(g, nodes);
}

std::vector<NodeId> nodes_of(const Graph& g, const KernelRow& row) {
  std::vector<NodeId> nodes;
  for (const std::string& name : row.nodes) nodes.push_back(*g.find_node(name));
  return nodes;
}

}  // namespace

// Equal kernels share the baseline of the first of them.
void name_baselines(const Graph& g, HostPart& host) {
  std::map<std::string, std::string> first;
  std::map<std::vector<std::string>, std::string> of_nodes;  // in the first copy of the network
  for (KernelRow& row : host.kernels) {
    if (row.origin != Origin::autogen || row.nodes.empty()) continue;
    if (row.copy > 0) {
      row.baseline = of_nodes[row.nodes];
      continue;
    }
    const std::vector<NodeId> nodes = nodes_of(g, row);
    if (counterpart(g, nodes).empty()) continue;
    const std::string text = fmt::format("{} x {} {}", row.rect.w, row.rect.h, kernel_text(g, nodes));
    row.baseline = of_nodes[row.nodes] = first.emplace(text, row.name).first->second;
  }
}

std::vector<Baseline> make_baselines(const Graph& g, const Mapped& mapped, const Machine& machine,
                                     const MapOptions& options, std::vector<MissingBaseline>& missing) {
  std::vector<Baseline> list;
  for (const KernelRow& row : mapped.host.kernels) {
    if (row.baseline != row.name) continue;  // none, or that of another one
    const std::vector<NodeId> nodes = nodes_of(g, row);
    const Counterpart other = counterpart(g, nodes);
    MapOptions forced = options;
    forced.copies = {};
    forced.fabric_width = forced.fabric_height = 0;
    forced.force_width = row.rect.w;
    forced.force_height = row.rect.h;
    Diag diag;
    std::optional<Mapped> self = map_graph(copy_alone(g, nodes, row.name), machine, forced, diag);
    Baseline made{row.name, name_of(other), Origin::handwritten, {}, {}};
    for (const Part& part : other) {
      bool library = part.form.kind == CopyForm::Kind::library;
      std::optional<Mapped> base;
      const auto mapped_as = [&](const CopyForm& form, Diag& why) {
        const Graph& from = part.primitives ? *part.primitives : g;
        return map_inside(copy_alone(from, part.nodes, row.name, form), row.rect, machine, forced, why);
      };
      Diag none;  // one of several that the library cannot do here is generated
      const bool may_generate = library && other.size() > 1;
      if (self) base = mapped_as(part.form, may_generate ? none : diag);
      if (self && !base && may_generate) {
        base = mapped_as({CopyForm::Kind::alone, {}}, diag);
        library = false;
      }
      if (!base) break;
      if (!library) made.origin = Origin::primitive;
      made.bases.push_back(std::move(*base));
    }
    if (made.bases.size() < other.size()) {
      missing.push_back({row.name, made.counterpart, diag.to_string()});
      continue;
    }
    made.self = std::move(*self);
    list.push_back(std::move(made));
  }
  return list;
}

}  // namespace cs::mapping
