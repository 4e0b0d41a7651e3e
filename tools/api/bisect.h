// --bisect-fusion: which fusion makes a network compute something else than its operators do.
#pragma once

#include <optional>
#include <string>

#include "tools/api/api.h"

namespace cs::api {

struct Bisected {
  int fusions = 0;        // operators that joined another kernel
  int tried = 0;          // networks that were compiled and run
  bool agrees = true;     // all together, with the host's results
  bool without = true;    // the network in which no operator joins another
  std::string node;       // the first with which they differ; empty: none, or they differ without any
  std::string kernel;     // the operators of its kernel
  std::string mismatch;
  std::string text() const;
};
// One seeded sample. Nothing, with errors, if the network cannot be compiled or its host values not be computed.
std::optional<Bisected> bisect_fusion(const CompileOptions&, const Compiled&, Diag&);

}  // namespace cs::api
