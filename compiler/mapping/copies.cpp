// Moves instances, streams, flows, ports and host steps to the other strips.
#include "compiler/mapping/copies.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "compiler/mapping/emit.h"

namespace cs::mapping {

namespace {

// Where the strip of a copy begins.
Coord origin_of(const Strips& copies, const Extent& strip, int copy) {
  return copies.stacked ? Coord{0, copy * strip.height} : Coord{copy * strip.width, 0};
}

Extent strip_of(const Strips& copies, const Extent& fabric) {
  return copies.stacked ? Extent{fabric.width, fabric.height / copies.count}
                        : Extent{fabric.width / copies.count, fabric.height};
}

Rect moved(Rect r, Coord by) { return {r.x + by.x, r.y + by.y, r.w, r.h}; }

class Copier {
 public:
  Copier(Parts& parts, FlowPlan& plan, const Extent& strip)
      : parts_(parts), plan_(plan), strip_(strip), instances_(parts.instances.size()), streams_(parts.streams.size()),
        flows_(plan.flows.size()), ports_(plan.ports.size()), steps_(std::move(parts.host.steps)) {
    // Kernels of the network and of the host, and PE files beside those of the library.
    for (const Instance& inst : parts.instances) names_.push_back(inst.name);
    for (const KernelRow& row : parts.host.kernels) names_.push_back(row.name);
    for (std::string_view file : kernels::files()) names_.emplace_back(file.substr(0, file.rfind('.')));
    names_.emplace_back("layout");
    for (const HostPort& port : plan.ports) port_names_.insert(port.name);
  }

  void run() {
    for (int copy = 1; copy < parts_.copies.count; ++copy) {
      by_ = origin_of(parts_.copies, strip_, copy);
      copy_ = copy;
      renamed_.clear();
      for (size_t i = 0; i < instances_; ++i) instance(i);
      for (size_t s = 0; s < streams_; ++s) stream(s);
      for (size_t f = 0; f < flows_; ++f) flow(f);
      for (size_t p = 0; p < ports_; ++p) port(p);
      kernels_of_operators();
      ports_of_copy_.push_back(renamed_);
    }
    steps();
    parts_.host.copies = parts_.copies.count;
  }

 private:
  int later(int index, size_t of_one) const { return index < 0 ? index : index + copy_ * int(of_one); }
  std::string called(const std::string& name) const { return fmt::format("{}_copy{}", name, copy_); }

  void instance(size_t i) {
    Instance inst = parts_.instances[i];
    inst.name = csl_name(called(inst.name), names_);
    inst.copy = copy_;
    inst.rect = moved(inst.rect, by_);
    parts_.instances.push_back(std::move(inst));
    InstanceFlows flows = plan_.of_instance[i];
    for (std::vector<int>* list : {&flows.scatter, &flows.gather})
      for (int& f : *list) f = later(f, flows_);
    for (int& f : flows.chain) f = later(f, flows_);
    plan_.of_instance.push_back(std::move(flows));
  }

  void stream(size_t s) {
    Stream stream = parts_.streams[s];
    stream.name = fmt::format("{}, copy {}", stream.name, copy_);
    stream.producer = later(stream.producer, instances_);
    for (Taker& t : stream.takers) t.instance = later(t.instance, instances_);
    stream.port_in = port_of_copy(stream.port_in);
    stream.port_out = port_of_copy(stream.port_out);
    parts_.streams.push_back(std::move(stream));
    plan_.of_stream.push_back(later(plan_.of_stream[s], flows_));
  }

  std::string port_of_copy(const std::string& name) {
    if (name.empty()) return name;
    const auto [it, fresh] = renamed_.emplace(name, called(name));
    for (int i = 2; fresh && !port_names_.insert(it->second).second; ++i)
      it->second = fmt::format("{}_{}", called(name), i);
    return it->second;
  }

  void flow(size_t f) {
    Flow flow = plan_.flows[f];
    flow.name = fmt::format("{}, copy {}", flow.name, copy_);
    flow.stream = later(flow.stream, streams_);
    flow.routers.clear();
    for (const auto& [at, config] : plan_.flows[f].routers) flow.routers[{at.y + by_.y, at.x + by_.x}] = config;
    plan_.flows.push_back(std::move(flow));
  }

  void port(size_t p) {
    HostPort port = plan_.ports[p];
    port.name = port_of_copy(port.name);
    port.position += parts_.copies.stacked ? by_.y : by_.x;
    plan_.ports.push_back(std::move(port));
    plan_.port_flow.push_back(later(plan_.port_flow[p], flows_));
  }

  // Operators are computed by the kernels of all copies; the host's serve them all.
  void kernels_of_operators() {
    std::map<std::string, std::string> names;
    for (size_t i = 0; i < instances_; ++i)
      names[parts_.instances[i].name] = parts_.instances[size_t(copy_) * instances_ + i].name;
    for (OpRow& row : parts_.host.ops) {
      const std::vector<std::string> kernels = row.kernels;
      for (const std::string& kernel : kernels)
        if (const auto it = names.find(kernel); it != names.end()) row.kernels.push_back(it->second);
    }
  }

  // Step by step for all copies, so that an operator over the whole batch comes behind what all of them give it.
  void steps() {
    for (const HostStep& step : steps_) {
      parts_.host.steps.push_back(step);
      for (int copy = 1; copy < parts_.copies.count && !step.whole_batch; ++copy) {
        HostStep& own = parts_.host.steps.emplace_back(step);
        own.copy = copy;
        if (!own.port.empty()) own.port = ports_of_copy_[size_t(copy) - 1].at(own.port);
      }
    }
  }

  Parts& parts_;
  FlowPlan& plan_;
  const Extent strip_;
  const size_t instances_, streams_, flows_, ports_;  // of one network
  std::vector<HostStep> steps_;                       // of one network
  std::vector<std::string> names_;
  std::set<std::string> port_names_;
  std::map<std::string, std::string> renamed_;        // ports of the copy at hand
  std::vector<std::map<std::string, std::string>> ports_of_copy_;  // from the second on
  Coord by_;
  int copy_ = 0;
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

void add_copies(Parts& parts, FlowPlan& plan, Extent& strip) {
  Copier(parts, plan, strip).run();
  (parts.copies.stacked ? strip.height : strip.width) *= parts.copies.count;
}

void pack_copies(const Parts& parts, const Extent& fabric, Weights& weights, HostPart& host) {
  std::vector<Constant>& rows = host.constants;
  const size_t one = parts.instances.size() / size_t(parts.copies.count);
  const Extent strip = strip_of(parts.copies, fabric);
  for (size_t i = 0; i < one; ++i) {
    const Instance& first = parts.instances[i];
    const size_t begin = rows.size();
    pack_constants(first, weights, host);
    const std::vector<Constant> own(rows.begin() + std::ptrdiff_t(begin), rows.end());
    for (int copy = 1; copy < parts.copies.count; ++copy) {
      const Instance& inst = parts.instances[size_t(copy) * one + i];
      for (Constant row : own) {
        row.symbol = inst.name + row.symbol.substr(first.name.size());
        row.rect = moved(row.rect, origin_of(parts.copies, strip, copy));
        rows.push_back(std::move(row));
      }
    }
  }
}

void estimate_copies(const Parts& one, const FlowPlan& plan, const Machine& machine, NetworkEstimate& estimate) {
  const HostCycles host = host_cycles(one, plan, machine);
  estimate.host_cycles = host.network;
  if (one.copies.count == 1 || estimate.interval_cycles <= 0) return;
  estimate.interval_cycles =
      std::max(std::max(estimate.interval_cycles, host.port) / one.copies.count, host.network);
}

void report_no_room_for_copies(const std::string& model, const MapOptions& options, const Machine& machine,
                               const std::string& why, int most, Diag& diag) {
  const Extent whole = whole_fabric(options, machine), strip = fabric_limit(options, machine);
  diag.error_at(model,
                fmt::format("{} copies have no room: each has {} x {} of the {} x {} PEs of the fabric, {}",
                            options.copies.count, strip.width, strip.height, whole.width, whole.height, why),
                most > 1 ? fmt::format("use --copies {}, which was found to fit", most)
                         : std::string("the fabric holds the network once"));
}

}  // namespace cs::mapping
