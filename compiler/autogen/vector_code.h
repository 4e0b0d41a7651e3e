// Instructions of a vector program: buffers for its values, and the text.
//
// Buffers are reused after the last use of their value. There are two kinds, by the half of eight bytes in
// which they begin: two sources of one kind are in one bank and take twice as long (docs/timing.md §6), so a
// value goes where the values that it meets are not.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "compiler/autogen/vector_program.h"
#include "runtime/machine/machine.h"

namespace cs::autogen {

// A buffer of the generated code: its element in the loop of scalars over i, and its descriptor.
struct Buffer {
  std::string element;     // "x0[i]", "x0[at + 3 * i]"
  std::string descriptor;  // "x0_dsd"
  int64_t stride = 1;      // words from one element to the next
  int phase = -1;          // which half of eight bytes the first element lies in, 0 or 1; -1: not known
  bool operator==(const Buffer&) const = default;
};

struct VectorTarget {
  std::span<const Buffer> inputs;
  std::span<const std::string> uniforms;  // their names
  Buffer out;
  std::string fabric_out;  // if not empty, the root goes there if it can
  std::string temporary;   // temporaries are named t0, t1, …
  int n = 1;               // elements
  bool one_part = false;
  // Statements that make uniform i, where it comes in the program's order; none if they are there before.
  std::span<const std::vector<std::string>> uniform_lines = {};
};

struct VectorCode {
  std::vector<std::string> lines;
  std::vector<std::string> declarations;
  std::vector<Buffer> kept;  // where the wanted values are, if there is no root
  bool to_fabric = false;
  bool in_parts = false;   // n elements are more than one part
  int64_t words = 0;       // of temporaries
  double per_element = 0;  // cycles
  double per_run = 0;      // cycles of the starts of all instructions
};

// root >= 0: that value goes to `out` or the fabric; else the wanted values stay in their buffers.
VectorCode vector_code(VectorProgram, int root, std::span<const int> wanted, const VectorTarget&,
                       const Machine&);

// A literal that reads back as the same f32: "0.1", "-2.0", infinities and NaN by their bits.
std::string float_literal(double value);

}  // namespace cs::autogen
