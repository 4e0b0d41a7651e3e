// cs-compile: a model, a CSL layout or a Program's text to a Program for the simulator.
//
//   1. read the command line; usage errors exit with 2
//   2. lists (--list-ops ...) need no input
//   3. compile through tools/api, print diagnostics (exit 1) or what was asked for
#include <filesystem>
#include <iostream>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <fmt/format.h>

#include "compiler/csl/mir_passes.h"
#include "compiler/frontend/frontend.h"
#include "compiler/graph/dot.h"
#include "compiler/graph/graph_yaml.h"
#include "compiler/kernels/library.h"
#include "runtime/support/files.h"
#include "compiler/frontend/model_config.h"
#include "runtime/support/progress.h"
#include "runtime/support/workarounds.h"
#include "tools/api/api.h"
#include "tools/api/bisect.h"
#include "tools/api/kernel_runner.h"
#include "tools/cli/tool.h"
#include "tools/cs-compile/cached.h"
#include "tools/cs-compile/command.h"
#include "tools/cs-compile/flags.h"

namespace cs {
namespace {

constexpr const char* kExamples = R"(Examples:
  cs-compile model.onnx                                         compile a trained network to model.csp, for wse2
  cs-compile model.onnx -m wse3 -o net.csp                      for another machine, to another name
  cs-compile model.onnx --autogen-policy aggressive -o net.csp  generate every kernel that can be generated
  cs-compile model.onnx --explain origins --explain placement   show which kernel each operator got, why, and where
  cs-compile model.onnx --emit csl -o net.csl                   write the CSL program that it becomes
  cs-compile net.csl/layout.csl --host net.csl/host.yaml -o net.csp
  cs-compile layout.csl --params=M:16,N:32 -o kernel.csp        compile anyone's CSL program
  cs-compile model.onnx --autotune max --autotune-log net.jsonl choose kernels by measuring them
  cs-compile --list-ops                                         operators that can be imported

Exit codes: 0 ok, 1 input error, 2 usage, 70 internal error, 130 interrupted.)";

// The passes of CSL programs, in their order.
std::string list_mir_passes() {
  std::string text = "\nPasses of CSL programs, over their MIR (lowered: before all)\n";
  for (const csl::mir::Pass& p : csl::mir::pass_table())
    text += fmt::format("  {:<12} from --opt-level {}: {}\n", p.name, p.level, p.what);
  return text;
}

std::string list_workarounds() {
  std::string text;
  for (const WorkaroundRow& row : workaround_rows())
    text += fmt::format("{}\n  when    {}\n  why     {}\n  test    {}\n", row.id, row.condition, row.reason, row.test);
  return text;
}

// Text goes to -o or, without one, to stdout.
bool put(const std::string& text, const std::string& output, cli::Reply& reply, Diag& diag) {
  if (!output.empty()) return write_file_atomic(output, text, diag);
  reply.text(text);
  return true;
}

bool emit_graph(const api::Compiled& c, const Flags& f, cli::Reply& reply, Diag& diag) {
  if (!c.graph) {
    diag.error_at(f.emit, "only models have a graph");
    return false;
  }
  if (f.emit == "dot") return put(graph::graph_dot(*c.graph), f.output, reply, diag);
  const graph::PlanHeader plan = f.emit == "graph" ? graph::PlanHeader{} : c.plan;
  if (!f.output.empty()) return api::write_graph(*c.graph, plan, f.output, diag);
  reply.text(graph::graph_yaml(*c.graph, "weights.bin", plan));
  return true;
}

bool emit_results(const api::Compiled& c, const api::CompileOptions& o, const Flags& f, cli::Reply& reply,
                  Diag& diag) {
  bool stopped = c.graph && !c.mapped && !o.pipeline.stop_after.empty();
  if (stopped || f.emit == "graph" || f.emit == "plan" || f.emit == "dot")
    return emit_graph(c, f, reply, diag);
  if (f.emit == "csl") {
    if (!c.mapped) {
      diag.error_at(o.input, "--emit csl needs a model");
      return false;
    }
    return api::write_csl(*c.mapped, f.output, diag);
  }
  if (f.emit == "asm") return put(program_text(*c.program), f.output, reply, diag);
  return f.output.empty() || api::write_compiled(c, f.output, diag);
}

std::string explain_trace(const api::CompileOptions& o) {
  std::string text = "Branches and copies of the graph's text\n";
  const std::vector<std::string> taken = frontend::taken_control(o.input, {o.dims, o.set_config});
  for (const std::string& line : taken) text += "  " + line + "\n";
  return taken.empty() ? "The model has no `if` and no `repeat`\n" : text;
}

void talk(const api::Compiled& c, const api::CompileOptions& o, const Flags& f, const CachedCompile* cached,
          std::ostream& out) {
  if (f.quiet) return;
  bool text_on_stdout = f.output.empty() && !f.emit.empty();
  std::ostream& to = text_on_stdout ? std::cerr : out;
  bool explained = !f.explain.empty();
  if (c.graph && explained) to << api::graph_table(*c.graph);
  for (const std::string& what : f.explain) {
    to << (what == "origins"     ? api::explain_origins(c)
           : what == "placement" ? api::explain_placement(c)
           : what == "passes"    ? api::explain_passes(c)
           : what == "choices"   ? api::explain_choices(c)
           : what == "trace"     ? explain_trace(o)
           : what == "alignment" ? api::explain_alignment(c)
                                 : api::explain_fit(c));
  }
  to << api::summary(c);
  if (cached != nullptr) to << cached->line();
  if (!f.output.empty()) to << f.output << "\n";
}

int list_machine(const api::CompileOptions& o, cli::Reply& reply) {
  Diag diag;
  const std::optional<Machine> machine = load_machine(o.machine, diag);
  reply.show(diag);
  if (!machine) return kInputError;
  reply.text(machine_to_yaml(*machine));
  return kOk;
}

int print_config(const Flags& f, const api::CompileOptions& o, cli::Reply& reply) {
  Diag diag;
  const auto text = frontend::print_config(o.input, o.set_config, diag);
  reply.show(diag);
  if (!text) return kInputError;
  reply.text(*text);
  reply.text("# policy in effect: " + o.policy_name +
             (f.policy.empty() ? "\n" : ", from --autogen-policy\n"));
  return kOk;
}

// NAME.csp, or NAME.csl for --emit csl, where the user is; nothing where something is printed instead.
void name_output(Flags& f, const api::CompileOptions& o) {
  const bool prints =
      f.bisect_fusion || !f.explain.empty() || !f.emit.empty() || !o.pipeline.stop_after.empty() || f.json;
  if (!f.output.empty() || (prints && f.emit != "csl")) return;
  f.output = std::filesystem::path(o.input).stem().string() + (f.emit == "csl" ? ".csl" : ".csp");
}

// Advice is for the plain way from a model to a Program that is written.
bool wants_advice(const Flags& f, const api::CompileOptions& o) {
  return !f.no_advice && o.baselines && !f.output.empty() && f.emit.empty() && f.start_from.empty() &&
         o.pipeline.stop_after.empty() && o.rect_width == 0;
}

// Why a whole program is neither taken from a cache nor kept there; empty: it is.
std::string not_cached(const Flags& f, const api::CompileOptions& o) {
  const std::string extension = std::filesystem::path(o.input).extension().string();
  if (extension == ".csl" || extension == ".csptext") return "only what models become is cached";
  if (f.output.empty() || !f.emit.empty() || !o.pipeline.stop_after.empty()) return "no program is written";
  if (!f.explain.empty() || !o.pipeline.dump_after.empty() || f.layout.has_extras() ||
      !f.kernel_runners.empty() || f.bisect_fusion)
    return "what is asked for beside the program is known while compiling only";
  return {};
}

std::unique_ptr<CachedCompile> open_cache(const Flags& f, const api::CompileOptions& o) {
  std::string why;
  std::unique_ptr<cache::Cache> cache = cache::open_cache(f.cache, why);
  if (!why.empty()) throw cli::Usage{why};
  return cache ? std::make_unique<CachedCompile>(std::move(cache), o, not_cached(f, o)) : nullptr;
}

// False: it is to be compiled.
bool take_from_cache(CachedCompile& cached, const Flags& f, cli::Reply& reply, Diag& diag) {
  const auto hit = cached.take(f.output, diag, [&] { f.layout.check(diag); });
  if (!hit) return false;
  reply.end_progress();
  if (!f.quiet) (f.json ? std::cerr : std::cout) << hit->summary << cached.line() << f.output << "\n";
  if (f.json) reply.object(hit->report);
  return true;
}

int compile(const Flags& f, api::CompileOptions o, const std::string& command, cli::Reply& reply) {
  reply.show_progress(f.quiet);
  Diag diag;
  const std::unique_ptr<TuneRun> tuning = TuneRun::begin(f.tune, o, diag);
  const std::unique_ptr<CachedCompile> cached = open_cache(f, o);
  const auto show = [&] {
    if (cached) cached->report(diag);
    reply.show(diag);
    return diag.ok() ? kOk : kInputError;
  };
  if (!diag.ok()) return show();
  if (cached && (take_from_cache(*cached, f, reply, diag) || !diag.ok())) return show();
  if (cached) o.trials = cached->trials();
  std::map<size_t, std::string> mir;  // by tile: the last that was shown
  if (f.emit == "mir") {
    o.csl.threads = o.threads = 1;
    o.csl.dump = [&](size_t tile, size_t, std::string_view, const std::string& text) { mir[tile] = text; };
  }
  std::optional<api::Compiled> compiled = api::compile(o, diag);
  const Diag compiling = diag;
  if (compiled && tuning) compiled->tuning.command = effective_command(command, f.tune);
  if (compiled) f.layout.check(diag);
  std::string extras;
  std::string mir_text;
  for (const auto& [tile, text] : mir) mir_text += text;
  bool ok =
      compiled.has_value() && diag.ok() &&
      (f.emit == "mir" ? put(mir_text, f.output, reply, diag) : emit_results(*compiled, o, f, reply, diag)) &&
      f.layout.write_extras(*compiled, f.output.empty() ? "out" : f.output, extras, diag);
  if (ok && !f.kernel_runners.empty()) ok = api::write_kernel_runners(o, *compiled, f.kernel_runners, diag);
  std::optional<api::Bisected> bisected;
  if (ok && f.bisect_fusion) ok = (bisected = api::bisect_fusion(o, *compiled, diag)).has_value();
  std::string report = ok && f.json ? api::compile_report(*compiled) : "";
  if (ok && cached) report = cached->keep(*compiled, f.output, compiling, diag);
  if (show() != kOk || !ok) return kInputError;
  reply.text(extras);
  talk(*compiled, o, f, cached.get(), f.json ? std::cerr : std::cout);
  if (f.json) reply.object(report);
  if (bisected) (f.json ? std::cerr : std::cout) << bisected->text();
  if (bisected && !bisected->agrees) return kDiffers;
  if (!tuning || !tuning->interrupted()) return kOk;
  reply.error("interrupted while measuring; what was found until then is kept");
  return kInterrupted;
}

int run(Flags& f, api::CompileOptions& o, const std::string& command, cli::Reply& reply) {
  if (!f.kernel_library.empty()) {
    Diag diag;
    const bool good = kernels::use_library(f.kernel_library, diag);
    reply.show(diag);
    if (!good) return kInputError;
  }
  if (f.list_ops || f.list_kernels || f.list_passes || f.list_workarounds) {
    if (f.list_ops) reply.text(api::list_ops());
    if (f.list_kernels) reply.text(api::list_kernels());
    if (f.list_passes) reply.text(api::list_passes() + list_mir_passes());
    if (f.list_workarounds) reply.text(list_workarounds());
    return kOk;
  }
  if (f.list_machine) return list_machine(o, reply);
  if (o.input.empty()) throw cli::Usage{"a model, a layout or a Program's text is needed"};
  if (f.print_config) return print_config(f, o, reply);
  name_output(f, o);
  if (wants_advice(f, o)) o.command = command;
  return compile(f, o, command, reply);
}

int main_of_tool(int argc, char** argv) {
  CLI::App app{"Compiles a model or a CSL program for a wafer-scale engine."};
  app.footer(kExamples);
  app.set_version_flag("--version", version_string("cs-compile"));
  Flags f;
  api::CompileOptions o;
  o.csl.layout.clear();
  app.add_option("INPUT", o.input, "model (.onnx, .yaml), layout (.csl) or Program text (.csptext)");
  CLI::Option* machine =
      app.add_option("-m,--machine", o.machine, "Machine: a name in configs/machines or a path")
          ->default_str("wse2");
  app.add_option(
      "-o,--output", f.output,
      "Folder (or file, for --emit) to write (default: INPUT's name with .csp, in the present folder)");
  app.add_option("-j,--threads", o.threads, "Threads")->check(CLI::Range(1, 1024));
  app.add_option("--seed", f.seed, "Accepted by every tool; compiling needs no random numbers");
  app.add_flag("--json", f.json, "One JSON object on stdout");
  app.add_flag("-q,--quiet", f.quiet, "Print nothing but errors");
  declare_flags(app, f, o);
  cli::Reply reply("cs-compile");
  return cli::run_tool(reply, app, argc, argv, cli::Interrupt::ends, [&] {
    apply_flags(f, machine->count() > 0, o);
    return run(f, o, bare_command(argc, argv), reply);
  });
}

// A compilation of a whole wafer frees much of what it allocates to allocate it again: what is free stays with the
// process, but for very large blocks. Giving it back and asking for it again took a tenth of the time.
void keep_free_memory() {
#ifdef __GLIBC__
  mallopt(M_TRIM_THRESHOLD, 512 << 20);
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TOP_PAD, 16 << 20);
#endif
}

}  // namespace
}  // namespace cs

int main(int argc, char** argv) {
  cs::keep_free_memory();
  return cs::main_of_tool(argc, argv);
}
