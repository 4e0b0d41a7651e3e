// CSL module of a region for one PE: receive every operand, compute, send every result in turns.
//
// Parameters of the module:
//   x<i>_color, x<i>_queue, x<i>_next_id   stream of operand i and its task (has_next_task)
//   y<j>_color, y<j>_queue                 stream of result j
//   c<k>: [*]f32 or [*]i32                 this PE's part of constant k
//   pe: [*]i32                             what differs between PEs with this module (pe_words)
//   (docs/autogen.md) compute_id, start_id                   tasks
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/autogen/region.h"
#include "runtime/machine/machine.h"

namespace cs::autogen {

struct RegionTitle {
  std::string title;     // "Conv_3: conv of f32[1, 3, 8, 8]"
  std::string sharding;  // "64 rows on 8 PEs"
};

constexpr int64_t kMostPassed = 16384;  // words that one instruction passes over

// How an operand arrives, by the walk behind its filter; PEs with one module have it in common. Nothing of it comes to
// the core; in one step, since all that comes is kept, or all is passed over; in several.
enum class Arrival : uint8_t { never, at_once, in_steps };
Arrival arrival_of(const Walk&);
// Of an operand: the module has a task x<i>_next, which takes the next step or joins what has arrived.
bool has_next_task(const RegionShare&, size_t operand);
// All that is passed over at once is one instruction.
bool short_gaps(const Walk&);

// Per operand the words to pass before the first run, between runs (innermost loop first) and behind the
// last; per result the control wavelets behind a turn and behind the last turn of a visit, and the PE's own numbers
// (region_own.h), which are left for the caller.
std::vector<uint32_t> pe_words(const RegionShare&);
std::string region_module(const Region&, const RegionShare&, const RegionTitle&, const Machine&);

// The next sample may come as soon as this one is computed, unless sending takes no longer than asking.
bool asks_before_sending(const Region&);

}  // namespace cs::autogen
