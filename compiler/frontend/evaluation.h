// Evaluation as a configuration asks for it: loss and metrics of a batch, with weights from a checkpoint.
//
//   runconfig: {mode: eval, checkpoint_path: trained.npz}    # what cs-sim --state-out wrote, or weights
//   alone eval_input: {batch_size: 32}                             # left out: that of train_input
//
// Where classes are told apart (cross entropy and nll with indices) the share of targets that have the
// highest score is a result `accuracy` beside the loss; with several such losses it has the name of its
// targets, mlm_accuracy.
#pragma once

#include <vector>

#include "compiler/frontend/model_config.h"
#include "compiler/graph/graph.h"

namespace cs::frontend {

// Whether runconfig.mode asks for evaluation alone.
bool is_evaluation(ModelConfig&);
// Weights and running statistics become those of the file that `runconfig.checkpoint_path` names; true
// without one. All of `parameters` must be there; what the optimizer knows of them may be.
bool take_checkpoint(ModelConfig&, graph::Graph&, const std::vector<graph::ValueId>& parameters, Diag&);
// The forward graph, for one sample, becomes a step of evaluation.
bool evaluate_as_configured(ModelConfig&, graph::Graph&, Diag&);
// Metrics of the losses that are in the graph, each one number.
std::vector<graph::ValueId> add_metrics(ModelConfig&, graph::Graph&, Diag&);

}  // namespace cs::frontend
