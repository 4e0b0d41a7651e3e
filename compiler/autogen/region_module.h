// CSL module of a region for one PE: receive every operand, compute, send every result in turns.
//
// Parameters of the module:
//   x<i>_color, x<i>_queue, x<i>_next_id   stream of operand i and the task that takes its next part
//   x<i>_before, x<i>_after: i32           words of the stream before and behind what this PE keeps
//   y<j>_color, y<j>_queue                 stream of result j
//   c<k>: [*]f32 or [*]i32                 this PE's part of constant k
//   send_control: bool, control: u32       the control wavelet behind this PE's part of a result
//   (docs/autogen.md) compute_id, start_id                   tasks
#pragma once

#include <string>

#include "compiler/autogen/region.h"
#include "runtime/machine/machine.h"

namespace cs::autogen {

struct RegionModule {
  std::string text;
  double compute_cycles = 0;  // estimate of one sample without receiving and sending
  int64_t words = 0;          // arrays of the module and constants
  uint32_t code_bytes = 0;    // estimate
};

struct RegionTitle {
  std::string title;     // "Conv_3: conv of f32[1, 3, 8, 8]"
  std::string sharding;  // "64 rows on 8 PEs"
};

RegionModule region_module(const Region&, const RegionShare&, const RegionTitle&, const Machine&);

}  // namespace cs::autogen
