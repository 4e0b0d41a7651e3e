// What to say when a network does not fit the fabric that it may use: what does not, by how much, and the
// smallest fabric on which a placement was found.
#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "compiler/mapping/plan.h"

namespace cs::mapping {

namespace {

constexpr double kStep = 1.1;  // of both sides, from one fabric that is tried to the next
constexpr int kAttempts = 4;   // to place on each of them
constexpr size_t kNamed = 3;   // kernels that need most

constexpr double kFilled = 0.8;  // of a fabric, by rectangles for which a placement is found
// Of what the kernels need, in those that take another form before the network is compiled again: not one kernel for
// each time.
constexpr double kAtOnce = 1.0 / 16;

int64_t area(const Extent& e) { return int64_t(e.width) * e.height; }

// The plans on all PEs of the machine; false if some kernel has none even there.
bool plans_at_most(const Parts& parts, const MapOptions& options, const Machine& machine, PlanLists& plans) {
  MapOptions largest = options;
  largest.fabric_width = largest.fabric_height = 0;
  std::vector<Misfit> without;
  list_plans(parts.instances, largest, machine, plans, without);
  return without.empty();
}

bool fits_on(const Parts& parts, const MapOptions& options, const Machine& machine, const Extent& e) {
  MapOptions larger = options;
  larger.fabric_width = e.width;
  larger.fabric_height = e.height;
  PlanLists plans;
  std::vector<Misfit> without;
  list_plans(parts.instances, larger, machine, plans, without);
  if (!without.empty()) return false;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    PlacementFigures figures;
    Extent used;
    Parts trial = parts;
    if (place_instances(trial, plans, e, attempt, options, used, figures)) return true;
  }
  return false;
}

// Nothing if even the machine's own fabric is too small for so many PEs.
std::optional<Extent> smallest_fabric(const Parts& parts, const MapOptions& options, const Machine& machine,
                                      int64_t need) {
  const Extent start = fabric_limit(options, machine), most = fabric_limit({}, machine);
  Extent before = start;
  for (double factor = kStep; before.width < most.width || before.height < most.height; factor *= kStep) {
    const Extent e{std::min(most.width, int(std::ceil(start.width * factor))),
                   std::min(most.height, int(std::ceil(start.height * factor)))};
    if (e.width == before.width && e.height == before.height) continue;
    before = e;
    if (area(e) >= need && fits_on(parts, options, machine, e)) return e;
  }
  return std::nullopt;
}

// PEs that no placement does without: one for each kernel, and memory for its constants.
int64_t least_pes(const Parts& parts, const Machine& machine) {
  int64_t pes = 0;
  for (const Instance& inst : parts.instances) {
    int64_t words = 0;
    for (const PackedConstant& c : inst.constants) words += c.values.size();
    pes += std::max<int64_t>(1, (4 * words + machine.core.memory_bytes - 1) / machine.core.memory_bytes);
  }
  return pes;
}

// "layer0_mixed (12 like it, 4096 PEs each)": the layers of a network are alike.
std::string largest_kernels(const Parts& parts, const PlanLists& plans) {
  struct Alike {
    std::string op, name;
    int64_t pes = 0, count = 0;
  };
  std::vector<Alike> list;
  for (size_t i = 0; i < plans.size(); ++i) {
    Alike one{parts.instances[i].op, parts.instances[i].name, std::numeric_limits<int64_t>::max(), 1};
    for (const SizedPlan& p : plans[i]) one.pes = std::min(one.pes, int64_t(p.plan.cut.w) * p.plan.cut.h);
    const auto known = std::find_if(list.begin(), list.end(),
                                    [&](const Alike& a) { return a.op == one.op && a.pes == one.pes; });
    if (known == list.end()) {
      list.push_back(one);
    } else {
      ++known->count;
    }
  }
  std::stable_sort(list.begin(), list.end(),
                   [](const Alike& a, const Alike& b) { return a.pes * a.count > b.pes * b.count; });
  std::string text;
  for (size_t k = 0; k < list.size() && k < kNamed; ++k) {
    const Alike& a = list[k];
    text += fmt::format("{}{} ({}{} PE{}{})", k > 0 ? ", " : "", a.name,
                        a.count > 1 ? fmt::format("{} like it, ", a.count) : "", a.pes, a.pes > 1 ? "s" : "",
                        a.count > 1 ? " each" : "");
  }
  return text;
}

std::string find_help(const Parts& parts, const MapOptions& options, const Machine& machine) {
  const Extent most = fabric_limit({}, machine);
  PlanLists plans;
  if (!plans_at_most(parts, options, machine, plans)) return "make the batch or the layers smaller";
  const int64_t need = least_area(parts, plans);
  if (const auto e = smallest_fabric(parts, options, machine, need))
    return fmt::format("use --fabric {}x{}, the smallest of its proportions that was found to hold it",
                       e->width, e->height);
  const int64_t bound = least_pes(parts, machine);
  if (bound <= area(most)) return "give it a larger --fabric, or make the batch or the layers smaller";
  return fmt::format(
      "all {} x {} PEs of the machine do not hold it either: make the batch or the layers smaller, by {} PEs "
      "together",
      most.width, most.height, bound - area(most));
}

}  // namespace

Help room_help(const Parts& parts, const MapOptions& options, const Machine& machine) {
  return Help::later([=] { return find_help(parts, options, machine); });
}

std::vector<Misfit> too_large_together(const Parts& parts, const PlanLists& plans, const Extent& limit) {
  std::vector<std::pair<int64_t, size_t>> kernels;  // PEs at least
  const int64_t together = least_area(parts, plans);
  int64_t rest = together;
  for (size_t i = 0; i < plans.size(); ++i) {
    int64_t pes = std::numeric_limits<int64_t>::max();
    for (const SizedPlan& p : plans[i]) pes = std::min(pes, int64_t(p.plan.cut.w) * p.plan.cut.h);
    if (!parts.instances[i].infrastructure) kernels.emplace_back(pes, i);
  }
  std::stable_sort(kernels.begin(), kernels.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<Misfit> list;
  const double room = std::min(kFilled * double(area(limit)), (1 - kAtOnce) * double(together));
  for (const auto& [pes, i] : kernels) {
    if (double(rest) <= room && !list.empty()) break;
    const Instance& inst = parts.instances[i];
    list.push_back({inst.name, inst.node_names,
                    fmt::format("the kernels need at least {} PEs together, the fabric has {}; this one {}",
                                together, area(limit), pes),
                    0});
    rest -= pes;
  }
  return list;
}

void report_no_room(const Parts& parts, const PlanLists& plans, const MapOptions& options,
                    const Machine& machine, Diag& diag) {
  const Extent limit = fabric_limit(options, machine);
  const int64_t need = least_area(parts, plans), have = area(limit);
  const std::string what =
      need > have
          ? fmt::format(
                "needs at least {} PEs for {} kernels, a fabric of {} x {} has {} ({} too few); most: {}",
                need, parts.instances.size(), limit.width, limit.height, have, need - have,
                largest_kernels(parts, plans))
          : fmt::format(
                "needs at least {} of the {} PEs of a fabric of {} x {}, but no placement of its "
                "{} rectangles was found",
                need, have, limit.width, limit.height, parts.instances.size());
  diag.error_at(parts.host.model, what, room_help(parts, options, machine));
}

}  // namespace cs::mapping
