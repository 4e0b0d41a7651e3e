// A graph with a loss becomes a step of training: gradients, what stands between them and the optimizer, the
// optimizer, and the states that go on to the next step (graph::State).
//
//   w0 (state) ─┬─ forward ── loss ── backward ── gradient of w0 ── unscale, clip ── optimizer ── w0.next
//               └───────────────────────────────────────────────────────────────────────┘
//
// Parameters are kept in f32 at least, whatever the network computes in: a step on master weights. Where
// several batches make one update, the sum of their gradients is a state too, and the optimizer's results are
// taken behind the last of them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/frontend/data_parallel.h"
#include "compiler/frontend/optimizer_config.h"
#include "compiler/graph/graph.h"

namespace cs::frontend {

struct TrainingPlan {
  graph::ValueId loss;                       // one element
  std::vector<graph::ValueId> parameters;    // constants of the graph; empty: trainable_constants()
  std::vector<graph::ValueId> outputs;       // what comes back of each step
  std::optional<OptimizerConfig> optimizer;  // with a learning rate; none: gradients only
  std::vector<graph::ValueId> gradients;     // that come back too, as "gradient.NAME"
  int64_t accumulate = 1;                    // batches whose gradients make one update
  bool average = true;                       // they are averaged, or else added up
  bool evaluates = false;                    // the host may run steps that change no state
  graph::ValueId trains;                     // the input that says so, if the graph has it already
  DataParallel parallel;                     // several replicas: `replicas` has their losses and the parameters' names
  graph::Replicas replicas;
};

// An input of one number: 1 in steps of training, 0 in those that only evaluate.
graph::ValueId add_trains(graph::Graph&);

// Constants in floating point with more than one element that the loss depends on, except running statistics.
std::vector<graph::ValueId> trainable_constants(const graph::Graph&, graph::ValueId loss);

// Errors name the value or node. The graph's outputs become those of the plan and of the states.
bool make_training_step(graph::Graph&, const TrainingPlan&, Diag&);

}  // namespace cs::frontend
