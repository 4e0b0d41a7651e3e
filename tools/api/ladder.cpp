// Steps of the ladder.
#include "tools/api/ladder.h"

#include <algorithm>

#include <fmt/format.h>

#include "compiler/passes/known_costs.h"
#include "runtime/program/tile_bytes.h"
#include "runtime/support/progress.h"
#include "tools/api/layout.h"

namespace cs::api {

namespace {

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

// The graph half of one step of the ladder of passes/fallbacks.h. False if it did not fit; `again` says that there is
// another step.
bool map_model(const CompileOptions& options, const passes::PipelineOptions& pipeline, Formed& f, bool& again) {
  Compiled& out = f.out;
  passes::PassContext context{out.machine, options.policy,  map_options(options, *out.graph), f.diag,
                              {},          options.host_ops};
  context.fallbacks = f.fallbacks;
  for (const std::string& node : options.not_fused) context.fallbacks.keep_apart(node);
  context.unroll = options.unroll;
  context.known = options.known;
  out.choices.clear();
  if (options.choices) context.choices = &out.choices;
  context.form = f.form;
  if (f.pace) context.map.pace = context.pace = *f.pace;
  context.autogen_failure = options.autogen_failure;
  context.least_library_product = options.least_library_product;
  context.rewrites = options.rewrites;
  context.measured = options.measured;
  context.epilogues = options.tuning.fusion();
  context.defer_all = options.tuning.defer_all;
  const bool ok = passes::run_passes(*out.graph, context, pipeline, out.passes);
  f.unrolled = std::move(context.unrolled);
  if (!ok) {
    again = f.fallbacks.step_down(*out.graph, context.misfits, f.unrolled);
    return false;
  }
  out.plan = passes::plan_header(context, out.passes.back().name);
  out.mapped = std::move(context.mapped);
  out.unfused = std::move(context.unfused);
  return true;
}

// The CSL half of the same step, if the graph was mapped.
bool build_model(const CompileOptions& options, Formed& f, bool& again) {
  Compiled& out = f.out;
  if (!out.mapped || options.only_estimate) return true;
  progress::stage("csl", 0.8, 1);
  Stopwatch watch;
  std::vector<csl::TileFailure> failures;
  out.program = build_program(*out.mapped, out.machine, options.threads, options.csl.opt_level, f.diag, &failures);
  out.passes.push_back({"csl", watch.seconds()});
  if (out.program) mapping::refine_estimate(*out.mapped, *out.program, out.machine, options.threads);
  if (!out.program)
    again = f.fallbacks.step_down(*out.graph, misfits_of(*out.mapped, failures, out.machine), f.unrolled);
  return out.program.has_value();
}

bool one_rung(const CompileOptions& options, const passes::PipelineOptions& pipeline, const Start& start, Formed& f,
              bool& again) {
  f.out.graph = start.model;
  f.out.passes = start.passes;
  f.diag = start.diag;
  return map_model(options, pipeline, f, again) && build_model(options, f, again);
}

}  // namespace

std::optional<Program> build_program(const mapping::Mapped& mapped, const Machine& machine, int threads,
                                     int opt_level, Diag& diag, std::vector<csl::TileFailure>* failures) {
  csl::CslOptions options;
  options.layout = mapped.layout;
  options.files = mapped.files;
  options.ports = mapped.ports;
  options.threads = threads;
  options.opt_level = opt_level;
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
  map.pace = !g.states.empty() && options.pace == mapping::kPace ? mapping::kTrainingPace : options.pace;
  map.copies.count = options.copies.value_or(1);
  map.too_slow = options.too_slow;
  map.policy = options.policy_name;
  map.threads = options.threads;
  if (options.known) map.statements = options.known->statements(), map.known_plans = options.known->plans();
  for (graph::ValueId v : g.inputs) {
    DataType t = g.value(v).type.dtype;
    if (t == DataType::f16) map.dtype = "fp16";
    if (t == DataType::bf16) map.dtype = "bf16";
  }
  return map;
}

Formed begin_form(passes::Form form, const Start& start, const Machine& machine, std::optional<double> pace) {
  Formed f{form, pace, {}, start.diag};
  f.out.machine = machine;
  f.out.passes = start.passes;
  return f;
}

Formed begin_again(const Formed& f, const Start& start) {
  return begin_form(f.form, start, f.out.machine, f.pace);
}

bool compile_form(const CompileOptions& options, const passes::PipelineOptions& pipeline, const Start& start,
                  Formed& f) {
  for (;;) {
    bool again = false;
    const bool ok = one_rung(options, pipeline, start, f, again);
    if (!again) return ok;
  }
}

bool compile_rung(const CompileOptions& options, const passes::PipelineOptions& pipeline, const Start& start,
                  Formed& f) {
  bool ignored = false;
  return one_rung(options, pipeline, start, f, ignored);
}

bool finish_form(const CompileOptions& options, const passes::PipelineOptions& pipeline, const Start& start,
                 Formed& f) {
  // Who wants to see what passes do sees them once, in the form that is taken.
  if (!pipeline.stop_after.empty() || !pipeline.dump_after.empty()) f = begin_again(f, start);
  bool again = !f.out.mapped;
  const bool ok = !again && build_model(options, f, again);
  return again ? compile_form(options, pipeline, start, f) : ok;
}

}  // namespace cs::api
