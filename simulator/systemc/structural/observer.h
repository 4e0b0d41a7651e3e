// What the model tells whoever watches: departures, tasks, operations, faults, lines of the log.
#pragma once

#include <string>

#include "runtime/host/device.h"
#include "simulator/systemc/structural/wavelet.h"

namespace cs::sim::structural {

struct Departure {
  Coord pe;
  Cycle cycle = 0;
  Wavelet wavelet;
  Port from = Port::ramp;
  PortSet to = 0;
};

struct Activation {  // a task or a launched function, [begin, end); thread >= 0: an operation on that microthread
  Coord pe;
  Cycle begin = 0, end = 0;
  int task = -1, function = -1, thread = -1;
  uint32_t inst = 0;
};

struct Fault {
  std::string name, message;
  Cycle cycle = kNever;
  Coord pe;
};

class Observer {
 public:
  virtual ~Observer() = default;
  virtual void departs(const Departure&) {}
  virtual void ended(const Activation&) {}
  virtual void faulted(const Fault&) {}
  virtual void printed(Cycle, Coord, const std::string&) {}
};

}  // namespace cs::sim::structural
