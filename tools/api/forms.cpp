// Which form of a network is tried, and which is taken.
#include "tools/api/forms.h"

#include <algorithm>
#include <iterator>
#include <span>
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
// What another policy makes is taken for less, by walks: who chose that policy shall not be better off.
constexpr double kWorthPolicy = 1.02;
// A kernel for every operator is one more for each that could be an epilogue: the interval must be shorter by
// more. With fewer PEs it may be as long where the first sample is shorter by more.
constexpr double kWorthKernels = 1.02;
// Who chose another policy shall not be better off, by the interval or by the first sample of those that were
// tried out: a form that is slower than theirs by more than 2 % gives way to one that is not and does not
// weigh more, though its interval may be longer. The first of eight samples takes up to 1.5 % longer or
// shorter than one alone (dtln_model_1 10,678 and 10,504, the other form 10,575 and 10,231), so that half a
// percent is left.
constexpr double kNoSlower = 1.005;
// The form that is taken is made at another pace, too: kernels that take half of the slowest one's interval
// have more PEs and let a sample through sooner. One that is slower than another policy is made at further
// paces, and what mends that may cost so much throughput (by weight) and no more.
constexpr double kPaces[] = {0.5, 0.7, 1.0}, kMostGiven = 1.07;
// The formulas are of code as it is written; of the same network in two forms they are off by up to a tenth
// more for the one than for the other. A form that is slower by more is not compiled.
constexpr double kNear = 1.1;
// Of a trial: PEs at work times cycles. The engine takes 25 to 55 ns for each.
constexpr double kMostWork = 64e6;
// A trial that takes so many times as long as was estimated is not waited for.
constexpr double kPatience = 20;

bool walks(const Formed& f) { return f.out.mapped->placed && f.out.program; }

bool has_no(Origin origin, const Formed& f) {
  const graph::Graph& g = *f.out.graph;
  return std::ranges::none_of(g.nodes(),
                              [&](graph::NodeId id) { return g.node(id).assignment.origin == origin; });
}

// Generated throughout, or by hand throughout.
bool is_a_policy(const Formed& f) {
  return f.form == Form::generated || (f.form == Form::library && has_no(Origin::autogen, f));
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
  const double worth = judge == Judge::walks && made.as_policy ? kWorthPolicy : kWorth;
  if (judge != Judge::trials) return is > 0 && is * worth < was;
  const double first = made.tried->first, before = best.tried->first;
  if (form == Form::library && is * kWorthKernels >= was)
    return made.pes < best.pes && is <= was && first * kWorthKernels < before;
  return is <= was && first <= before * kMostLate && weight(made) * kWorthTried < weight(best);
}

// Than those of another policy.
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

std::string name_of(const Formed& f) {
  const std::string form(passes::form_name(f.form));
  return f.pace ? fmt::format("{} at pace {}", form, *f.pace) : form;
}

ConsideredForm considered_form(std::string name, const FormCycles& c, bool taken) {
  const auto number = [&](double Trial::*what) {
    return c.tried ? std::optional(*c.tried.*what) : std::nullopt;
  };
  return {std::move(name), c.planned, c.walked, number(&Trial::interval), number(&Trial::first), taken};
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
  // The form at another pace. Nothing: none is better.
  std::optional<Formed> at_another_pace(Form form) {
    const bool slower = !no_slower(cycles_.at(form), cycles_);
    std::vector<Formed> made;
    std::vector<FormCycles> cycles;
    for (const double pace : std::span(kPaces).first(slower ? std::size(kPaces) : 1)) {
      Formed f = begin_form(form, start_, machine_, pace);
      CompileOptions options = options_;
      options.only_estimate = true;
      if (!compile_form(options, {}, start_, f) || !f.out.mapped ||
          same_text(*f.out.mapped, *at(form).out.mapped) || !finish_form(options_, {}, start_, f) ||
          !walks(f))
        continue;
      cycles.push_back(cycles_of(f));
      cycles.back().tried = tried(f);
      made.push_back(std::move(f));
    }
    const std::optional<size_t> best = choose_pace(cycles_, form, cycles);
    for (size_t i = 0; i < made.size(); ++i)
      paced_.push_back(considered_form(name_of(made[i]), cycles[i], i == best));
    return best ? std::optional(std::move(made[*best])) : std::nullopt;
  }
  // Of the one that is taken.
  std::string why_of_pace(Form form) const {
    const auto paced = std::ranges::find(paced_, true, &ConsideredForm::taken);
    const Trial& usual = *cycles_.at(form).tried;
    return fmt::format(
        "an interval of {:.0f} cycles and {:.0f} of the first sample against {:.0f} and {:.0f} at the "
        "usual pace, both tried out",
        *paced->simulated, *paced->first_sample, usual.interval, usual.first);
  }
  Formed& made(Form form) { return made_.at(form); }
  // Nothing is taken of these if one at another pace is.
  std::vector<ConsideredForm> considered(std::optional<Form> taken) const {
    std::vector<ConsideredForm> all;
    for (const auto& [form, c] : cycles_)
      all.push_back(considered_form(std::string(passes::form_name(form)), c, form == taken));
    all.insert(all.end(), paced_.begin(), paced_.end());
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
    if (form == Form::generated) joined_may_be_generated(planned);
    if (f.out.mapped->too_slow || planned >= most) return leave(form, planned, "it is too slow by formulas");
    if (!tries_forms(*f.out.mapped)) return leave(form, planned, "it is too large");
    for (const auto& [other, unused] : cycles_)
      if (same_text(*f.out.mapped, *at(other).out.mapped))
        return leave(form, planned, fmt::format("it is the same as {}", passes::form_name(other)));
    if (!finish_form(options_, {}, start_, f)) return leave(form, planned, "it cannot be compiled");
    cycles_.emplace(form, cycles_of(f));
    made_.insert_or_assign(form, std::move(f));
  }

  // Where nothing of the library is worth its PEs, joined is what policy aggressive makes.
  void joined_may_be_generated(double planned_generated) {
    FormCycles& joined = cycles_.at(Form::joined);
    if (joined.planned == planned_generated && has_no(Origin::handwritten, at(Form::joined)))
      joined.as_policy = true;
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
    std::vector<std::optional<Trial>> trials(forms.size());
    Workers(options_.threads).for_each(forms.size(), [&](size_t i) { trials[i] = tried(at(forms[i])); });
    for (size_t i = 0; i < forms.size(); ++i) cycles_.at(forms[i]).tried = trials[i];
  }

  std::optional<Trial> tried(const Formed& f) const {
    return try_out(*f.out.program, f.out.mapped->weights, machine_,
                   kPatience * kTrialSamples * f.out.mapped->estimate.interval_cycles, options_.trials);
  }

  const CompileOptions& options_;
  const Start& start_;
  const Machine machine_;
  const Formed* taken_ = nullptr;
  double from_ = 0;
  std::map<Form, FormCycles> cycles_;
  std::map<Form, Formed> made_;
  std::vector<ConsideredForm> paced_, left_;
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

std::optional<size_t> choose_pace(const std::map<Form, FormCycles>& forms, Form taken,
                                  const std::vector<FormCycles>& paced) {
  const FormCycles& usual = forms.at(taken);
  const bool slower = !no_slower(usual, forms);
  std::optional<size_t> best;
  double least = weight(usual) * (slower ? kMostGiven : 1 / kWorthTried);
  for (size_t i = 0; i < paced.size(); ++i) {
    const FormCycles& c = paced[i];
    if (!c.tried || weight(c) > least) continue;
    if (slower ? !no_slower(c, forms) : c.tried->interval > usual.tried->interval) continue;
    best = i, least = weight(c);
  }
  return best;
}

void take_best_form(const CompileOptions& options, const passes::PipelineOptions& pipeline,
                    const Start& start, Formed& taken) {
  Stopwatch watch;
  Forms forms(options, start, taken);
  if (forms.cycles().empty()) return;
  FormChoice choice = choose_form(forms.cycles());
  const bool trials = judge_of(forms.cycles()) == Judge::trials;
  std::optional<Formed> other = trials ? forms.at_another_pace(choice.form) : std::nullopt;
  if (other) choice.why = forms.why_of_pace(choice.form);
  const double spent = watch.seconds();
  if (other || choice.form != Form::joined) {
    const progress::Within last(1 - kFormWork, 1);
    Formed& best = other ? *other : forms.made(choice.form);
    // Who wants to see what passes do sees them once, in the form that is taken.
    const bool seen = !pipeline.stop_after.empty() || !pipeline.dump_after.empty();
    if (seen && !finish_form(options, pipeline, start, best)) {
      choice.form = Form::joined;
      other.reset();
    } else {
      taken = std::move(best);
      taken.out.form = fmt::format("{}: {}", name_of(taken), choice.why);
    }
  }
  taken.out.forms = forms.considered(other ? std::nullopt : std::optional(choice.form));
  taken.out.passes.push_back({"forms", spent});
}

}  // namespace cs::api
