// Elementwise operators behind a kernel on operands that lie on the PEs: they work on its result, in place.
#pragma once

#include "compiler/kernels/choice.h"

namespace cs::kernels {

// The nodes behind the first one of the group become the expression of the choice. False, with the reason, if they are
// no chain of its result alone.
bool add_resident_chain(const graph::Graph&, const graph::Group&, const Machine&, Choice&, std::string& why);
// The import of what works on the n elements of y, as `epilogue`; nothing if there is no chain.
std::string write_resident_chain(const Choice&, const Setting&, int n, std::map<std::string, std::string>& files);

}  // namespace cs::kernels
