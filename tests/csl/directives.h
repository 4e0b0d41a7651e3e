// What a feature program says of itself, and how it is read.
//
// A program is a file NAME.csl (one PE, function `main` launched) or a folder NAME with layout.csl and PE
// files. Lines that begin with `//!`, in the file or in layout.csl, say what to do and what must come out:
//
//   //! machines: wse2 wse3            default: both
//   //! params: N:4                    parameters of the layout, as with --params
//   //! fp16: bf16                     16-bit format, default f16
//   //! opt-level: 2                   the level whose code `cycles` speaks of, default 0: instructions as written
//   //! set: x f32 1 2.5 -3            before the launch; `x@1,0` is the symbol of PE (1, 0)
//   //! launch: main 3 4               in order; the default for NAME.csl is `main` without arguments
//   //! expect: y i16 1 2 3            after the last launch; a number may have a tolerance: 0.5~1e-3
//   //! expect wse3: y i16 41          for one machine only
//   //! cycles: 3 = 3 - 1 + 4 + 48/4   cycles[3] of the array that clock.csl keeps, and the hand calculation
//   //! cycles: 1@1,0 - 0@0,0 = 5 + 12 the difference of two of them on different PEs; more terms with + and -
//   //! published: 556 = 3 - 2         what others measured for this window: ours must be within 5 % of it
//   //! published: 3.6 per 8 = 3 - 2   for one of its 8 steps: within 10 % of it, or 0.5 cycles
//   //! missed: why                    of the `published` above it: ours is known to lie beyond it, and must
//   //! fault: out-of-bounds           the run ends with this fault
//   //! error: 7:5: text               it must not compile: position and text of a message, or a part of them
#pragma once

#include <algorithm>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "runtime/support/geometry.h"

namespace cs::csl::test {

struct Directive {
  std::string verb, machine, rest;
  int line = 0;
};
std::vector<Directive> directives(const std::string& text);

// One number as written, and how far off it may be.
struct Expected {
  std::string text;
  double value = 0, tolerance = 0;
};
std::vector<Expected> numbers(std::istringstream& in);

// "x@1,0" is x of PE (1, 0).
std::string symbol_and_pe(const std::string& word, Coord& pe);

// A figure of others, for a window or for one of its steps.
struct Published {
  double value = 0;
  int steps = 0;     // 0: the whole window
  std::string what;  // stamps
  double tolerance() const { return steps == 0 ? 0.05 * value : std::max(0.1 * value, 0.5); }
};
std::optional<Published> published(const Directive&);

}  // namespace cs::csl::test
