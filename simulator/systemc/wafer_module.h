// WaferModule: the wafer as a SystemC module that lives in anybody's model. It is passive: one SC_METHOD,
// woken when something can happen, gives the engine its time; there is no clock signal, no thread, and nobody
// has to drive it.
//
// Each activation is at an edge (WaferClock), first of all that happens at its time:
//   1. what was written to the inputs before this time enters, as far as there is room; outputs say how much
//   they take
//   2. the engine simulates the cycle (or `quantum` of them)
//   3. wavelets that reach the edge are put into the outputs one cycle before they arrive there: whoever
//   reads at the
//      next edge gets them in the cycle of their arrival
//   4. the next activation: at the next cycle with work, or one edge after somebody has written, taken or
//   called
// So the order in which processes run within one time changes nothing: what others do at time T the wafer
// sees at the first edge after T. While it is idle it costs nothing.
//
// Faults are sc_reports of severity error with the id "/wafersmith/fault/NAME". At the end of the simulation
// (sc_stop) a wafer that waits for something is reported as "/wafersmith/deadlock", a warning.
#pragma once

#include <memory>
#include <string>
#include <systemc>
#include <vector>

#include "simulator/engine/engine.h"
#include "simulator/systemc/block_module.h"
#include "simulator/systemc/memory_target.h"
#include "simulator/systemc/wafer_clock.h"
#include "simulator/systemc/wavelet_end.h"

namespace cs::sim {

struct WaferOptions {
  double period_ps = 0;  // of a cycle; 0: that of the machine's clock_mhz
  Cycle quantum = 1;     // cycles per activation: what others do is seen up to so many cycles late
};

class WaferModule : public sc_core::sc_module {
 public:
  SC_HAS_PROCESS(WaferModule);
  WaferModule(sc_core::sc_module_name name, Engine& engine, const WaferOptions& options);

  // ---- for elaboration
  // Connects a host port of the program (an index into Program::ports). Both must live as long as the module.
  void connect(int port, WaveletInput& input);
  void connect(int port, WaveletOutput& output);
  BlockModule& block(int column, int row) {
    return *blocks_[size_t(row) * size_t(columns_) + size_t(column)];
  }
  int columns() const { return columns_; }
  int rows() const { return rows_; }
  MemoryTarget& memory() { return memory_; }
  const WaferClock& clock() const { return clock_; }

  // ---- while the simulation runs
  // Functions of the program, on all PEs that have them: begins with the first edge after now.
  void launch(int function_export, std::span<const uint32_t> args);
  // Every launched function has given its command stream back.
  const sc_core::sc_event& launches_done() const { return launches_done_; }
  // Something outside of SystemC has changed: look again at the next edge.
  void wake();

 protected:
  Engine& engine_;

  // Driven simulations (shell.cpp) decide how far an activation goes, and when there is none.
  virtual bool held() { return false; }
  virtual void step() { engine_.step(engine_.now() + options_.quantum); }
  virtual void after_step() {}
  virtual void plan();
  virtual void failed();
  void plan_at(Cycle edge);
  bool observed() const { return !observed_.empty(); }
  void end_of_simulation() override;

 private:
  struct Input {
    int port = 0;
    WaveletInput* from = nullptr;
    size_t sent = 0, entered = 0;
  };
  struct Output {
    int port = 0;
    WaveletOutput* to = nullptr;
    size_t put = 0;  // of what the engine has received
  };

  void advance();
  void listen();
  void begin();
  void feed(Cycle edge);
  void drain();

  WaferOptions options_;
  WaferClock clock_;
  int columns_ = 0, rows_ = 0;
  bool begun_ = false, reported_ = false;
  std::vector<std::unique_ptr<BlockModule>> blocks_;
  std::vector<BlockModule*> observed_;  // blocks with an observed border, fixed at the first cycle
  std::vector<Input> inputs_;
  std::vector<Output> outputs_;
  bool launched_ = false;
  sc_core::sc_event edge_, wake_, launches_done_;
  sc_core::sc_event_or_list news_;
  MemoryTarget memory_;
};

}  // namespace cs::sim
