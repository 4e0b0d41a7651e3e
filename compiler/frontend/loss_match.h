// Whether a loss of one's own is one that the catalogue has, operation by operation; if not, where they part.
#pragma once

#include <string>

#include "compiler/frontend/custom_loss.h"

namespace cs::frontend {

struct LossMatch {
  std::string
      name;  // of the loss that agrees in most operations from the first on; empty: none has such inputs
  bool same = false;            // in all
  int operation = 0;            // the first that differs, counted from 1
  std::string expected, found;  // "mul(%2, target)"; %2 is what operation 2 gives; "(the end)"
};
LossMatch match_catalogue(const CustomLoss&);

}  // namespace cs::frontend
