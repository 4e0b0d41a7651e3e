// Waveform: a VCD file with what a few PEs do: running, task, microthreads, fill of every queue.
#pragma once

#include <deque>
#include <string>
#include <systemc>
#include <vector>

#include "simulator/engine/engine.h"
#include "simulator/systemc/shell.h"

namespace cs::sim {

class Waveform {
 public:
  Waveform(const Engine&, ShellOptions);
  ~Waveform() { close(); }
  Waveform(const Waveform&) = delete;
  Waveform& operator=(const Waveform&) = delete;

  bool open() const { return file_ != nullptr; }
  const ShellOptions& options() const { return options_; }
  bool shows(Cycle cycle) const {
    return open() && cycle >= options_.window_begin && cycle < options_.window_end;
  }
  void update();
  // Ends it; its file is complete afterwards.
  void close();

 private:
  // Values of one PE; deque and vectors never move once tracing has begun.
  struct Probe {
    Coord pe;
    bool running = false;
    int task = -1;
    unsigned microthreads = 0;
    std::vector<int> input_fill, output_fill;
  };
  void begin(Probe&, const std::string& prefix);
  void read(Probe&) const;

  const Engine& engine_;
  ShellOptions options_;
  std::deque<Probe> probes_;
  sc_core::sc_trace_file* file_ = nullptr;
};

}  // namespace cs::sim
