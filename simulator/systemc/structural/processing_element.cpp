// The core is made where a program runs; the rest is everywhere.
#include "simulator/systemc/structural/processing_element.h"

namespace cs::sim::structural {

// NOLINTNEXTLINE(performance-unnecessary-value-param)
ProcessingElement::ProcessingElement(sc_core::sc_module_name name, Clocks& clocks, const Machine& m, Coord where,
                                     Rect user, const Tile* t, Launches& launches, Observer& observer)
    : sc_module(name),
      at(where),
      tile(t),
      router("router", clocks, m, where, user, observer),
      inputs("input_queues", clocks, m, router, t),
      ramp("output_ramp", clocks, m, router),
      memory(t ? t->program : nullptr, t ? &t->guard : nullptr, m.core.memory_bytes) {
  if (tile != nullptr)
    core = std::make_unique<Core>(
        "core", Surroundings{clocks, m, *tile, at, user, memory, router, inputs, ramp, launches, observer});
}

void ProcessingElement::add_stream(const HostStream& s, Clocks& clocks, const Machine& m) {
  if (!streams) streams = std::make_unique<RampStreams>("streams", clocks, m, router);
  if (s.input)
    streams->add_input(s.color);
  else
    streams->add_output(s.color);
}

std::vector<Activity*> ProcessingElement::activities() {
  std::vector<Activity*> all{&router.activity, &inputs.activity, &ramp.activity};
  if (core) all.push_back(&core->activity());
  if (streams) all.push_back(&streams->activity);
  return all;
}

void ProcessingElement::trace(sc_core::sc_trace_file* file) const {
  const std::string prefix = std::string(name()) + ".";
  sc_trace(file, router.from_core.read(), prefix + "router.from_core");
  sc_trace(file, router.from_host.read(), prefix + "router.from_host");
  sc_trace(file, router.to_core.read(), prefix + "router.to_core");
  sc_trace(file, router.to_host.read(), prefix + "router.to_host");
  sc_core::sc_trace(file, router.queue_room, prefix + "router.queue_room");
  sc_core::sc_trace(file, router.stream_room, prefix + "router.stream_room");
  sc_core::sc_trace(file, router.ramp_freed, prefix + "router.ramp_freed");
  sc_core::sc_trace(file, router.torn_down, prefix + "router.torn_down");
  if (!core) return;
  sc_core::sc_trace(file, core->running, prefix + "core.running");
  sc_core::sc_trace(file, core->task, prefix + "core.task");
  sc_core::sc_trace(file, core->pc, prefix + "core.pc");
  sc_core::sc_trace(file, core->operations, prefix + "core.operations");
}

}  // namespace cs::sim::structural
