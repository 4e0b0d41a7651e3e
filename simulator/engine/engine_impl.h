// Engine::Impl: the blocks, the clock, the host's side. Split over engine.cpp (time), host_side.cpp (memory,
// streams, launches, results) and deadlock.cpp (who waits for whom).
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/support/parallel.h"
#include "simulator/engine/build.h"
#include "simulator/engine/core.h"
#include "simulator/engine/engine.h"
#include "simulator/engine/together.h"

namespace cs::sim {

struct Engine::Impl {
  EngineOptions options;
  World world;
  Grid grid;
  std::vector<PortHome> ports;
  std::vector<Cycle> next;           // next event by block
  std::vector<uint32_t> due;         // blocks of the present cycle
  std::unique_ptr<Workers> workers;  // made at the first cycle that is worth several threads
  Cycle now = 0;
  bool loaded = false;
  bool watch_fired = false, commands_armed = false, streams_armed = false;
  PrintSink print;
  std::vector<PrintLine> printed;  // not yet shown
  std::optional<Fault> pending;    // earliest fault found; becomes `status` when its cycle is over
  bool faulted = false;
  RunStatus status;
  std::unique_ptr<Together> together;  // with other ranks; null alone

  Cycle next_event() const;
  Cycle next_due() const { return next.empty() ? kNever : *std::min_element(next.begin(), next.end()); }
  void step(Cycle to, bool past_end, Cycle unseen);
  void step_blocks(Cycle t);
  void exchange(Cycle t);
  void hand_over(Outbox&, size_t to, Cycle t);
  void refresh(Block&);
  void after_cycle(Cycle t);
  void find_outcomes();
  void declare_fault();
  void take_printed();
  void show_printed(Cycle before);
  void rewind_to_now();
  Cycle earliest_stop(Cycle t) const;  // nothing ends the run before this cycle
  void look_ahead(Cycle t, Cycle to, Cycle unseen);
  size_t commands_pending() const;
  size_t stream_words_pending() const;
  PortState* stream_port(uint8_t color, Coord, StreamEnd, Block*&, uint32_t& index);
  // With other ranks (together_time.cpp).
  void step_together(Cycle to, bool past_end, Cycle unseen);
  Moment exchange_together(Cycle t);
  Moment moment() const;
  template <class Add>
  bool begin_streams(uint8_t color, Rect pes, StreamEnd, Cycle start, Diag&, Add add);
  Block& block_of(Coord c) const;
};

}  // namespace cs::sim
