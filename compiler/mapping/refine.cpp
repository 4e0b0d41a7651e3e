// Estimates of kernels by walks over the tile code that they became.
#include <algorithm>
#include <map>
#include <optional>

#include "compiler/csl/walk_alike.h"
#include "compiler/mapping/place_network.h"
#include "runtime/support/parallel.h"

namespace cs::mapping {

namespace {

constexpr uint64_t kMostInstructions = 2'000'000;      // of a walk: then the formulas have to do
constexpr uint64_t kMostWeights = uint64_t(64) << 20;  // that are made for it
// A task that is no round of the work counts what the formula does not.
constexpr double kLeast = 0.4, kMost = 1.6;

// What a PE does for a round.
struct Round {
  double all = 0;      // until the next one, words being there at once
  double compute = 0;  // of the task that takes longest
  double tasks = 0;    // of all
};

// The tile programs of kernels, each on the first of its PEs.
struct Walks {
  std::map<uint32_t, Coord> first;   // by tile program
  std::map<uint32_t, Round> rounds;  // those that could be walked
};

// Rectangles of tiles, none of which overlaps another, by the rows that they are in.
class TilesByRow {
 public:
  explicit TilesByRow(const Program& program) : rects_(program.rects) {
    for (size_t i = 0; i < rects_.size(); ++i) {
      const Rect& r = rects_[i].rect;
      if (rows_.size() < size_t(r.y + r.h)) rows_.resize(size_t(r.y + r.h));
      for (int y = r.y; y < r.y + r.h; ++y) rows_[size_t(y)].push_back(i);
    }
    for (std::vector<size_t>& row : rows_)
      std::sort(row.begin(), row.end(), [&](size_t a, size_t b) { return rects_[a].rect.x < rects_[b].rect.x; });
  }

  // Those that have a PE in common with `rect`, in the order of the Program.
  std::vector<const TileRect*> in(const Rect& rect) const {
    std::vector<size_t> found;
    for (int y = std::max(0, rect.y); y < rect.y + rect.h && size_t(y) < rows_.size(); ++y) {
      const std::vector<size_t>& row = rows_[size_t(y)];
      auto at = std::partition_point(row.begin(), row.end(),
                                     [&](size_t i) { return rects_[i].rect.x + rects_[i].rect.w <= rect.x; });
      for (; at != row.end() && rects_[*at].rect.x < rect.x + rect.w; ++at) found.push_back(*at);
    }
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    std::vector<const TileRect*> tiles;
    for (const size_t i : found) tiles.push_back(&rects_[i]);
    return tiles;
  }

 private:
  const std::vector<TileRect>& rects_;
  std::vector<std::vector<size_t>> rows_;
};

std::optional<Round> round_of(const csl::Walked& w) {
  if (!w.ended || !w.repeats) return std::nullopt;
  Round r;
  const auto rounds = double(w.rounds);
  r.all = double(w.cycles) / rounds;
  for (const csl::WalkedTask& t : w.tasks) {
    r.compute = std::max(r.compute, double(t.cycles) / rounds);
    r.tasks += double(t.cycles) / rounds;
  }
  return r;
}

Walks walk_kernels(const Mapped& mapped, const Program& program, const TilesByRow& tiles, const Machine& machine,
                   int threads) {
  // The first PE of a tile program in the order of instances, then of the Program.
  Walks walks;
  for (const Instance& inst : mapped.placed->parts.instances) {
    std::vector<const TileRect*> list = tiles.in(inst.rect);
    if (inst.feeders() > 0) {
      const std::vector<const TileRect*> feeders = tiles.in(inst.feeders_of(0));
      list.insert(list.end(), feeders.begin(), feeders.end());
      std::sort(list.begin(), list.end());
    }
    for (const TileRect* t : list) walks.first.emplace(t->tile, Coord{t->rect.x, t->rect.y});
  }
  const std::vector<uint8_t> weights =
      mapped.weights.size() <= kMostWeights ? mapped.weights.bytes() : std::vector<uint8_t>();
  const std::vector<std::pair<uint32_t, Coord>> list(walks.first.begin(), walks.first.end());
  csl::AlikeWalks alike(machine);
  std::vector<std::optional<Round>> made(list.size());
  Workers(threads).for_each(list.size(), [&](size_t i) {
    const TileProgram& tile = program.tiles[list[i].first];
    csl::WalkOptions options = csl::walk_options(program, tile, list[i].second, weights);
    options.most_instructions = kMostInstructions;
    made[i] = round_of(*alike.walk(tile, options));
  });
  for (size_t i = 0; i < list.size(); ++i)
    if (made[i]) walks.rounds.emplace(list[i].first, *made[i]);
  return walks;
}

// The slowest PE's round; nothing if one of them could not be walked.
std::optional<Round> slowest(const Rect& rect, const TilesByRow& tiles, const Walks& walks) {
  std::optional<Round> most;
  for (const TileRect* t : tiles.in(rect)) {
    const auto found = walks.rounds.find(t->tile);
    if (found == walks.rounds.end()) return std::nullopt;
    if (!most || found->second.all > most->all) most = found->second;
  }
  return most;
}

// `feeder`: of kernels that have one for all their rows.
void refine(Instance& inst, const Round& round, double feeder, const kernels::Costing& by) {
  const kernels::PeRound pe{
      .alone = round.tasks, .longest = round.compute, .steady = round.all, .feed = feeder};
  const kernels::Plan plan = inst.work.kind->plan_by_walk(inst, inst.plan.cut, pe, by);
  const double ratio = plan.interval_cycles / std::max(1.0, inst.plan.interval_cycles);
  if (ratio < kLeast || ratio > kMost) return;
  inst.plan.interval_cycles = plan.interval_cycles;
  inst.plan.latency_cycles = plan.latency_cycles;
  inst.plan.computing_cycles = plan.computing_cycles;
}

}  // namespace

void refine_estimate(Mapped& mapped, const Program& program, const Machine& machine, int threads) {
  if (!mapped.placed || !program.host) return;
  Placed& placed = *mapped.placed;
  const TilesByRow tiles(program);
  const Walks walks = walk_kernels(mapped, program, tiles, machine, threads);
  const auto statements = kernels::statement_costs(machine);
  for (Instance& inst : placed.parts.instances) {
    if (inst.infrastructure) continue;
    const auto round = slowest(inst.rect, tiles, walks);
    if (!round) continue;
    const auto feeder = inst.feeders() > 0 ? slowest(inst.feeders_of(0), tiles, walks) : std::nullopt;
    refine(inst, *round, feeder ? feeder->all : 0, {machine, *statements});
  }
  NetworkEstimate refined = estimate_network(placed, machine, PlansBy::walks);
  refined.planned_cycles = mapped.estimate.planned_cycles;
  refined.host_cycles = mapped.estimate.host_cycles;
  mapped.estimate = std::move(refined);
  std::map<std::string_view, double> refined_cycles;
  for (const Instance& inst : placed.parts.instances) refined_cycles[inst.name] = inst.plan.interval_cycles;
  for (Placement& p : mapped.placement) {
    const auto it = refined_cycles.find(p.name);
    if (p.role == "kernel" && it != refined_cycles.end()) p.interval_cycles = it->second;
  }
}

}  // namespace cs::mapping
