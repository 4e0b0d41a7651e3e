// Waiters that are alike take one line of a report.
#include "simulator/engine/waiting.h"

#include <algorithm>
#include <map>

namespace cs::sim {
namespace {

constexpr size_t kMaxCircle = 8;  // PEs of a cycle that are named

std::string without_coordinates(const std::string& text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const size_t end = text.compare(i, 4, "PE (") == 0 ? text.find(')', i) : std::string::npos;
    out += end == std::string::npos ? text[i] : '@';
    if (end != std::string::npos) i = end;
  }
  return out;
}

}  // namespace

std::vector<Alike> alike(const std::vector<Waiter>& waiters, const std::set<Key>& cycle) {
  std::vector<Alike> groups;
  std::map<std::pair<bool, std::string>, size_t> by_text;
  for (const Waiter& w : waiters) {
    const bool in_cycle = cycle.count(key(w.pe)) != 0;
    const auto [at, fresh] = by_text.emplace(std::pair(in_cycle, without_coordinates(w.text)), groups.size());
    if (fresh) groups.push_back({&w, 0, in_cycle, w.pe.x, w.pe.y, w.pe.x, w.pe.y});
    Alike& g = groups[at->second];
    ++g.count;
    g.left = std::min(g.left, w.pe.x);
    g.top = std::min(g.top, w.pe.y);
    g.right = std::max(g.right, w.pe.x);
    g.bottom = std::max(g.bottom, w.pe.y);
  }
  std::stable_sort(groups.begin(), groups.end(), [](const Alike& a, const Alike& b) {
    return a.in_cycle != b.in_cycle ? a.in_cycle : a.count > b.count;
  });
  return groups;
}

std::string others_like(const Alike& g) {
  if (g.count == 1) return "";
  return fmt::format("; so do{} {} other{} from PE ({}, {}) to PE ({}, {})", g.count == 2 ? "es" : "",
                     g.count - 1, g.count == 2 ? "" : "s", g.left, g.top, g.right, g.bottom);
}

std::string circle(const std::vector<Coord>& cycle) {
  std::string out = "cycle of waiting: ";
  for (size_t i = 0; i < std::min(cycle.size(), kMaxCircle); ++i) out += pe_name(cycle[i]) + " -> ";
  if (cycle.size() > kMaxCircle) out += fmt::format("{} more -> ", cycle.size() - kMaxCircle);
  return out + pe_name(cycle.front()) + "\n";
}

}  // namespace cs::sim
