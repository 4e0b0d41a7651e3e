// The networks that are tried out, and which of them is taken.
#include "tools/api/tune.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "compiler/mapping/place_network.h"
#include "runtime/support/files.h"
#include "runtime/support/progress.h"
#include "tools/api/bench.h"
#include "tools/api/forms.h"
#include "tools/api/kernel_tuner.h"

namespace cs::api {

namespace {

using passes::Form;

// PEs at work times cycles that a network is tried out for; and how long it is waited for.
constexpr double kMostWork = 64e6, kPatience = 20;
// A network whose formulas say that it is slower than another one of its kind by more is not tried out: with
// measured intervals or without, which are not compared with each other.
constexpr double kNear = 1.3;
// The interval decides, where it differs by so much, and then the first sample; which may not be later than
// without tuning by more than that.
constexpr double kMostLate = 1.2, kWorth = 1.005;
constexpr double kPaces[] = {1.0, 0.7, 0.5, 0.3};

struct Variant {
  std::string what;
  Form form = Form::joined;
  std::optional<double> pace = {};
  bool measured = false;  // with what was found out about kernels
};

std::vector<Variant> variants(const CompileOptions& options, Form form, std::optional<double> taken) {
  std::vector<Variant> list{{"kernels as measured", form, taken, true}};
  if (options.tuning.level != TuneLevel::full) return list;
  const bool free = options.pace == mapping::kPace && options.rect_width == 0;
  for (const double pace : kPaces)
    if (free) list.push_back({fmt::format("kernels as measured, pace {}", pace), form, pace, true});
  if (!tries_forms(options)) return list;
  for (const Form other : passes::kForms)
    if (other != form)
      list.push_back(
          {fmt::format("form {}, kernels as measured", passes::form_name(other)), other, {}, true});
  list.push_back({fmt::format("pace {}", kPaces[2]), form, kPaces[2], false});
  return list;
}

double work_of(const Formed& f) {
  const mapping::Mapped& m = *f.out.mapped;
  return double(m.figures.area) * kTrialSamples * m.estimate.interval_cycles;
}

// Equal texts are the same kernels on the same PEs.
std::string text_of(const mapping::Mapped& m) {
  ContentHash hash;
  for (const auto& [name, text] : m.files) hash.add(name + "\n" + text);
  return hash.wide_text();
}

bool is_better(const TunedNetwork& made, const TunedNetwork& best, const TunedNetwork& off) {
  if (made.interval <= 0 || made.interval > off.interval || made.first_sample > off.first_sample * kMostLate)
    return false;
  if (made.interval * kWorth < best.interval) return true;
  return made.interval <= best.interval && made.first_sample * kWorth < best.first_sample;
}

class Tuner {
 public:
  Tuner(const CompileOptions& options, const passes::PipelineOptions& pipeline, const Start& start,
        Formed& taken)
      : options_(options),
        pipeline_(pipeline),
        start_(start),
        taken_(taken),
        report_(taken.out.tuning),
        bench_(options.tuning, taken.out.machine, options.trials, report_) {}

  void run() {
    off_ = network(
        {taken_.out.form.empty() ? "without tuning"
                                 : "without tuning, form " + std::string(passes::form_name(taken_.form)),
         taken_.form, taken_.pace},
        taken_);
    if (off_.interval <= 0) {
      report_.not_tuned = "the network does not come to an end where it is tried out";
      return;
    }
    off_.taken = true;
    seen_.insert(text_of(*taken_.out.mapped));
    planned_[false] = taken_.out.mapped->estimate.planned_cycles;
    report_.networks.push_back(off_);
    const std::vector<Variant> all = variants(options_, taken_.form, taken_.pace);
    KernelTuner kernels(options_, taken_.out, bench_, report_);
    std::optional<Formed> best;
    std::optional<Variant> how;
    size_t best_at = 0;
    for (size_t i = 0; i < all.size() && !bench_.stopping(); ++i) {
      const progress::Within turn(double(i) / double(all.size()), double(i + 1) / double(all.size()));
      std::optional<Formed> made = compile(all[i], kernels);
      if (!made) continue;
      TunedNetwork n = network(all[i], *made);
      report_.networks.push_back(n);
      if (!is_better(n, report_.networks[best_at], off_)) continue;
      best_at = report_.networks.size() - 1;
      best = std::move(made);
      how = all[i];
    }
    // Who wants to see what passes do sees it in the network that is taken: what is measured is known by now.
    if (best && !pipeline_.dump_after.empty()) {
      Formed again = begin_form(how->form, start_, taken_.out.machine, how->pace);
      if (compile_form(options_of(*how, kernels), pipeline_, start_, again)) best = std::move(again);
    }
    for (size_t i = 0; i < report_.networks.size(); ++i) report_.networks[i].taken = i == best_at;
    if (best) take(std::move(*best));
  }

 private:
  CompileOptions options_of(const Variant& v, KernelTuner& kernels) const {
    CompileOptions options = options_;
    options.measured = v.measured ? &kernels : nullptr;
    options.choices = false;
    return options;
  }

  std::optional<Formed> compile(const Variant& v, KernelTuner& kernels) {
    CompileOptions options = options_of(v, kernels);
    options.only_estimate = true;
    Formed f = begin_form(v.form, start_, taken_.out.machine, v.pace);
    if (!compile_form(options, {}, start_, f) || !f.out.mapped || bench_.stopping()) return std::nullopt;
    const double planned = f.out.mapped->estimate.planned_cycles;
    double& least = planned_.try_emplace(v.measured, planned).first->second;
    if (planned > kNear * least) return std::nullopt;
    least = std::min(least, planned);
    if (!seen_.insert(text_of(*f.out.mapped)).second) return std::nullopt;  // the same again
    options.only_estimate = false;
    if (!finish_form(options, {}, start_, f) || !f.out.program) return std::nullopt;
    if (v.form != Form::joined) f.out.form = fmt::format("{}: taken by tuning", passes::form_name(v.form));
    return f;
  }

  TunedNetwork network(const Variant& v, const Formed& f) {
    TuneJob job;
    job.candidate = {"network",
                     start_.model.name,
                     "",
                     "",
                     v.what,
                     "",
                     "none",
                     {0, 0, f.out.mapped->fabric_width, f.out.mapped->fabric_height},
                     f.out.mapped->estimate.interval_cycles};
    job.key = fmt::format("network {}", networks_++);
    job.make = [&](std::string&) {
      const double most = kPatience * kTrialSamples * f.out.mapped->estimate.interval_cycles;
      return std::optional(MadeCandidate{*f.out.program, f.out.mapped->weights, most});
    };
    const Measurement m = bench_.run({job}).front();
    TunedNetwork n{v.what};
    if (m.trial) n.interval = m.trial->interval, n.first_sample = m.trial->first;
    return n;
  }

  void take(Formed best) {
    std::vector<passes::PassRecord> passes = std::move(taken_.out.passes);
    TuneReport report = std::move(report_);
    std::vector<ConsideredForm> forms = std::move(taken_.out.forms);
    taken_ = std::move(best);
    taken_.out.passes = std::move(passes);
    taken_.out.forms = std::move(forms);
    taken_.out.tuning = std::move(report);
  }

  const CompileOptions& options_;
  const passes::PipelineOptions& pipeline_;
  const Start& start_;
  Formed& taken_;
  TuneReport& report_;
  Bench bench_;
  TunedNetwork off_;
  std::set<std::string> seen_;
  std::map<bool, double> planned_;  // least so far of networks with measured intervals, and without
  int networks_ = 0;
};

}  // namespace

bool can_tune(const CompileOptions& options, const Formed& off, std::string& why) {
  const Compiled& c = off.out;
  if (options.resident)
    why = "operands lie on the PEs";
  else if (!c.program || !c.mapped || !c.program->host || !c.mapped->placed)
    why = "it has copies, or was not compiled to its end";
  else if (!c.graph->states.empty())
    why = "steps of training are not tried out";
  else if (work_of(off) > kMostWork)
    why = fmt::format(
        "it takes too long to be tried out: {:.0f} million PE-cycles for {} samples, at most {:.0f}",
        work_of(off) / 1e6, kTrialSamples, kMostWork / 1e6);
  return why.empty();
}

void tune(const CompileOptions& options, const passes::PipelineOptions& pipeline, const Start& start,
          Formed& taken) {
  Stopwatch watch;
  TuneReport& report = taken.out.tuning;
  report.level = options.tuning.level;
  if (can_tune(options, taken, report.not_tuned)) {
    CompileOptions own = options;
    own.autogen_failure = options.autogen_failure;
    own.host_ops = options.host_ops == passes::HostOps::warn ? passes::HostOps::allow : options.host_ops;
    const Diag diag = taken.diag;
    Tuner(own, pipeline, start, taken).run();
    taken.diag = diag;
  }
  taken.out.passes.push_back({"tuning", watch.seconds()});
}

}  // namespace cs::api
