// Keys of losses, before there is a graph that they belong to. Internal to loss_config.cpp.
#pragma once

#include <deque>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "compiler/frontend/custom_loss.h"
#include "compiler/frontend/model_config.h"

namespace cs::frontend {

// What targets of a loss are: of the output's shape, indices of classes, one per row, none, or those of
// CTCLoss.
enum class Targets : uint8_t { like, classes, rows, none, labels };

struct LossKind {
  const char* name;  // of torch.nn
  const char* row;
  Targets targets = Targets::like;
};
std::span<const LossKind> loss_kinds();
const LossKind* find_loss_kind(std::string name);  // in any case, with or without "Loss."

struct LossUse {
  const LossKind* kind = nullptr;  // null: a custom one
  const CustomLoss* custom = nullptr;
  std::string name;  // as the user spells it
  std::string reduction = "mean";
  bool use_autogen = false;
  Attrs attrs;                                       // of the row, but those two
  std::vector<double> values;                        // of a custom loss's arguments
  std::map<std::string, std::vector<double>> lists;  // weight, pos_weight
  std::string output, target;                        // empty: not said
  double factor = 1;
  bool probabilities = false;
  int64_t labels = 0;  // of CTCLoss, per sample; 0: not said
  SourceLoc at = {};
};

struct LossesConfig {
  std::deque<CustomLoss> custom, distances;  // distances: TripletMarginWithDistanceLoss with expressions
  std::vector<LossUse> uses;
};
// False where something is wrong, which is then reported.
bool read_losses(ModelConfig&, LossesConfig&);

}  // namespace cs::frontend
