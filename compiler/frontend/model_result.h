// What leaves a language model (--result, runconfig.result): logits of all steps, of the last one or of
// masked positions, or the places of the largest ones.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/frontend/model_config_net.h"

namespace cs::frontend {

enum class ModelResult : uint8_t { logits, last, argmax, masked };

// What the configuration asks for. An error where this is no name, where the model has no such result
// (`masked` of a decoder, `last` of an encoder), and where it is trained or evaluated, which takes all
// logits.
ModelResult result_of(ModelConfig&, bool decoder);

// Of other models: anything but logits is an error.
void refuse_result(ModelConfig&);
// The same of models without a configuration, of which `overrides` may ask for one.
bool no_result_asked(const std::vector<std::string>& overrides, const std::string& path, Diag&);

// What is left of a value [1, steps, width] before logits are made of it: the last step, or the steps at
// `masked_lm_positions` [1, n], an input of i32, n being train_input.max_predictions_per_seq.
ValueId steps_of_result(NetBuilder&, ValueId, ModelResult);

// Sets the output: `name`, or `predictions`, i64 [1, steps], the places of the largest logits.
void set_result(NetBuilder&, ValueId logits, const std::string& name, ModelResult);

}  // namespace cs::frontend
