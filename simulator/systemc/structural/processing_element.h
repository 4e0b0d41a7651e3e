// ProcessingElement: router, ramps, queues, memory and core of one PE, wired.
#pragma once

#include <memory>

#include "simulator/systemc/structural/core.h"
#include "simulator/systemc/structural/ramp_streams.h"

namespace cs::sim::structural {

class ProcessingElement : public sc_core::sc_module {
 public:
  // `tile` is null at PEs that only route.
  ProcessingElement(sc_core::sc_module_name, Clocks&, const Machine&, Coord at, Rect user, const Tile* tile, Launches&,
                    Observer&);

  const Coord at;
  const Tile* const tile;
  Router router;
  InputQueues inputs;
  OutputRamp ramp;
  Memory memory;
  std::unique_ptr<Core> core;            // with a tile
  std::unique_ptr<RampStreams> streams;  // where colors of the host turn back

  // The color turns back at the ramp, with the host in the bend.
  void add_stream(const HostStream&, Clocks&, const Machine&);
  std::vector<Activity*> activities();
  void trace(sc_core::sc_trace_file*) const;
};

}  // namespace cs::sim::structural
