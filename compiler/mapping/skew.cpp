// Skews of all kinds of kernels, from their plans.
#include "compiler/mapping/skew.h"

#include <algorithm>

#include "compiler/autogen/region_module.h"

namespace cs::mapping {

namespace {

std::vector<int64_t> operand_words(const Instance& inst) {
  std::vector<int64_t> list;
  if (inst.region) {
    for (int b : inst.region->operand_buffer)
      list.push_back(inst.work.rows * inst.region->program.buffers[size_t(b)].type.elements());
  } else {
    list.assign(size_t(inst.work.operands), inst.work.rows * inst.work.n);
  }
  return list;
}

// Of a kernel that does its work in `rounds` parts, each of which is taken whole.
void in_parts(Skew& s, int64_t rounds, int64_t parts_held, double latency) {
  s.whole = false;
  s.first.clear();
  s.holds.clear();
  for (int64_t words : s.words) {
    s.first.push_back(words / rounds);
    s.holds.push_back(words / rounds * parts_held);
  }
  const double round = s.interval / double(rounds), words = double(s.first.front());
  s.sending = s.interval - round;
  // Parts that it holds come at once, each of the others when a round has ended.
  const auto held = double(std::min(rounds, parts_held));
  s.taking = std::max(double(s.words.front()), s.interval - held * (round - words));
  // What the last part takes from its first word on, behind which it ends.
  const double last = latency - round * double(rounds - 1);
  s.until_last = std::max(0.0, last - words);
  s.until_first = s.until_last;
}

void passing(Skew& s, double latency) {
  s.whole = false;
  s.first.assign(s.words.size(), 1);
  s.holds.assign(s.words.size(), 0);
  s.taking = s.interval;
  s.until_first = s.until_last = std::max(0.0, latency - s.interval);
}

// A PE alone sends what it has computed of a sample: row by row, or part by part where the last instruction
// sends.
int64_t parts_sent(const Instance& inst) {
  const kernels::Cut& cut = inst.plan.cut;
  if (cut.w * cut.h > 1) return 1;
  if (inst.work.kind == kernels::rows_kind() && !inst.work.half) return inst.work.n / inst.work.row;
  if (inst.work.kind == kernels::elementwise_kind() && inst.work.chain.to_fabric)
    return (inst.work.n + kernels::part_of(cut.n_slice) - 1) / kernels::part_of(cut.n_slice);
  return 1;
}

// No PE of a region takes words from the beginning of an operand to its end: routers reject what comes before
// and behind its own. Not assumed before the region has a layout, since buffers are planned for the worse.
bool takes_one_by_one(const Instance& inst, const std::vector<int64_t>& words) {
  if (inst.layout.in_rows()) return true;
  return !inst.layout.pes.empty() &&
         std::all_of(inst.layout.pes.begin(), inst.layout.pes.end(), [&](const RegionPe& pe) {
           for (size_t k = 0; k < words.size(); ++k)
             if (!pe.filters[k].used() || pe.filters[k].period < words[k]) return false;
           return true;
         });
}

}  // namespace

Skew skew_of(const Instance& inst) {
  const kernels::Work& work = inst.work;
  const kernels::Plan& plan = inst.plan;
  const double pes = double(plan.cut.w) * plan.cut.h, out = double(work.words_out());
  Skew s;
  s.words = s.first = s.holds = operand_words(inst);
  const double in = double(*std::max_element(s.words.begin(), s.words.end()));
  s.interval = plan.interval_cycles;
  s.taking = in;
  s.until_last = std::max(0.0, plan.latency_cycles - in);
  s.until_first = std::max(0.0, s.until_last - out) / double(parts_sent(inst));
  s.busy_sending = 1 / pes;
  if (work.kind == kernels::relay_kind()) {
    // A word that is kept takes the datapath twice.
    s.interval = double(s.words.front()) * (inst.slack > 0 ? 2 : 1);
    passing(s, s.interval + 8);
    s.holds.front() = inst.slack;
  } else if (work.kind == kernels::broadcast_kind()) {
    passing(s, s.interval);
  } else if (work.kind == kernels::elementwise_kind()) {
    if (work.through) passing(s, plan.latency_cycles);
  } else {
    // One round is computed while the next one comes, but by regions.
    if (inst.region) s.again = std::max(0.0, s.until_first);
    s.sends_first = inst.region && !autogen::asks_before_sending(*inst.region);
    s.one_by_one = inst.region && pes > 1 && takes_one_by_one(inst, s.words);
    if (work.rows > 1) in_parts(s, work.rows, inst.region ? 1 : 2, plan.latency_cycles);
  }
  return s;
}

std::vector<Skew> skews_of(const Parts& parts) {
  std::vector<int64_t> passed(parts.instances.size(), 0);
  for (const Stream& s : parts.streams) {
    if (s.producer >= 0) passed[size_t(s.producer)] = s.words;
  }
  std::vector<Skew> list;
  for (size_t i = 0; i < parts.instances.size(); ++i) {
    Instance inst;
    const bool passes = parts.instances[i].work.kind == kernels::relay_kind();
    if (passes) {
      inst.work = parts.instances[i].work;
      inst.work.n = inst.work.m = passed[i];
      inst.slack = parts.instances[i].slack;
    }
    list.push_back(skew_of(passes ? inst : parts.instances[i]));
  }
  return list;
}

}  // namespace cs::mapping
