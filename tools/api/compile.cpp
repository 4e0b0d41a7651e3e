// compile(): which way an input takes, and the way of a model from graph to Program.
#include <atomic>
#include <filesystem>

#include <fmt/format.h>

#include "compiler/frontend/frontend.h"
#include "compiler/passes/known_costs.h"
#include "runtime/support/files.h"
#include "runtime/support/parallel.h"
#include "runtime/support/progress.h"
#include "tools/api/advice.h"
#include "tools/api/all_copies.h"
#include "tools/api/best_shards.h"
#include "tools/api/api.h"
#include "tools/api/buckets.h"
#include "tools/api/forms.h"
#include "tools/api/ladder.h"
#include "tools/api/layout.h"
#include "tools/api/program_key.h"
#include "tools/api/tune.h"

namespace cs::api {

namespace {

// Of the time, where there are any.
constexpr double kBeforeBaselines = 0.5, kBeforeAdvice = 0.4, kJoined = 0.4, kBuckets = 0.8;

void build_baselines(const CompileOptions& options, const mapping::MapOptions& map, Compiled& out) {
  progress::stage("baselines", kBeforeBaselines, 1);
  std::vector<mapping::Baseline> list =
      mapping::make_baselines(*out.graph, *out.mapped, out.machine, map, out.missing_baselines);
  std::vector<CompiledBaseline> made(list.size());
  std::vector<Diag> diags(list.size());
  std::vector<char> ok(list.size(), 0);
  std::atomic<size_t> done = 0;
  Workers(options.threads).for_each(list.size(), [&](size_t i) {
    progress::part("baselines", done++, list.size());
    std::optional<Program> self = build_program(list[i].self, out.machine, 1, options.csl.opt_level, diags[i]);
    if (!self) return;
    made[i] = {list[i].kernel, list[i].counterpart,           list[i].origin,
               std::move(*self), std::move(list[i].self.weights), {}};
    for (mapping::Mapped& one : list[i].bases) {
      std::optional<Program> base = build_program(one, out.machine, 1, options.csl.opt_level, diags[i]);
      if (!base) return;
      made[i].bases.push_back({std::move(*base), std::move(one.weights)});
    }
    ok[i] = 1;
  });
  for (size_t i = 0; i < list.size(); ++i) {
    if (ok[i]) {
      out.baselines.push_back(std::move(made[i]));
    } else {
      out.missing_baselines.push_back({list[i].kernel, list[i].counterpart, diags[i].to_string()});
    }
  }
}

// Policy and form are in the plan: passes that have been run followed them.
bool check_plan(const CompileOptions& options, const graph::PlanHeader& plan, Diag& diag) {
  if (!plan.form.empty() && !passes::form_from_name(plan.form)) {
    diag.error_at(options.input, fmt::format("the plan's form '{}' is none", plan.form),
                  "joined, apart or generated");
    return false;
  }
  if (plan.policy.empty() || plan.policy == options.policy_name) return true;
  if (!passes::policy_from_name(plan.policy)) {
    diag.error_at(options.input, fmt::format("the plan's policy '{}' is none", plan.policy),
                  "disabled, medium or aggressive");
    return false;
  }
  diag.error_at(options.input,
                fmt::format("the plan was made with policy {}, not {}", plan.policy, options.policy_name),
                "leave out --autogen-policy, or make the plan again with it");
  return false;
}

bool has_baselines(const CompileOptions& options) {
  return options.baselines && !options.only_mapping && !options.only_passes;
}

// A step of training whose batch is in several copies of the network may have no room on a small fabric where one
// network has; false: it is one already.
bool take_one_copy(const CompileOptions& options, graph::Graph& model) {
  if (model.states.empty()) return false;
  std::vector<std::string> config = options.set_config;
  config.emplace_back("runconfig.batch_copies=1");
  Diag ignored;
  auto other = frontend::load_model(options.input, {options.dims, config}, ignored);
  if (!other || other->nodes().size() == model.nodes().size()) return false;
  model = std::move(*other);
  return true;
}

// The graph half and the CSL half, as often as something does not fit, in the form that is best.
bool compile_kernels(const CompileOptions& given, Compiled& out, passes::Fallbacks& fallbacks, Diag& diag) {
  CompileOptions options = given;
  const progress::Within first(0, has_baselines(options) ? kBeforeBaselines : 1);
  Stopwatch frontend;
  progress::stage("model", 0, 0.03);
  const graph::PlanHeader plan = frontend::plan_header(options.input, diag);
  if (!options.copies) options.copies = plan.copies;
  if (!diag.ok() || !check_plan(options, plan, diag)) return false;
  std::optional<graph::Graph> model =
      frontend::load_model(options.input, {options.dims, options.set_config}, diag);
  if (!model) return false;
  out.passes.push_back({"frontend", frontend.seconds()});
  passes::PipelineOptions pipeline = options.pipeline;
  pipeline.start_after = plan.after;
  const Start start{*model, out.passes, diag};
  Formed f = begin_form(passes::form_from_name(plan.form).value_or(passes::Form::joined), start, out.machine,
                        plan.pace > 0 ? std::optional(plan.pace) : std::nullopt);
  const bool all_copies = options.copies == kAllCopies;
  if (all_copies) options.copies = 1;
  BestShards best;
  if (options.rewrites.shards == passes::kBestShards) {
    best.columns = options.rewrites.columns;
    if (plan.after.empty()) best = best_shards(options, pipeline, start, out.machine);
    options.rewrites.shards = best.shards, options.rewrites.columns = best.columns;
  }
  const passes::Rewrites rewrites = options.rewrites;
  const bool choose = tries_forms(options) && plan.after.empty();
  bool ok = false;
  {
    const progress::Within joined(0, choose ? kJoined : 1);
    if (best.made && best.made->form == f.form) f = std::move(*best.made);
    ok = f.out.mapped ? finish_form(options, pipeline, start, f) : compile_form(options, pipeline, start, f);
    if (!ok && take_one_copy(options, *model)) {
      f = begin_again(f, start);
      ok = compile_form(options, pipeline, start, f);
    }
  }
  const progress::Within rest(choose ? kJoined : 0, 1);
  if (ok && choose) take_best_form(options, pipeline, start, f);
  const bool tunes = options.tuning.level != TuneLevel::off && options.tuning.measurer != nullptr;
  if (ok && tunes && plan.after.empty() && pipeline.stop_after.empty()) tune(options, pipeline, start, f);
  if (ok && all_copies) take_all_copies(options, pipeline, start, f);
  out = std::move(f.out);
  out.shards = rewrites.shards;
  out.columns = given.rewrites.columns > 1 ? 1 : rewrites.columns;
  fallbacks = std::move(f.fallbacks);
  diag = std::move(f.diag);
  return ok;
}

bool compile_model(const CompileOptions& options, Compiled& out, Diag& diag) {
  passes::Fallbacks fallbacks;
  if (!compile_kernels(options, out, fallbacks, diag)) return false;
  if (!out.mapped) return true;
  if (has_baselines(options)) {
    Stopwatch watch;
    mapping::MapOptions map = map_options(options, *out.graph);
    map.more_bytes = fallbacks.more_bytes();
    build_baselines(options, map, out);
    out.passes.push_back({"baselines", watch.seconds()});
  }
  if (!options.only_mapping && !options.only_passes) {
    out.weights = std::move(out.mapped->weights);
  } else {
    out.program.reset();
  }
  return true;
}

// What the Program depends on: no paths, no times, no number of threads.
void fill_manifest(const CompileOptions& options, bool model, Compiled& out) {
  out.manifest.tool_version = version();
  out.manifest.command = "cs-compile";
  auto& entries = out.manifest.entries;
  if (model) {
    std::string dims;
    for (const auto& [name, value] : options.dims)
      dims += fmt::format("{}{}={}", dims.empty() ? "" : ",", name, value);
    entries = {{"autogen_policy", options.policy_name}, {"dim", dims}};
  }
  if (options.fabric_width > 0)
    entries.emplace_back("fabric", fmt::format("{}x{}", options.fabric_width, options.fabric_height));
  if (options.rect_width > 0)
    entries.emplace_back("rect", fmt::format("{}x{}", options.rect_width, options.rect_height));
  if (options.resident) entries.emplace_back("operands", "resident");
  if (out.plan.copies != 1) entries.emplace_back("copies", fmt::format("{}", out.plan.copies));
  if (options.pace != mapping::kPace) entries.emplace_back("pace", fmt::format("{}", options.pace));
  if (options.tuning.level != TuneLevel::off)
    entries.emplace_back("autotune", std::string(tune_level_name(options.tuning.level)));
  if (options.tuning.defer_all) entries.emplace_back("defer_epilogues", "all");
  if (options.tuning.epilogues)
    entries.emplace_back("epilogue_fusion", std::string(passes::epilogue_fusion_name(*options.tuning.epilogues)));
  if (options.least_library_product > 0)
    entries.emplace_back("least_library_product", fmt::format("{}", options.least_library_product));
  passes::Rewrites rewrites = options.rewrites;
  rewrites.shards = out.shards, rewrites.columns = out.columns;
  if (rewrites != passes::Rewrites{}) entries.emplace_back("rewrites", rewrites.text());
  if (options.unroll) entries.emplace_back("unroll", fmt::format("{}", *options.unroll));
  if (!options.pipeline.without.empty())
    entries.emplace_back("without", fmt::format("{}", fmt::join(options.pipeline.without, ",")));
  entries.emplace_back("machine_hash", hash_text(machine_to_yaml(out.machine)));
  std::string set;
  for (const std::string& s : options.set) set += (set.empty() ? "" : ",") + s;
  for (const std::string& s : options.set_config) set += (set.empty() ? "" : ",") + s;
  if (!set.empty()) entries.emplace_back("set", set);
  std::sort(entries.begin(), entries.end());
}

}  // namespace

std::optional<Compiled> compile(const CompileOptions& given, Diag& diag) {
  CompileOptions options = given;
  std::string extension = std::filesystem::path(options.input).extension().string();
  bool model = extension == ".onnx" || extension == ".yaml" || extension == ".yml";
  Compiled out;
  Stopwatch reading;
  std::optional<Machine> machine = effective_machine(options, diag);
  if (!machine) return std::nullopt;
  out.machine = std::move(*machine);
  // Advice is of the same model for the same machine.
  if (!options.known) options.known = std::make_shared<passes::KnownCosts>(out.machine);
  out.passes.push_back({"machine", reading.seconds()});
  bool ok = false;
  const bool buckets = model && wants_buckets(options);
  std::vector<ConsideredForm> ways;
  if (buckets) {
    Stopwatch watch;
    const progress::Within first(0, kBuckets);
    if (!choose_buckets(options, ways, diag)) return std::nullopt;
    out.passes.push_back({"buckets", watch.seconds()});
  }
  const progress::Within behind(buckets ? kBuckets : 0, 1);
  if (model) {
    const progress::Within first(0, options.command.empty() ? 1 : kBeforeAdvice);
    ok = compile_model(options, out, diag);
  } else if (extension == ".csl" || extension == ".csptext") {
    Stopwatch watch;
    progress::stage("csl", 0, 1);
    ok = extension == ".csl" ? compile_layout(options, out, diag) : compile_text(options, out, diag);
    out.passes.push_back({extension.substr(1), watch.seconds()});
  } else {
    diag.error_at(options.input, fmt::format("'{}' is not the extension of an input", extension),
                  "a model (.onnx, .yaml), a CSL layout (.csl) or a Program's text (.csptext)");
  }
  if (!ok) return std::nullopt;
  out.forms.insert(out.forms.end(), ways.begin(), ways.end());
  fill_manifest(options, model, out);
  if (model && !options.command.empty() && out.program) {
    Stopwatch watch;
    const progress::Within rest(kBeforeAdvice, 1);
    out.advice = make_advice(options, out);
    out.passes.push_back({"advice", watch.seconds()});
  }
  return out;
}

}  // namespace cs::api
