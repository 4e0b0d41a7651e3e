// Chooses the PEs and the form.
#include "tools/cs-sim/state_file.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/support/files.h"
#include "simulator/report/state_dump.h"
#include "simulator/trace/trace_filter.h"

namespace cs {
namespace {

constexpr size_t kMostPes = 64;  // that nobody has asked for by name

std::vector<Coord> pes_of(const SimOptions& o, const sim::Engine& engine) {
  if (o.state_region.empty()) {
    std::vector<Coord> pes = engine.waiting();
    pes.resize(std::min(pes.size(), kMostPes));
    return pes;
  }
  const Rect r = *sim::parse_trace_region(o.state_region);
  std::vector<Coord> pes;
  for (int y = r.y; y < r.y + r.h; ++y)
    for (int x = r.x; x < r.x + r.w; ++x) pes.push_back({x, y});
  return pes;
}

}  // namespace

std::string check_state_options(const SimOptions& o) {
  if (!o.state_region.empty() && o.state.empty()) return "--state-region needs --state FILE";
  if (!o.state_region.empty() && !sim::parse_trace_region(o.state_region))
    return fmt::format("--state-region must be X,Y,W,H, got '{}'", o.state_region);
  return "";
}

bool write_state(const SimOptions& o, const sim::Engine& engine, Diag& diag) {
  if (o.state.empty()) return true;
  if (const auto region = o.state_region.empty() ? std::nullopt : sim::parse_trace_region(o.state_region)) {
    const Rect fabric{0, 0, engine.program().fabric_width, engine.program().fabric_height};
    if (region->right() > fabric.right() || region->bottom() > fabric.bottom()) {
      diag.error_at("--state-region",
                    fmt::format("lies outside the fabric of {} x {} PEs", fabric.w, fabric.h));
      return false;
    }
  }
  const std::vector<Coord> pes = pes_of(o, engine);
  const bool json = o.state.size() > 5 && o.state.compare(o.state.size() - 5, 5, ".json") == 0;
  return write_file_atomic(o.state, json ? sim::state_json(engine, pes) : sim::state_text(engine, pes), diag);
}

}  // namespace cs
