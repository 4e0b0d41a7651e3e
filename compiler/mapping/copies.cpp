// Instances, streams, flows, ports and host steps of the other strips.
#include "compiler/mapping/copies.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "compiler/mapping/emit.h"

namespace cs::mapping {

namespace {

Rect moved(Rect r, Coord by) { return {r.x + by.x, r.y + by.y, r.w, r.h}; }

// Appends copies to the first band's network.
class Copier {
 public:
  explicit Copier(Placed& all)
      : parts_(all.parts), plan_(all.flows), first_(all.parts.instances.size()), steps_(std::move(parts_.host.steps)) {
    // Kernels of the network and of the host, and PE files beside those of the library.
    for (const Instance& inst : parts_.instances) names_.push_back(inst.name);
    for (const KernelRow& row : parts_.host.kernels) names_.push_back(row.name);
    for (std::string_view file : kernels::files()) names_.emplace_back(file.substr(0, file.rfind('.')));
    names_.emplace_back("layout");
    for (const HostPort& port : plan_.ports) port_names_.insert(port.name);
  }

  // `one`: the network of a band; `like`: where its first copy's instances begin, -1 if this is that copy.
  void add(const Placed& one, Coord by, int like) {
    copy_ = int(ports_of_copy_.size()) + 1;
    by_ = by;
    instance_ = int(parts_.instances.size()), stream_ = int(parts_.streams.size()), flow_ = int(plan_.flows.size());
    renamed_.clear();
    for (size_t i = 0; i < one.parts.instances.size(); ++i)
      instance(one.parts.instances[i], one.flows.of_instance[i], like < 0 ? alike_in_first(one.parts.instances[i])
                                                                          : like + int(i));
    for (size_t s = 0; s < one.parts.streams.size(); ++s) stream(one.parts.streams[s], one.flows.of_stream[s]);
    for (const Flow& f : one.flows.flows) flow(f);
    for (size_t p = 0; p < one.flows.ports.size(); ++p) port(one.flows.ports[p], one.flows.port_flow[p]);
    kernels_of_operators(one.parts);
    ports_of_copy_.push_back(renamed_);
  }

  // Step by step for all copies, so that an operator over the whole batch comes behind what all of them give it.
  void steps() {
    parts_.host.copies = int(ports_of_copy_.size()) + 1;
    for (const HostStep& step : steps_) {
      parts_.host.steps.push_back(step);
      for (int copy = 1; copy < parts_.host.copies && !step.whole_batch; ++copy) {
        HostStep& own = parts_.host.steps.emplace_back(step);
        own.copy = copy;
        if (!own.port.empty()) own.port = ports_of_copy_[size_t(copy) - 1].at(own.port);
      }
    }
  }

 private:
  static int later(int index, int begin) { return index < 0 ? index : index + begin; }
  std::string called(const std::string& name) const { return fmt::format("{}_copy{}", name, copy_); }

  // The first network's instance that has the same constants on each of its PEs, -1: none.
  int alike_in_first(const Instance& inst) const {
    for (size_t i = 0; i < first_; ++i) {
      const Instance& other = parts_.instances[i];
      if (other.name == inst.name) return other.plan.cut == inst.plan.cut ? int(i) : -1;
    }
    return -1;
  }

  void instance(Instance inst, InstanceFlows flows, int repeats) {
    inst.name = csl_name(called(inst.name), names_);
    inst.copy = copy_;
    inst.repeats = repeats;
    inst.rect = moved(inst.rect, by_);
    parts_.instances.push_back(std::move(inst));
    for (std::vector<int>* list : {&flows.scatter, &flows.gather, &flows.gates})
      for (int& f : *list) f = later(f, flow_);
    for (int& f : flows.chain) f = later(f, flow_);
    flows.back = later(flows.back, flow_);
    plan_.of_instance.push_back(std::move(flows));
  }

  void stream(Stream stream, int flow) {
    stream.name = fmt::format("{}, copy {}", stream.name, copy_);
    stream.producer = later(stream.producer, instance_);
    for (Taker& t : stream.takers) t.instance = later(t.instance, instance_);
    stream.port_in = port_of_copy(stream.port_in);
    stream.port_out = port_of_copy(stream.port_out);
    parts_.streams.push_back(std::move(stream));
    plan_.of_stream.push_back(later(flow, flow_));
  }

  std::string port_of_copy(const std::string& name) {
    if (name.empty()) return name;
    const auto [it, fresh] = renamed_.emplace(name, called(name));
    for (int i = 2; fresh && !port_names_.insert(it->second).second; ++i)
      it->second = fmt::format("{}_{}", called(name), i);
    return it->second;
  }

  void flow(const Flow& of_one) {
    Flow flow = of_one;
    flow.name = fmt::format("{}, copy {}", flow.name, copy_);
    flow.stream = later(flow.stream, stream_);
    flow.routers.clear();
    for (const auto& [at, config] : of_one.routers) flow.routers[{at.y + by_.y, at.x + by_.x}] = config;
    plan_.flows.push_back(std::move(flow));
  }

  void port(HostPort port, int flow) {
    port.name = port_of_copy(port.name);
    port.position += port.side == Port::north || port.side == Port::south ? by_.x : by_.y;
    plan_.ports.push_back(std::move(port));
    plan_.port_flow.push_back(later(flow, flow_));
  }

  // Operators are computed by the kernels of all copies; the host's serve them all.
  void kernels_of_operators(const Parts& one) {
    std::map<std::string, std::string> names;
    for (size_t i = 0; i < one.instances.size(); ++i)
      names[one.instances[i].name] = parts_.instances[size_t(instance_) + i].name;
    for (OpRow& row : parts_.host.ops) {
      const std::vector<std::string> kernels = row.kernels;
      for (const std::string& kernel : kernels)
        if (const auto it = names.find(kernel); it != names.end()) row.kernels.push_back(it->second);
    }
  }

  Parts& parts_;
  FlowPlan& plan_;
  const size_t first_;           // instances of the first network
  std::vector<HostStep> steps_;  // of one network
  std::vector<std::string> names_;
  std::set<std::string> port_names_;
  std::map<std::string, std::string> renamed_;                     // ports of the copy at hand
  std::vector<std::map<std::string, std::string>> ports_of_copy_;  // from the second on
  Coord by_;
  int copy_ = 0, instance_ = 0, stream_ = 0, flow_ = 0;  // the copy at hand, and where its parts begin
};

// The longest that the words of one sample take at a place of the edge, or all together on the host's network.
struct HostCycles {
  double port = 0, network = 0;
};
HostCycles host_cycles(const Parts& parts, const FlowPlan& plan, const Machine& machine) {
  HostCycles cycles;
  for (const bool input : {true, false}) {
    std::map<std::pair<Port, int>, double> at;
    double all = 0;
    for (size_t p = 0; p < plan.ports.size(); ++p) {
      const HostPort& port = plan.ports[p];
      if (port.input != input) continue;
      const auto words = double(parts.streams[size_t(plan.flows[size_t(plan.port_flow[p])].stream)].words);
      all += words;
      double& here = at[{port.side, port.position}];
      here += words;
      cycles.port = std::max(cycles.port, here / machine.host.host_wavelets_per_cycle);
    }
    cycles.network = std::max(cycles.network, all / machine.system_wavelets_per_cycle());
  }
  return cycles;
}

}  // namespace

Placed with_copies(const std::vector<Placed>& bands, const StripPlaces& places) {
  Placed all = bands[0];
  all.fabric = places.fabric;
  Copier copier(all);
  for (size_t b = 0; b < bands.size(); ++b) {
    int like = b == 0 ? 0 : -1;
    for (size_t i = b == 0 ? 1 : 0; i < places.begins[b].size(); ++i) {
      const int begin = int(all.parts.instances.size());
      copier.add(bands[b], places.begins[b][i], like);
      if (like < 0) like = begin;
    }
  }
  copier.steps();
  return all;
}

void pack_copies(const Parts& parts, Weights& weights, HostPart& host) {
  std::vector<Constant>& rows = host.constants;
  std::vector<std::pair<size_t, size_t>> rows_of;  // by instance: from, to
  for (const Instance& inst : parts.instances) {
    const size_t begin = rows.size();
    if (inst.repeats < 0) {
      pack_constants(inst, weights, host);
    } else {
      const Instance& first = parts.instances[size_t(inst.repeats)];
      const auto [from, to] = rows_of[size_t(inst.repeats)];
      for (size_t r = from; r < to; ++r) {
        Constant row = rows[r];
        row.symbol = inst.name + row.symbol.substr(first.name.size());
        row.rect = moved(row.rect, {inst.rect.x - first.rect.x, inst.rect.y - first.rect.y});
        rows.push_back(std::move(row));
      }
    }
    rows_of.emplace_back(begin, rows.size());
  }
}

void estimate_copies(const Placed& one, const Machine& machine, NetworkEstimate& estimate) {
  const HostCycles host = host_cycles(one.parts, one.flows, machine);
  const int count = one.parts.copies.count;
  estimate.host_cycles = host.network;
  if (count == 1 || estimate.interval_cycles <= 0) return;
  estimate.interval_cycles = std::max(std::max(estimate.interval_cycles, host.port) / count, host.network);
}

void report_no_room_for_copies(const std::string& model, const MapOptions& options, const Machine& machine,
                               const std::string& why, int most, Diag& diag) {
  MapOptions columns = options;
  columns.copies = {options.copies.count};
  const Extent whole = whole_fabric(options, machine), strip = fabric_limit(columns, machine);
  diag.error_at(model,
                fmt::format("{} copies have no room: each has {} x {} of the {} x {} PEs of the fabric, {}",
                            options.copies.count, strip.width, strip.height, whole.width, whole.height, why),
                most > 1 ? fmt::format("use --copies {}, which was found to fit", most)
                         : std::string("the fabric holds the network once"));
}

}  // namespace cs::mapping
