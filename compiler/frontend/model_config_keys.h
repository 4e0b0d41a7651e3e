// Keys of the zoo's conventions that the forward graph does not depend on: which there are, and what is wrong
// with those that are given.
#pragma once

#include <string>
#include <vector>

#include "compiler/frontend/model_config.h"

namespace cs::frontend {

// Known without being used.
bool is_key_without_effect(const std::string& key);
// All of them, for "did you mean"; whole sections end with a point.
std::vector<std::string> keys_without_effect();
// Values of `runconfig` and `optimizer` that no run could use, and what is not built: training.
void check_training_keys(ModelConfig&);

}  // namespace cs::frontend
