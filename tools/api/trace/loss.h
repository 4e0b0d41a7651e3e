// Losses of the catalogue (docs/losses.md) by their names, and losses of one's own, in traced functions.
//
//   cs::Tensor loss = cs::loss("CrossEntropyLoss", {logits, targets}, {.reduction = "mean"});
#pragma once

#include <string>
#include <vector>

#include "tools/api/losses.h"
#include "tools/api/trace/tensor.h"

namespace cs {

struct CatalogueOptions {
  std::string reduction = "mean";  // those of the row: mean, sum, none, and batchmean of kl_div_loss
  bool use_autogen = false;        // one generated kernel for the loss and one for its gradient
  Attrs attrs = {};                // of the row: {{"label_smoothing", 0.1}}
};

// `name` as torch calls it or as the row is called: CrossEntropyLoss, cross_entropy_loss.
Tensor loss(const std::string& name, const std::vector<TensorArg>& operands, const CatalogueOptions& = {});
// A loss of one's own (losses.h); inside traced functions.
Tensor loss(const Loss&, const std::vector<TensorArg>& operands, const LossOptions& = {});
// Rows of all losses of the catalogue.
std::vector<std::string> loss_names();

}  // namespace cs
