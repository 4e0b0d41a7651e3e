// TraceSink: what the engine tells whoever watches. Ids only, never strings; sinks in simulator/trace resolve names.
//
// Called from the thread that steps the block, so a sink that is attached makes the engine step blocks in order
// on one thread (same cycles, by construction). A null sink costs one pointer test.
#pragma once

#include <array>
#include <cstdint>

#include "runtime/host/device.h"
#include "runtime/support/geometry.h"
#include "simulator/engine/stats.h"

namespace cs::sim {

struct TaskEvent {
  Coord pe;
  Cycle begin = 0, end = 0;   // [begin, end)
  int task = -1;              // index into TileProgram::tasks; -1: launched function
  int function = -1;          // index into TileProgram::functions when launched
  int microthread = -1;       // >= 0: a vector operation on that microthread; inst tells which
  uint32_t inst = 0;          // first instruction (tasks) or the vector instruction
};

struct StallEvent {
  Coord pe;
  Cycle begin = 0, end = 0;
  Stall why = Stall::input;
  int microthread = -1;       // -1: main thread
  int queue = -1;             // input or output queue waited for, -1: none
  uint32_t inst = 0;
};

struct WaveletEvent {         // a wavelet leaves a router
  Coord pe;
  Cycle cycle = 0;            // departure
  Cycle landed = 0;           // arrival at this router
  uint8_t color = 0;
  bool control = false;
  uint32_t data = 0;
  Port from = Port::ramp;     // where it had landed from
  PortSet to = 0;             // where it departs to
};

struct WorkEvent {            // an instruction issues, or element groups execute
  Coord pe;
  Cycle begin = 0, end = 0;   // [begin, end)
  uint32_t inst = 0;
  int microthread = -1;       // -1: main thread
  int task = -1;              // of the main thread, index into TileProgram::tasks; -1: launched function or none
  std::array<int8_t, 2> reads{-1, -1};  // of element groups: colors of the queues that they read, -1: none
  int8_t sends = -1;                    // and of the one that they write to
  Work what = Work::issue;
};

struct BeginEvent {           // a task or a launched function starts on the main thread
  Coord pe;
  Cycle cycle = 0;
  int color = -1;             // of the wavelet that starts it; -1: none, it was activated
  bool launched = false;
};

// A core writes a wavelet. What it sends in a group of elements is told before the WorkEvent of the group.
struct SendEvent {            // the core writes a wavelet into an output queue
  Coord pe;
  Cycle cycle = 0;            // of the element
  Cycle lands = 0;            // in the router's ramp lane
  uint8_t color = 0, queue = 0;
  bool control = false;
  uint32_t data = 0;
};

struct SwitchEvent {          // a color of a router gets another switch position
  Coord pe;
  Cycle cycle = 0;            // of the command
  uint8_t color = 0, position = 0;
};

class TraceSink {
 public:
  virtual ~TraceSink() = default;
  virtual void task(const TaskEvent&) = 0;
  virtual void stall(const StallEvent&) = 0;
  virtual void wavelet(const WaveletEvent&) = 0;
  // Routers are faster if nobody wants to hear of every wavelet.
  virtual bool wants_wavelets() const { return true; }
  virtual void switched(const SwitchEvent&) {}
  // The finer events are made only for a sink that wants them.
  virtual bool wants_details() const { return false; }
  virtual void work(const WorkEvent&) {}
  virtual void begin(const BeginEvent&) {}
  virtual void send(const SendEvent&) {}
};

}  // namespace cs::sim
