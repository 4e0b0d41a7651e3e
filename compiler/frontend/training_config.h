// What a file says of training, and the step that it asks for.
//
// A configuration (model_config.h) with `runconfig.mode: train` trains its network with its loss; the samples
// of a step are `train_input.batch_size`. A graph text may say the same of itself:
//
//   training:
//     loss: loss              # a value with one element
//     parameters: [w0, b0]    # constants that are trained; left out: all weights that the loss depends on
//     outputs: [loss, logits] # what comes back of each step; left out: the loss
//     gradients: [x]          # values whose gradients come back too, as gradient.x
//     batch: 16               # samples of a batch, where inputs have a sample_dim
//     accumulate: 8           # batches whose gradients make one update; left out: 1
//     average: true           # those gradients are averaged; false: added up
//   optimizer: {optimizer_type: AdamW, learning_rate: 0.001}  # left out: gradients only
#pragma once

#include "compiler/frontend/model_config.h"
#include "compiler/graph/graph.h"

namespace cs::frontend {

// Whether runconfig.mode asks for training; an unknown mode is an error.
bool is_training(ModelConfig&);
// The forward graph of a configuration, for one sample, becomes its step of training, which changes these
// constants.
bool train_as_configured(ModelConfig&, graph::Graph&, const std::vector<graph::ValueId>& parameters, Diag&);
// The same for a graph whose text has the section `training`; true without one. `root` is the text's.
bool train_as_written(const std::string& path, const YamlNode& root,
                      const std::vector<std::string>& overrides, graph::Graph&, Diag&);

}  // namespace cs::frontend
