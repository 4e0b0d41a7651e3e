// Which form of a network is tried, and which is taken.
#include "tools/api/forms.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "compiler/mapping/place_network.h"
#include "runtime/support/progress.h"

namespace cs::api {

namespace {

constexpr size_t kMostKernels = 128;
constexpr int64_t kMostPes = 16'384;
// Another form must bring so much: walked gains of 5 and 6 % were 0 and 1 % when simulated (llama_block, densenet), and
// the first sample took up to a third longer.
constexpr double kWorth = 1.07;

// The network as far as its estimate by formulas; nothing if it has no place, is too slow, or is not weighed.
std::optional<Formed> map_form(CompileOptions options, passes::Form form, double too_slow, const Start& start,
                               const Machine& machine) {
  Formed f = begin_form(form, start, machine);
  options.only_estimate = true;
  options.too_slow = too_slow;
  const bool made = compile_form(options, {}, start, f) && f.out.mapped;
  if (!made || f.out.mapped->too_slow || !tries_forms(*f.out.mapped)) return std::nullopt;
  return f;
}

// The formulas are of code as it is written; of the same network in two forms they are off by up to a tenth
// more for the one than for the other. A form that is slower by more is not compiled.
constexpr double kNear = 1.1;

FormCycles cycles_of(const Formed& f) {
  const mapping::Mapped& m = *f.out.mapped;
  FormCycles c{m.estimate.planned_cycles};
  if (!m.placed || !f.out.program) return c;
  c.walked = m.estimate.interval_cycles;
  return c;
}

bool is_better(const FormCycles& made, const FormCycles& best) {
  if (!made.walked || !best.walked) return made.planned > 0 && made.planned * kWorth < best.planned;
  return *made.walked > 0 && *made.walked * kWorth < *best.walked;
}

std::string benefit(const FormCycles& made, const FormCycles& joined) {
  const bool walked = made.walked && joined.walked;
  const double is = walked ? *made.walked : made.planned, was = walked ? *joined.walked : joined.planned;
  return fmt::format(
      "beneficial by {:.0f} cycles: {:.0f} against {:.0f} of the network with every choice made for itself",
      was - is, is, was);
}

// Are they the same kernels on the same PEs?
bool same_text(const mapping::Mapped& a, const mapping::Mapped& b) {
  return a.layout == b.layout && a.files == b.files;
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
  return kernels > 1 && kernels <= kMostKernels && pes <= kMostPes && m.estimate.interval_cycles > 0;
}

FormChoice choose_form(const FormCycles& joined, const EstimateForm& estimate) {
  FormChoice choice;
  FormCycles best = joined;
  for (passes::Form form : {passes::Form::apart, passes::Form::generated}) {
    const double most = best.planned * (joined.walked ? kNear : 1 / kWorth);
    const std::optional<FormCycles> made = estimate(form, most);
    if (!made || !is_better(*made, best)) continue;
    best = *made;
    choice = {form, benefit(*made, joined)};
  }
  return choice;
}

void take_best_form(const CompileOptions& options, const passes::PipelineOptions& pipeline,
                    const Start& start, Formed& taken) {
  Stopwatch watch;
  double from = 0;  // each is a quarter of what is left of the work
  std::map<passes::Form, Formed> made;
  const auto estimate = [&](passes::Form form, double too_slow) -> std::optional<FormCycles> {
    const progress::Within quarter(from, from + 0.25);
    from += 0.25;
    std::optional<Formed> f = map_form(options, form, too_slow, start, taken.out.machine);
    if (!f || f->out.mapped->estimate.planned_cycles >= too_slow) return std::nullopt;
    if (taken.out.mapped && same_text(*f->out.mapped, *taken.out.mapped)) return std::nullopt;
    if (!finish_form(options, {}, start, *f)) return std::nullopt;
    const FormCycles cycles = cycles_of(*f);
    made.insert_or_assign(form, std::move(*f));
    return cycles;
  };
  const std::optional<mapping::Mapped>& mapped = taken.out.mapped;
  const std::optional<FormCycles> joined = !mapped ? estimate(passes::Form::joined, options.too_slow)
                                           : tries_forms(*mapped) ? std::optional(cycles_of(taken))
                                                                  : std::nullopt;
  if (!joined) return;
  const FormChoice choice = choose_form(*joined, estimate);
  const double spent = watch.seconds();
  if (choice.form != passes::Form::joined) {
    const progress::Within last(from, 1);
    Formed& best = made.at(choice.form);
    // Who wants to see what passes do sees them once, in the form that is taken.
    const bool seen = !pipeline.stop_after.empty() || !pipeline.dump_after.empty();
    if (!seen || finish_form(options, pipeline, start, best)) {
      taken = std::move(best);
      taken.out.form = fmt::format("{}: {}", passes::form_name(choice.form), choice.why);
    }
  }
  taken.out.passes.push_back({"forms", spent});
}

}  // namespace cs::api
