// Phases follow from the places of the model's operators, bytes from sections and states, words from the ports.
#include "simulator/report/training.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "simulator/engine/engine.h"
#include "simulator/report/run_report.h"

namespace cs::sim {

namespace {

constexpr const char* kPhases[] = {"forward", "backward", "update"};
constexpr const char* kWaiting = "slack";  // operator of kernels that keep values until another one takes them

// What the compiler says of where an operator comes from (compiler/graph/gradients.cpp, frontend/training_step.cpp).
size_t phase_of(const OpRow& op) {
  if (op.where == "training: the optimizer") return 2;
  return op.where.ends_with(", backward") ? 1 : 0;
}

// A kernel of operators of several phases belongs to the last of them.
std::map<std::string, size_t> phases_of_kernels(const std::vector<OpRow>& ops) {
  std::map<std::string, size_t> phases;
  for (const OpRow& op : ops)
    for (const std::string& kernel : op.kernels) {
      size_t& phase = phases[kernel];
      phase = std::max(phase, phase_of(op));
    }
  return phases;
}

std::vector<StepPhase> step_phases(const RunReport& r) {
  std::vector<StepPhase> out;
  for (const char* name : kPhases) out.push_back({.name = name});
  const std::map<std::string, size_t> phases = phases_of_kernels(r.ops);
  for (const KernelReport& k : r.kernels) {
    const auto phase = phases.find(k.row.name);
    if (phase == phases.end()) continue;
    StepPhase& p = out[phase->second];
    ++p.kernels;
    p.busy += k.time.busy;
  }
  const double step = r.interval_cycles.value_or(double(r.cycles) / std::max(1, r.iterations));
  for (const PathShare& share : r.path.shares) {
    const auto phase = phases.find(share.name);
    if (phase == phases.end()) continue;
    StepPhase& p = out[phase->second];
    p.cycles = p.cycles.value_or(0) + r.path.share(share.cycles) * step;
  }
  return out;
}

bool is_data(SectionKind kind) {
  return kind == SectionKind::data || kind == SectionKind::frame || kind == SectionKind::noinit;
}

std::vector<PurposeBytes> memory_by_purpose(const Program& p) {
  std::vector<PurposeBytes> out;
  const auto add = [&](const std::string& purpose, uint64_t bytes) {
    if (bytes == 0) return;
    for (PurposeBytes& b : out)
      if (b.purpose == purpose) return void(b.bytes += bytes);
    out.push_back({purpose, bytes});
  };
  uint64_t states = 0, data = 0;
  for (const HostState& s : p.host->states)
    for (const StatePart& part : s.parts) {
      add(s.purpose, uint64_t(part.rect.area()) * part.bytes_per_pe);
      states += uint64_t(part.rect.area()) * part.bytes_per_pe;
    }
  const auto waits_at = [&](const Rect& rect) {
    return std::any_of(p.host->kernels.begin(), p.host->kernels.end(), [&](const KernelRow& k) {
      return k.op == kWaiting && k.rect.contains(Coord{rect.x, rect.y});
    });
  };
  for (const TileRect& t : p.rects)
    for (const Section& s : p.tiles[t.tile].sections) {
      const uint64_t bytes = uint64_t(t.rect.area()) * s.bytes;
      if (!is_data(s.kind))
        add(std::string(section_kind_name(s.kind)), bytes);
      else if (waits_at(t.rect))
        add("activations", bytes);
      else
        data += bytes;
    }
  add("buffers", data > states ? data - states : 0);
  return out;
}

int port_of(const Program& p, const std::string& name) {
  for (size_t i = 0; i < p.ports.size(); ++i)
    if (p.ports[i].name == name) return int(i);
  return -1;
}

// Words enter in order: the first one that has not is behind the last one that has.
uint64_t words_entered(const Engine& e, int port) {
  uint64_t known = 0, beyond = 1;
  while (e.entered(port, beyond - 1) != kNever) known = beyond, beyond *= 2;
  while (beyond - known > 1) {
    const uint64_t middle = known + (beyond - known) / 2;
    (e.entered(port, middle - 1) != kNever ? known : beyond) = middle;
  }
  return known;
}

std::string what_crosses(const HostPart& host, const std::string& tensor) {
  const auto named = [&](const HostTensor& t) {
    return t.name == tensor ||
           std::any_of(t.pieces.begin(), t.pieces.end(), [&](const Piece& p) { return p.tensor == tensor; });
  };
  for (const HostState& s : host.states)
    if (s.input == tensor || s.output == tensor) return "state";
  for (const HostScalar& s : host.scalars)
    if (s.input == tensor) return "scalar";
  if (std::any_of(host.inputs.begin(), host.inputs.end(), named)) return "data";
  return std::any_of(host.outputs.begin(), host.outputs.end(), named) ? "output" : "host";
}

std::vector<EdgeTraffic> edge_traffic(const Engine& e) {
  std::vector<EdgeTraffic> out;
  const Program& p = e.program();
  for (const HostStep& step : p.host->steps) {
    const bool in = step.kind == HostStep::Kind::send;
    const int port = in || step.kind == HostStep::Kind::receive ? port_of(p, step.port) : -1;
    if (port < 0) continue;
    const uint64_t words = in ? words_entered(e, port) : e.received(port).size();
    out.push_back({step.tensor, what_crosses(*p.host, step.tensor), in, words});
  }
  return out;
}

}  // namespace

uint64_t TrainingFigures::edge_words() const {
  uint64_t sum = 0;
  for (const EdgeTraffic& t : edge) sum += t.words;
  return sum;
}

void add_training(RunReport& r, const Engine& e) {
  if (!e.program().host || !has_states(*e.program().host)) return;
  r.steps = {step_phases(r), memory_by_purpose(e.program()), edge_traffic(e)};
}

}  // namespace cs::sim
