// TraceFilter: which part of a run a trace keeps. It sits in front of every sink.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/host/device.h"
#include "runtime/support/geometry.h"

namespace cs::sim {

enum class TraceKind : uint8_t {
  tasks,       // tasks and launched functions on the main thread
  operations,  // vector operations on microthreads
  stalls,      // what main thread and microthreads wait for
  wavelets,    // each one at the ramps, and the flow from PE to PE
  switches,    // a color gets another switch position
  queues,      // counters: fill of input and output queues, link load, busy PEs
  launches,    // functions that the host has called
  host,        // operators on the host's cores
};
inline constexpr int kTraceKinds = 8;

struct TraceFilter {
  std::optional<Rect> region;                // PEs, in fabric coordinates; none: all
  Cycle begin = 0, end = kNever;             // events that touch [begin, end)
  uint64_t max_events = UINT64_MAX;          // then the trace ends, and says so
  uint64_t max_bytes = UINT64_MAX;           // the same for what is written, before compression
  uint32_t kinds = (1u << kTraceKinds) - 1;  // bits by TraceKind

  bool keeps(Coord pe, Cycle from, Cycle to) const {
    return (!region || region->contains(pe)) && from < end && to >= begin;
  }
  bool has(TraceKind kind) const { return (kinds >> unsigned(kind) & 1) != 0; }
};

// "X,Y,W,H" with W and H at least 1; nothing if the text is anything else.
std::optional<Rect> parse_trace_region(std::string_view text);
// "A:B", "A:" or ":B" with A < B. Sets begin and end of the filter; false if the text is anything else.
bool parse_trace_window(std::string_view text, TraceFilter&);
// Kinds of a level: coarse, normal or full; nothing for another word.
std::optional<uint32_t> trace_level_kinds(std::string_view level);
const std::vector<std::string>& trace_level_names();
const std::vector<std::string>& trace_kind_names();
// A number of bytes, with K, M or G behind it for powers of 1024; nothing if the text is anything else, or 0.
std::optional<uint64_t> parse_trace_bytes(std::string_view text);

}  // namespace cs::sim
