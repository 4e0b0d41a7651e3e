// What to say when a network does not fit the fabric that it may use: what does not, by how much, and the
// smallest fabric on which a placement was found.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "compiler/mapping/plan.h"

namespace cs::mapping {

namespace {

constexpr double kStep = 1.1;  // of both sides, from one fabric that is tried to the next

// Nothing if even the machine's own fabric is too small.
std::optional<Extent> smallest_fabric(const Parts& parts, const MapOptions& options, const Machine& machine) {
  const Extent start = fabric_limit(options, machine), most = fabric_limit({}, machine);
  Extent before = start;
  for (double factor = kStep; before.width < most.width || before.height < most.height; factor *= kStep) {
    const Extent e{std::min(most.width, int(std::ceil(start.width * factor))),
                   std::min(most.height, int(std::ceil(start.height * factor)))};
    if (e.width == before.width && e.height == before.height) continue;
    before = e;
    MapOptions larger = options;
    larger.fabric_width = e.width;
    larger.fabric_height = e.height;
    PlanLists plans;
    Diag silent;
    PlacementFigures figures;
    Extent used;
    Parts trial = parts;
    if (list_plans(parts.instances, larger, machine, plans, silent) &&
        place_instances(trial, plans, e, 0, options.threads, used, figures))
      return e;
  }
  return std::nullopt;
}

}  // namespace

std::string room_help(const Parts& parts, const MapOptions& options, const Machine& machine) {
  if (const auto e = smallest_fabric(parts, options, machine))
    return fmt::format("use --fabric {}x{}, the smallest of its proportions that was found to hold it",
                       e->width, e->height);
  const Extent most = fabric_limit({}, machine);
  return fmt::format(
      "all {} x {} PEs of the machine do not hold it either: make the batch or the layers smaller",
      most.width, most.height);
}

void report_no_room(const Parts& parts, const PlanLists& plans, const MapOptions& options,
                    const Machine& machine, Diag& diag) {
  const Extent limit = fabric_limit(options, machine);
  const int64_t need = least_area(parts, plans), have = int64_t(limit.width) * limit.height;
  const std::string what =
      need > have
          ? fmt::format("needs at least {} PEs for {} kernels, a fabric of {} x {} has {} ({} too few)", need,
                        parts.instances.size(), limit.width, limit.height, have, need - have)
          : fmt::format(
                "needs at least {} of the {} PEs of a fabric of {} x {}, but no placement of its "
                "{} rectangles was found",
                need, have, limit.width, limit.height, parts.instances.size());
  diag.error_at(parts.host.model, what, room_help(parts, options, machine));
}

}  // namespace cs::mapping
