// Losses of a model configuration: `model.loss`, a list `losses` whose sum is trained, and losses of one's
// own.
//
//   model:
//     loss: {type: HuberLoss, delta: 0.5, reduction: mean, use_autogen: true}    # or only a name: loss:
//     MSELoss
//   losses:
//     - {type: Focal, alpha: 0.5, use_autogen: true}
//     - {type: L1Loss, factor: 0.1}
//   custom_losses:                                                              # custom_loss.h
//     - {name: Focal, autogen: true, inputs: [logits, targets], args: {alpha: 0.25, gamma: 2}, expr: "..."}
//
// `type` is the name of a class of torch.nn, in any case, with or without `Loss.` before it; other keys are
// its arguments, lists of numbers for `weight` and `pos_weight`. Besides:
//
//   use_autogen     one generated kernel for the loss and one for its gradient; false: primitives
//   output          which output of the network it takes; the first one
//   factor          of the loss in the sum
//   target          the name of its targets
//   distance        of TripletMarginWithDistanceLoss: pairwise_l2, l1, sq_l2, cosine, or an expression of a
//   and b class_targets   `probabilities` instead of `indices`, for CrossEntropyLoss
//
// The output is the first operand (input, input1, anchor, log_probs). The others are further inputs of the
// program, by their names in torch.nn: target, input2, var, positive, negative; CTCLoss: targets,
// input_lengths, target_lengths. They have the output's shape; indices of classes have it without the last
// dimension, over which the classes are, and so do targets of CosineEmbeddingLoss. 16-bit outputs are
// converted: losses are f32. Losses of one list share inputs of the same name.
//
// Without any of this a network has the loss of its kind: cross entropy of `logits` and `target`, for BERT
// that of mlm_logits and mlm_target (and nsp_logits and nsp_target), where a target of -100 counts for
// nothing. The zoo's loss_scaling, loss_weight, label_smoothing, mlm_loss_scaling and mlm_loss_weight belong
// to these.
#pragma once

#include "compiler/frontend/model_config.h"

namespace cs::frontend {

// The loss of the configuration: its nodes behind the graph's outputs, its targets as new inputs. It has one
// element. Invalid after an error.
graph::ValueId add_loss(ModelConfig&, graph::Graph&, int64_t batch, Diag&);

// The same keys where nothing is trained: what is wrong with them is an error all the same.
void check_losses(ModelConfig&);

// Sections and keys that the two above complain about.
bool is_loss_key(const std::string& key);

}  // namespace cs::frontend
