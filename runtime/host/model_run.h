// Runs a network: the host part of a Program over a Device, samples pipelined.
//
// Every step of the host part is a stage of a pipeline that handles the samples of its copy of the network in order; a
// step starts on a sample as soon as its tensors are there. Sends queue at their port and the fabric's backpressure
// paces them, so the next sample enters before the last has left. Host operators share the cores of one processor and
// take modelled time, never the simulating computer's (docs/decisions/0010-host.md).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "runtime/host/array_view.h"
#include "runtime/host/device.h"
#include "runtime/host/host_processor.h"
#include "runtime/host/npz.h"

namespace cs {

struct ModelRunOptions {
  int samples = 0;                       // 0: as many as the inputs hold; more: they repeat
  // Training: what its states begin with instead of the program's own values, and how many steps were before.
  const std::vector<NamedArray>* states = nullptr;
  int64_t steps_before = 0;
  // Samples that only evaluate (empty: none), and their inputs. Steps are counted without them.
  std::vector<bool> evaluates = {};
  const std::vector<NamedArray>* evaluation = nullptr;
  Cycle max_cycles = kNever;
  Cycle progress_cycles = kNever;        // calls `progress` about every so many cycles; false interrupts the run
  std::function<bool(Cycle now, int samples_done)> progress;
};

struct HostStepTime {                    // per op step of the host part, in cycles over all samples
  std::string name;                      // first output tensor
  Cycle busy = 0, first_start = kNever, last_end = 0;
};

struct ModelRunResult {
  RunStatus status;                      // reason condition: all samples are done
  int samples = 0;                       // finished
  std::vector<NamedArray> outputs;       // of the model, samples along their sample dimension
  std::vector<NamedArray> states;        // training: after the last sample, by name
  Cycle first_input = 0;                 // first wavelet entered the fabric
  Cycle latency_cycles = 0;              // first input wavelet -> last output of the first sample
  std::vector<Cycle> sample_end;         // last output of each sample
  std::optional<double> interval_cycles; // see interval_of
  int copies = 1;                        // samples of a round, as there
  Cycle cycles = 0;                      // end of the last sample
  std::vector<HostStepTime> host_steps;
  std::vector<HostSpan> host_spans;      // every host operator at work, in order of begin
  double host_seconds = 0;               // the host's own time for copies and launches
  std::vector<LaunchSpan> launches;      // of programs whose operands lie on the PEs, in order
  uint64_t aligned_clones = 0;           // inputs that were not where the program needs them (aligned_inputs.h)
  Cycle clone_cycles = 0;                // that this took, in `cycles`
  uint64_t permuted_words = 0;           // that loading put elsewhere than their neighbours: states of a checkpoint
};

// How many samples a set of inputs holds; 0 with a diagnostic when names, shapes or counts do not fit the model.
int samples_in(const HostPart&, std::span<const ArrayView> inputs, Diag&);
int samples_in(const HostPart&, const std::vector<NamedArray>& inputs, Diag&);
// Seeded uniform inputs in [0, 1) for `samples` samples.
std::vector<NamedArray> random_inputs(const HostPart&, int samples, uint64_t seed);

// The device must hold the program at cycle 0. `weights` is weights.bin (constants of host operators).
// Returns nothing only for bad input (reported); a fault or deadlock is in `status`. Each sample of the inputs is
// copied out by itself, the arrays as a whole are not.
std::optional<ModelRunResult> run_model(Device&, std::span<const uint8_t> weights, std::span<const ArrayView> inputs,
                                        const ModelRunOptions&, Diag&);
std::optional<ModelRunResult> run_model(Device&, std::span<const uint8_t> weights,
                                        const std::vector<NamedArray>& inputs, const ModelRunOptions&, Diag&);

// (End of the last sample - end of the middle one) / samples between. Where samples end `copies` at a time, both ends
// are multiples of it, and there are at least four rounds; else nothing.
std::optional<double> interval_of(std::span<const Cycle> sample_end, int copies);
// What takes samples in turn: copies of the network, and the host's cores if there are host operators; of both, the
// samples after which each of them has had equally many.
int copies_over_samples(const HostPart&, const Machine&);

}  // namespace cs
