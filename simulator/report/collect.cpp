// Sums counters. Everything is looked at in the order of the Program, so that reports are the same in every
// run.
#include "simulator/report/collect.h"

#include "runtime/program/tile_bytes.h"

#include <algorithm>
#include <cmath>

namespace cs::sim {
namespace {

// Maps larger than this are shown in cells of several PEs.
constexpr int64_t kMaxCells = 40000;

Rect fabric_of(const Program& p) { return {0, 0, p.fabric_width, p.fabric_height}; }

template <typename F>
void for_each_pe(const Rect& r, const F& f) {
  for (int y = r.y; y < r.y + r.h; ++y)
    for (int x = r.x; x < r.x + r.w; ++x) f(Coord{x, y});
}

void add(PeTime& t, const PeStats& s) {
  t.busy += s.busy;
  for (size_t i = 0; i < t.stalls.size(); ++i) t.stalls[i] += s.stalls[i];
}

uint64_t active(const PeTime& t) {
  uint64_t sum = t.busy;
  for (const uint64_t s : t.stalls) sum += s;
  return sum;
}

void fill_idle(PeTime& t, uint64_t pe_cycles) {
  CS_CHECK(active(t) <= pe_cycles, "PEs were busy or stalled for more cycles than the run has");
  t.idle = pe_cycles - active(t);
}

bool did_something(const PeStats& s) { return s.instructions > 0 || s.tasks > 0; }

uint64_t link_wavelets(const PeStats& s) {
  return *std::max_element(s.sent.begin(), s.sent.begin() + int(Port::ramp));
}

// The smallest rectangle around everything that runs or routes wavelets.
Rect area_in_use(const Engine& e) {
  int left = INT32_MAX, top = INT32_MAX, right = -1, bottom = -1;
  const auto include = [&](const Rect& r) {
    if (r.area() == 0) return;
    left = std::min(left, r.x);
    top = std::min(top, r.y);
    right = std::max(right, r.x + r.w);
    bottom = std::max(bottom, r.y + r.h);
  };
  for (const TileRect& r : e.program().rects) include(r.rect);
  if (right < 0) return e.program().user;
  return {left, top, right - left, bottom - top};
}

class MapBuilder {
 public:
  MapBuilder(WaferMaps& maps, Rect area) : maps_(maps) {
    maps.area = area;
    while (int64_t(cells(area.w)) * cells(area.h) > kMaxCells) ++maps.cell;
    maps.columns = cells(area.w);
    maps.rows = cells(area.h);
    for (const auto& [name, unit] : {std::pair{"busy", "% of cycles"},
                                     {"stalled", "% of cycles"},
                                     {"busiest link", "% of cycles"},
                                     {"memory", "bytes"}})
      add(name, unit);
  }
  size_t add(const std::string& name, const std::string& unit) {
    maps_.maps.push_back({name, unit, std::vector<double>(size_t(maps_.columns) * size_t(maps_.rows))});
    return maps_.maps.size() - 1;
  }
  void set(Coord pe, size_t map, double value) {
    const size_t column = size_t((pe.x - maps_.area.x) / maps_.cell),
                 row = size_t((pe.y - maps_.area.y) / maps_.cell);
    double& cell = maps_.maps[map].values[row * size_t(maps_.columns) + column];
    cell = std::max(cell, value);
  }

 private:
  int cells(int pes) const { return (pes + maps_.cell - 1) / maps_.cell; }
  WaferMaps& maps_;
};

void collect_maps(RunReport& r, const Engine& e) {
  const Rect area = area_in_use(e);
  if (area.area() == 0) return;
  MapBuilder builder(r.maps, area);
  const double percent = r.cycles > 0 ? 100.0 / double(r.cycles) : 0;
  for_each_pe(area, [&](Coord pe) {
    const PeStats s = e.stats(pe);
    PeTime t;
    add(t, s);
    builder.set(pe, 0, double(t.busy) * percent);
    builder.set(pe, 1, double(active(t) - t.busy) * percent);
    builder.set(pe, 2, double(link_wavelets(s)) * percent);
  });
  for (const TileRect& rect : e.program().rects) {
    const double bytes = tile_bytes(e.program().tiles[rect.tile]);
    for_each_pe(rect.rect, [&](Coord pe) { builder.set(pe, 3, bytes); });
  }
  if (e.launches().empty()) return;
  const size_t launched = builder.add("in launches", "cycles");
  for_each_pe(area, [&](Coord pe) { builder.set(pe, launched, double(e.stats(pe).launch_cycles)); });
}

bool computes_in_half(const TileProgram& t) {
  return std::any_of(t.code.begin(), t.code.end(), [](const isa::Inst& i) {
    const isa::Row& row = isa::row(i.op);
    return row.cost == isa::Cost::fp && (row.type == isa::Type::f16 || row.type == isa::Type::f16_f32);
  });
}

// Flops per cycle and PE of the format that the program computes in, at the rate of its fastest operation.
double peak_rate(const RunReport& r, const Engine& e) {
  const auto& tiles = e.program().tiles;
  const bool half =
      r.dtype == "fp16" || r.dtype == "bf16" || std::any_of(tiles.begin(), tiles.end(), computes_in_half);
  const Machine& m = e.machine();
  return std::max(m.peak_flops_per_cycle(half), double(m.simd(half ? "faddh" : "fadds")));
}

void collect_totals(RunReport& r, const Engine& e) {
  EnergyCounters counters{.hops = r.wavelet_hops, .instructions = r.instructions};
  for_each_pe(fabric_of(e.program()), [&](Coord pe) {
    const PeStats s = e.stats(pe);
    r.flops += s.flops;
    counters.half_flops += s.half_flops;
    r.memory_bytes += s.memory_bytes;
    for (size_t port = 0; port < size_t(Port::ramp); ++port)
      if (s.sent[port] > r.hot_link.wavelets) r.hot_link = {pe, Port(port), s.sent[port]};
    if (!did_something(s)) return;
    ++r.pes_used;
    add(r.time, s);
    r.memory_groups += s.memory_groups;
    r.fabric_groups += s.fabric_groups;
  });
  fill_idle(r.time, r.cycles * r.pes_used);
  counters.flops = r.flops;
  counters.memory_bytes = r.memory_bytes;
  counters.pe_cycles = double(r.cycles) * double(r.pes_used);
  r.energy = energy_of(counters, e.machine().energy);
  const double peak = peak_rate(r, e) * double(r.pes_used) * double(r.cycles);
  r.utilisation = peak > 0 ? double(r.flops) / peak : 0;
}

KernelReport collect_kernel(const Engine& e, const KernelRow& row, Cycle cycles) {
  KernelReport k;
  k.row = row;
  k.time = time_of(e, row.rect, cycles);
  for_each_pe(row.rect, [&](Coord pe) {
    const PeStats s = e.stats(pe);
    k.flops += s.flops;
    if (s.first_task == kNever) return;
    k.first_task = std::min(k.first_task.value_or(kNever), s.first_task);
    k.last_task_end = std::max(k.last_task_end.value_or(0), s.last_task_end);
  });
  // Of a run that was stopped, the last task may not have ended.
  if (k.first_task && *k.last_task_end > *k.first_task) k.cycles = double(*k.last_task_end - *k.first_task);
  return k;
}

void add_host_time(KernelReport& k, const HostStep& step, const ModelRunResult& run) {
  for (const HostStepTime& t : run.host_steps) {
    if (step.outputs.empty() || t.name != step.outputs[0] || t.first_start == kNever) continue;
    k.first_task = t.first_start;
    k.last_task_end = t.last_end;
    k.cycles = double(t.busy) / std::max(1, run.samples);
  }
}

HostUse host_use(const HostPart& host, const Machine& machine, const ModelRunResult& run) {
  HostUse use;
  if (run.host_spans.empty()) return use;
  use.cores = machine.host.host_cores;
  use.crossing_cycles = host_crossing_cycles(machine);
  for (const HostSpan& s : run.host_spans) {
    const HostStep& step = host.steps[s.step];
    use.work.push_back(
        {step.op, step.outputs.empty() ? "" : step.outputs.front(), s.sample, s.core, s.begin, s.end});
  }
  return use;
}

}  // namespace

std::optional<double> KernelReport::estimate_ratio() const {
  if (row.origin == Origin::host || !cycles || *cycles <= 0 || row.estimated_cycles <= 0) return std::nullopt;
  return row.estimated_cycles / *cycles;
}

std::optional<double> RunReport::efficiency() const {
  if (!interval_cycles || *interval_cycles <= 0 || roof.cycles() <= 0) return std::nullopt;
  return roof.cycles() / *interval_cycles;
}

Estimates estimates_of(const std::vector<KernelReport>& kernels) {
  Estimates e;
  for (const KernelReport& k : kernels) {
    const std::optional<double> ratio = k.estimate_ratio();
    if (!ratio || k.row.copy > 0) continue;  // copies are alike
    ++e.kernels;
    e.within += std::abs(*ratio - 1) <= kEstimateTolerance ? 1 : 0;
  }
  return e;
}

uint64_t HostUse::busy() const {
  uint64_t sum = 0;
  for (const HostWork& w : work) sum += w.end - w.begin;
  return sum;
}

uint64_t PeTime::total() const { return active(*this) + idle; }

PeTime time_of(const Engine& e, const Rect& rect, Cycle cycles) {
  PeTime t;
  for_each_pe(rect, [&](Coord pe) { add(t, e.stats(pe)); });
  fill_idle(t, cycles * uint64_t(rect.area()));
  return t;
}

RunReport collect(const Engine& e, Cycle cycles) {
  RunReport r;
  const Program& p = e.program();
  r.program = p.name;
  r.machine = e.machine().name;
  r.fabric_width = p.fabric_width;
  r.fabric_height = p.fabric_height;
  r.clock_mhz = e.machine().clock_mhz;
  r.cycles = cycles;
  r.wavelet_hops = e.wavelet_hops();
  r.instructions = e.instructions();
  r.simulator.memory = e.memory_use();
  r.memory_bytes_have = e.machine().core.memory_bytes;
  for (const TileProgram& t : p.tiles) r.memory_bytes_max = std::max(r.memory_bytes_max, tile_bytes(t));
  if (p.host) {
    r.model = p.host->model;
    r.policy = p.host->policy;
    r.dtype = p.host->dtype;
    r.copies = p.host->copies;
    r.ops = p.host->ops;
    r.roof = p.host->roof;
    for (const KernelRow& row : p.host->kernels) r.kernels.push_back(collect_kernel(e, row, cycles));
  }
  collect_totals(r, e);
  collect_maps(r, e);
  return r;
}

void add_model_run(RunReport& r, const HostPart& host, const Machine& machine, const ModelRunResult& run) {
  r.host = host_use(host, machine, run);
  r.iterations = run.samples;
  r.sample_end = run.sample_end;
  r.training = has_states(host);
  for (const NamedArray& a : run.outputs)
    if (r.training && !a.name.starts_with("eval.") && a.tensor.type.rank() > 0 &&
        a.tensor.elements() == a.tensor.type.shape[0] && data_type_is_float(a.tensor.type.dtype))
      r.curves.push_back({a.name, to_doubles(a)});
  r.launches = run.launches;
  r.host_call_seconds = run.host_seconds;
  r.aligned_clones = run.aligned_clones;
  r.clone_cycles = run.clone_cycles;
  r.permuted_words = run.permuted_words;
  for (const Constant& c : host.constants) r.constant_bytes += uint64_t(c.rect.area()) * c.bytes_per_pe;
  if (run.samples > 0) r.latency_cycles = run.latency_cycles;
  r.interval_cycles = run.interval_cycles;
  if (run.samples > 0 && r.cycles > 0) {
    // In the steady state if there is one, else over the whole run with what the host does between its calls.
    const double calls = run.host_seconds * r.clock_mhz * 1e6;
    const double per_sample = run.interval_cycles.value_or((double(r.cycles) + calls) / run.samples);
    if (per_sample > 0) r.samples_per_second = r.clock_mhz * 1e6 / per_sample;
  }
  // Host kernels and host operators come in the same order; all copies of the network share them.
  auto kernel = r.kernels.begin();
  for (const HostStep& step : host.steps) {
    if (step.kind != HostStep::Kind::op || step.copy > 0) continue;
    kernel = std::find_if(kernel, r.kernels.end(), [&](const KernelReport& k) {
      return k.row.origin == Origin::host && k.row.op == step.op;
    });
    if (kernel == r.kernels.end()) break;
    add_host_time(*kernel++, step, run);
  }
}

void add_waits(RunReport& r, const WaitTracker& tracker) {
  const auto name = [&](int party) { return party >= 0 ? tracker.parties()[size_t(party)] : std::string("host"); };
  for (const Wait& w : tracker.waits())
    if (w.who >= 0) r.waits.push_back({name(w.who), name(w.what_for), cause_name(w.cause), w.cycles});
  std::stable_sort(r.waits.begin(), r.waits.end(), [](const auto& a, const auto& b) { return a.cycles > b.cycles; });
}

void add_critical_path(RunReport& r, const Engine& e, const ModelRunResult& run, const WaitTracker& tracker) {
  const auto entered = [&](int port, size_t i) { return e.entered(port, i); };
  r.path = critical_path({e.program(), e.machine(), run, tracker, entered});
}

void begin_with_input(RunReport& r, const Engine& e) {
  for (KernelReport& k : r.kernels) {
    if (!k.cycles || k.row.rect.area() == 0) continue;
    if (k.row.copy > 0 && k.row.copy >= r.iterations) {  // no sample was its copy's
      k.first_task = k.last_task_end = std::nullopt;
      k.cycles.reset();
      continue;
    }
    Cycle arrival = kNever;
    for_each_pe(k.row.rect, [&](Coord pe) { arrival = std::min(arrival, e.stats(pe).first_arrival); });
    if (arrival == kNever || arrival <= *k.first_task || arrival >= *k.last_task_end) continue;
    k.first_task = arrival;
    k.cycles = double(*k.last_task_end - arrival);
  }
}

void add_kernel_cycles(RunReport& r, const std::vector<KernelSpan>& one_sample) {
  for (KernelReport& k : r.kernels)
    for (const KernelSpan& span : one_sample) {
      if (span.name != k.row.name) continue;
      k.first_task = span.first_task;
      k.last_task_end = span.last_task_end;
      k.cycles = span.cycles;
    }
}

}  // namespace cs::sim
