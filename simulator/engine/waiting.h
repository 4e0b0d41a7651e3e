// Who waits, and for what, in words: for the deadlock report and the state of a PE.
#pragma once

#include <fmt/format.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "simulator/engine/engine_impl.h"

namespace cs::sim {

struct Waiter {
  Coord pe;
  std::string text;
  std::vector<Coord> on;  // PEs that would have to act
};

using Key = std::pair<int, int>;  // (y, x)
inline Key key(Coord c) { return {c.y, c.x}; }
inline std::string pe_name(Coord c) { return fmt::format("PE ({}, {})", c.x, c.y); }

// Waiters whose lines differ in nothing but coordinates.
struct Alike {
  const Waiter* first = nullptr;
  size_t count = 0;
  bool in_cycle = false;
  int left = 0, top = 0, right = 0, bottom = 0;  // of the PEs
};
// Those of the cycle come first, then the most numerous.
std::vector<Alike> alike(const std::vector<Waiter>&, const std::set<Key>& cycle);
// What follows behind the line of the first one; empty if it is alone.
std::string others_like(const Alike&);
// "PE (0, 0) -> PE (1, 0) -> PE (0, 0)", long ones shortened.
std::string circle(const std::vector<Coord>& cycle);

inline std::string thread_name(const Pe& p, int thread) {
  if (thread < kMainThread) return fmt::format("microthread {}", thread);
  const TileProgram& program = *p.tile->program;
  if (p.task >= 0) return fmt::format("task '{}'", program.tasks[size_t(p.task)].name);
  if (p.function >= 0) return fmt::format("function '{}'", program.functions[size_t(p.function)].name);
  return "main thread";
}

// The operand whose queue is empty, of an operation that waits for wavelets.
inline const Cursor& awaited(const Pe& p, const VectorOp& op) {
  const bool first = op.a.kind == Cursor::Kind::fabin &&
                     (op.b.kind != Cursor::Kind::fabin || p.inputs[op.a.queue].count == 0);
  return first ? op.a : op.b;
}

}  // namespace cs::sim
