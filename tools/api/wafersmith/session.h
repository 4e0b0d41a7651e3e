// Session: a Program on a simulated wafer, driven by the program that uses this library.
//
// Models:                                            CSL programs:
//   Session session(program);                          Session session(program);
//   auto result = session.run({image});                session.copy_to("x", x);
//   result.outputs, result.interval_cycles             session.launch("run");
//                                                      auto y = session.copy_from("y");
//
// A session simulates in the thread that calls it, with `threads` workers; values and cycles do not depend on
// their number. Sessions are independent of each other, and one session is for one thread at a time. A wrong
// call throws Error, a failure of the simulated program SimulationError, an interrupt Interrupted. Arrays that
// borrow their bytes (bytes.h) are read in place; what comes back has memory of its own.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "wafersmith/array.h"
#include "wafersmith/error.h"
#include "wafersmith/program.h"

namespace wafersmith {

// How a session simulates, and whom it tells.
struct SessionOptions {
  int threads = 1;
  uint64_t max_cycles = 0;         // the fault "timeout" beyond; 0: no limit
  double max_seconds = 0;          // the same, by this computer's clock
  std::vector<std::string> allow;  // faults that are counted and do not end the run: "out-of-bounds"
  const std::atomic<bool>* interrupted = nullptr;  // the run ends soon after it has become true
  std::function<void(uint64_t cycle)> progress;    // called every few milliseconds
  // Gets each line that a PE prints with <simprint>.
  std::function<void(uint64_t cycle, int x, int y, const std::string& line)> print;
};

// How Session::run() runs a model.
struct RunOptions {
  int samples = 0;  // 0: as many as the inputs hold; more: from the start again when they are used up
  // Statistics have the cycles of each kernel: one sample (in each copy of the network) is run by itself too.
  bool kernel_cycles = false;
  // Programs that train: what states begin with instead of the program's own values, and how many steps made
  // them. An input then has a slice for each step, [steps, ...].
  std::vector<Array> states;
  int64_t steps_before = 0;
};

struct RunResult {             // of a model
  std::vector<Array> outputs;  // samples along their sample dimension
  int samples = 0;
  uint64_t cycles = 0;          // end of the last sample
  uint64_t latency_cycles = 0;  // first input wavelet to last output of the first sample
  std::optional<double>
      interval_cycles;               // between samples, in the steady state; nothing with too few of them
  std::vector<uint64_t> sample_end;  // last output of each sample, cycle
  std::vector<Array> states;         // of programs that train: after the last step, by name
};

// One launch of an exported function.
struct LaunchInfo {
  std::string function;
  uint64_t begin = 0, end = 0;  // cycles: first instruction on any PE, last PE that is through with it
  int64_t pes = 0;          // that have the function
  uint64_t issued = 0;      // the call is at the PEs
  uint64_t last_begin = 0;  // first instruction on the last PE
  uint64_t first_end = 0;   // the first PE is through with it
  int64_t pes_ended = 0;    // that are through with it
  int last_x = 0, last_y = 0;  // the PE that ended last, fabric coordinates
  uint64_t pe_cycles = 0;      // over PEs: from its first instruction to its end
  bool begun = true, done = true;  // on a PE, on all of them; cycles of what has not happened mean nothing
};

struct KernelFigures {  // PE cycles; busy + stalled + idle = cycles of the run * PEs of the kernel
  std::string name, op, origin;
  uint64_t busy = 0, stalled = 0, idle = 0, flops = 0;
};

// Of everything that the session has simulated so far.
struct Statistics {
  uint64_t cycles = 0, wavelet_hops = 0, instructions = 0, flops = 0;
  uint64_t pes_used = 0;   // that executed something
  double utilisation = 0;  // flops / (PEs used * peak of the dtype * cycles)
  std::optional<uint64_t> latency_cycles;
  std::optional<double> interval_cycles, samples_per_second;
  std::vector<KernelFigures> kernels;  // of a model
  std::vector<LaunchInfo> launches;
  std::string json;  // all of it and more: stats.json of cs-sim, schema wafersmith-stats/1
};

class Session {
 public:
  explicit Session(const Program&, const SessionOptions& = {});
  ~Session();
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;

  // ---- models
  // Runs samples through the network, pipelined: as many as the inputs hold, or so many, from the start again
  // when they are used up. One run per session: a network begins at cycle 0.
  RunResult run(const std::vector<Array>& inputs, int samples = 0);
  RunResult run(const std::vector<Array>& inputs, const RunOptions&);

  // ---- CSL programs
  // Commands are queued as the vendor's runtime does it: each starts when the one before is complete.
  // `values` are [height, width, n] over `rect`, which is in coordinates of the program's rectangle; without
  // it all PEs that have the variable. 16- and 32-bit elements; 0 of them: all that a PE has.
  void copy_to(const std::string& variable, const Array& values, std::optional<Rectangle> rect = {});
  Array copy_from(const std::string& variable, std::optional<Rectangle> rect = {}, uint32_t elements = 0);
  using Argument = std::variant<int32_t, uint32_t, float>;
  // Starts the function on all PEs; wait(), copies and later launches wait for its end.
  void launch(const std::string& function, const std::vector<Argument>& arguments = {});
  // Until every PE has given its command stream back.
  void wait();
  // Memory as it is now, at no cost of time.
  Array read(const std::string& variable) const;

  uint64_t cycle() const;  // everything before it has happened
  std::vector<LaunchInfo> launches() const;  // every one so far, in order
  Statistics statistics() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace wafersmith
