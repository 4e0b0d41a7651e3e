// Sizing: every rectangle that an instance could have, within the fabric and 48 KB, with its estimate; which
// of them it gets is decided when it is placed. And the relays that follow from that.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <set>

#include <fmt/format.h>

#include "compiler/mapping/known_plans.h"
#include "compiler/mapping/strips.h"
#include "runtime/support/progress.h"

namespace cs::mapping {

namespace {

constexpr int64_t kMaxRelayWords = 16384;  // what one vector instruction passes on

// A row for every PE, and again until the sample is done: PEs need memory for no more. Or a few rows, of which the
// last PE has fewer, where no number of PEs near to that divides the rows: 341 rows are 31 times 11, and 11 are 2 for
// each of five PEs and 1 for the sixth. A PE sends what it has when all of that is done.
void add_rounds(const kernels::Work& work, int max_w, const Machine& machine, std::vector<SizedPlan>& list) {
  constexpr int64_t kMostRows = 4;  // of a PE
  constexpr double kNear = 1.5;
  const int64_t rows = work.n / work.row;
  std::vector<int64_t> divisors;  // but for the rows themselves
  for (int64_t d = 1; d * d <= rows; ++d) {
    if (rows % d != 0) continue;
    if (d < rows) divisors.push_back(d);
    if (d > 1 && d * d < rows) divisors.push_back(rows / d);
  }
  std::ranges::sort(divisors);
  const auto add = [&](int64_t at_once, int64_t w) {
    if (w > max_w) return;
    if (const auto plan = kernels::plan_kernel(work.in_rounds(rows / at_once), int(w), 1, machine))
      list.push_back({*plan, rows / at_once});
  };
  for (const int64_t d : divisors) add(d, d);
  for (const int64_t d : divisors) {
    for (int64_t each = 2; each <= kMostRows; ++each) {
      const int64_t w = (d + each - 1) / each;
      const auto near = [&](int64_t other) { return other >= w && double(other) <= kNear * double(w); };
      if (w > 1 && std::ranges::none_of(divisors, near)) add(d, w);
    }
  }
}

// Slices go to one column after the other, and PEs send in turns, by a switch of the router with two positions.
bool can_switch(const Machine& machine) {
  return machine.router.switch_positions > 1 && !machine.router.switchable_colors.empty();
}
bool switches(const Instance& inst, const kernels::Cut& cut) {
  const kernels::Footprint f = inst.footprint(cut);
  const bool slices = !f.in.empty() && f.in.front().distribution == kernels::Distribution::slices && cut.w > 1;
  return slices || std::ranges::any_of(f.out, &kernels::Port::turns);
}

bool fits(const kernels::Plan& plan, const Machine& machine) {
  return plan.memory.total <= uint32_t(machine.core.memory_bytes);
}

std::vector<SizedPlan> rectangles(const Instance& inst, const MapOptions& options,
                                  const kernels::Costing& by) {
  const Machine& machine = by.machine;
  Extent limit = fabric_limit(options, machine);
  int max_w = limit.width - inst.work.operands - 1;
  if (options.most_width > 0 && !inst.infrastructure) {
    limit = {std::min(limit.width, options.most_width), std::min(limit.height, options.most_height)};
    max_w = std::min(max_w, limit.width);
  }
  std::vector<SizedPlan> list;
  const Extent asked{options.force_width, options.force_height};
  if (const auto own = inst.work.kind->plans(inst, limit, asked, by)) {
    for (const kernels::Plan& plan : *own) list.push_back({plan, 1});
    return list;
  }
  std::vector<int> widths = kernels::extents(inst.work.n / inst.work.row, std::max(1, max_w));
  std::vector<int> heights =
      inst.work.kind->several_rows() ? kernels::extents(inst.work.m, limit.height) : std::vector<int>{1};
  bool forced = options.force_width > 0 && !inst.infrastructure;
  if (forced) widths = {options.force_width}, heights = {std::max(1, options.force_height)};
  if (!forced && inst.work.kind->rounds()) add_rounds(inst.work, max_w, machine, list);
  // Beyond the usual number of PEs only where nothing smaller fits.
  int64_t before = 0, most = forced ? int64_t(limit.width) * limit.height : options.max_pes_per_kernel;
  for (;; before = most, most *= 4) {
    for (int w : widths) {
      for (int h : heights) {
        if (int64_t(w) * h <= before || (!forced && int64_t(w) * h > most)) continue;
        std::optional<kernels::Plan> plan = kernels::plan_kernel(inst.work, w, h, machine);
        if (plan) list.push_back({*plan, 1});
      }
    }
    if (most >= int64_t(limit.width) * limit.height) return list;
    if (std::any_of(list.begin(), list.end(), [&](const SizedPlan& p) { return fits(p.plan, machine); }))
      return list;
  }
}

std::vector<SizedPlan> candidates(const Instance& inst, const MapOptions& options, const kernels::Costing& by) {
  std::vector<SizedPlan> list = rectangles(inst, options, by);
  if (!can_switch(by.machine))
    std::erase_if(list, [&](const SizedPlan& p) { return switches(inst, p.plan.cut); });
  return list;
}

// The least that any of these plans needs.
std::string memory_text(const std::vector<SizedPlan>& plans, const Machine& machine) {
  if (plans.empty() && !can_switch(machine))
    return fmt::format("no rectangle of the fabric can hold this kernel; several PEs need router.switch_positions 2, "
                       "the machine has {}",
                       machine.router.switch_positions);
  if (plans.empty()) return "no rectangle of the fabric can hold this kernel";
  auto less = [](const auto& a, const auto& b) { return a.plan.memory.total < b.plan.memory.total; };
  const kernels::Plan* least = &std::min_element(plans.begin(), plans.end(), less)->plan;
  std::string users;
  for (size_t i = 0; i < least->memory.users.size() && i < 3; ++i) {
    users += fmt::format("{}{} {} B", i > 0 ? ", " : "", least->memory.users[i].first,
                         least->memory.users[i].second);
  }
  return fmt::format("needs {} B per PE on {} x {} PEs, a PE has {} B; largest: {}", least->memory.total,
                     least->cut.w, least->cut.h, machine.core.memory_bytes, users);
}

}  // namespace

Extent whole_fabric(const MapOptions& options, const Machine& machine) {
  Extent e;
  e.width = options.fabric_width > 0 ? options.fabric_width : machine.fabric.user_width;
  e.height = options.fabric_height > 0 ? options.fabric_height : machine.fabric.user_height;
  return e;
}

Extent fabric_limit(const MapOptions& options, const Machine& machine) {
  return strip_of(options.copies, whole_fabric(options, machine));
}

namespace {

// A rectangle that is given is for kernels that can be cut so. Beside others a kernel may lie within it.
std::vector<SizedPlan> all_plans(const Instance& inst, const MapOptions& options, const kernels::Costing& by,
                                 bool alone) {
  std::vector<SizedPlan> list = candidates(inst, options, by);
  if (!list.empty() || alone || options.force_width == 0) return list;
  MapOptions within = options;
  within.most_width = options.force_width;
  within.most_height = std::max(1, options.force_height);
  within.force_width = within.force_height = 0;
  return candidates(inst, within, by);
}

// What a PE has for what the estimate counts: code generation may have found that a kernel needs more.
uint32_t memory_for(const Instance& inst, const MapOptions& options, const Machine& machine) {
  const auto memory = uint32_t(machine.core.memory_bytes);
  for (const std::string& node : inst.node_names) {
    const auto more = options.more_bytes.find(node);
    if (more != options.more_bytes.end()) return memory - std::min(memory / 4 * 3, more->second);
  }
  return memory;
}

// Measured instead of estimated intervals, as far as there are any.
PlanList scaled_by_measured(const Instance& inst, const MapOptions& options, PlanList list) {
  if (!options.measured || inst.node_names.empty()) return list;
  const auto known = options.measured->of_node.find(inst.node_names.front());
  if (known == options.measured->of_node.end()) return list;
  double logs = 0;
  int count = 0;
  for (const MeasuredPlans::Of& m : known->second)
    if (m.origin == inst.origin) logs += std::log(m.ratio), ++count;
  if (count == 0) return list;
  const double usual = std::exp(logs / count);
  std::vector<SizedPlan> plans(list.begin(), list.end());
  for (SizedPlan& p : plans) {
    double ratio = usual;
    for (const MeasuredPlans::Of& m : known->second)
      if (m.origin == inst.origin && m.w == p.plan.cut.w && m.h == p.plan.cut.h) ratio = m.ratio;
    p.plan.interval_cycles *= ratio;
  }
  return plans;
}

KnownPlans::Plans sized(const Instance& inst, const MapOptions& options, const Machine& machine, uint32_t memory,
                        kernels::CodeCosts& statements, bool alone) {
  const KnownPlans::Sizing sizing{fabric_limit(options, machine),
                                  {options.force_width, options.force_height},
                                  {options.most_width, options.most_height},
                                  options.max_pes_per_kernel,
                                  memory,
                                  alone};
  if (options.known_plans)
    if (auto known = options.known_plans->find(inst, sizing)) return *known;
  Machine own = machine;
  own.core.memory_bytes = int(memory);
  const std::vector<SizedPlan> all = all_plans(inst, options, {own, statements}, alone);
  std::vector<SizedPlan> fitting;
  std::ranges::copy_if(all, std::back_inserter(fitting), [&](const SizedPlan& p) { return fits(p.plan, own); });
  KnownPlans::Plans plans{std::move(fitting), ""};
  if (plans.list.empty()) plans.why = memory_text(all, own);
  if (options.known_plans) options.known_plans->add(inst, sizing, plans);
  return plans;
}

// Of `firsts`, the one that is alike and has the same memory as number i, else i.
size_t first_like(const std::vector<Instance>& instances, const std::vector<size_t>& firsts,
                  const std::vector<uint32_t>& memory, size_t i) {
  for (size_t k : firsts) {
    if (memory[k] == memory[i] && alike(instances[k], instances[i])) return k;
  }
  return i;
}

}  // namespace

bool alike(const Instance& a, const Instance& b) {
  return a.work == b.work && a.infrastructure == b.infrastructure && a.work.kind->plans_alike(a, b);
}

Instance as_compared(const Instance& inst) {
  Instance compared;
  compared.work = inst.work;
  compared.infrastructure = inst.infrastructure;
  compared.region = inst.region;
  return compared;
}

void list_plans(const std::vector<Instance>& instances, const MapOptions& options, const Machine& machine,
                PlanLists& plans, std::vector<Misfit>& without) {
  plans.clear();
  std::vector<uint32_t> memory;
  std::vector<std::string> why;  // by instance, where it has no plan
  std::vector<size_t> firsts;
  for (const Instance& inst : instances) memory.push_back(memory_for(inst, options, machine));
  const auto statements = options.statements ? options.statements : kernels::statement_costs(machine);
  const auto kernels =
      std::count_if(instances.begin(), instances.end(), [](const Instance& i) { return !i.infrastructure; });
  progress::round("map");
  for (size_t i = 0; i < instances.size(); ++i) {
    progress::part("map", i, instances.size());
    const Instance& inst = instances[i];
    const size_t twin = first_like(instances, firsts, memory, i);
    if (twin < i) {  // also in what does not fit
      plans.push_back(PlanList(plans[twin]));
      why.push_back(std::string(why[twin]));
    } else {
      firsts.push_back(i);
      KnownPlans::Plans found = sized(inst, options, machine, memory[i], *statements, kernels == 1);
      why.push_back(std::move(found.why));
      plans.push_back(scaled_by_measured(inst, options, std::move(found.list)));
    }
    if (plans.back().empty()) without.push_back({inst.name, inst.node_names, why.back(), 0});
  }
}

double fastest_interval(const PlanList& plans) {
  double best = std::numeric_limits<double>::infinity();
  for (const SizedPlan& p : plans) best = std::min(best, p.plan.interval_cycles);
  return best;
}

double least_interval(const PlanLists& plans) {
  double slowest = 0;
  std::set<const void*> known;
  for (const PlanList& list : plans)
    if (known.insert(list.id()).second) slowest = std::max(slowest, fastest_interval(list));
  return slowest;
}

bool keep_pace(PlanLists& plans, double pace) {
  constexpr double kNear = 1.02;  // of a kernel's best plan: good enough
  if (pace >= 1) return false;
  bool fewer = false;
  const double goal = least_interval(plans) * pace;
  std::map<const void*, PlanList> in_pace;
  for (PlanList& list : plans) {
    const auto [known, is_new] = in_pace.try_emplace(list.id());
    if (is_new) {
      const double most = std::max(goal, fastest_interval(list) * kNear);
      std::vector<SizedPlan> rest;
      std::ranges::copy_if(list, std::back_inserter(rest),
                           [&](const SizedPlan& p) { return p.plan.interval_cycles <= most; });
      fewer = fewer || rest.size() < list.size();
      known->second = std::move(rest);
    }
    list = known->second;
  }
  return fewer;
}

Cost work_cost(const kernels::Work& work, const Machine& machine) {
  Instance inst;
  inst.work = work;
  std::vector<kernels::Plan> plans;
  for (SizedPlan& p : candidates(inst, {}, {machine, *kernels::statement_costs(machine)}))
    plans.push_back(std::move(p.plan));
  return kernels::least_cost(plans, machine);
}

void add_relays(Parts& parts) {
  size_t streams = parts.streams.size();
  std::vector<int> relays(parts.instances.size(), 0);
  for (size_t s = 0; s < streams; ++s) {
    Stream& stream = parts.streams[s];
    bool to_host = !stream.port_out.empty();
    if (stream.producer < 0 || !to_host || !parts.instances[size_t(stream.producer)].in_turns()) continue;
    const Instance& producer = parts.instances[size_t(stream.producer)];
    // Words pass as they come, so that the relay's own rounds need not be samples.
    Instance relay{kernels::relay_choice(std::min<int64_t>(stream.words, kMaxRelayWords))};
    relay.name = producer.name + "_relay" + (stream.result > 0 ? std::to_string(stream.result) : "");
    relay.title = relay.name;
    relay.infrastructure = true;
    relay.plan.cut = *kernels::cut_work(relay.work, 1, 1);
    relay.rect = {producer.exit().x + ++relays[size_t(stream.producer)], producer.exit().y, 1, 1};
    Stream out;
    out.producer = int(parts.instances.size());
    out.words = stream.words;
    out.name = relay.name + " -> host";
    out.tensor = stream.tensor;
    out.port_out = stream.port_out;
    out.takers = {{-1, 0}};
    std::erase_if(stream.takers, [](const Taker& t) { return t.instance < 0; });
    stream.takers.push_back({out.producer, 0});
    stream.tensor.clear();
    stream.port_out.clear();
    parts.instances.push_back(relay);
    parts.streams.push_back(out);
  }
}

}  // namespace cs::mapping
