// What the host launched, on what code, and what that says about the run.
#include "simulator/report/launches.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/program/tile_bytes.h"
#include "simulator/report/collect.h"
#include "simulator/report/profile.h"

namespace cs::sim {

uint64_t LineCost::cycles() const {
  uint64_t sum = busy;
  for (const uint64_t s : stalls) sum += s;
  return sum;
}

// Launches of one PE follow each other, those of different PEs may overlap.
Cycle RunReport::launched_cycles() const {
  Cycle sum = 0, until = 0;
  for (const LaunchSpan& l : launches) {
    if (!l.done()) continue;
    const Cycle from = std::max(until, l.begin);
    if (l.end > from) sum += l.end - from;
    until = std::max(until, l.end);
  }
  return sum;
}

void add_tiles(RunReport& r, const Engine& e) {
  const Program& p = e.program();
  std::vector<size_t> row_of(p.tiles.size(), SIZE_MAX);
  for (const TileRect& rect : p.rects) {
    size_t& row = row_of[rect.tile];
    if (row == SIZE_MAX) {
      row = r.tiles.size();
      const TileProgram& t = p.tiles[rect.tile];
      TileUse& use = r.tiles.emplace_back(TileUse{.name = t.name, .bytes = tile_bytes(t)});
      for (const Function& f : t.functions) use.functions.push_back(f.name);
    }
    TileUse& use = r.tiles[row];
    use.pes += uint64_t(rect.rect.area());
    use.rects.push_back(rect.rect);
    const PeTime time = time_of(e, rect.rect, r.cycles);
    use.time.busy += time.busy;
    use.time.idle += time.idle;
    for (size_t i = 0; i < time.stalls.size(); ++i) use.time.stalls[i] += time.stalls[i];
  }
}

void add_profile(RunReport& r, const Profile& profile) {
  r.lines = profile.lines();
  r.functions = profile.functions();
}

std::vector<LaunchedFunction> launched_functions(const std::vector<LaunchSpan>& launches) {
  std::vector<LaunchedFunction> out;
  for (const LaunchSpan& l : launches) {
    auto f = std::find_if(out.begin(), out.end(), [&](const auto& row) { return row.name == l.function; });
    if (f == out.end()) f = out.insert(out.end(), LaunchedFunction{.name = l.function, .pes = l.pes});
    ++f->launches;
    if (!l.done()) continue;
    ++f->ended;
    f->cycles += l.cycles();
    f->pe_cycles += l.pe_cycles;
    f->shortest = f->ended == 1 ? l.cycles() : std::min(f->shortest, l.cycles());
    if (f->ended > 1 && l.cycles() <= f->longest) continue;
    f->longest = l.cycles();
    f->last_pe = l.last_pe;
    f->behind = l.end - l.first_end;
  }
  return out;
}

}  // namespace cs::sim
