// Engine::save and Engine::restore. The walk (state_walk.h) goes over PEs row by row, so the state of several ranks is
// that of their strips, one behind the other.
#include <algorithm>

#include "simulator/engine/state_walk.h"

namespace cs::sim {

// ---- of one strip, and of all

void StripTotals::add(const StripTotals& o) {
  printed.insert(printed.end(), o.printed.begin(), o.printed.end());
  std::stable_sort(printed.begin(), printed.end(), [](const PrintLine& a, const PrintLine& b) {
    return std::tuple(a.cycle, a.pe.y, a.pe.x) < std::tuple(b.cycle, b.pe.y, b.pe.x);
  });
  if (!o.pending.empty() && (pending.empty() || o.pending[0].before(pending[0]))) pending = o.pending;
  instructions += o.instructions;
  for (size_t i = 0; i < passed.size(); ++i) passed[i] += o.passed[i];
  for (size_t i = 0; i < std::min(tallies.size(), o.tallies.size()); ++i) tallies[i].add(o.tallies[i]);
}

StripTotals own_totals(const Engine::Impl& m) {
  StripTotals t;
  t.printed = m.printed;
  if (m.pending) t.pending.push_back(*m.pending);
  t.tallies.resize(m.world.launches.size());
  for (const auto& b : m.grid.own()) {
    if (!b) continue;
    t.instructions += b->instructions;
    for (size_t i = 0; i < t.passed.size(); ++i) t.passed[i] += b->passed[i];
    for (size_t i = 0; i < b->launches.size(); ++i) t.tallies[i].add(b->launches[i]);
  }
  return t;
}

StripState own_state(Engine::Impl& m) {
  StripState s{own_totals(m), {}, std::vector<std::string>(m.ports.size())};
  std::string* to = &s.places;
  StateWriter out([&](std::string_view bytes) { *to += bytes; });
  StateWalk<StateWriter> walk(m, out);
  walk.own_rows();
  out.flush();
  for (size_t i = 0; i < m.ports.size(); ++i) {
    if (m.ports[i].block == nullptr || !m.grid.owns(*m.ports[i].block)) continue;
    to = &s.ports[i];
    walk.program_port(i);
    out.flush();
  }
  return s;
}

// Strips lie one below the other, so their PEs follow each other.
void write_state(Engine::Impl& m, StateWriter& out) {
  const auto raw = [&](const std::string& bytes) {
    out.raw({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
  };
  std::vector<StripState> others;
  if (m.together) others = m.together->strips();
  StripTotals totals = own_totals(m);
  for (const StripState& s : others) totals.add(s.totals);
  StateWalk<StateWriter> walk(m, out);
  walk.totals(totals);
  walk.own_rows();
  for (const StripState& s : others) raw(s.places);
  for (size_t i = 0; i < m.ports.size(); ++i) {
    if (m.ports[i].block != nullptr && m.grid.owns(*m.ports[i].block)) walk.program_port(i);
    for (const StripState& s : others) raw(s.ports[i]);
  }
}

void Engine::save(StateWriter& out) const {
  CS_CHECK(impl_->loaded && !impl_->faulted, "a checkpoint is of a simulation that goes on");
  write_state(*impl_, out);
}

bool Engine::restore(StateReader& in) {
  CS_CHECK(impl_->loaded && impl_->now == 0 && impl_->world.launches.empty(), "restore after load");
  if (leads()) impl_->together->tell_all(Asked::restore, std::string(in.rest()));
  StateWalk<StateReader>(*impl_, in).read();
  if (impl_->together && in.ok()) impl_->together->restored();
  return in.ok();
}

}  // namespace cs::sim
