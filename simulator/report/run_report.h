// RunReport: everything that is reported about one run, as plain data; filled once, printed in several forms.
//
//   collect.h   engine counters + Program -> RunReport          timeline.h   counters over time
//   stats_json.h  stats.json     summary.h  text of a dozen lines     insights.h  sentences     page.h
//   report.html
// busy + sum(stalls) + idle = cycles x PEs, exactly, for every kernel's rectangle and for all PEs used.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/host/compare.h"
#include "runtime/host/model_run.h"
#include "runtime/program/program.h"
#include "runtime/support/class_errors.h"
#include "simulator/engine/memory_use.h"
#include "simulator/engine/stats.h"
#include "simulator/report/critical_path.h"
#include "simulator/report/energy.h"
#include "simulator/report/training.h"

namespace cs::sim {

// PE cycles by what the PE did in them.
struct PeTime {
  uint64_t busy = 0;
  std::array<uint64_t, kStalls> stalls{};
  uint64_t idle = 0;
  uint64_t total() const;
  bool operator==(const PeTime&) const = default;
};

// A generated kernel beside the handwritten (or primitive) way to do the same, each simulated alone.
struct Counterpart {
  Origin origin = Origin::handwritten;
  double cycles = 0;       // of the counterpart: first input wavelet to last output, one sample
  double this_cycles = 0;  // of the kernel itself, measured the same way
  double ratio = 0;        // this_cycles / cycles; below 1 the generated kernel is faster
  std::optional<double> interval_cycles, this_interval_cycles;
  std::string name = {};  // what it is: "gemv + relu"; several take turns on the rectangle
};

struct KernelReport {
  KernelRow row;
  // Of a run of one sample; a kernel that waits for wavelets begins with the first one at one of its cores.
  std::optional<Cycle> first_task, last_task_end;
  std::optional<double> cycles;  // last_task_end - first_task; host: time of its step
  PeTime time;                   // of the whole run, over the rectangle
  uint64_t flops = 0;            // executed in the rectangle
  std::optional<Counterpart> counterpart;
  // Estimated over simulated cycles; nothing for host kernels and those that did not run.
  std::optional<double> estimate_ratio() const;
};

inline constexpr double kEstimateTolerance = 0.15;  // an estimate that is off by no more holds
struct Estimates {
  size_t kernels = 0, within = 0;
};
Estimates estimates_of(const std::vector<KernelReport>&);

// One number per cell of `cell` x `cell` PEs (the largest of its PEs), over the area of PEs that do
// something.
struct WaferMap {
  std::string name, unit;
  std::vector<double> values;  // rows of cells, north to south
};
struct WaferMaps {
  Rect area;
  int cell = 1, columns = 0, rows = 0;
  std::vector<WaferMap> maps;
};

struct HotLink {  // the link with the most wavelets
  Coord pe;
  Port port = Port::east;
  uint64_t wavelets = 0;
};

struct HostWork {  // a host operator at work on a sample
  std::string op, makes;
  int sample = 0, core = 0;
  Cycle begin = 0, end = 0;
};
struct HostUse {
  int cores = 0;  // 0: no operator runs on the host
  Cycle crossing_cycles = 0;
  std::vector<HostWork> work;
  uint64_t busy() const;  // core cycles
};

struct TimelineBin {
  PeTime time;                        // of all PEs used, in this bin
  std::vector<uint64_t> kernel_busy;  // by kernel: busy PE cycles in this bin
};
struct Timeline {
  Cycle bin_cycles = 0;
  std::vector<TimelineBin> bins;
};

struct WaitRow {  // PE cycles that a kernel spent waiting for another one, a host port, or PEs of its own
  std::string kernel, what_for, cause;
  uint64_t cycles = 0;
};

// PE cycles of a line of CSL source; line 0: instructions that come from no line.
struct LineCost {
  std::string file = {};
  uint32_t line = 0;
  uint64_t busy = 0;
  std::array<uint64_t, kStalls> stalls{};
  uint64_t memory_groups = 0, fabric_groups = 0;  // of what is busy
  uint64_t cycles() const;
};

// What cycles consist of (cycle_classes.h), and how far such cycles are from those that others measured.
struct CycleClass {
  std::string name;
  std::optional<uint64_t> pe_cycles;      // nothing: only a run that is listened to can tell
  std::optional<ClassError> error = {};  // nothing: none was measured
};

// What ran on main threads: launched functions and tasks; and operations on microthreads, by their line.
struct FunctionCost {
  std::string name, kind, where = {};
  uint64_t runs = 0, pes = 0;
  uint64_t cycles = 0, longest = 0;  // of all runs, of the longest one
  Coord longest_pe = {};
};

// A tile program and the PEs that run it.
struct TileUse {
  std::string name;
  std::vector<std::string> functions = {};  // that the host can launch
  uint64_t pes = 0;
  uint32_t bytes = 0;
  PeTime time = {};
  std::vector<Rect> rects = {};
};

struct Comparison {  // one line of `against`
  std::string name;
  double this_value = 0, base = 0;
  double ratio() const { return base != 0 ? this_value / base : 0; }
};

// Another way to compile the same model that was simulated with the same inputs and is faster.
struct Advice {
  std::string command, why;
  std::string figure;           // interval_cycles, or cycles where there is no steady state
  double base = 0, value = 0;   // of this run, of the other
  uint64_t pes_used = 0;        // by the other
  double gain() const { return base > 0 ? 1 - value / base : 0; }
};
inline constexpr double kWorthwhile = 0.05;  // gains below are not advice

struct SimulatorFigures {
  double wall_s = 0;
  double peak_rss_mb = 0;
  int threads = 1;
  MemoryUse memory;
};

// A number of every step of training.
struct Curve {
  std::string name;
  std::vector<double> values;
};

// A round of evaluation: means over its batches of the loss and the metrics.
struct Evaluation {
  int64_t after_steps = 0;  // of training
  int64_t batches = 0;
  std::vector<std::pair<std::string, double>> means;
};

struct RunReport {
  std::string program, model, policy, dtype, machine;
  int fabric_width = 0, fabric_height = 0;
  double clock_mhz = 0;
  int iterations = 0;
  int copies = 1;  // of the network, which take the samples in turn
  RunStatus status;
  std::vector<std::pair<std::string, uint64_t>> allowed;  // faults let through by --allow, and how often
  Cycle cycles = 0;
  std::optional<Cycle> latency_cycles;
  std::optional<double> interval_cycles;
  std::optional<double> samples_per_second;
  std::vector<Cycle> sample_end;
  bool training = false;             // samples are steps
  std::vector<Curve> curves;         // of training: outputs of one number, the loss among them
  std::vector<Evaluation> evaluations;
  TrainingFigures steps;             // of training
  std::vector<LaunchSpan> launches;  // in order; a streamed network launches nothing
  // Cycles in which a launch was under way.
  Cycle launched_cycles() const;
  double host_call_seconds = 0;  // the host's own time for copies and launches, on its own clock
  std::vector<LineCost> lines;   // the costliest first; only of runs that are reported
  std::vector<FunctionCost> functions;
  std::vector<TileUse> tiles;
  uint64_t flops = 0, wavelet_hops = 0, instructions = 0;
  uint64_t memory_bytes = 0;  // read and written by instructions
  Energy energy;
  uint64_t pes_used = 0;  // PEs that executed something
  double utilisation = 0;
  Roof roof;  // of the network on the whole fabric of its machine; all 0: not known
  // Roof over interval; nothing without a steady state.
  std::optional<double> efficiency() const;
  uint32_t memory_bytes_max = 0;  // largest tile program
  int memory_bytes_have = 0;
  PeTime time;  // of the PEs used
  uint64_t memory_groups = 0, fabric_groups = 0;  // of what they were busy with: element groups (Work)
  std::vector<CycleClass> classes;
  HotLink hot_link;
  std::vector<KernelReport> kernels;
  std::vector<OpRow> ops;
  HostUse host;
  std::vector<WaitRow> waits;  // the longest first; only of runs that are reported
  CriticalPath path;
  WaferMaps maps;
  Timeline timeline;
  std::string against;  // name of the other program
  std::vector<Comparison> comparisons;
  std::string against_note;    // do the outputs agree?
  std::vector<Advice> advice;    // the best first
  std::string advice_note;       // how many were tried; empty: none
  std::string baselines_note;  // why there are no counterparts, if there are none
  std::optional<CheckResult> check;
  SimulatorFigures simulator;
  std::string config;  // every effective value, YAML
  uint64_t aligned_clones = 0;   // of inputs, which took `clone_cycles` of the cycles
  Cycle clone_cycles = 0;
  uint64_t permuted_words = 0;   // of states, when a checkpoint was loaded; weights lie as PEs hold them
  uint64_t constant_bytes = 0;   // that PEs have at cycle 0
};

}  // namespace cs::sim
