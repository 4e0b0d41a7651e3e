// Tuning: choices by measurement instead of estimates (--autotune).
//
//   1. the network is compiled as it is without (`off`), and tried out: its interval is what has to be beaten
//   2. kernels alone, without epilogues: each as the library's and as a generated one, on rectangles whose estimates
//      are near; the passes that choose origins ask for these (passes/measured.h)
//   3. of the best ones, and only of these, with the epilogue that the graph asks for: the pass fuse asks
//   4. the network again with what was found; by `max` also with other paces and in other forms
//   5. each of these is tried out, and one is taken only if its interval is not longer than that of `off`
#pragma once

#include "tools/api/api.h"
#include "tools/api/ladder.h"

namespace cs::api {

// Is there anything to tune? Else why not.
bool can_tune(const CompileOptions&, const Formed& off, std::string& why);

// `taken` is the network without tuning, and then the one that is best.
void tune(const CompileOptions&, const passes::PipelineOptions&, const Start&, Formed& taken);

}  // namespace cs::api
