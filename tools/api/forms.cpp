// Which form of a network is tried, and which is taken.
#include "tools/api/forms.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "runtime/support/progress.h"

namespace cs::api {

namespace {

constexpr size_t kMostKernels = 128;
constexpr int64_t kMostPes = 16'384;
constexpr double kWorth = 1.04;  // more kernels for the same work must bring so much

// The network as far as its estimate; nothing if it has no place, is too slow, or is not weighed.
std::optional<Formed> estimate_form(CompileOptions options, passes::Form form, double too_slow, const Start& start,
                                    const Machine& machine) {
  Formed f = begin_form(form, start, machine);
  options.only_estimate = true;
  options.too_slow = too_slow;
  const bool made = compile_form(options, {}, start, f) && f.out.mapped;
  if (!made || f.out.mapped->too_slow || !tries_forms(*f.out.mapped)) return std::nullopt;
  return f;
}

}  // namespace

bool tries_forms(const CompileOptions& o) {
  return o.policy == passes::Policy::medium && o.rect_width == 0 && !o.resident && o.pace == mapping::kPace &&
         o.pipeline.without.empty();
}

bool tries_forms(const mapping::Mapped& m) {
  const auto is_one = [](const KernelRow& row) { return row.copy == 0; };
  const auto kernels = size_t(std::count_if(m.host.kernels.begin(), m.host.kernels.end(), is_one));
  const int64_t pes = int64_t(m.fabric_width) * m.fabric_height / m.host.copies;
  return kernels > 1 && kernels <= kMostKernels && pes <= kMostPes &&
         m.estimate.interval_cycles > 0;
}

FormChoice choose_form(double joined_cycles, const EstimateForm& estimate) {
  FormChoice choice;
  double best = joined_cycles;
  for (passes::Form form : {passes::Form::apart, passes::Form::generated}) {
    const double most = form == passes::Form::apart ? joined_cycles / kWorth : best;
    const std::optional<double> cycles = estimate(form, most);
    if (!cycles || *cycles <= 0 || *cycles >= most) continue;
    best = *cycles;
    choice = {form, fmt::format("beneficial by {:.0f} cycles: {:.0f} against {:.0f} of the network with every choice "
                                "made for itself",
                                joined_cycles - best, best, joined_cycles)};
  }
  return choice;
}

void take_best_form(const CompileOptions& options, const passes::PipelineOptions& pipeline, const Start& start,
                    Formed& taken) {
  Stopwatch watch;
  double from = 0;  // each is a quarter of what is left of the work
  std::optional<Formed> best;
  const auto estimate = [&](passes::Form form, double too_slow) -> std::optional<double> {
    const progress::Within quarter(from, from + 0.25);
    from += 0.25;
    std::optional<Formed> f = estimate_form(options, form, too_slow, start, taken.out.machine);
    if (!f) return std::nullopt;
    const double cycles = f->out.mapped->estimate.planned_cycles;
    if (cycles < too_slow) best = std::move(f);
    return cycles;
  };
  const std::optional<mapping::Mapped>& mapped = taken.out.mapped;
  const std::optional<double> joined = !mapped               ? estimate(passes::Form::joined, options.too_slow)
                                       : tries_forms(*mapped) ? std::optional(mapped->estimate.planned_cycles)
                                                              : std::nullopt;
  if (!joined) return;
  const FormChoice choice = choose_form(*joined, estimate);
  const double seconds = watch.seconds();
  if (choice.form != passes::Form::joined) {
    const progress::Within last(from, 1);
    if (!best || best->form != choice.form) best = begin_form(choice.form, start, taken.out.machine);
    if (finish_form(options, pipeline, start, *best)) {
      taken = std::move(*best);
      taken.out.form = fmt::format("{}: {}", passes::form_name(choice.form), choice.why);
    }
  }
  taken.out.passes.push_back({"forms", seconds});
}

}  // namespace cs::api
