// One color at a time: the number of its run for every PE, then the four borders of every run.
#include "compiler/csl/route_check.h"

#include <algorithm>

#include <fmt/format.h>

#include "compiler/csl/warnings.h"

namespace cs::csl {
namespace {

constexpr int kMostReports = 3;
constexpr const char* kSides[] = {"east", "west", "south", "north", "ramp"};

PortSet all_rx(const RouteConfig& c) {
  PortSet out = 0;
  for (const SwitchPosition& p : c.positions)
    if (p.valid) out |= p.rx;
  return out;
}

PortSet all_tx(const RouteConfig& c) {
  PortSet out = 0;
  for (const SwitchPosition& p : c.positions)
    if (p.valid) out |= p.tx;
  return out;
}

class RouteCheck {
 public:
  RouteCheck(const MirLayout& layout, const std::vector<RouteRun>& runs, const std::vector<SourceLoc>& locs,
             Diag& diag)
      : layout_(layout), runs_(runs), locs_(locs), diag_(diag) {}

  void run() {
    int colors = 0;
    for (const RouteRun& r : runs_) colors = std::max(colors, r.color + 1);
    for (int color = 0; color < colors && reports_ < kMostReports; ++color) check_color(color);
  }

 private:
  size_t at(int x, int y) const { return size_t(y) * size_t(layout_.width) + size_t(x); }

  void check_color(int color) {
    run_of_pe_.clear();
    for (size_t i = 0; i < runs_.size(); ++i) {
      const RouteRun& r = runs_[i];
      if (r.color != color) continue;
      run_of_pe_.resize(size_t(layout_.width) * size_t(layout_.height), -1);
      for (int y = r.rect.y; y < r.rect.y + r.rect.h; ++y)
        std::fill_n(run_of_pe_.begin() + long(at(r.rect.x, y)), r.rect.w, int32_t(i));
    }
    if (run_of_pe_.empty()) return;
    for (size_t i = 0; i < runs_.size() && reports_ < kMostReports; ++i)
      if (runs_[i].color == color) check_run(i);
  }

  void check_run(size_t index) {
    const RouteRun& r = runs_[index];
    if (r.config.teardown) return;
    const PortSet tx = all_tx(r.config);
    for (Port side : {Port::east, Port::west, Port::south, Port::north}) {
      if (!(tx & port_bit(side))) continue;
      const int dx = side == Port::east ? 1 : side == Port::west ? -1 : 0;
      const int dy = side == Port::south ? 1 : side == Port::north ? -1 : 0;
      // Inside the run a PE's neighbour has its own configuration: the PEs at the border stand for all
      // others.
      const bool loops_on = (all_rx(r.config) & port_bit(opposite(side))) != 0;
      for (int y = r.rect.y; y < r.rect.y + r.rect.h; ++y)
        for (int x = r.rect.x; x < r.rect.x + r.rect.w; ++x) {
          const bool inside = x + dx >= r.rect.x && x + dx < r.rect.x + r.rect.w && y + dy >= r.rect.y &&
                              y + dy < r.rect.y + r.rect.h;
          if (inside && loops_on) {
            // Jump to the border of this row.
            if (dx > 0 && dy == 0) x = r.rect.x + r.rect.w - 2;
            continue;
          }
          if (!taken(x + dx, y + dy, opposite(side)) && !reroutes(x, y)) {
            report(index, x, y, side);
            return;
          }
        }
    }
  }

  bool taken(int x, int y, Port from) const {
    if (x < 0 || y < 0 || x >= layout_.width || y >= layout_.height) return true;  // leaves the rectangle
    if (layout_.tile_of_pe[at(x, y)] == ~0u || reroutes(x, y)) return true;
    const int32_t run = run_of_pe_[at(x, y)];
    if (run < 0) return false;
    const RouteConfig& c = runs_[size_t(run)].config;
    // What is swapped there has another color within.
    const bool swapped = from == Port::east || from == Port::west ? c.swap_x : c.swap_y;
    return c.teardown || swapped || (all_rx(c) & port_bit(from));
  }

  bool reroutes(int x, int y) const {
    const uint32_t tile = layout_.tile_of_pe[at(x, y)];
    return tile != ~0u && layout_.tiles[tile].reroutes;
  }

  void report(size_t index, int x, int y, Port side) {
    ++reports_;
    const int nx = x + (side == Port::east) - (side == Port::west);
    const int ny = y + (side == Port::south) - (side == Port::north);
    const int32_t run = run_of_pe_[at(nx, ny)];
    const char* from = kSides[size_t(opposite(side))];
    std::string message = fmt::format(
        "color {} leaves PE ({}, {}) to the {} and leads nowhere: PE ({}, {}) {}", runs_[index].color, x, y,
        kSides[size_t(side)], nx, ny,
        run < 0 ? "has no route for this color" : fmt::format("does not take it from the {}", from));
    const std::string help =
        fmt::format("give PE ({}, {}) a route with rx from the {}, or drop this tx", nx, ny, from);
    diag_.warning(locs_[index], named("route-ends", message), help);
    if (run >= 0 && locs_[size_t(run)].valid()) diag_.note(locs_[size_t(run)], "its route is set here");
  }

  const MirLayout& layout_;
  const std::vector<RouteRun>& runs_;
  const std::vector<SourceLoc>& locs_;
  Diag& diag_;
  std::vector<int32_t> run_of_pe_;
  int reports_ = 0;
};

}  // namespace

void check_routes(const MirLayout& layout, const std::vector<RouteRun>& runs,
                  const std::vector<SourceLoc>& locs, Diag& diag) {
  RouteCheck(layout, runs, locs, diag).run();
}

}  // namespace cs::csl
