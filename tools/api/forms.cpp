// Which form of a network is tried, and which is taken.
#include "tools/api/forms.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "compiler/kernels/kind.h"
#include "compiler/mapping/place_network.h"
#include "runtime/support/parallel.h"
#include "runtime/support/progress.h"
#include "tools/api/trial.h"

namespace cs::api {

namespace {

using passes::Form;

constexpr double kFormWork = 1.0 / (std::size(passes::kForms) + 1);  // each form, and the best one again

constexpr size_t kMostKernels = 128;
constexpr int64_t kMostPes = 16'384;
// Another form must bring so much by estimate: walked gains of 5 and 6 % were 0 and 1 % when simulated
// (llama_block, densenet), and the first sample took up to a third longer. As it was tried out, the interval
// must not be longer, and what it is shorter by must not cost more than twice as much of the first sample,
// and no more than 20 %.
constexpr double kWorth = 1.07, kWorthTried = 1.01, kMostLate = 1.2;
// A kernel for every operator is one more for each that could be an epilogue: the interval must be shorter by
// more. With fewer PEs it may be as long where the first sample is shorter by more.
constexpr double kWorthKernels = 1.02;
// Who chose another policy shall not be better off, by the interval or by the first sample of those that were
// tried out: a form that is slower than theirs by more than 2 % gives way to one that is not and does not
// weigh more, though its interval may be longer.
constexpr double kNoSlower = 1.02;
// The formulas are of code as it is written; of the same network in two forms they are off by up to a tenth
// more for the one than for the other. A form that is slower by more is not compiled.
constexpr double kNear = 1.1;
// Of a trial: PEs at work times cycles. The engine takes 25 to 55 ns for each.
constexpr double kMostWork = 64e6;
// A trial that takes so many times as long as was estimated is not waited for.
constexpr double kPatience = 20;

bool walks(const Formed& f) { return f.out.mapped->placed && f.out.program; }

// Generated throughout, or by hand throughout.
bool is_a_policy(const Formed& f) {
  const graph::Graph& g = *f.out.graph;
  return f.form == Form::generated ||
         (f.form == Form::library && std::ranges::none_of(g.nodes(), [&](graph::NodeId id) {
            return g.node(id).assignment.origin == Origin::autogen;
          }));
}

FormCycles cycles_of(const Formed& f) {
  const mapping::Mapped& m = *f.out.mapped;
  FormCycles c{m.estimate.planned_cycles, {}, {}, m.figures.area, is_a_policy(f)};
  if (walks(f)) c.walked = m.estimate.interval_cycles;
  return c;
}

double by(Judge judge, const FormCycles& c) {
  return judge == Judge::trials ? c.tried->interval : judge == Judge::walks ? *c.walked : c.planned;
}

// What forms that were tried out are weighed by: n % of throughput are worth 2 n % of latency.
double weight(const FormCycles& c) { return c.tried->interval * c.tried->interval * c.tried->first; }

bool is_better(Judge judge, Form form, const FormCycles& made, const FormCycles& best) {
  const double is = by(judge, made), was = by(judge, best);
  if (judge != Judge::trials) return is > 0 && is * kWorth < was;
  const double first = made.tried->first, before = best.tried->first;
  if (form == Form::library && is * kWorthKernels >= was)
    return made.pes < best.pes && is <= was && first * kWorthKernels < before;
  return is <= was && first <= before * kMostLate && weight(made) * kWorthTried < weight(best);
}

bool no_slower(const FormCycles& c, const std::map<Form, FormCycles>& forms) {
  return std::ranges::all_of(forms, [&](const auto& other) {
    const FormCycles& o = other.second;
    return !o.as_policy || (c.tried->interval <= kNoSlower * o.tried->interval &&
                            c.tried->first <= kNoSlower * o.tried->first);
  });
}

// The best one that is not slower than other policies, if `taken` is and weighs no less.
Form not_slower_than_policies(const std::map<Form, FormCycles>& forms, Form taken) {
  if (no_slower(forms.at(taken), forms)) return taken;
  Form best = taken;
  double least = weight(forms.at(taken));
  for (const auto& [form, cycles] : forms)
    if (no_slower(cycles, forms) && weight(cycles) <= least) best = form, least = weight(cycles);
  return best;
}

// The surest of what all of them have.
Judge judge_of(const std::map<Form, FormCycles>& forms) {
  const auto all_have = [&](auto cycles) {
    return std::ranges::all_of(forms, [&](const auto& f) { return (f.second.*cycles).has_value(); });
  };
  return all_have(&FormCycles::tried)    ? Judge::trials
         : all_have(&FormCycles::walked) ? Judge::walks
                                         : Judge::formulas;
}

// By the interval, or where that is the same by the first sample.
std::string benefit(Judge judge, const FormCycles& made, const FormCycles& joined) {
  double is = by(judge, made), was = by(judge, joined);
  const bool first = judge == Judge::trials && is * kWorthTried >= was;
  if (first) is = made.tried->first, was = joined.tried->first;
  return fmt::format(
      "beneficial by {:.0f} cycles{}: {:.0f} against {:.0f} of the network with every choice made for "
      "itself{}",
      was - is, first ? " of the first sample" : "", is, was,
      judge == Judge::trials ? ", both tried out" : "");
}

// Against the form that would be taken otherwise.
std::string benefit_of_the_first(const FormCycles& made, const FormCycles& other) {
  return fmt::format(
      "beneficial by {:.0f} cycles of the first sample: {:.0f} against {:.0f}, with an interval of {:.0f} "
      "against {:.0f}, both tried out; the other one would be slower than another policy",
      other.tried->first - made.tried->first, made.tried->first, other.tried->first, made.tried->interval,
      other.tried->interval);
}

// Are they the same kernels on the same PEs?
bool same_text(const mapping::Mapped& a, const mapping::Mapped& b) {
  return a.layout == b.layout && a.files == b.files;
}

// Does a product have the kernel that is made from its loops, though there are others?
bool has_products_from_loops(const graph::Graph& g) {
  return std::ranges::any_of(g.nodes(), [&](graph::NodeId id) {
    return g.op(id).kind == ops::OpKind::contraction && kernels::from_loops(g, id);
  });
}

// The forms that are near the best by formulas, as programs.
class Forms {
 public:
  Forms(const CompileOptions& options, const Start& start, const Formed& joined)
      : options_(options), start_(start), machine_(joined.out.machine) {
    if (!joined.out.mapped)
      add(Form::joined, options.too_slow);
    else if (tries_forms(*joined.out.mapped))
      taken_ = &joined, cycles_.emplace(Form::joined, cycles_of(joined));
    if (cycles_.empty()) return;
    for (const Form form : passes::kForms)
      if (form != Form::joined) add(form, too_slow(best(), judge_of(cycles_)));
    if (cycles_.size() > 1) try_out_all();
  }

  const std::map<Form, FormCycles>& cycles() const { return cycles_; }
  Formed& made(Form form) { return made_.at(form); }
  std::vector<ConsideredForm> considered(Form taken) const {
    std::vector<ConsideredForm> all;
    for (const auto& [form, c] : cycles_) {
      const auto tried = [&](double Trial::*what) {
        return c.tried ? std::optional(*c.tried.*what) : std::nullopt;
      };
      all.push_back({std::string(passes::form_name(form)), c.planned, c.walked, tried(&Trial::interval),
                     tried(&Trial::first), form == taken});
    }
    all.insert(all.end(), left_.begin(), left_.end());
    return all;
  }

 private:
  const Formed& at(Form form) const { return form == Form::joined && taken_ ? *taken_ : made_.at(form); }
  const FormCycles& best() const {
    return std::ranges::min_element(cycles_, {}, [](const auto& f) { return f.second.planned; })->second;
  }

  // Nothing if it has no place, does not become a program, is too slow by the formulas, or is another one
  // again.
  void add(Form form, double most) {
    const progress::Within one(from_, from_ + kFormWork);  // of what is left of the work
    from_ += kFormWork;
    // Operators of the model, most of which become a kernel there: not to be placed before they are counted.
    if (form == Form::library && start_.model.topological().size() > kMostKernels)
      return leave(form, {}, "it has too many kernels");
    if (form == Form::streamed && cycles_.contains(Form::joined) &&
        !has_products_from_loops(*at(Form::joined).out.graph))
      return leave(form, {}, "it is the same as joined");
    Formed f = begin_form(form, start_, machine_);
    CompileOptions options = options_;
    options.only_estimate = true;
    options.too_slow = most;
    const bool made = compile_form(options, {}, start_, f) && f.out.mapped;
    if (!made) return leave(form, {}, "it cannot be compiled");
    const double planned = f.out.mapped->estimate.planned_cycles;
    if (f.out.mapped->too_slow || planned >= most) return leave(form, planned, "it is too slow by formulas");
    if (!tries_forms(*f.out.mapped)) return leave(form, planned, "it is too large");
    for (const auto& [other, unused] : cycles_)
      if (same_text(*f.out.mapped, *at(other).out.mapped))
        return leave(form, planned, fmt::format("it is the same as {}", passes::form_name(other)));
    if (!finish_form(options_, {}, start_, f)) return leave(form, planned, "it cannot be compiled");
    cycles_.emplace(form, cycles_of(f));
    made_.insert_or_assign(form, std::move(f));
  }

  void leave(Form form, double planned, std::string why) {
    left_.push_back(
        {.form = std::string(passes::form_name(form)), .planned = planned, .left = std::move(why)});
  }

  // All of them, or none if that would take long.
  void try_out_all() {
    for (const auto& [form, cycles] : cycles_) {
      const Formed& f = at(form);
      const double work =
          double(f.out.mapped->figures.area) * kTrialSamples * f.out.mapped->estimate.interval_cycles;
      if (!walks(f) || work > kMostWork) return;
    }
    std::vector<Form> forms;
    for (const auto& [form, cycles] : cycles_) forms.push_back(form);
    std::vector<std::optional<Trial>> tried(forms.size());
    Workers(options_.threads).for_each(forms.size(), [&](size_t i) {
      const Formed& f = at(forms[i]);
      tried[i] = try_out(*f.out.program, f.out.mapped->weights, machine_,
                         kPatience * kTrialSamples * f.out.mapped->estimate.interval_cycles, options_.trials);
    });
    for (size_t i = 0; i < forms.size(); ++i) cycles_.at(forms[i]).tried = tried[i];
  }

  const CompileOptions& options_;
  const Start& start_;
  const Machine machine_;
  const Formed* taken_ = nullptr;
  double from_ = 0;
  std::map<Form, FormCycles> cycles_;
  std::map<Form, Formed> made_;
  std::vector<ConsideredForm> left_;
};

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

double too_slow(const FormCycles& best, Judge judge) {
  return best.planned * (judge == Judge::formulas ? 1 / kWorth : kNear);
}

FormChoice choose_form(const std::map<Form, FormCycles>& forms) {
  FormChoice choice;
  const Judge judge = judge_of(forms);
  const FormCycles& joined = forms.at(Form::joined);
  for (const auto& [form, cycles] : forms)
    if (is_better(judge, form, cycles, forms.at(choice.form)))
      choice = {form, benefit(judge, cycles, joined)};
  if (judge != Judge::trials) return choice;
  const Form other = not_slower_than_policies(forms, choice.form);
  if (other != choice.form)
    choice = {other,
              other == Form::joined ? "" : benefit_of_the_first(forms.at(other), forms.at(choice.form))};
  return choice;
}

void take_best_form(const CompileOptions& options, const passes::PipelineOptions& pipeline,
                    const Start& start, Formed& taken) {
  Stopwatch watch;
  Forms forms(options, start, taken);
  if (forms.cycles().empty()) return;
  FormChoice choice = choose_form(forms.cycles());
  const double spent = watch.seconds();
  if (choice.form != Form::joined) {
    const progress::Within last(1 - kFormWork, 1);
    Formed& best = forms.made(choice.form);
    // Who wants to see what passes do sees them once, in the form that is taken.
    const bool seen = !pipeline.stop_after.empty() || !pipeline.dump_after.empty();
    if (seen && !finish_form(options, pipeline, start, best)) {
      choice.form = Form::joined;
    } else {
      taken = std::move(best);
      taken.out.form = fmt::format("{}: {}", passes::form_name(choice.form), choice.why);
    }
  }
  taken.out.forms = forms.considered(choice.form);
  taken.out.passes.push_back({"forms", spent});
}

}  // namespace cs::api
