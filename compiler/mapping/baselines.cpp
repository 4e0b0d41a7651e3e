// Baselines: every generated kernel alone, beside its handwritten counterpart on the same rectangle.
//
//   1. the nodes of the kernel are copied into a graph of their own: operands become inputs, the result the
//   output
//   2. `self` maps that graph as it is; `base` maps it with the handwritten origin, elementwise parts being
//   replaced
//      by relu, the handwritten kernel of the same kind; a chain over several streams has no handwritten
//      kind, its base is the composition: every operator a kernel of its own
//   3. both are forced onto the rectangle that the kernel has in the whole network
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "compiler/autogen/autogen.h"
#include "compiler/graph/graph_yaml.h"
#include "compiler/mapping/mapping.h"
#include "runtime/support/files.h"

namespace cs::mapping {

namespace {

using graph::Graph;
using graph::NodeId;
using graph::ValueId;

enum class Form : uint8_t { self, handwritten, composition };

// Copies nodes; elementwise ones become a single relu in the handwritten form.
class Copier {
 public:
  Copier(const Graph& g, const std::vector<NodeId>& nodes, Form form)
      : g_(g), nodes_(nodes), form_(form), base_(form == Form::handwritten) {}
  // Numbers instead of names and places: equal kernels give equal graphs.
  Copier& without_names() {
    named_ = false;
    return *this;
  }

  Graph run(const std::string& name) {
    out_.name = name;
    ValueId last;
    bool relu = false;
    for (NodeId id : nodes_) {
      bool elementwise = g_.op(id).kind == ops::OpKind::elementwise;
      if (base_ && elementwise && relu) {
        result_[g_.node(id).outputs[0]] = last;
        continue;
      }
      last = copy(id, base_ && elementwise);
      relu = relu || elementwise;
    }
    out_.set_output(last);
    return std::move(out_);
  }

 private:
  std::string name(const std::string& own) { return named_ ? own : fmt::format("v{}", numbers_++); }

  // What the node takes: its source in the copy, as a view of it where it has another shape.
  ValueId operand(ValueId v) {
    const ValueId source = graph::source_of(g_, v);
    auto it = result_.find(source);
    if (it == result_.end()) it = result_.emplace(source, outside(source)).first;
    const graph::Value& wanted = g_.value(v);
    if (out_.value(it->second).type.shape == wanted.type.shape) return it->second;
    graph::Node view;
    view.name = out_.fresh_name(name(wanted.name + "_view"));
    view.op = "reshape";
    view.inputs = {it->second};
    view.attrs = {{"shape", std::vector<int64_t>(wanted.type.shape)}};
    return typed(out_.add_result(out_.add_node(std::move(view)), out_.fresh_name(name(wanted.name))), wanted);
  }
  ValueId outside(ValueId v) {
    const graph::Value& value = g_.value(v);
    if (!value.is_constant()) return out_.add_input(name(value.name), value.type, value.sample_dim);
    const ValueId made = out_.add_constant(name(value.name), *g_.constant_of(v));
    out_.value(made).quantised = value.quantised;
    return made;
  }
  ValueId typed(ValueId made, const graph::Value& like) {
    out_.value(made).type = like.type;
    out_.value(made).typed = true;
    out_.value(made).sample_dim = like.sample_dim;
    return made;
  }

  ValueId copy(NodeId id, bool as_relu) {
    const graph::Node& from = g_.node(id);
    graph::Node node;
    node.name = name(from.name);
    node.op = as_relu ? "relu" : from.op;
    if (named_) node.where = from.where;
    node.assignment.origin = base_ ? Origin::handwritten : from.assignment.origin;
    node.assignment.reason = form_ != Form::self ? "counterpart" : from.assignment.reason;
    if (form_ == Form::self) node.assignment.kernel = from.assignment.kernel;
    node.assignment.group = nodes_.size() > 1 && form_ != Form::composition ? "kernel" : "";
    if (as_relu) {
      node.inputs = {operand(streamed(from))};
    } else {
      node.attrs = from.attrs;
      for (ValueId v : from.inputs) node.inputs.push_back(v.valid() ? operand(v) : ValueId{});
    }
    const graph::Value& value = g_.value(from.outputs[0]);
    NodeId made = out_.add_node(std::move(node));
    const ValueId result = typed(out_.add_result(made, name(value.name)), value);
    std::string why;
    if (form_ == Form::composition)
      out_.node(made).assignment.kernel = autogen::generator_for(out_, made, why);
    result_[from.outputs[0]] = result;
    return result;
  }

  ValueId streamed(const graph::Node& node) const {
    for (ValueId v : node.inputs) {
      if (v.valid() && !g_.value(v).is_constant()) return v;
    }
    return node.inputs[0];
  }

  const Graph& g_;
  const std::vector<NodeId>& nodes_;
  Form form_;
  bool base_, named_ = true;
  int numbers_ = 0;
  Graph out_;
  std::map<ValueId, ValueId> result_;
};

struct Counterpart {
  std::string name;  // empty: there is none
  Form form = Form::handwritten;
};

// Values from outside the chain, and whether all have as many elements as the result.
size_t streams_of(const Graph& g, const std::vector<NodeId>& nodes, bool& equal) {
  std::vector<ValueId> seen;
  for (NodeId id : nodes) {
    for (ValueId v : g.node(id).inputs) {
      if (!v.valid() || g.value(v).is_constant()) continue;
      NodeId producer = g.value(graph::source_of(g, v)).producer;
      if (producer.valid() && std::find(nodes.begin(), nodes.end(), producer) != nodes.end()) continue;
      equal = equal && g.value(v).type.elements() == g.value(g.node(nodes.back()).outputs[0]).type.elements();
      if (std::find(seen.begin(), seen.end(), v) == seen.end()) seen.push_back(v);
    }
  }
  return seen.size();
}

Counterpart counterpart(const Graph& g, const std::vector<NodeId>& nodes) {
  if (g.node(nodes.front()).assignment.kernel == autogen::kRegionKernel) return {};
  if (g.node(nodes.front()).assignment.kernel == autogen::kRowsKernel)
    return {"one kernel per operator", Form::composition};
  ops::OpKind kind = g.op(nodes.front()).kind;
  if (kind == ops::OpKind::contraction) return {nodes.size() > 1 ? "gemv + relu" : "gemv", Form::handwritten};
  if (g.node(nodes.front()).assignment.kernel == autogen::kReductionKernel)
    return {"row_reduce", Form::handwritten};
  if (kind != ops::OpKind::elementwise) return {};
  bool equal = true;
  if (streams_of(g, nodes, equal) == 1 && equal) return {"relu", Form::handwritten};
  if (nodes.size() > 1) return {"one kernel per operator", Form::composition};
  return {};
}

std::vector<NodeId> nodes_of(const Graph& g, const KernelRow& row) {
  std::vector<NodeId> nodes;
  for (const std::string& name : row.nodes) nodes.push_back(*g.find_node(name));
  return nodes;
}

// Kernels with the same text take the same cycles: operators, types, small constants and the rectangle are in
// it, of large constants the values only where they are indices.
std::string text_of(const Graph& g, const std::vector<NodeId>& nodes, const KernelRow& row) {
  const Graph copy = Copier(g, nodes, Form::self).without_names().run("");
  bool indices = false;
  for (NodeId id : copy.nodes())
    for (ValueId v : copy.node(id).inputs)
      indices = indices ||
                (v.valid() && copy.value(v).is_constant() && !data_type_is_float(copy.value(v).type.dtype));
  const graph::GraphText text = graph::graph_text(copy, "");
  const std::string_view bytes(reinterpret_cast<const char*>(text.weights.data()), text.weights.size());
  return fmt::format("{} x {} {}\n{}", row.rect.w, row.rect.h, indices ? hash_text(bytes) : "", text.yaml);
}

}  // namespace

// Equal kernels share the baseline of the first of them.
void name_baselines(const Graph& g, HostPart& host) {
  std::map<std::string, std::string> first;
  for (KernelRow& row : host.kernels) {
    if (row.origin != Origin::autogen || row.nodes.empty()) continue;
    const std::vector<NodeId> nodes = nodes_of(g, row);
    if (counterpart(g, nodes).name.empty()) continue;
    row.baseline = first.emplace(text_of(g, nodes, row), row.name).first->second;
  }
}

std::vector<Baseline> make_baselines(const Graph& g, const Mapped& mapped, const Machine& machine,
                                     const MapOptions& options, std::vector<MissingBaseline>& missing) {
  std::vector<Baseline> list;
  for (const KernelRow& row : mapped.host.kernels) {
    if (row.baseline != row.name) continue;  // none, or that of another one
    std::vector<NodeId> nodes = nodes_of(g, row);
    Counterpart other = counterpart(g, nodes);
    MapOptions forced = options;
    forced.fabric_width = forced.fabric_height = 0;
    forced.force_width = row.rect.w;
    forced.force_height = row.rect.h;
    Diag diag;
    std::optional<Mapped> self = map_graph(Copier(g, nodes, Form::self).run(row.name), machine, forced, diag);
    std::optional<Mapped> base;
    if (self) base = map_graph(Copier(g, nodes, other.form).run(row.name), machine, forced, diag);
    if (!base) {
      missing.push_back({row.name, other.name, diag.to_string()});
      continue;
    }
    Origin origin = other.form == Form::composition ? Origin::primitive : Origin::handwritten;
    list.push_back({row.name, other.name, origin, std::move(*self), std::move(*base)});
  }
  return list;
}

}  // namespace cs::mapping
