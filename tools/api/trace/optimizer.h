// Optimizers, which the compiler makes of their rows: step() in a traced function makes it a training step,
// whose update is done on the wafer.
//
//   cs::Optimizer adamw("AdamW", model.weights(), "{learning_rate: 0.001, weight_decay_rate: 0.01}");
//   ...  loss.backward();  adamw.step();  adamw.zero_grad();
#pragma once

#include <string>
#include <vector>

#include "tools/api/trace/tensor.h"

namespace cs {

class Optimizer {
 public:
  // `kind`: SGD, Adam, AdamW, Adagrad, RMSprop, or their rows sgd_step, adam_step, adagrad_step,
  // rmsprop_step. `options`: keys of the section `optimizer` of configurations as a YAML map, with their
  // defaults and schedules (docs/graph.md); learning_rate must be there. A TraceError names what is wrong or
  // unknown in them.
  Optimizer(const std::string& kind, std::vector<Weight> weights, const std::string& options);

  // Behind backward(); moves those of its weights that the graph uses and that require gradients.
  void step(CallSite where = CallSite::here()) const;
  // Belongs to every step: gradients do not add up over iterations.
  void zero_grad(CallSite where = CallSite::here()) const;

  const std::string& recipe() const { return recipe_; }  // the section, on one line

 private:
  std::vector<Weight> weights_;
  std::string recipe_;
};

}  // namespace cs
