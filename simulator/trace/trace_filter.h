// TraceFilter: which part of a run a trace keeps. It sits in front of every sink.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "runtime/host/device.h"
#include "runtime/support/geometry.h"

namespace cs::sim {

struct TraceFilter {
  std::optional<Rect> region;       // PEs, in fabric coordinates; none: all
  Cycle begin = 0, end = kNever;    // events that touch [begin, end)
  uint64_t max_events = 1'000'000;  // then the trace ends, and says so

  bool keeps(Coord pe, Cycle from, Cycle to) const {
    return (!region || region->contains(pe)) && from < end && to >= begin;
  }
};

// "X,Y,W,H" with W and H at least 1; nothing if the text is anything else.
std::optional<Rect> parse_trace_region(std::string_view text);
// "A:B", "A:" or ":B" with A < B. Sets begin and end of the filter; false if the text is anything else.
bool parse_trace_window(std::string_view text, TraceFilter&);

}  // namespace cs::sim
