// What a report says of training beyond the figures of any run: what forward, backward and update take of a step,
// whose bytes are on the wafer, and what crosses its edge.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/host/model_run.h"

namespace cs::sim {

class Engine;
struct RunReport;

// Kernels of a step that work for the same. Begin and end of a kernel say little, as it also receives the weights of
// the next step: cycles are those of the critical path that lead through them, and wires have the rest of a step.
struct StepPhase {
  std::string name;  // forward (with the loss), backward, update
  size_t kernels = 0;
  std::optional<double> cycles;  // of a step; only of runs with a critical path
  uint64_t busy = 0;             // PE cycles of the whole run
};

// Bytes in the memories of all PEs. "activations" wait in kernels that do nothing but keep them; "buffers" is all
// other data.
struct PurposeBytes {
  std::string purpose;
  uint64_t bytes = 0;
};

struct EdgeTraffic {
  std::string tensor;
  std::string what;  // data, scalar, output, state, host
  bool to_wafer = true;
  uint64_t words = 0;  // counted, of the whole run
};

struct TrainingFigures {
  std::vector<StepPhase> phases;
  std::vector<PurposeBytes> memory;
  std::vector<EdgeTraffic> edge;
  uint64_t edge_words() const;
};

// Of a program with states; behind the critical path.
void add_training(RunReport&, const Engine&);

}  // namespace cs::sim
