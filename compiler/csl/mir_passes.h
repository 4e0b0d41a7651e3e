// The passes of the middle form, in order. Each takes the open code of one function and says whether it
// changed it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "compiler/csl/mir_code.h"
#include "compiler/csl/mir_flow.h"
#include "compiler/csl/mir_memory.h"
#include "runtime/machine/machine.h"

namespace cs::csl::mir {

// Words of variables that have one value whenever code runs, by global, offset and bytes.
using Settled = std::map<std::tuple<int32_t, int32_t, int32_t>, isa::Operand>;

struct NotUnrolled {
  SourceLoc loc;
  uint32_t trips = 0, instructions = 0;  // of all trips
};

struct Context {
  const MirTile& tile;
  const Machine& machine;
  Reached reached;
  Settled settled;
  uint32_t code_budget = ~0u;             // bytes that unrolling may add to the tile
  std::vector<NotUnrolled> not_unrolled;  // for want of budget

  // Slots that have no address, and constants: vector instructions and calls are no fence for them.
  bool is_local(const Place& p) const {
    if (p.symbol.kind == isa::OperandKind::slot) return !reached.is_reached(p.symbol);
    return p.symbol.kind == isa::OperandKind::global && tile.globals[size_t(p.symbol.value)].constant;
  }
  // What is known of it holds behind a vector instruction: also variables that nothing but this code reaches,
  // but for descriptors.
  bool outlives_vector(const Place& p) const {
    if (is_local(p)) return true;
    return p.symbol.kind == isa::OperandKind::global && !reached.is_reached(p.symbol) &&
           !reached.is_descriptor(p.symbol.value);
  }
};

inline constexpr uint32_t kInstructionBytes = 4;  // the most that one takes
inline constexpr int64_t kMostOffset = 255;       // bytes beside a pointer that an access names

using PassFunction = bool (*)(Context&, MirFunction&, Code&);

bool number_values(Context&, MirFunction&, Code&);
bool drop_dead(Context&, MirFunction&, Code&);
bool unroll_loops(Context&, MirFunction&, Code&);
bool hoist_invariants(Context&, MirFunction&, Code&);
bool predicate_branches(Context&, MirFunction&, Code&);
bool thread_jumps(Context&, MirFunction&, Code&);
bool use_bits(Context&, MirFunction&, Code&);
bool keep_over_trips(Context&, MirFunction&, Code&);
bool add_bases(Context&, MirFunction&, Code&);
bool move_literals(Context&, MirFunction&, Code&);

struct Pass {
  const char* name;
  const char* what;
  int level;  // from this --opt-level on
  PassFunction run;
  bool once = false;  // at the end; the others go round until nothing new is known
};
const std::vector<Pass>& pass_table();

struct Options {
  int level = 2;
  uint32_t code_budget = ~0u;
  // Called with the tile after every pass that changed it.
  std::function<void(std::string_view pass, const MirTile&)> after;
};

struct Result {
  std::vector<NotUnrolled> not_unrolled;
  uint32_t unrolled_bytes = 0;
};

// Runs the passes of the level over every function. The verifier runs after each; what it finds is a bug of
// ours.
Result optimise(MirTile&, const Machine&, const Options&);
// What passes over several functions know of the tile.
Context context_of(const MirTile&, const Machine&);
Settled find_settled(const MirTile&, const Reached&);
// Empty, or what is wrong with a function, or with any of the tile's. `undefined`: registers that may be read
// though no instruction writes them, as a variable may that is declared `undefined`; left out: all.
std::string verify(const MirTile&, const MirFunction&, const Code&, const RegisterSet* undefined = nullptr);
std::string verify(const MirTile&);

}  // namespace cs::csl::mir
