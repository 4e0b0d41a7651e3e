// PeState: what is inside of one PE between two cycles, for somebody who looks for a bug. A copy; nothing
// else reads it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/support/geometry.h"

namespace cs::sim {

struct QueueState {
  int id = -1;  // -1: a color without a queue
  int color = 0;
  int depth = 0;  // words that it holds at most
  struct Word {
    uint32_t data = 0;
    bool control = false;
  };
  std::vector<Word> words;  // oldest first
};

struct LaneState {  // wavelets at the router, of one color from one side
  int color = 0;
  Port from = Port::ramp;
  int wavelets = 0, capacity = 0;
};

struct OperationState {          // a vector operation that is not complete
  std::string thread;            // "microthread 3", "task 'main'"
  std::string source;            // "pe.csl:12", empty if unknown
  uint32_t inst = 0;             // index into the code
  uint32_t done = 0, total = 0;  // elements
  std::string waits;             // for what; empty: it goes on
};

struct TaskState {
  std::string name, kind;  // kind: data, control, local
  int id = 0;
  bool active = false, blocked = false;
};

struct PeState {
  Coord pe;
  std::string tile;     // file of its tile program; empty: it only routes
  std::string running;  // task or function of the main thread; empty: none
  std::string source;   // and where it is
  uint32_t inst = 0;
  std::vector<uint16_t> registers;
  bool carry = false;
  bool command_ready = true;  // the command stream of the host is ready for a launch
  size_t commands = 0;        // launches that wait for it
  std::vector<OperationState> operations;
  std::vector<QueueState> queues;  // input queues
  std::vector<LaneState> lanes;    // that hold wavelets
  std::vector<TaskState> tasks;
};

}  // namespace cs::sim
