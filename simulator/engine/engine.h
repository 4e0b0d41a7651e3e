// The engine: wavelet-exact simulation of routers, ramps, queues, tasks and vector instructions by plain
// arrays.
//
// It knows no SystemC. docs/timing.md is the law it follows. Time is event-driven: a PE or lane with nothing
// to do costs nothing, and step() jumps over cycles in which nothing can happen. The fabric is cut into
// blocks that are stepped in parallel; a block sees its neighbours as of the start of the cycle, so that
// values and cycles do not depend on the block size or the number of threads.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/host/device.h"
#include "runtime/machine/machine.h"
#include "runtime/program/program.h"
#include "simulator/engine/memory_use.h"
#include "simulator/engine/pe_state.h"
#include "simulator/engine/stats.h"
#include "simulator/engine/trace.h"

namespace cs::sim {

class Ranks;
class StateReader;
class StateWriter;

struct EngineOptions {
  int block_width = 32, block_height = 32;
  int threads = 1;
  int parallel_work = 1500;        // lanes and cores per cycle below which one thread does them all
  std::vector<std::string> allow;  // faults that are counted instead of ending the run (allowable_faults())
  // The fabric is simulated with other ranks, each of which has an engine with the same options and loads the same
  // Program. That of rank 0 is used like any other, without a trace; the others follow(). A rank that is lost ends any
  // call with RankLost. Null: alone.
  Ranks* ranks = nullptr;
};

// What the shell shows of one PE in waveforms.
struct PeProbe {
  bool running = false;                      // main thread has a task
  int task = -1;                             // index into TileProgram::tasks
  uint32_t inst = 0;                         // instruction of the main thread
  uint16_t microthreads = 0;                 // active microthreads, a bit each
  std::vector<int> input_fill, output_fill;  // wavelets in each queue
};

// Faults that EngineOptions::allow may name.
std::span<const std::string_view> allowable_faults();

class Engine {
 public:
  struct Impl;
  Engine(const Machine&, const EngineOptions&);
  ~Engine();

  // Builds everything from a verified Program; false with a diagnostic if the machine cannot hold it.
  bool load(const Program&, std::span<const uint8_t> weights, Diag&);
  const Program& program() const;
  const Machine& machine() const;
  std::span<const uint8_t> weights() const;
  const EngineOptions& options() const;

  // ---- several ranks
  // Does what rank 0 does, until it says that this is all (end_followers). Not of rank 0.
  void follow();

  // ---- time
  Cycle now() const;         // everything before this cycle has happened
  Cycle next_event() const;  // earliest cycle >= now() in which something can happen; kNever if none
  // Runs all cycles in [now(), to). Stops early (now() < to) after a fault, or at the end of the cycle in
  // which an armed watch fired. With `past_end` false the clock also stays behind the last event when nothing
  // can happen before or after `to`. If nobody looks at PEs before the cycle `unseen`, cores may have run
  // ahead of `to` when it returns: their state is then that of a later cycle.
  void step(Cycle to, bool past_end = true, Cycle unseen = 0);
  // Nothing can happen without the host; `blocked` tells a deadlock (work is waiting) from a clean end.
  bool idle() const { return next_event() == kNever; }
  bool blocked() const;
  std::string deadlock_report() const;  // who waits for whom: PE, task, color, queue fill, source line
  // Wavelets left in lanes and queues, one line per place ("PE (3, 0): input queue 2, color 5: 3 wavelets").
  std::vector<std::string> leftovers() const;
  bool faulted() const;
  const RunStatus& fault() const;                    // fault name, cycle, PE, source line
  uint64_t allowed(const std::string& fault) const;  // how often it happened and was let pass

  // ---- checkpoints (simulation_file.h makes files of them)
  // All of the state between two cycles, the host's side of ports and launches included; the same simulation goes on
  // from it, whatever the block size and the number of threads. Not after a fault.
  void save(StateWriter&) const;
  // Of an engine that has loaded the same Program and done nothing else. False: what was read is no such state, and the
  // engine cannot be used.
  bool restore(StateReader&);

  // ---- blocks, for the SystemC shell
  int block_columns() const;
  int block_rows() const;
  Rect block_rect(int column, int row) const;

  // ---- host side; same contracts as Device
  void read(Coord, uint16_t address, std::span<uint8_t> out) const;
  void write(Coord, uint16_t address, std::span<const uint8_t> in);
  void launch(int function_export, std::span<const uint32_t> args, Rect pes, Cycle not_before);
  std::vector<LaunchSpan> launches() const;  // every launch so far, whether it is over or not
  size_t commands_pending() const;  // launches not started plus PEs whose command stream is not ready again
  void send(int port, std::span<const uint32_t> data, Cycle not_before);
  // A control wavelet enters as data does.
  void send_control(int port, uint32_t data, Cycle not_before);
  const std::vector<PortEvent>& received(int port) const;
  // An output port takes so many wavelets in all since load; beyond them the fabric waits. Before the first
  // call it takes any.
  void accept(int port, size_t total);
  // An output port also receives the control wavelets that reach it; else they end there unseen.
  void keep_controls(int port);
  Cycle entered(int port, size_t i) const;
  void watch(int port, size_t count);
  // Host streams at the ramps of a rectangle; false (reported) if a PE has none of this color and direction.
  bool stream_to(uint8_t color, Rect pes, std::span<const uint32_t> data, Cycle not_before, Diag&);
  bool stream_from(uint8_t color, Rect pes, uint32_t per_pe, Cycle not_before, Diag&);
  std::vector<uint32_t> take_streamed(uint8_t color, Coord);
  size_t stream_words_pending() const;  // asked for and not yet passed
  bool watch_fired() const;
  // Armed: step() also stops at the end of the cycle in which commands_pending() has become 0.
  void watch_commands(bool armed);
  // The same for stream_words_pending().
  void watch_streams(bool armed);

  // ---- results
  PeStats stats(Coord) const;     // up to now(); zeros for PEs that never did anything
  uint64_t wavelet_hops() const;  // wavelets that left a router, ejections included
  uint64_t instructions() const;
  MemoryUse memory_use() const;
  void set_trace(TraceSink*);  // nullptr: off
  PeProbe probe(Coord) const;
  PeState state(Coord) const;           // all that is inside (pe_state.h)
  std::vector<Coord> waiting() const;  // PEs that have something begun and not ended
  bool running(Coord) const;  // a task or an operation on a microthread
  // Gets every line that a PE writes to the log (<simprint>), in order of cycle, row and column.
  using PrintSink = std::function<void(Cycle, Coord, const std::string&)>;
  void set_print(PrintSink);

 private:
  bool leads() const;  // other ranks follow
  std::unique_ptr<Impl> impl_;
};

// From rank 0: nothing more is to be done; the others return from follow().
void end_followers(Ranks&);
// From another rank, whose Program cannot be loaded: rank 0 reports it when it loads its own.
void cannot_follow(Ranks&, const std::string& why);

}  // namespace cs::sim
