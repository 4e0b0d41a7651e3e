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
// Values of `runconfig` of another kind than its keys have (run_keys.cpp).
void check_run_keys(ModelConfig&);

}  // namespace cs::frontend
