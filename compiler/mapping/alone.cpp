// Copying nodes with what they take, and mapping the copy.
#include "compiler/mapping/alone.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "compiler/graph/graph_yaml.h"
#include "compiler/kernels/kind.h"
#include "compiler/mapping/plan.h"
#include "runtime/support/files.h"

namespace cs::mapping {

using graph::Graph;
using graph::NodeId;
using graph::ValueId;

bool among(const std::vector<NodeId>& nodes, NodeId id) {
  return std::find(nodes.begin(), nodes.end(), id) != nodes.end();
}

namespace {

// Somebody outside of the nodes takes the value, maybe through views.
bool leaves(const Graph& g, const std::vector<NodeId>& nodes, ValueId v) {
  const graph::Value& value = g.value(v);
  return value.is_output || std::any_of(value.users.begin(), value.users.end(), [&](NodeId user) {
           if (among(nodes, user)) return false;
           return !graph::is_transparent(g, user) || leaves(g, nodes, g.node(user).outputs[0]);
         });
}

class Copier {
 public:
  Copier(const Graph& g, const std::vector<NodeId>& nodes, CopyForm form)
      : g_(g), nodes_(nodes), form_(form) {}
  // Numbers instead of names and places: equal kernels give equal graphs.
  Copier& without_names() {
    named_ = false;
    return *this;
  }

  Graph run(const std::string& name) {
    out_.name = name;
    ValueId last;
    bool stands = false;
    for (NodeId id : nodes_) {
      const bool replaced = !form_.stand_in.empty() && g_.op(id).kind == ops::OpKind::elementwise;
      if (replaced && stands) {
        result_[g_.node(id).outputs[0]] = last;
        continue;
      }
      last = copy(id, replaced);
      stands = stands || replaced;
    }
    bool any = false;
    for (NodeId id : nodes_) {
      for (ValueId v : g_.node(id).outputs) {
        if (!leaves(g_, nodes_, v) || out_.value(result_.at(v)).is_output) continue;
        out_.set_output(result_.at(v));
        any = true;
      }
    }
    if (!any) out_.set_output(last);
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
    return value.is_constant() ? out_.add_constant(name(value.name), g_.shared_constant_of(v))
                               : out_.add_input(name(value.name), value.type, value.sample_dim);
  }
  ValueId typed(ValueId made, const graph::Value& like) {
    out_.value(made).type = like.type;
    out_.value(made).typed = true;
    out_.value(made).sample_dim = like.sample_dim;
    return made;
  }

  ValueId copy(NodeId id, bool replaced) {
    const graph::Node& from = g_.node(id);
    const bool library = form_.kind == CopyForm::Kind::library, self = form_.kind == CopyForm::Kind::self;
    graph::Node node;
    node.name = name(from.name);
    node.op = replaced ? std::string(form_.stand_in) : from.op;
    node.assignment.origin = library ? Origin::handwritten : self ? from.assignment.origin : Origin::autogen;
    if (named_) {  // a reason names other nodes
      node.where = from.where;
      node.assignment.reason = self ? from.assignment.reason : "counterpart";
    }
    if (self) node.assignment.kernel = from.assignment.kernel;
    node.assignment.group = nodes_.size() > 1 ? "kernel" : "";
    if (replaced) {
      node.inputs = {streamed(from)};
    } else {
      node.attrs = from.attrs;
      for (ValueId v : from.inputs) node.inputs.push_back(v.valid() ? operand(v) : ValueId{});
    }
    const NodeId made = out_.add_node(std::move(node));
    for (ValueId v : from.outputs)
      result_[v] = typed(out_.add_result(made, name(g_.value(v).name)), g_.value(v));
    std::string why;
    const kernels::Kind* generator =
        form_.kind == CopyForm::Kind::alone ? kernels::generator_for(out_, made, why) : nullptr;
    if (generator != nullptr) out_.node(made).assignment.kernel = kernels::generated_id(*generator);
    if (const kernels::Row* row = library ? kernels::match_handwritten(out_, made, why) : nullptr)
      out_.node(made).assignment.kernel = kernels::library_id(*row);
    return result_[from.outputs[0]];
  }

  // An operand with as many elements as the result.
  ValueId streamed(const graph::Node& node) {
    const graph::Value& result = g_.value(node.outputs[0]);
    for (ValueId v : node.inputs) {
      if (v.valid() && !g_.value(v).is_constant() && g_.value(v).type.elements() == result.type.elements())
        return operand(v);
    }
    return out_.add_input(name(node.name + "_in"), result.type, result.sample_dim);
  }

  const Graph& g_;
  const std::vector<NodeId>& nodes_;
  CopyForm form_;
  bool named_ = true;
  int numbers_ = 0;
  Graph out_;
  std::map<ValueId, ValueId> result_;
};

}  // namespace

Graph copy_alone(const Graph& g, const std::vector<NodeId>& nodes, const std::string& name, CopyForm form) {
  return Copier(g, nodes, form).run(name);
}

std::string kernel_text(const Graph& g, const std::vector<NodeId>& nodes) {
  const Graph copy = Copier(g, nodes, {}).without_names().run("");
  std::string indices;
  for (NodeId id : copy.nodes())
    for (ValueId v : copy.node(id).inputs) {
      if (!v.valid() || !copy.value(v).is_constant() || data_type_is_float(copy.value(v).type.dtype)) continue;
      const std::vector<uint8_t>& bytes = copy.constant_of(v)->bytes;
      indices += hash_text({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    }
  return indices + "\n" + graph::graph_yaml(copy, "");
}

std::optional<Mapped> map_inside(const Graph& g, const Rect& rect, const Machine& machine, MapOptions options,
                                 Diag& diag) {
  options.force_width = rect.w;
  options.force_height = rect.h;
  Diag forced;
  if (std::optional<Mapped> made = map_graph(g, machine, options, forced)) return made;
  options.force_width = options.force_height = 0;
  options.most_width = rect.w;
  options.most_height = rect.h;
  return map_graph(g, machine, options, diag);
}

std::vector<RectChoice> rectangles_of(const Graph& g, const Machine& machine, const MapOptions& options) {
  Diag ignored;
  Parts parts;
  std::vector<RectChoice> list;
  if (!build_parts(g, options, machine, parts, ignored)) return list;
  PlanLists plans;
  std::vector<Misfit> without;
  list_plans(parts.instances, options, machine, plans, without);
  const auto kernel =
      std::ranges::find_if(parts.instances, [](const Instance& i) { return !i.infrastructure; });
  if (kernel == parts.instances.end()) return list;
  std::map<std::pair<int, int>, double> least;
  for (const SizedPlan& p : plans[size_t(kernel - parts.instances.begin())]) {
    const auto [it, isnew] = least.emplace(std::pair{p.plan.cut.w, p.plan.cut.h}, p.plan.interval_cycles);
    if (!isnew) it->second = std::min(it->second, p.plan.interval_cycles);
  }
  for (const auto& [extent, cycles] : least) list.push_back({extent.first, extent.second, cycles});
  return list;
}

}  // namespace cs::mapping
