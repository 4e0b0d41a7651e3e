// WaferModule: the wafer under SystemC. One SC_METHOD gives the engine time; there is no clock and no thread.
//
// Each activation at SystemC time T (in cycles, 1 cycle = 1 ns, whatever the machine's clock) does:
//   1. stop when the request is fulfilled (target reached, condition true, nothing left to do, fault):
//   sc_pause
//   2. step the engine: one cycle with events while somebody watches, else a stretch of many
//   3. publish borders and waveform values of the simulated cycle
//   4. next_trigger after the simulated cycles; dead time is jumped over
// A request comes from Shell::run between two sc_start calls.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <systemc>
#include <vector>

#include "simulator/engine/engine.h"
#include "simulator/systemc/block_module.h"
#include "simulator/systemc/shell.h"

namespace cs::sim {

class WaferModule : public sc_core::sc_module {
 public:
  SC_HAS_PROCESS(WaferModule);
  WaferModule(sc_core::sc_module_name name, Engine& engine, const ShellOptions& options);
  ~WaferModule() override;

  BlockModule& block(int column, int row) { return *blocks_[size_t(row) * size_t(columns_) + size_t(column)]; }
  int columns() const { return columns_; }
  int rows() const { return rows_; }

  void run(const ShellRequest& request);
  void set_sampler(Cycle first, std::function<Cycle()> sampler);
  // Ends the waveform; its file is complete afterwards.
  void close_waveform();

 private:
  // Values of one PE in the waveform; deque and vectors never move once tracing has begun.
  struct Probe {
    Coord pe;
    bool running = false;
    int task = -1;
    unsigned microthreads = 0;
    std::vector<int> input_fill, output_fill;
  };

  void advance();
  bool finished() const;
  Cycle stretch_end() const;
  Cycle unseen_until() const;
  void adapt_stretch(double seconds);
  void publish(Cycle cycle);
  void open_waveform();
  void read_probe(Probe& probe) const;

  Engine& engine_;
  ShellOptions options_;
  int columns_ = 0, rows_ = 0;
  std::vector<std::unique_ptr<BlockModule>> blocks_;
  std::vector<BlockModule*> observed_;  // blocks with an observed border, fixed at the first cycle
  bool started_ = false;
  std::deque<Probe> probes_;
  sc_core::sc_trace_file* waveform_ = nullptr;
  sc_core::sc_event resume_;
  ShellRequest request_;
  Cycle stretch_ = 256;  // engine cycles per activation while nobody watches
  std::function<Cycle()> sampler_;
  Cycle next_sample_ = kNever;
};

}  // namespace cs::sim
