// What a model makes of a Program, so that two models can be compared: every wavelet at every router in its cycle,
// every task and operation, launches, streams, memory, the end.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "runtime/host/device.h"

namespace cs::sim::test {

struct Outcome {
  std::vector<std::string> wavelets;  // "cycle 12 (3, 0) ...", in order of cycle and place
  std::vector<std::string> tasks;
  std::vector<std::string> host;      // launches, what entered and what was received, status after each run
  std::vector<std::string> printed;
  std::vector<std::vector<uint8_t>> memory;  // of PEs with programs, row by row
  uint64_t instructions = 0;
  bool faulted = false;
};

// A host program: what it wants to have compared goes into the strings.
using HostProgram = std::function<void(Device&, std::vector<std::string>&)>;

// Why a run ended. A fault is known by its name, cycle and PE; the words are each model's own. Where nothing can
// happen any more, the engine may have looked once more at what cannot go on: `exact` is for programs that leave
// nothing behind.
void describe(const RunStatus&, std::vector<std::string>&, bool exact = true);

struct Experiment {
  Machine machine;
  Program program;
  std::vector<uint8_t> weights;
  HostProgram host;  // empty: run until nothing happens
};

Outcome run_on_engine(const Experiment&);
Outcome run_structurally(const Experiment&);  // once in a process
// The first difference of the two, with what is around it; empty if there is none.
std::string difference(const Outcome& engine, const Outcome& structural);
// Both in a process of their own (SystemC is elaborated once in each), and what comes out.
std::string compare(const Experiment&);
// The text that `work` returns in a child of this process; what it died of, if it did.
std::string in_child(const std::function<std::string()>& work);

}  // namespace cs::sim::test
