// Operands by when they come, and what is taken back.
#include "compiler/mapping/operand_turns.h"

#include <algorithm>
#include <numeric>

#include "compiler/mapping/network_interval.h"
#include "compiler/mapping/plan.h"

namespace cs::mapping {

namespace {

// Cycles from the first word of a sample until streams begin, if nothing waits.
class Arrivals {
 public:
  explicit Arrivals(const Parts& parts) : parts_(parts), ends_(parts.instances.size(), kUnknown) {
    for (const Instance& inst : parts.instances) streams_.emplace_back(size_t(inst.work.operands), -1);
    for (size_t s = 0; s < parts.streams.size(); ++s)
      for (const Taker& t : parts.streams[s].takers)
        if (t.instance >= 0) streams_[size_t(t.instance)][size_t(t.operand)] = int(s);
  }
  double of(int instance, int operand) {
    const int producer = producer_of(instance, operand);
    if (producer < 0) return 0;
    find_end(producer);
    return ends_[size_t(producer)];
  }

 private:
  static constexpr double kUnknown = -1, kBegun = -2;

  // -1: the host, or what comes from the sample before.
  int producer_of(int instance, int operand) const {
    const int s = streams_[size_t(instance)][size_t(operand)];
    return s < 0 || parts_.streams[size_t(s)].initial ? -1 : parts_.streams[size_t(s)].producer;
  }
  // Depth first, by a list of its own: networks are deep.
  void find_end(int instance) {
    std::vector<int> open{instance};
    while (!open.empty()) {
      const int i = open.back();
      double& end = ends_[size_t(i)];
      const bool is_new = end == kUnknown;
      double begin = 0;
      for (int k = 0; k < parts_.instances[size_t(i)].work.operands; ++k) {
        const int producer = producer_of(i, k);
        if (producer < 0) continue;
        if (is_new && ends_[size_t(producer)] == kUnknown) open.push_back(producer);
        begin = std::max(begin, ends_[size_t(producer)]);
      }
      if (is_new) {
        end = kBegun;
        continue;
      }
      open.pop_back();
      if (end == kBegun) end = begin + parts_.instances[size_t(i)].plan.latency_cycles;
    }
  }

  const Parts& parts_;
  std::vector<double> ends_;               // by instance
  std::vector<std::vector<int>> streams_;  // by instance, by operand
};

// Words of a sample that pass the links of its rows.
double words_of(const Instance& inst) {
  double words = double(inst.work.rows * inst.work.m);
  for (int k = 0; k < inst.work.operands; ++k) words += double(inst.work.kind->operand_words(inst, k));
  return words;
}

// A turn takes some 20 cycles from one feeder to the next, and where rows have one part of a sample its words are later
// by that part: worth it for long runs of long parts, and where there are rows for all of them at a time.
bool is_worth_it(const Instance& inst, double slowest) {
  constexpr int64_t kShortestRun = 64;
  constexpr double kShortestPart = 256;
  for (int k = 0; k < inst.work.operands; ++k)
    if (inst.layout->turn_words(size_t(k)) < kShortestRun) return false;
  // Of rows with several runs two layers of GPT-2 took 250,000 cycles a sample instead of 147,000 to 164,000.
  if (!inst.layout->sends_behind() || inst.work.operands + 1 > inst.rect.h) return false;
  const double words = words_of(inst);
  return words > slowest && words >= kShortestPart * inst.rect.h * (inst.work.operands + 1);
}

// Takes back the turns of those of these instances that have some.
bool take_back(Parts& parts, const std::vector<int>& instances) {
  bool any = false;
  for (const int i : instances) {
    std::vector<int>& turns = parts.instances[size_t(i)].operand_turns;
    any = any || !turns.empty();
    turns.clear();
  }
  return any;
}
void take_all_back(Parts& parts) {
  for (Instance& inst : parts.instances) inst.operand_turns.clear();
}

// Until the network cannot stop.
void go_on(Parts& parts) {
  while (true) {
    std::vector<int> stuck;
    for (const Stuck& s : stuck_operands(parts)) stuck.push_back(s.taker.instance);
    if (stuck.empty()) return;
    if (!take_back(parts, stuck)) return take_all_back(parts);
  }
}

// Until it is as fast as without turns.
void keep_interval(Parts& parts, double without, const Machine& machine) {
  constexpr double kEqual = 1 + 1e-9;
  while (true) {
    const auto now = network_interval(parts, {}, machine, true);
    if (now && now->cycles <= without * kEqual) return;
    if (!now || !take_back(parts, now->instances)) return take_all_back(parts);
  }
}

}  // namespace

void choose_operand_turns(Parts& parts, const Machine& machine) {
  take_all_back(parts);
  double slowest = 0;
  for (const Instance& inst : parts.instances) slowest = std::max(slowest, inst.plan.interval_cycles);
  std::vector<int> worth_it;
  for (size_t i = 0; i < parts.instances.size(); ++i) {
    const Instance& inst = parts.instances[i];
    if (inst.work.operands > 1 && inst.layout && is_worth_it(inst, slowest)) worth_it.push_back(int(i));
  }
  if (worth_it.empty()) return;
  const auto without = network_interval(parts, {}, machine, true);
  if (!without || !stuck_operands(parts).empty()) return;
  Arrivals arrivals(parts);
  for (const int i : worth_it) {
    std::vector<int>& turns = parts.instances[size_t(i)].operand_turns;
    turns.resize(size_t(parts.instances[size_t(i)].work.operands));
    std::iota(turns.begin(), turns.end(), 0);
    std::ranges::stable_sort(turns, {}, [&](int k) { return arrivals.of(i, k); });
  }
  go_on(parts);
  keep_interval(parts, without->cycles, machine);
}

}  // namespace cs::mapping
