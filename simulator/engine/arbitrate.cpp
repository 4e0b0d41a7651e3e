// Arbitration: lanes that asked for the same output in one cycle (docs/timing.md §3).

#include <bit>

#include "simulator/engine/block.h"

namespace cs::sim {
namespace {

// How soon `key` comes after `last` in the fixed circular order: the smallest wins.
int turn(uint8_t key, uint8_t last) { return (int(key) - int(last) - 1) & 0xFF; }

}  // namespace

// Lanes that want one output each: of those met so far the next in the order of that output stays ahead, the
// others try again. With a multicast among them the router's candidates are collected.
void Block::contend(const Candidate& c, Router& r, Cycle now) {
  if (r.contest == 0) {
    contests_.push_back({uint32_t(&r - routers.data())});
    r.contest = uint32_t(contests_.size());
  }
  Contest& contest = contests_[r.contest - 1];
  if (r.multicast) {
    contested_.push_back({c.lane, c.tx, contest.list});
    contest.list = uint32_t(contested_.size());
    return;
  }
  size_t p = size_t(std::countr_zero(c.tx));
  uint32_t& best = contest.best[p];
  if (best == 0) {
    best = c.lane + 1;
  } else if (turn(lane_key(lanes[c.lane]), r.last[p]) < turn(lane_key(lanes[best - 1]), r.last[p])) {
    retry(best - 1, now);
    best = c.lane + 1;
  } else {
    retry(c.lane, now);
  }
}

void Block::arbitrate(Cycle now) {
  for (const Contest& contest : contests_) {
    Router& r = routers[contest.router];
    r.contest = 0;
    if (!r.multicast) {
      for (size_t p = 0; p < kPorts; ++p)
        if (contest.best[p] != 0) depart(contest.best[p] - 1, PortSet(1u << p), now);
      continue;
    }
    group_.clear();
    for (uint32_t at = contest.list; at != 0; at = contested_[at - 1].next)
      group_.push_back(contested_[at - 1]);
    arbitrate_router(r, group_, now);
  }
  contests_.clear();
}

// Rounds: every output names the next lane in its order; lanes named by all their outputs leave, their rivals
// drop out. If no lane is named by all of its outputs, the lane named by the lowest contested output beats
// its rivals there, and the round is repeated. The ramp has room for the next lane until it has taken its
// rate.
void Block::arbitrate_router(const Router& r, std::vector<Candidate>& asking, Cycle now) {
  int ramp_left = ramp_rate_;
  auto drop_rivals = [&](const Candidate& winner, PortSet outputs, bool leaves) {
    std::erase_if(asking, [&](const Candidate& c) {
      if (c.lane == winner.lane) return leaves;
      if (!(c.tx & outputs)) return false;
      retry(c.lane, now);
      return true;
    });
  };
  while (!asking.empty()) {
    std::array<int, kPorts> named, users{};
    named.fill(-1);
    for (size_t i = 0; i < asking.size(); ++i)
      for (PortSet rest = asking[i].tx; rest != 0; rest &= PortSet(rest - 1)) {
        size_t p = size_t(std::countr_zero(rest));
        auto key = [&](int c) { return turn(lane_key(lanes[asking[size_t(c)].lane]), r.last[p]); };
        if (named[p] < 0 || key(int(i)) < key(named[p])) named[p] = int(i);
        ++users[p];
      }
    int winner = -1, first = -1;
    for (size_t i = 0; i < asking.size() && winner < 0; ++i) {
      bool all_outputs = true;
      for (PortSet rest = asking[i].tx; rest != 0; rest &= PortSet(rest - 1))
        all_outputs &= named[size_t(std::countr_zero(rest))] == int(i);
      if (all_outputs) winner = int(i);
    }
    for (size_t p = 0; p < kPorts && first < 0; ++p)
      if (users[p] > 1) first = int(p);
    if (winner >= 0) {
      Candidate c = asking[size_t(winner)];
      PortSet taken = c.tx;
      if ((taken & port_bit(Port::ramp)) && --ramp_left > 0) taken &= PortSet(~port_bit(Port::ramp));
      drop_rivals(c, taken, true);
      depart(c.lane, c.tx, now);
    } else {
      Candidate c = asking[size_t(named[size_t(first)])];
      drop_rivals(c, PortSet(1u << first), false);
    }
  }
}

}  // namespace cs::sim
