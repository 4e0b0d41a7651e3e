// Which streams get a buffer, and how large: the circle that sets the interval gets as many samples more as
// it lacks, where they take fewest words, as long as that helps. Where the host sends to several takers and a
// buffer would be at work for half of the interval, the late taker gets a port of its own instead.
#include "compiler/mapping/slack.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include <fmt/format.h>

namespace cs::mapping {

namespace {

constexpr double kNear = 1.02;  // of the slowest kernel's interval: good enough
constexpr double kLate = 1.4;   // results may be later than estimated: their senders wait for each other
constexpr double kGain = 1.01;  // what a buffer must bring
// Circles that are alike get a buffer each, so what a network may have grows with its kernels: of thousands a quarter.
constexpr int kMostBuffers = 256, kKernelsPerBuffer = 4;
constexpr double kEqual = 1 + 1e-9;  // as cycles of circles are found
constexpr double kShare = 0.25;      // of the kernels' PEs, what all buffers may take
constexpr int64_t kFewPes = 64;      // that they may take anyway

// Plans as the placer prefers them: the fewest PEs at which the slowest kernel is not slower.
Parts with_plans(const Parts& parts, const PlanLists& plans) {
  constexpr double kSlower = 1.02;
  Parts planned;
  planned.instances = parts.instances;
  planned.streams = parts.streams;
  const double goal = least_interval(plans) * kSlower;
  std::map<const void*, const SizedPlan*> known;  // by list
  for (size_t i = 0; i < plans.size(); ++i) {
    Instance& inst = planned.instances[i];
    const SizedPlan*& chosen = known[plans[i].id()];
    auto cost = [&](const SizedPlan& p) {
      const kernels::Cut& c = p.plan.cut;
      return std::pair(int64_t(inst.feeders(c) + c.w + inst.collectors(c)) * c.h, p.plan.interval_cycles);
    };
    const bool is_new = chosen == nullptr;
    for (const SizedPlan& p : plans[i]) {
      if (is_new && p.plan.interval_cycles <= goal && (chosen == nullptr || cost(p) < cost(*chosen))) chosen = &p;
    }
    inst.plan = chosen->plan;
    inst.work = inst.work.in_rounds(chosen->rounds);
  }
  return planned;
}

// Whether it is this operand of this instance.
auto takes_at(const std::pair<int, int>& at) {
  return [at](const Taker& t) { return t.instance == at.first && t.operand == at.second; };
}

// Which stream comes to an operand of an instance.
std::map<std::pair<int, int>, size_t> streams_to(const Parts& parts) {
  std::map<std::pair<int, int>, size_t> list;
  for (size_t s = 0; s < parts.streams.size(); ++s)
    for (const Taker& t : parts.streams[s].takers) list.emplace(std::pair(t.instance, t.operand), s);
  return list;
}

class Slackener {
 public:
  Slackener(const Parts& parts, const Machine& machine, Slack needed)
      : parts_(parts), machine_(machine), stream_to_(streams_to(parts)), slack_(std::move(needed)) {
    double area = 0;
    for (const Instance& inst : parts.instances) area += double(inst.plan.cut.w) * inst.plan.cut.h;
    room_ = pes() + std::max(kFewPes, int64_t(area * kShare));
  }

  Slack run() {
    auto now = network_interval(parts_, slack_, machine_, false, kLate);
    const int most = std::max(kMostBuffers, int(parts_.instances.size()) / kKernelsPerBuffer);
    for (int k = 0; now && k < most && now->cycles > now->slowest * kNear; ++k) {
      const auto next = widen(*now);
      if (!next) break;
      now = next;
    }
    return slack_;
  }

 private:
  const Stream& stream_to(const std::pair<int, int>& at) const { return parts_.streams[stream_to_.at(at)]; }
  int64_t words(const std::pair<int, int>& at) const { return stream_to(at).words; }
  // The host sends it to several takers, and a buffer would be at work for half of the interval.
  bool better_sent_again(const std::pair<int, int>& at, double slowest) const {
    const Stream& s = stream_to(at);
    return !s.port_in.empty() && s.takers.size() > 1 && 2 * double(s.words) >= slowest;
  }

  // The interval is better, or another circle just like this one sets it: layers are alike.
  static bool helps(const NetworkInterval& next, const NetworkInterval& now,
                    const std::pair<int, int>& place) {
    const bool here = std::find(next.waits.begin(), next.waits.end(), place) != next.waits.end();
    return next.cycles * kGain < now.cycles || (next.cycles <= now.cycles * kEqual && !here);
  }

  int64_t pes() const {
    int64_t sum = 0;
    for (const auto& [place, samples] : slack_)
      if (samples != kSentAgain)
        sum += (samples * words(place) + kernels::slack_words_per_pe(machine_) - 1) /
               kernels::slack_words_per_pe(machine_);
    return sum;
  }

  // More samples for the circle; nothing if no buffer helps.
  std::optional<NetworkInterval> widen(const NetworkInterval& now) {
    std::vector<std::pair<int, int>> at = now.waits;
    std::sort(at.begin(), at.end());
    at.erase(std::unique(at.begin(), at.end()), at.end());
    std::stable_sort(at.begin(), at.end(), [&](const auto& a, const auto& b) { return words(a) < words(b); });
    const int64_t lacking =
        std::max<int64_t>(1, int64_t(std::ceil(now.circle / (now.slowest * kNear))) - now.samples);
    for (const auto& place : at) {
      if (useless_.count(place) > 0) continue;
      const Slack before = slack_;
      int64_t& samples = slack_[place];
      if (samples == kSentAgain) continue;
      samples = better_sent_again(place, now.slowest) ? kSentAgain : samples + lacking;
      auto next = network_interval(parts_, slack_, machine_, false, kLate);
      if (pes() <= room_ && next && helps(*next, now, place)) {
        useless_.clear();  // where it did not help it may now
        return next;
      }
      slack_ = before;
      useless_.insert(place);
    }
    return std::nullopt;
  }

  const Parts& parts_;
  const Machine& machine_;
  const std::map<std::pair<int, int>, size_t> stream_to_;
  int64_t room_ = 0;  // PEs
  Slack slack_;
  std::set<std::pair<int, int>> useless_;
};

Instance buffer(const std::string& name, int64_t words, int64_t size) {
  Instance b{kernels::slack_choice(words, size)};
  b.name = name;
  b.title = name;
  b.infrastructure = true;
  return b;
}

PlanList plans_for(const Instance& b, int64_t words, const Machine& machine) {
  std::vector<SizedPlan> plans;
  for (kernels::Plan& p : kernels::slack_plans(b, words, machine)) plans.push_back({std::move(p)});
  return plans;
}

// "a -> b, c" with another name for one of the takers.
std::string taker_renamed(std::string name, const std::string& from, const std::string& to) {
  const size_t arrow = name.find(" -> "), at = arrow == std::string::npos ? arrow : name.find(from, arrow);
  return at == std::string::npos ? name : name.replace(at, from.size(), to);
}

// A port of its own for one taker of what the host sends: samples wait in the host.
void send_again(Parts& parts, size_t stream, const std::pair<int, int>& at) {
  Stream own = parts.streams[stream];
  Stream& others = parts.streams[stream];
  const std::string& name = parts.instances[size_t(at.first)].name;
  own.takers = {{at.first, at.second}};
  own.name = fmt::format("host -> {}", name);
  own.port_in = fmt::format("{}#{}.{}", others.port_in, name, at.second);
  std::erase_if(others.takers, takes_at(at));
  others.name = "host -> ";
  for (size_t k = 0; k < others.takers.size(); ++k)
    others.name += (k > 0 ? ", " : "") + parts.instances[size_t(others.takers[k].instance)].name;
  std::vector<HostStep>& steps = parts.host.steps;
  const auto send = std::find_if(steps.begin(), steps.end(),
                                 [&](const HostStep& step) { return step.port == others.port_in; });
  HostStep again = *send;
  again.port = own.port_in;
  steps.insert(send + 1, std::move(again));
  parts.streams.push_back(std::move(own));
}

// Operands that stop get room for a whole sample; then others may.
Slack needed_slack(const Parts& planned, const Machine& machine) {
  Slack slack;
  while (true) {
    Parts buffered = planned;
    PlanLists ignored;
    add_slack(buffered, ignored, slack, machine, std::numeric_limits<int>::max());
    bool more = false;
    for (const Stuck& stuck : stuck_operands(buffered)) {
      // Behind a buffer there is room for a sample: what stops in front of one has another reason.
      const std::pair<int, int> place{stuck.taker.instance, stuck.taker.operand};
      if (place.first < int(planned.instances.size())) more = slack.emplace(place, 1).second || more;
    }
    if (!more) return slack;
  }
}

}  // namespace

Slack plan_slack(const Parts& parts, const PlanLists& plans, const Machine& machine) {
  const Parts planned = with_plans(parts, plans);
  return Slackener(planned, machine, needed_slack(planned, machine)).run();
}

Slack least_slack(const Parts& parts, const PlanLists& plans, const Machine& machine) {
  return needed_slack(with_plans(parts, plans), machine);
}

void add_slack(Parts& parts, PlanLists& plans, const Slack& slack, const Machine& machine, int widest) {
  std::map<std::pair<int64_t, int64_t>, PlanList> known;  // of buffers, by words of a sample and of all
  const auto stream_to = streams_to(parts);  // buffers change where one of them comes from, and no other
  for (const auto& entry : slack) {
    const std::pair<int, int>& at = entry.first;
    const int64_t samples = entry.second;
    size_t s = stream_to.at(at);
    const std::string name = parts.instances[size_t(at.first)].name;
    if (samples == kSentAgain) {
      // The last of its takers keeps the first port.
      if (parts.streams[s].takers.size() > 1) send_again(parts, s, at);
      continue;
    }
    const int64_t words = parts.streams[s].words;
    int64_t left = samples * words;
    for (int k = 0; left > 0; ++k) {
      const int64_t size = std::min(left, int64_t(widest) * kernels::slack_words_per_pe(machine));
      left -= size;
      Instance b = buffer(fmt::format("{}_slack{}{}", name, at.second, k > 0 ? fmt::format("_{}", k) : ""),
                          words, size);
      const int index = int(parts.instances.size());
      std::vector<Taker>& takers = parts.streams[s].takers;
      std::replace_if(takers.begin(), takers.end(), takes_at(at), Taker{index, 0});
      parts.streams[s].name = taker_renamed(parts.streams[s].name, name, b.name);
      Stream out;
      out.name = fmt::format("{} -> {}", b.name, name);
      out.producer = index;
      out.words = words;
      out.takers = {{at.first, at.second}};
      const auto [shapes, is_new] = known.try_emplace({words, size});
      if (is_new) shapes->second = plans_for(b, words, machine);
      plans.push_back(shapes->second);
      parts.instances.push_back(std::move(b));
      s = parts.streams.size();
      parts.streams.push_back(std::move(out));
    }
  }
}

}  // namespace cs::mapping
