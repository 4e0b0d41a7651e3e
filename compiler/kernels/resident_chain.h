// Elementwise operators behind a kernel on operands that lie on the PEs: they work on its result, in place.
#pragma once

#include "compiler/kernels/choice.h"

namespace cs::kernels {

// The nodes behind the first one of the group become the expression of the choice. False, with the reason, if they are
// no chain of its result alone.
bool add_resident_chain(const graph::Graph&, const graph::Group&, const Machine&, Choice&, std::string& why);
// The import of what works on the n elements of y, as `epilogue`; nothing if there is no chain.
std::string write_resident_chain(const Choice&, const Setting&, int n, std::map<std::string, std::string>& files);

// Constants of the choice's expression whose elements are all the same become numbers of it, so that no PE
// keeps them.
void fold_uniform_constants(const Machine&, Choice&);

// Arrays x0, x1, … of a chain begin in turns in the two halves of eight bytes, so that two of them are read
// at once.
void place_in_turns(ResidentArrays&);
// ", .x1 = …, .x2 = …": what the chain's module takes beside its first operand.
std::string chain_operands(int operands);

}  // namespace cs::kernels
