// Keys of `runconfig` that say where arrays of inputs begin on the host (compiler/graph/alignment.h):
//
//   runconfig: {assume_aligned_inputs: true, align_policy: products}
//   runconfig: {assume_aligned_inputs: [on, x=off]}      # of all inputs but one
#pragma once

#include <string>
#include <vector>

#include "compiler/graph/alignment.h"

namespace cs::frontend {

// Of a configuration, or of the overrides alone for models of other kinds. False, with an error, for words that
// these keys do not have.
bool read_alignment(const std::string& path, const std::vector<std::string>& overrides, graph::Alignment&, Diag&);

}  // namespace cs::frontend
