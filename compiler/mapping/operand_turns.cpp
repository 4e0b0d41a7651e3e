// Operands that feeders hold, those that rows take by when they come, and what is taken back.
#include "compiler/mapping/operand_turns.h"

#include <algorithm>
#include <numeric>

#include "compiler/mapping/network_interval.h"
#include "compiler/mapping/plan.h"
#include "compiler/mapping/skew.h"

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

// Words of a sample that pass the links of its rows: of operands, which take as many cycles if all of them come to one
// row after the other, and of the result.
double operand_words(const Instance& inst) {
  double words = 0;
  for (int k = 0; k < inst.work.operands; ++k) words += double(inst.work.kind->operand_words(inst, k));
  return words;
}
double words_of(const Instance& inst) { return operand_words(inst) + double(inst.work.rows * inst.work.m); }

// A turn takes some 20 cycles from one feeder to the next, and where rows have one part of a sample its words are later
// by that part: worth it for long runs of long parts, one for each row.
bool is_worth_it(const Instance& inst, double slowest) {
  constexpr int64_t kShortestRun = 64;
  for (int k = 0; k < inst.work.operands; ++k) {
    const int64_t run = inst.layout->turn_words(size_t(k));
    if (run < kShortestRun || run * inst.rect.h < inst.work.kind->operand_words(inst, k)) return false;
  }
  return operand_words(inst) > slowest &&
         words_of(inst) >= kernels::kShortestPart * inst.rect.h * (inst.work.operands + 1);
}

// From the first word of a row's part of an operand until its part of the result has left, one stream after the other.
double round_of_row(const Instance& inst) { return words_of(inst) / inst.rect.h + skew_of(inst).until_first; }

// Cycles from the first word of a row's part of an operand until its feeder has sent all of it, beside the other
// operands on the row's links. While words for other rows pass, those that no filter takes out, it sends nothing.
double until_sent(const Instance& inst, int operand) {
  const int64_t words = inst.work.kind->operand_words(inst, operand);
  const int64_t run = inst.layout->turn_words(size_t(operand));
  const kernels::StreamFilter f = inst.layout->filter(size_t(operand), -1, 0);
  double cycles = double(run) + operand_words(inst) / inst.rect.h;
  if (!f.used()) return cycles + double(words - run);
  for (int64_t at = f.period; at < words && double(at) < cycles; at += f.period) cycles += f.keep;
  return cycles;
}

// A feeder has room for what its row gets of an operand, and it has sent that, and the row is done, before the next
// sample's part comes, first into the feeder.
bool feeders_hold(const Instance& inst, double slowest, const Machine& machine) {
  constexpr int64_t kCode = 2048, kWordBytes = 4;
  const double round = round_of_row(inst);
  for (int k = 0; k < inst.work.operands; ++k) {
    const int64_t run = inst.layout->turn_words(size_t(k));
    const double cycles = std::max(double(run) + round, until_sent(inst, k));
    if (run * kWordBytes + kCode > machine.core.memory_bytes || cycles > slowest) return false;
  }
  return true;
}

// A row that takes no operand of the next sample before its part of the result has left waits while its PEs compute.
// Nobody waits for that for long where it is done about when the slowest kernel is.
bool sends_in_turn(const Instance& inst, double slowest) {
  constexpr double kHeldUp = 1.1;
  return inst.layout->sends_behind() && round_of_row(inst) <= kHeldUp * slowest;
}

class OperandTurns {
 public:
  OperandTurns(Parts& parts, const Machine& machine) : parts_(parts), machine_(machine) {
    for (const Instance& inst : parts.instances) slowest_ = std::max(slowest_, inst.plan.interval_cycles);
  }

  // A part that is held is later by the time until all of it is there, as long as one of two operands takes in turn.
  // Of more operands that is little, and the row needs no time between one and the next.
  void run() {
    constexpr int kFewOperands = 2;
    std::vector<int> in_turn;
    for (size_t i = 0; i < parts_.instances.size(); ++i) {
      Instance& inst = parts_.instances[i];
      hold(inst, false);
      if (inst.work.operands < 2 || !inst.layout || !is_worth_it(inst, slowest_)) continue;
      inst.result_in_turn = sends_in_turn(inst, slowest_);
      const bool turns = inst.result_in_turn && inst.work.operands <= kFewOperands;
      if (!turns) hold(inst, feeders_hold(inst, slowest_, machine_));
      if (!inst.operands_held) in_turn.push_back(int(i));
    }
    if (in_turn.empty()) return;
    const auto without = network_interval(parts_, {}, machine_, true);
    if (!without || !stuck_operands(parts_).empty()) return;
    Arrivals arrivals(parts_);
    for (const int i : in_turn) {
      std::vector<int>& turns = parts_.instances[size_t(i)].operand_turns;
      turns.resize(size_t(parts_.instances[size_t(i)].work.operands));
      std::iota(turns.begin(), turns.end(), 0);
      std::ranges::stable_sort(turns, {}, [&](int k) { return arrivals.of(i, k); });
    }
    go_on();
    keep_interval(without->cycles);
  }

 private:
  static void hold(Instance& inst, bool held) {
    inst.operand_turns.clear();
    inst.operands_held = held;
  }
  // Takes back the turns of those of these instances that have some: their feeders hold operands, if they can.
  bool take_back(const std::vector<int>& instances) {
    bool any = false;
    for (const int i : instances) {
      Instance& inst = parts_.instances[size_t(i)];
      if (inst.operand_turns.empty()) continue;
      any = true;
      hold(inst, feeders_hold(inst, slowest_, machine_));
    }
    return any;
  }
  void take_all_back() {
    std::vector<int> all(parts_.instances.size());
    std::iota(all.begin(), all.end(), 0);
    take_back(all);
  }
  // Until the network cannot stop.
  void go_on() {
    while (true) {
      std::vector<int> stuck;
      for (const Stuck& s : stuck_operands(parts_)) stuck.push_back(s.taker.instance);
      if (stuck.empty()) return;
      if (!take_back(stuck)) return take_all_back();
    }
  }
  // Until it is as fast as without turns.
  void keep_interval(double without) {
    constexpr double kEqual = 1 + 1e-9;
    while (true) {
      const auto now = network_interval(parts_, {}, machine_, true);
      if (now && now->cycles <= without * kEqual) return;
      if (!now || !take_back(now->instances)) return take_all_back();
    }
  }

  Parts& parts_;
  const Machine& machine_;
  double slowest_ = 0;
};

}  // namespace

void choose_operand_turns(Parts& parts, const Machine& machine) { OperandTurns(parts, machine).run(); }

}  // namespace cs::mapping
