// Rounds of all streams, of those on the fullest links, and of those round them.
#include "compiler/mapping/route_rounds.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <tuple>

namespace cs::mapping {

namespace {

// Rounds, and those behind which they end that made the network little better: of all crowded streams, of
// those on the fullest links.
constexpr int kRounds = 24, kMostInVain[] = {2, 12};
constexpr double kLittle = 0.01;  // of what all crowded streams meet
constexpr double kFullest = 0.9;  // of the wavelets of the fullest link
// Routers from the fullest link's on each side, within which streams are routed again, and how many streams
// at most.
constexpr int kReach[] = {1, 2, 4, 8};
constexpr size_t kMostAround = 128;
constexpr int kAttempts = 4;  // to find ways for all of them

}  // namespace

void Rounds::run() {
  if (crowded().empty()) return;
  paths_.begin_rounds();
  for (const Who who : {Who::all, Who::fullest}) rounds(who);
  if (colors_ == Colors::given) round_the_fullest();
}

void Rounds::rounds(Who who) {
  std::vector<size_t> streams = crowded();
  Crowding now = crowding_of(streams), best = now;
  Flows before;  // of those that went elsewhere since the best
  const int most_in_vain = kMostInVain[size_t(who)];
  for (int round = 0, in_vain = 0; round < kRounds && in_vain < most_in_vain && !streams.empty(); ++round) {
    const std::vector<size_t> moving = moving_of(streams, who, now);
    if (moving.empty()) break;
    for (const size_t s : moving) route_again(s, who == Who::fullest || in_vain > 0, before);
    streams = crowded();
    std::vector<const Flow*> flows;
    for (const size_t s : streams) flows.push_back(&flow_of(s));
    paths_.end_round(flows);
    now = crowding_of(streams);
    const bool better = who == Who::all ? now.all < best.all : now < best;
    const bool much = better && (who == Who::fullest || now.all < (1 - kLittle) * best.all);
    in_vain = much ? 0 : in_vain + 1;
    if (better) best = now, before.clear();
  }
  go_back(before);
}

// Without colors all of them, which spreads streams before colors bind them to ways; with colors, where each
// search is dear, only those on links that take longer than the slowest kernel, if there are any.
std::vector<size_t> Rounds::moving_of(const std::vector<size_t>& crowded, Who who, const Crowding& now) const {
  if (who == Who::fullest) return on_links_above(crowded, std::max(anyway_, kFullest * now.worst));
  return colors_ == Colors::given ? on_links_above(crowded, anyway_) : crowded;
}

// As far round the fullest link as it takes, and round the next one when it carries less.
void Rounds::round_the_fullest() {
  for (bool better = true; better;) {
    const std::vector<size_t> streams = crowded();
    const Crowding now = crowding_of(streams);
    if (now.worst <= anyway_) return;
    const auto on_it =
        std::ranges::max_element(streams, {}, [&](size_t s) { return paths_.worst(flow_of(s)); });
    const RouterKey at = paths_.fullest(flow_of(*on_it));
    better = std::ranges::any_of(kReach, [&](int reach) { return again_around(at, reach, now); });
  }
}

// All streams that pass there look for ways once more: first those that take the fullest link, and of these
// and the others those with fewest wavelets. One that finds none is the first one in the next attempt. False,
// and as it was, if that is no better.
bool Rounds::again_around(RouterKey at, int reach, const Crowding& now) {
  std::vector<size_t> list = streams_around(at, reach);
  if (list.size() > kMostAround) return false;
  std::ranges::sort(list, {}, [&](size_t s) {
    return std::tuple(paths_.worst(flow_of(s)) < now.worst, wavelets(s).all, s);
  });
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    Flows before;
    for (const size_t s : list) {
      before.emplace(s, flow_of(s));
      paths_.remove(flow_of(s), wavelets(s));
      flow_of(s).routers.clear();
    }
    const auto no_way = std::ranges::find_if_not(list, [&](size_t s) {
      std::optional<Flow> found = find_(s, true);
      if (found) set_way(s, std::move(*found));
      return found.has_value();
    });
    if (no_way == list.end() && crowding_of(crowded()) < now) return true;
    go_back(before);
    if (no_way == list.end()) return false;
    std::rotate(list.begin(), no_way, no_way + 1);
  }
  return false;
}

std::vector<size_t> Rounds::streams_around(RouterKey at, int reach) const {
  const auto is_near = [&](const auto& router) {
    return std::abs(router.first.x - at.x) <= reach && std::abs(router.first.y - at.y) <= reach;
  };
  std::vector<size_t> list;
  for (size_t s = 0; s < parts_.streams.size(); ++s)
    if (plan_.of_stream[s] >= 0 && std::ranges::any_of(flow_of(s).routers, is_near)) list.push_back(s);
  return list;
}

std::vector<size_t> Rounds::crowded() const {
  std::vector<size_t> list;
  for (size_t s = 0; s < parts_.streams.size(); ++s)
    if (plan_.of_stream[s] >= 0 && paths_.is_crowded(flow_of(s), wavelets(s).all)) list.push_back(s);
  return list;
}

std::vector<size_t> Rounds::on_links_above(const std::vector<size_t>& streams, double wavelets) const {
  std::vector<size_t> list;
  std::ranges::copy_if(streams, std::back_inserter(list),
                       [&](size_t s) { return paths_.worst(flow_of(s)) > wavelets; });
  return list;
}

Rounds::Crowding Rounds::crowding_of(const std::vector<size_t>& streams) const {
  Crowding c;
  for (const size_t s : streams) {
    const double most = paths_.worst(flow_of(s));
    c.worst = std::max(c.worst, most), c.all += most;
  }
  return c;
}

void Rounds::set_way(size_t stream, Flow found) {
  Flow& flow = flow_of(stream);
  take_way(flow, std::move(found));
  paths_.add(flow, wavelets(stream));
}

void Rounds::route_again(size_t stream, bool far, Flows& before) {
  const Flow& flow = flow_of(stream);
  paths_.remove(flow, wavelets(stream));
  if (std::optional<Flow> other = find_(stream, far)) {
    before.try_emplace(stream, flow);
    set_way(stream, std::move(*other));
  } else {
    paths_.add(flow, wavelets(stream));
  }
}

void Rounds::go_back(Flows& before) {
  for (const auto& [s, flow] : before) paths_.remove(flow_of(s), wavelets(s));
  for (auto& [s, flow] : before) set_way(s, std::move(flow));
}

}  // namespace cs::mapping
