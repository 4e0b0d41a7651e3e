// Streams and host steps of a graph: who sends what to whom, and what the host does in which order.
//
// Groups are visited in topological order. A host group demands its operands on the host, which makes receive
// steps for values of the wafer; a wafer group demands streams, which makes send steps for values of the
// host.
#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "compiler/graph/whole_batch.h"
#include "compiler/mapping/drop_unused.h"
#include "compiler/mapping/held_states.h"
#include "compiler/mapping/instances.h"
#include "compiler/mapping/op_rows.h"
#include "compiler/mapping/pieces.h"

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
        kept_(g, groups_),
        crossing_(g, diag) {
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
      if (kept_.is_before(v)) continue;  // on the wafer
      HostTensor t = host_tensor(g_, v);
      const bool from_user = g_.state_of_input(t.name) == nullptr && g_.scalar_of(t.name) == nullptr;
      if (from_user && in_steps()) t.sample_dim = kStackedSamples;
      if (const graph::InPieces* in = crossing_.of_input(v)) cut(*in, t);
      (from_user ? parts_.host.inputs : parts_.host.values).push_back(std::move(t));
      on_host_.insert(v);
    }
    for (const graph::State& s : g_.states) add_state(s);
    parts_.host.scalars = g_.scalars;
    for (const Group& group : groups_) {
      NodeId front = group.nodes.front();
      if (!g_.node(front).assignment.origin) {
        diag_.error_at(g_.node(front).where, fmt::format("{} has no origin", g_.node(front).op),
                       "run the policy pass before mapping");
        continue;
      }
      if (*g_.node(front).assignment.origin != Origin::host) make(group);
    }
    drop_unused(g_, groups_, kept_, made_);
    for (size_t i = 0; i < groups_.size(); ++i) {
      if (on_host(groups_[i])) {
        for (NodeId id : groups_[i].nodes) host_node(id);
      } else if (const auto made = made_.find(i); made != made_.end()) {
        wafer_group(groups_[i], std::move(made->second));
      }
    }
    outputs();
    add_op_rows(g_, kernels_of_, parts_.host);
    return diag_.ok();
  }

 private:
  // Whether each run has values of its own: steps of training, or of evaluation.
  bool in_steps() const {
    return !g_.states.empty() || std::any_of(g_.inputs.begin(), g_.inputs.end(), [&](ValueId v) {
      return g_.value(v).sample_dim == kStackedSamples;
    });
  }
  bool from_wafer(ValueId v) const {
    if (kept_.is_before(v)) return true;
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
    c.offset = append_weights(t);
    c.bytes = t->bytes.size();
    parts_.host.host_constants.push_back(c);
  }

  // Where the tensor's bytes are in weights.bin.
  uint64_t append_weights(const std::shared_ptr<const ops::Tensor>& t) {
    const uint64_t offset = parts_.weights.size(), bytes = t->bytes.size();
    parts_.weights.append(bytes, [t](const Weights::Take& take) {
      return take({reinterpret_cast<const char*>(t->bytes.data()), t->bytes.size()});
    });
    parts_.weights.append(std::string((4 - bytes % 4) % 4, '\0'));
    return offset;
  }

  void add_state(const graph::State& s) {
    HostState state{s.name, s.purpose, s.initial->type.dtype, s.initial->type.shape};
    if (!kept_.is_before(*g_.find_value(s.input))) {
      state.input = s.input;
      state.output = s.output;
      state.offset = append_weights(s.initial);
      state.bytes = s.initial->bytes.size();
    }
    parts_.host.states.push_back(std::move(state));
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
      receive(v, g_.value(v).name, crossing_.crosses_as(v));
      return;
    }
    host_step(g_.value(v).producer);  // a transparent view whose result the host needs
  }

  void receive(ValueId source, const std::string& tensor, const std::string& port) {
    if (!parts_.misfits.empty() && stream_of_.count(source) == 0) return;  // of a kernel that has no place
    Stream& stream = parts_.streams[size_t(stream_of_.at(source))];
    stream.tensor = tensor;
    stream.port_out = "out_" + port;
    stream.takers.push_back({-1, 0});
    stream.name += fmt::format("{}host", stream.takers.size() > 1 ? ", " : "");
    HostStep step;
    step.kind = HostStep::Kind::receive;
    step.port = stream.port_out;
    step.tensor = tensor;
    parts_.host.steps.push_back(step);
  }

  void host_step(NodeId id) {
    const graph::Node& node = g_.node(id);
    HostStep step = host_operator(node);
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
    const graph::Node& node = g_.node(id);
    if (graph::is_in_pieces(node)) return;
    host_step(id);
    parts_.host.kernels.push_back(host_row(g_, id));
    kernels_of_[id] = {node.name};
  }

  // The pieces of an input are there with it, those of an output are received.
  void cut(const graph::InPieces& in, HostTensor& t) {
    crossing_.describe(in, t);
    for (const graph::ValuePiece& p : in.pieces) {
      parts_.host.values.push_back(host_tensor(g_, p.value));
      on_host_.insert(p.value);
    }
  }

  // No other result of the model has the same elements, or has them among others.
  bool only_result(ValueId v) const {
    const ValueId source = graph::source_of(g_, v);
    return !crossing_.is_part(source) && std::none_of(g_.outputs.begin(), g_.outputs.end(), [&](ValueId other) {
      return other != v && graph::source_of(g_, other) == source;
    });
  }

  void outputs() {
    for (ValueId v : g_.outputs) {
      if (kept_.is_after(v)) continue;  // stays on the wafer
      HostTensor t = host_tensor(g_, v);
      const bool to_user = g_.state_of_output(t.name) == nullptr;
      if (to_user && in_steps()) t.sample_dim = kStackedSamples;
      const graph::InPieces* pieces = crossing_.of_output(v);
      if (pieces != nullptr) crossing_.describe(*pieces, t);
      std::vector<HostTensor>& list = to_user ? parts_.host.outputs : parts_.host.values;
      if (std::find(list.begin(), list.end(), t) == list.end()) list.push_back(t);
      ValueId source = graph::source_of(g_, v);
      if (pieces != nullptr) {
        for (const graph::ValuePiece& piece : pieces->pieces) need_on_host(piece.value);
      } else if (source != v && from_wafer(source) && !on_host_.count(source) && !on_host_.count(v) &&
          only_result(v)) {
        // Only its shape differs from what arrives: receive it under the output's name.
        on_host_.insert(v);
        receive(source, g_.value(v).name, g_.value(v).name);
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
    v = crossing_.sent_as(v);
    if (kept_.is_before(v)) return state_stream(v);
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
    return stream_of_[v] = send(v, "in_" + crossing_.crosses_as(v));
  }

  // What the kernel that keeps the state sends before each sample; which that is will be known when it is
  // made.
  int state_stream(ValueId v) {
    const auto it = stream_of_.find(v);
    if (it != stream_of_.end()) return it->second;
    const int index = add_stream(v, -1, g_.value(v).name);
    parts_.streams[size_t(index)].initial = true;
    return stream_of_[v] = index;
  }

  int need_later_stream(ValueId v, int phase) {
    const auto it = later_streams_.find({v, phase});
    if (it != later_streams_.end()) return it->second;
    return later_streams_[{v, phase}] = send(v, fmt::format("in_{}#{}", crossing_.crosses_as(v), phase));
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
    const kernels::Taking by{machine_, [this](NodeId id) { return groups_[group_of_.at(id)].nodes; },
                             held_states(g_, group.nodes)};
    if (!make_instance(g_, group, by, inst, diag_)) {
      Misfit m{group.name, {}, diag_.all().size() > before ? diag_.all()[before].message : "", 0};
      for (NodeId id : group.nodes) m.nodes.push_back(g_.node(id).name);
      parts_.misfits.push_back(std::move(m));
      return;
    }
    made_[size_t(&group - groups_.data())] = std::move(inst);
  }

  void wafer_group(const Group& group, Instance inst) {
    inst.name = csl_name(group.name, names_);
    std::vector<int> streams;
    for (size_t k = 0; k < inst.operands.size(); ++k) {
      const ValueId v = inst.operands[k];
      const int64_t have = g_.value(v).type.elements(), need = inst.work.kind->operand_words(inst, int(k));
      streams.push_back(have == need ? need_stream(v, phase_of(group))
                              : repeated(v, need / std::max<int64_t>(1, have), phase_of(group)));
    }
    parts_.instances.push_back(inst);
    int index = int(parts_.instances.size()) - 1;
    for (size_t k = 0; k < streams.size(); ++k) take(streams[k], index, int(k));
    for (size_t j = 0; j < inst.results.size(); ++j) {
      const auto state = kept_.before.find(inst.results[j]);
      if (state == kept_.before.end()) {
        stream_of_[inst.results[j]] = add_stream(inst.results[j], index, inst.name, int(j));
        continue;
      }
      Stream& stream = parts_.streams[size_t(state_stream(state->second))];
      stream.producer = index;
      stream.result = int(j);
    }
    for (NodeId id : group.nodes) kernels_of_[id].push_back(inst.name);
  }

  const Graph& g_;
  const Machine& machine_;
  Parts& parts_;
  Diag& diag_;
  const std::vector<Group> groups_;
  const graph::BatchPhases phases_;
  const KeptStates kept_;
  const CrossingPieces crossing_;
  std::map<NodeId, size_t> group_of_;
  std::map<size_t, Instance> made_;  // of groups that are no host's
  std::set<ValueId> on_host_;
  std::map<ValueId, int> stream_of_;
  std::map<std::tuple<ValueId, int64_t, int>, int> broadcast_of_;
  std::map<std::pair<ValueId, int>, int> later_streams_;
  std::map<NodeId, std::vector<std::string>> kernels_of_;
  std::vector<std::string> names_;
};

}  // namespace

bool build_parts(const Graph& g, const MapOptions& options, const Machine& machine, Parts& parts,
                 Diag& diag) {
  return Builder(g, options, machine, parts, diag).run();
}

}  // namespace cs::mapping
