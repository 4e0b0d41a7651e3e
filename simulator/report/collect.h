// collect: reads the engine's counters at the end of a run and adds them up per kernel, per map and overall.
#pragma once

#include <functional>

#include "runtime/machine/machine.h"
#include "simulator/engine/engine.h"
#include "simulator/report/run_report.h"
#include "simulator/report/wait_tracker.h"

namespace cs::sim {

// `cycles` is the length of the run as reported: the window that busy, stalls and idle fill.
RunReport collect(const Engine&, Cycle cycles);
// Adds what the host saw of a model run: latency, interval, samples, times of host kernels, what its cores
// did.
void add_model_run(RunReport&, const HostPart&, const Machine&, const ModelRunResult&);
// Cycles of every kernel from a run of exactly one sample.
struct KernelSpan {
  std::string name;
  std::optional<Cycle> first_task, last_task_end;
  std::optional<double> cycles;
};
void add_kernel_cycles(RunReport&, const std::vector<KernelSpan>& one_sample);

// Lets every kernel of a run of one sample begin with the first wavelet that reached one of its cores (fabric
// rectangle
// -> cycle, kNever if none): tasks that start at cycle 0 only to wait for input do not work on the sample
// yet.
void begin_with_input(RunReport&, const Engine&);

// What a WaitTracker has heard of the run: waits, and the critical path of a network that streams.
void add_waits(RunReport&, const WaitTracker&);
void add_critical_path(RunReport&, const Engine&, const ModelRunResult&, const WaitTracker&);

// Which code stands where, and what its PEs did; without the tile programs that a network's kernels consist
// of.
void add_tiles(RunReport&, const Engine&);

// Counters of all PEs in a rectangle; idle fills `cycles` per PE.
PeTime time_of(const Engine&, const Rect&, Cycle cycles);

}  // namespace cs::sim
