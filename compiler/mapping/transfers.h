// How inputs get to PEs that hold them (--operands resident): an element of 16 bits is a word of the link, or half of
// one where its array begins at a multiple of a word's bytes (docs/decisions/0037-alignment.md). What streams is a
// wavelet per element, wherever it lies.
#pragma once

#include <string>
#include <vector>

#include "compiler/graph/graph.h"
#include "runtime/machine/machine.h"
#include "runtime/program/host_part.h"

namespace cs::mapping {

// Marks step and tensor where the graph promises that the input is aligned and two elements can share a word.
void copy_in_words(const graph::Value& input, HostTensor&, HostStep& copy);

// An input's way to the PEs, in cycles of one sample's.
struct InputTransfer {
  std::string name;
  bool possible = false;  // as words
  std::string why;        // if not
  bool assumed = false;   // the Program takes it so
  double words = 0, elements = 0, clone = 0;
  // Of an array that is not aligned: whether it is quicker to clone it.
  bool clone_pays() const { return possible && words + clone < elements; }
};
std::vector<InputTransfer> transfers_of(const HostPart&, const Machine&);

}  // namespace cs::mapping
