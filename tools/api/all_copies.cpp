// Strips get narrower with every copy: how many are best is found from above.
#include "tools/api/all_copies.h"

#include <algorithm>
#include <cmath>

#include "compiler/mapping/strips.h"

namespace cs::api {

namespace {

constexpr double kNextTry = 0.875;  // of the copies before
// Alone on the fabric a network takes more PEs than it needs: copies of fewer PEs each may be faster together.
constexpr double kSmaller = 2;

// The same network so often, as far as its estimate: in the form and by the steps down the ladder that the one took, or
// joined, which takes the fewest PEs. False: it has no place.
bool map_copies(const CompileOptions& options, const passes::PipelineOptions& pipeline, const Start& start, int copies,
                const Formed& one, Formed& made) {
  CompileOptions several = options;
  several.copies = copies;
  several.only_estimate = true;
  made = begin_form(one.form, start, one.out.machine);  // at the usual pace: fewer PEs each
  made.fallbacks = one.fallbacks;
  if (compile_rung(several, pipeline, start, made)) {
    made.out.form = one.out.form;
    made.out.forms = one.out.forms;
    return true;
  }
  if (one.form == passes::Form::joined) return false;
  made = begin_form(passes::Form::joined, start, one.out.machine);
  return compile_rung(several, pipeline, start, made);
}

// The options that make those.
CompileOptions several_of(const CompileOptions& options, const Formed& copies) {
  CompileOptions several = options;
  several.copies = copies.out.mapped->host.copies;
  return several;
}

// By formulas, which several copies have alone.
double interval_of(const Formed& f) { return f.out.mapped->estimate.planned_cycles; }

// So many have room by the network's PEs; more only if each takes fewer.
double by_area(const CompileOptions& options, const Compiled& compiled) {
  const mapping::Mapped& mapped = *compiled.mapped;
  const Machine& m = compiled.machine;
  const double have = options.fabric_width > 0 ? double(options.fabric_width) * options.fabric_height
                                               : double(m.fabric.user_width) * m.fabric.user_height;
  return mapped.figures.area > 0 ? have * mapped.host.copies / double(mapped.figures.area) : double(kMostCopies);
}

// By the ports of all edges and the host's network; the last copy may bring less than the others.
double by_host(const Compiled& compiled) {
  const mapping::NetworkEstimate& e = compiled.mapped->estimate;
  const double most = std::min(kMostCopies, mapping::most_by_ports(compiled.machine));
  return e.host_cycles > 0 ? std::min(most, std::ceil(e.interval_cycles * compiled.mapped->host.copies / e.host_cycles))
                           : most;
}

}  // namespace

int most_copies(const CompileOptions& options, const Compiled& compiled) {
  return std::max(1, int(std::min(by_area(options, compiled), by_host(compiled))));
}

void take_all_copies(const CompileOptions& options, const passes::PipelineOptions& pipeline, const Start& start,
                     Formed& one) {
  if (!one.out.mapped || options.resident) return;
  const double alone = interval_of(one);
  std::optional<Formed> best;
  // Fewer copies are better where their strips are: until they could not be if each were as fast as one alone.
  for (int copies = int(std::min(kSmaller * by_area(options, one.out), by_host(one.out)));
       copies > 1 && (!best || alone / copies < interval_of(*best));
       copies = std::min(copies - 1, int(kNextTry * copies))) {
    Formed made;
    if (!map_copies(options, pipeline, start, copies, one, made)) continue;
    if (interval_of(made) < (best ? interval_of(*best) : alone)) best = std::move(made);
  }
  if (best && finish_form(several_of(options, *best), pipeline, start, *best)) one = std::move(*best);
}

}  // namespace cs::api
