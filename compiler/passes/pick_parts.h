// Who takes a few steps of what shards give takes them from the shards.
//
//   concat(a, b) ── slice ── y       →   a ── slice ── y
//   concat(a, b) ── gather ── y      →   a ── gather ─┬─ where ── y
//                                        b ── gather ─┘
//
// Put together, a value would be one stream of all its words, whatever is taken of them: the hidden states of
// all tokens for the first one, or for those that were masked.
#pragma once

#include <set>

#include "compiler/graph/graph.h"
#include "runtime/support/diag.h"

namespace cs::passes {

// Of these values, each of which a concat makes. False if a new node was refused, which is in diag then.
bool pick_from_parts(graph::Graph&, const std::set<graph::ValueId>& joined, Diag&);

}  // namespace cs::passes
