// Learning rates that depend on the step. The host computes them and gives each step its rate as a run-time
// scalar, so that a schedule is no part of the program.
//
// In YAML a rate is a number, one schedule or a list of schedules that follow each other:
//
//   learning_rate:
//     - {scheduler: Linear, initial_learning_rate: 0, end_learning_rate: 0.001, steps: 100}
//     - {scheduler: CosineDecay, initial_learning_rate: 0.001, end_learning_rate: 0, steps: 900}
//
// The rate in step s of a schedule, from 0; `initial` and `end` are initial_learning_rate and
// end_learning_rate:
//
//   Constant                learning_rate
//   Linear                  initial + (end - initial) s / decay_steps
//   Polynomial              end + (initial - end) (1 - s / decay_steps)^power; power is 1 if it is left out
//   CosineDecay             end + (initial - end) (1 + cos(pi s / decay_steps)) / 2
//   Exponential             initial * decay_rate^(s / decay_steps); `staircase` rounds the exponent down
//   PiecewiseConstant       values[number of boundaries <= s]
//   InverseSquareRootDecay  initial * scale / sqrt(max(s, warmup_steps)); each is 1 if it is left out
//
// Names are read in any case. `steps` is how long a schedule lasts; where only one of it and `decay_steps`
// (or `total_iters`) is there, it is both. Only the last schedule of a list may have neither. Linear,
// Polynomial and CosineDecay keep their end rate when they are over, the others go on. A key that looks like
// a known one is an error, one that no schedule has a warning.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/support/yaml.h"

namespace cs {

struct Schedule {
  enum class Kind : uint8_t { constant, polynomial, cosine, exponential, piecewise, inverse_root };
  Kind kind = Kind::constant;
  double initial = 0, end = 0;  // constant: initial
  double power = 1;             // polynomial
  double decay_rate = 1;        // exponential
  bool staircase = false;       // exponential
  int64_t warmup_steps = 1;     // inverse_root
  std::vector<double> values;   // piecewise
  std::vector<int64_t> boundaries;
  int64_t steps = 0;        // how long it lasts; 0: for ever
  int64_t decay_steps = 0;  // how long it takes to its end rate or for one factor
  double at(int64_t step) const;
  bool operator==(const Schedule&) const = default;
};

class LearningRate {
 public:
  explicit LearningRate(double constant = 0);
  explicit LearningRate(std::vector<Schedule> parts) : parts_(std::move(parts)) {}
  // Of the step with this number, from 0.
  double value(int64_t step) const;
  const std::vector<Schedule>& parts() const { return parts_; }
  // Whether every schedule of a list sees steps from its own beginning (the default) or those of the whole
  // run.
  bool steps_restart = true;
  bool operator==(const LearningRate&) const = default;

 private:
  std::vector<Schedule> parts_;  // at least one
};

// A number, a map or a list of maps; `what` names it in messages. Nothing, with errors, if it is not valid.
std::optional<LearningRate> read_learning_rate(const YamlNode&, const std::string& what, Diag&);
// One schedule from its keys.
std::optional<LearningRate> read_learning_rate(const std::map<std::string, YamlNode>& keys,
                                               const std::string& what, Diag&);

// What read_learning_rate() reads as the same rate, in one line; `steps_restart` is not in it.
std::string schedule_text(const LearningRate&);

}  // namespace cs
