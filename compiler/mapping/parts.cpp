// Streams and host steps of a graph: who sends what to whom, and what the host does in which order.
//
// Groups are visited in topological order. A host group demands its operands on the host, which makes receive
// steps for values of the wafer; a wafer group demands streams, which makes send steps for values of the
// host.
#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "compiler/graph/whole_batch.h"
#include "compiler/mapping/instances.h"

namespace cs::mapping {

namespace {

using graph::Graph;
using graph::Group;
using graph::NodeId;
using graph::ValueId;

class Builder {
 public:
  Builder(const Graph& g, const MapOptions& options, const Machine& machine, Parts& parts, Diag& diag)
      : g_(g),
        machine_(machine),
        parts_(parts),
        diag_(diag),
        groups_(graph::groups(g)),
        phases_(g),
        held_(g, [this](NodeId id) { return groups_[group_of_.at(id)].nodes; }) {
    for (size_t i = 0; i < groups_.size(); ++i)
      for (NodeId id : groups_[i].nodes) group_of_[id] = i;
    parts_.host.model = g.name;
    parts_.host.policy = options.policy;
    parts_.host.dtype = options.dtype;
    // PE files are named after instances, beside the library's.
    for (std::string_view file : kernels::files()) names_.emplace_back(file.substr(0, file.rfind('.')));
    names_.emplace_back("layout");
  }

  bool run() {
    for (ValueId v : g_.inputs) {
      parts_.host.inputs.push_back(host_tensor(g_, v));
      on_host_.insert(v);
    }
    for (const Group& group : groups_) {
      NodeId front = group.nodes.front();
      if (!g_.node(front).assignment.origin) {
        diag_.error_at(g_.node(front).where, fmt::format("{} has no origin", g_.node(front).op),
                       "run the policy pass before mapping");
        continue;
      }
      if (*g_.node(front).assignment.origin != Origin::host) make(group);
    }
    drop_unused();
    for (size_t i = 0; i < groups_.size(); ++i) {
      if (on_host(groups_[i])) {
        for (NodeId id : groups_[i].nodes) host_node(id);
      } else if (const auto made = made_.find(i); made != made_.end()) {
        wafer_group(groups_[i], std::move(made->second));
      }
    }
    outputs();
    op_rows();
    return diag_.ok();
  }

 private:
  bool from_wafer(ValueId v) const {
    NodeId producer = g_.value(v).producer;
    return producer.valid() && !g_.value(v).is_constant() && !graph::is_transparent(g_, producer) &&
           g_.node(producer).assignment.origin != Origin::host;
  }

  // ---- the host's side

  void need_constant(ValueId v) {
    if (!on_host_.insert(v).second) return;
    const auto t = g_.shared_constant_of(v);
    HostConstant c;
    c.tensor = host_tensor(g_, v);
    c.tensor.sample_dim = -1;  // one for all samples
    c.offset = parts_.weights.size();
    c.bytes = t->bytes.size();
    parts_.weights.append(c.bytes, [t](const Weights::Take& take) {
      return take({reinterpret_cast<const char*>(t->bytes.data()), t->bytes.size()});
    });
    parts_.weights.append(std::string((4 - c.bytes % 4) % 4, '\0'));
    parts_.host.host_constants.push_back(c);
  }

  void add_value(ValueId v) {
    bool listed = g_.value(v).is_output || g_.value(v).producer == NodeId{};
    if (!listed) parts_.host.values.push_back(host_tensor(g_, v));
  }

  // Makes the value available on the host.
  void need_on_host(ValueId v) {
    if (g_.value(v).is_constant()) return need_constant(v);
    if (!on_host_.insert(v).second) return;
    if (from_wafer(v)) {
      add_value(v);
      receive(v, g_.value(v).name);
      return;
    }
    host_step(g_.value(v).producer);  // a transparent view whose result the host needs
  }

  void receive(ValueId source, const std::string& tensor) {
    if (!parts_.misfits.empty() && stream_of_.count(source) == 0) return;  // of a kernel that has no place
    Stream& stream = parts_.streams[size_t(stream_of_.at(source))];
    stream.tensor = tensor;
    stream.port_out = "out_" + tensor;
    int producer = stream.producer;
    stream.takers.push_back({-1, 0});
    stream.name += fmt::format("{}host", stream.takers.size() > 1 ? ", " : "");
    (void)producer;
    HostStep step;
    step.kind = HostStep::Kind::receive;
    step.port = stream.port_out;
    step.tensor = tensor;
    parts_.host.steps.push_back(step);
  }

  void host_step(NodeId id) {
    const graph::Node& node = g_.node(id);
    HostStep step;
    step.kind = HostStep::Kind::op;
    step.op = node.op;
    step.attrs = node.attrs;
    if (const auto inner = graph::is_whole_batch(node) ? graph::batch_operator(node) : std::nullopt) {
      step.op = inner->op;
      step.attrs = inner->attrs;
      step.whole_batch = true;
    }
    for (ValueId v : node.inputs) {
      if (!v.valid()) {
        step.inputs.emplace_back();
        continue;
      }
      need_on_host(v);
      step.inputs.push_back(g_.value(v).name);
    }
    for (ValueId v : node.outputs) {
      on_host_.insert(v);
      add_value(v);
      step.outputs.push_back(g_.value(v).name);
    }
    parts_.host.steps.push_back(step);
  }

  void host_node(NodeId id) {
    host_step(id);
    const graph::Node& node = g_.node(id);
    KernelRow row;
    row.name = node.name;
    row.op = graph::operator_name(node);
    row.kernel = "host";
    row.origin = Origin::host;
    row.reason = node.assignment.reason;
    row.flops = g_.flops(id);
    row.nodes = {node.name};
    parts_.host.kernels.push_back(row);
    kernels_of_[id] = {node.name};
  }

  // No other result of the model has the same elements.
  bool only_result(ValueId v) const {
    return std::none_of(g_.outputs.begin(), g_.outputs.end(), [&](ValueId other) {
      return other != v && graph::source_of(g_, other) == graph::source_of(g_, v);
    });
  }

  void outputs() {
    for (ValueId v : g_.outputs) {
      HostTensor t = host_tensor(g_, v);
      if (std::find(parts_.host.outputs.begin(), parts_.host.outputs.end(), t) == parts_.host.outputs.end()) {
        parts_.host.outputs.push_back(t);
      }
      ValueId source = graph::source_of(g_, v);
      if (source != v && from_wafer(source) && !on_host_.count(source) && !on_host_.count(v) &&
          only_result(v)) {
        // Only its shape differs from what arrives: receive it under the output's name.
        on_host_.insert(v);
        received_as_view_.insert(source);
        receive(source, g_.value(v).name);
      } else {
        need_on_host(v);
      }
    }
  }

  // ---- the wafer's side

  int add_stream(ValueId v, int producer, const std::string& from, int result = 0) {
    Stream stream;
    stream.producer = producer;
    stream.result = result;
    stream.words = g_.value(v).type.elements();
    stream.name = from + " -> ";
    parts_.streams.push_back(stream);
    return int(parts_.streams.size()) - 1;
  }

  // The samples of a batch meet between two phases, so that nothing may wait for a kernel of a later one: what
  // that takes from before comes from the host, on a stream of its own.
  int phase_of(const Group& group) const {
    int last = 0;
    for (NodeId id : group.nodes) last = std::max(last, phases_.of_node(id));
    return last;
  }

  int need_stream(ValueId v, int phase) {
    const int own = from_wafer(v) ? phase_of(groups_[group_of_.at(g_.value(v).producer)]) : phases_.of_value(v);
    if (phase > own) return need_later_stream(v, phase);
    auto it = stream_of_.find(v);
    if (it != stream_of_.end()) return it->second;
    if (from_wafer(v)) {
      diag_.error_at(
          g_.node(g_.value(v).producer).where,
          fmt::format("'{}' is needed by a kernel that its own kernel depends on", g_.value(v).name),
          "the keys 'group' of the plan put nodes together that others lie between");
      return stream_of_[v] = add_stream(v, -1, "nobody");
    }
    return stream_of_[v] = send(v, "in_" + g_.value(v).name);
  }

  int need_later_stream(ValueId v, int phase) {
    const auto it = later_streams_.find({v, phase});
    if (it != later_streams_.end()) return it->second;
    return later_streams_[{v, phase}] = send(v, fmt::format("in_{}#{}", g_.value(v).name, phase));
  }

  // A stream from the host.
  int send(ValueId v, const std::string& port) {
    need_on_host(v);
    const int index = add_stream(v, -1, "host");
    Stream& stream = parts_.streams[size_t(index)];
    stream.tensor = g_.value(v).name;
    stream.port_in = port;
    HostStep step;
    step.kind = HostStep::Kind::send;
    step.port = stream.port_in;
    step.tensor = stream.tensor;
    parts_.host.steps.push_back(step);
    return index;
  }

  void take(int stream, int instance, int operand) {
    Stream& s = parts_.streams[size_t(stream)];
    s.name += fmt::format("{}{}", s.takers.empty() ? "" : ", ", parts_.instances[size_t(instance)].name);
    s.takers.push_back({instance, operand});
  }

  // Every element of v `copies` times: one broadcast instance per value and number of copies.
  int repeated(ValueId v, int64_t copies, int phase) {
    const auto key = std::tuple(v, copies, phase);
    auto it = broadcast_of_.find(key);
    if (it != broadcast_of_.end()) return it->second;
    int in = need_stream(v, phase);
    Instance inst{kernels::broadcast_choice(g_.value(v).type.elements(), copies)};
    inst.infrastructure = true;
    inst.name = csl_name("broadcast_" + g_.value(v).name, names_);
    inst.operands = {v};
    inst.title = inst.name;
    parts_.instances.push_back(inst);
    int index = int(parts_.instances.size()) - 1;
    take(in, index, 0);
    Stream stream;
    stream.producer = index;
    stream.words = inst.work.words_out();
    stream.name = inst.name + " -> ";
    parts_.streams.push_back(stream);
    int out = int(parts_.streams.size()) - 1;
    broadcast_of_[key] = out;
    return out;
  }

  bool on_host(const Group& group) const {
    return g_.node(group.nodes.front()).assignment.origin == Origin::host;
  }

  void make(const Group& group) {
    Instance inst;
    const size_t before = diag_.all().size();
    if (!make_instance(g_, group, held_, machine_, inst, diag_)) {
      Misfit m{group.name, {}, diag_.all().size() > before ? diag_.all()[before].message : "", 0};
      for (NodeId id : group.nodes) m.nodes.push_back(g_.node(id).name);
      parts_.misfits.push_back(std::move(m));
      return;
    }
    made_[size_t(&group - groups_.data())] = std::move(inst);
  }

  // A kernel may do without an operand of its nodes, as a choice does whose condition is known: what makes
  // nothing else has nobody to send it to.
  void drop_unused() {
    std::set<ValueId> taken;
    for (ValueId v : g_.outputs) taken.insert(graph::source_of(g_, v));
    for (size_t i = groups_.size(); i-- > 0;) {
      const auto made = made_.find(i);
      if (made == made_.end()) {
        for (NodeId id : groups_[i].nodes)
          for (ValueId v : g_.node(id).inputs)
            if (v.valid()) taken.insert(graph::source_of(g_, v));
        continue;
      }
      const std::vector<ValueId>& results = made->second.results;
      if (std::none_of(results.begin(), results.end(), [&](ValueId v) { return taken.count(v) > 0; })) {
        made_.erase(made);
        continue;
      }
      if (made->second.region) keep_results(made->second, taken);
      for (ValueId v : made->second.operands) taken.insert(graph::source_of(g_, v));
    }
  }

  static void keep_results(Instance& inst, const std::set<ValueId>& taken) {
    autogen::keep_results(*inst.region, taken);
    inst.results = inst.region->results;
    inst.work.m = inst.region->words_out();
  }

  void wafer_group(const Group& group, Instance inst) {
    inst.name = csl_name(group.name, names_);
    std::vector<int> streams;
    for (ValueId v : inst.operands) {
      int64_t have = g_.value(v).type.elements(), need = inst.work.rows * inst.work.n;
      bool whole = have == need || inst.region;
      streams.push_back(whole ? need_stream(v, phase_of(group))
                              : repeated(v, need / std::max<int64_t>(1, have), phase_of(group)));
    }
    parts_.instances.push_back(inst);
    int index = int(parts_.instances.size()) - 1;
    for (size_t k = 0; k < streams.size(); ++k) take(streams[k], index, int(k));
    for (size_t j = 0; j < inst.results.size(); ++j)
      stream_of_[inst.results[j]] = add_stream(inst.results[j], index, inst.name, int(j));
    for (NodeId id : group.nodes) kernels_of_[id].push_back(inst.name);
  }

  // ---- rows of the report

  void op_rows() {
    std::map<std::string, size_t> index;
    for (NodeId id : g_.nodes()) {
      const graph::Node& node = g_.node(id);
      const std::string& name = node.from.empty() ? node.name : node.from;
      auto [it, fresh] = index.emplace(name, parts_.host.ops.size());
      if (fresh) {
        OpRow row;
        row.name = name;
        row.op = node.from.empty() ? graph::operator_name(node) : node.from_op;
        row.where = node.where;
        bool view = graph::is_transparent(g_, id);
        row.origin = !node.from.empty() || view ? Origin::primitive : *node.assignment.origin;
        row.reason = !node.from.empty() ? "replaced by primitives"
                     : view             ? "a view: elements and order stay, nothing is computed"
                                        : node.assignment.reason;
        parts_.host.ops.push_back(row);
      }
      for (const std::string& kernel : kernels_of_[id]) {
        std::vector<std::string>& list = parts_.host.ops[it->second].kernels;
        if (std::find(list.begin(), list.end(), kernel) == list.end()) list.push_back(kernel);
      }
    }
  }

  const Graph& g_;
  const Machine& machine_;
  Parts& parts_;
  Diag& diag_;
  const std::vector<Group> groups_;
  const graph::BatchPhases phases_;
  std::map<NodeId, size_t> group_of_;
  std::map<size_t, Instance> made_;  // of groups that are no host's
  const autogen::HeldStreams held_;
  std::set<ValueId> on_host_, received_as_view_;
  std::map<ValueId, int> stream_of_;
  std::map<std::tuple<ValueId, int64_t, int>, int> broadcast_of_;
  std::map<std::pair<ValueId, int>, int> later_streams_;
  std::map<NodeId, std::vector<std::string>> kernels_of_;
  std::vector<std::string> names_;
};

// A stream sent in turns carries control wavelets; the host would count them. A relay leaves them behind.
// Whether a kernel sends in turns is known only when it has been cut, so that relays are added after sizing.
}  // namespace

bool build_parts(const Graph& g, const MapOptions& options, const Machine& machine, Parts& parts,
                 Diag& diag) {
  return Builder(g, options, machine, parts, diag).run();
}

}  // namespace cs::mapping
