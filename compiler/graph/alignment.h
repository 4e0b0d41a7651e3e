// Which arrays of inputs begin at a multiple of a word's bytes on the host (docs/decisions/0037-alignment.md), as the
// options say it; the graph's text says it of an input with `assume_aligned` and `clone_unaligned`.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "compiler/graph/graph.h"

namespace cs::graph {

// Which arrays that break the promise are cloned; others are errors.
enum class AlignPolicy : uint8_t { never, products, always };
std::optional<AlignPolicy> align_policy_from_name(std::string_view);

struct Alignment {
  bool assume_inputs = false;
  std::map<std::string, bool> of_input;  // otherwise
  std::optional<AlignPolicy> policy;     // not given: as the graph's text says, which is always unless it says so
};

// The inputs get what is said of them: an option of their own counts more than the text of the graph, and that more
// than the option for all. False, with an error, if an option names no input.
bool apply_alignment(Graph&, const Alignment&, Diag&);

}  // namespace cs::graph
