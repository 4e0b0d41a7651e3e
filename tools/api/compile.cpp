// compile(): which way an input takes, and the way of a model from graph to Program.
#include <atomic>
#include <chrono>
#include <filesystem>

#include <fmt/format.h>

#include "compiler/frontend/frontend.h"
#include "runtime/program/tile_bytes.h"
#include "runtime/support/files.h"
#include "runtime/support/parallel.h"
#include "runtime/support/progress.h"
#include "tools/api/advice.h"
#include "tools/api/api.h"
#include "tools/api/forms.h"
#include "tools/api/layout.h"

namespace cs::api {

namespace {

class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// Machine part from the files, then the host part. Both ways to a Program (directly, and through --emit csl)
// end here.
std::optional<Program> build_program(const mapping::Mapped& mapped, const Machine& machine, int threads,
                                     Diag& diag, std::vector<csl::TileFailure>* failures = nullptr) {
  csl::CslOptions options;
  options.layout = mapped.layout;
  options.files = mapped.files;
  options.ports = mapped.ports;
  options.threads = threads;
  options.fp16 = half_format(mapped.host);
  std::optional<Program> program = csl::compile_csl(options, machine, diag, failures);
  if (!program) return std::nullopt;
  mapping::attach(mapped, *program);
  set_kernel_bytes(*program);
  name_program(*program, mapped.layout);
  if (!verify(*program, machine, diag)) return std::nullopt;
  return program;
}

mapping::MapOptions map_options(const CompileOptions& options, const graph::Graph& g) {
  mapping::MapOptions map;
  map.fabric_width = options.fabric_width;
  map.fabric_height = options.fabric_height;
  map.force_width = options.rect_width;
  map.force_height = options.rect_height;
  map.resident = options.resident;
  map.pace = options.pace;
  map.policy = options.policy_name;
  map.threads = options.threads;
  for (graph::ValueId v : g.inputs) {
    DataType t = g.value(v).type.dtype;
    if (t == DataType::f16) map.dtype = "fp16";
    if (t == DataType::bf16) map.dtype = "bf16";
  }
  return map;
}

constexpr double kBeforeBaselines = 0.5, kBeforeAdvice = 0.4, kJoined = 0.4;  // of the time, where there are any

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
    std::optional<Program> self = build_program(list[i].self, out.machine, 1, diags[i]);
    if (!self) return;
    made[i] = {list[i].kernel, list[i].counterpart,           list[i].origin,
               std::move(*self), std::move(list[i].self.weights), {}};
    for (mapping::Mapped& one : list[i].bases) {
      std::optional<Program> base = build_program(one, out.machine, 1, diags[i]);
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

// The kernels whose PE programs have errors.
std::vector<mapping::Misfit> misfits_of(const mapping::Mapped& mapped,
                                        const std::vector<csl::TileFailure>& failures,
                                        const Machine& machine) {
  std::vector<mapping::Misfit> list;
  for (const csl::TileFailure& f : failures) {
    const auto kernels = mapped.kernels_of_file.find(f.file);
    if (kernels == mapped.kernels_of_file.end()) return {};
    for (const std::string& kernel : kernels->second) {
      mapping::Misfit m{kernel, mapped.nodes_of_kernel.at(kernel), "", f.too_many};
      m.why = f.too_many > 0 ? fmt::format("its kernel takes {} B more than the {} B of a PE", f.too_many,
                                           machine.core.memory_bytes)
                             : "the kernel generated for it has an error";
      const auto known =
          std::find_if(list.begin(), list.end(), [&](const auto& k) { return k.kernel == m.kernel; });
      if (known == list.end())
        list.push_back(std::move(m));
      else if (m.too_many > known->too_many)
        *known = std::move(m);
    }
  }
  return list;
}

// One step of the ladder of passes/fallbacks.h. False if it did not fit; `again` says that there is another.
bool try_model(const CompileOptions& options, const passes::PipelineOptions& pipeline, passes::Form form,
               passes::Fallbacks& fallbacks, Compiled& out, bool& again, Diag& diag) {
  passes::PassContext context{out.machine, options.policy,  map_options(options, *out.graph), diag,
                              {},          options.host_ops};
  context.fallbacks = fallbacks;
  context.unroll = options.unroll;
  out.choices.clear();
  if (options.choices) context.choices = &out.choices;
  context.form = form;
  if (!passes::run_passes(*out.graph, context, pipeline, out.passes)) {
    again = fallbacks.step_down(*out.graph, context.misfits, context.unrolled);
    return false;
  }
  out.plan = passes::plan_header(context, out.passes.back().name);
  out.mapped = std::move(context.mapped);
  if (!out.mapped || options.only_estimate) return true;
  progress::stage("csl", 0.8, 1);
  Stopwatch watch;
  std::vector<csl::TileFailure> failures;
  out.program = build_program(*out.mapped, out.machine, options.threads, diag, &failures);
  out.passes.push_back({"csl", watch.seconds()});
  if (!out.program)
    again = fallbacks.step_down(*out.graph, misfits_of(*out.mapped, failures, out.machine), context.unrolled);
  return out.program.has_value();
}

bool has_baselines(const CompileOptions& options) {
  return options.baselines && !options.only_mapping && !options.only_passes;
}

// Down the ladder until all kernels have a place.
bool compile_form(const CompileOptions& options, const passes::PipelineOptions& pipeline, passes::Form form,
                  const graph::Graph& model, passes::Fallbacks& fallbacks, Compiled& out, Diag& diag) {
  const std::vector<passes::PassRecord> before = out.passes;
  for (;;) {
    Diag trial = diag;
    bool again = false;
    out.graph = model;
    out.passes = before;
    const bool ok = try_model(options, pipeline, form, fallbacks, out, again, trial);
    if (again) continue;
    diag = std::move(trial);
    return ok;
  }
}

// The network in one form as far as its estimate; nothing if it has no place, or is not weighed.
std::optional<double> estimate_form(CompileOptions options, passes::Form form, const graph::Graph& model,
                                    const Compiled& at) {
  Compiled out;
  out.machine = at.machine;
  Diag ignored;
  options.only_estimate = true;
  options.host_ops = options.host_ops == passes::HostOps::forbid ? options.host_ops : passes::HostOps::allow;
  passes::Fallbacks fallbacks;
  if (!compile_form(options, {}, form, model, fallbacks, out, ignored) || !out.mapped || !tries_forms(*out.mapped))
    return std::nullopt;
  return out.mapped->estimate.interval_cycles;
}

// In the form that is fastest by estimate; `out` is the one with every choice for itself. Passes and diagnostics
// so far are those before the first pass of the table.
void take_best_form(const CompileOptions& options, const passes::PipelineOptions& pipeline, const graph::Graph& model,
                    const std::vector<passes::PassRecord>& passes_so_far, const Diag& said,
                    passes::Fallbacks& fallbacks, Compiled& out, Diag& diag) {
  Stopwatch watch;
  double from = 0;  // each is a quarter of what is left of the work
  const auto estimate = [&](passes::Form form) {
    const progress::Within quarter(from, from + 0.25);
    from += 0.25;
    return estimate_form(options, form, model, out);
  };
  const std::optional<double> joined = !out.mapped               ? estimate(passes::Form::joined)
                                       : tries_forms(*out.mapped) ? std::optional(out.mapped->estimate.interval_cycles)
                                                                  : std::nullopt;
  if (!joined) return;
  const FormChoice choice = choose_form(*joined, estimate);
  const double seconds = watch.seconds();
  if (choice.form != passes::Form::joined) {
    const progress::Within last(from, 1);
    Compiled made;
    made.machine = out.machine;
    made.passes = passes_so_far;
    Diag own = said;
    passes::Fallbacks steps;
    if (compile_form(options, pipeline, choice.form, model, steps, made, own)) {
      out = std::move(made);
      out.form = fmt::format("{}: {}", passes::form_name(choice.form), choice.why);
      fallbacks = std::move(steps);
      diag = std::move(own);
    }
  }
  out.passes.push_back({"forms", seconds});
}

// The graph half and the CSL half, as often as something does not fit, in the form that is best.
bool compile_kernels(const CompileOptions& options, Compiled& out, passes::Fallbacks& fallbacks, Diag& diag) {
  const progress::Within first(0, has_baselines(options) ? kBeforeBaselines : 1);
  Stopwatch frontend;
  progress::stage("model", 0, 0.03);
  const graph::PlanHeader plan = frontend::plan_header(options.input, diag);
  if (!diag.ok() || !check_plan(options, plan, diag)) return false;
  std::optional<graph::Graph> model =
      frontend::load_model(options.input, {options.dims, options.set_config}, diag);
  if (!model) return false;
  out.passes.push_back({"frontend", frontend.seconds()});
  passes::PipelineOptions pipeline = options.pipeline;
  pipeline.start_after = plan.after;
  const std::vector<passes::PassRecord> before = out.passes;
  const Diag said = diag;
  const passes::Form form = passes::form_from_name(plan.form).value_or(passes::Form::joined);
  const bool choose = tries_forms(options) && plan.after.empty();
  {
    const progress::Within joined(0, choose ? kJoined : 1);
    if (!compile_form(options, pipeline, form, *model, fallbacks, out, diag)) return false;
  }
  const progress::Within rest(choose ? kJoined : 0, 1);
  if (choose) take_best_form(options, pipeline, *model, before, said, fallbacks, out, diag);
  return true;
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
  if (options.pace != 1) entries.emplace_back("pace", fmt::format("{}", options.pace));
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

std::optional<Compiled> compile(const CompileOptions& options, Diag& diag) {
  std::string extension = std::filesystem::path(options.input).extension().string();
  bool model = extension == ".onnx" || extension == ".yaml" || extension == ".yml";
  Compiled out;
  Stopwatch reading;
  std::optional<Machine> machine = load_machine(options.machine, diag);
  if (!machine) return std::nullopt;
  out.machine = std::move(*machine);
  for (const std::string& set : options.set) {
    if (!set_machine_value(out.machine, set, diag)) return std::nullopt;
  }
  if (!verify_machine(out.machine, diag)) return std::nullopt;
  out.passes.push_back({"machine", reading.seconds()});
  bool ok = false;
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
