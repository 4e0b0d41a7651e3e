// The section `optimizer` of a model configuration: every key is checked, and what is built becomes an
// optimizer row with its attributes (runtime/ops/optimizers.h).
//
//   optimizer:
//     optimizer_type: AdamW            # in any case; SGD, Adam, AdamW, Adagrad, RMSprop
//     learning_rate: 0.001             # or schedules (runtime/support/schedule.h)
//     weight_decay_rate: 0.01
//     max_gradient_norm: 1.0
//     loss_scaling_factor: dynamic     # or a number
//
// The later style of the zoo names the optimizer by a section, `AdamW: {betas: [0.9, 0.95]}`. Defaults are
// PyTorch's.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "compiler/frontend/model_config.h"
#include "runtime/support/schedule.h"

namespace cs::frontend {

enum class OptimizerType : uint8_t { sgd, adam, adamw, adagrad, rmsprop };

struct LossScaling {
  bool dynamic = false;
  double factor = 1;  // dynamic: that of the first step
  double min = 1.0 / 16384, max = 32768;
  int64_t steps_per_increase = 2000;
};

struct OptimizerConfig {
  OptimizerType type = OptimizerType::sgd;
  std::optional<LearningRate> learning_rate;  // training needs one
  double weight_decay = 0;
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8;  // eps of Adagrad: 1e-10
  double momentum = 0, dampening = 0, alpha = 0.99;
  double lr_decay = 0, initial_accumulator = 0;
  bool nesterov = false, amsgrad = false, centered = false, maximize = false, correct_bias = true;
  double max_gradient_norm = 0, max_gradient_value = 0;  // 0: no limit
  LossScaling loss_scaling;
};

// Nothing if no built optimizer is named or something is wrong, which is then reported.
std::optional<OptimizerConfig> read_optimizer(ModelConfig&);

// The row that makes its steps.
struct OptimizerRow {
  std::string name;
  Attrs attrs;
  double initial_state = 0;
};
OptimizerRow row_of(const OptimizerConfig&);

}  // namespace cs::frontend
