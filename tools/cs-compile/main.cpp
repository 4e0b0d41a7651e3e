// cs-compile: a model, a CSL layout or a Program's text to a Program for the simulator.
//
//   1. read the command line; usage errors exit with 2
//   2. lists (--list-ops ...) need no input
//   3. compile through tools/api, print diagnostics (exit 1) or what was asked for
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <iostream>

#include <fmt/format.h>

#include "compiler/csl/mir_passes.h"
#include "compiler/frontend/frontend.h"
#include "compiler/graph/dot.h"
#include "compiler/graph/graph_yaml.h"
#include "runtime/support/files.h"
#include "compiler/frontend/model_config.h"
#include "runtime/support/progress.h"
#include "tools/api/api.h"
#include "tools/cli/tool.h"
#include "tools/cslc/layout_flags.h"

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
  cs-compile --list-ops                                         operators that can be imported

Exit codes: 0 ok, 1 input error, 2 usage, 70 internal error, 130 interrupted.)";

struct Flags {
  std::string output, emit, policy, autogen_failure, start_from, fabric, rect, operands = "streamed",
                                                                               host_ops = "warn";
  std::vector<std::string> dims, set, explain;
  LayoutFlags layout;
  bool print_config = false, list_passes = false, list_ops = false, list_kernels = false,
       list_machine = false;
  bool no_baselines = false, no_advice = false, json = false, quiet = false;
  uint64_t seed = 0;
};

void model_flags(CLI::App& app, Flags& f, api::CompileOptions& o) {
  app.add_option("--fabric", f.fabric, "Fabric to use, WxH (default: the machine's)");
  app.add_option("--rect", f.rect,
                 "Rectangle of every kernel, WxH, instead of sizing it (to compare kernels)");
  app.add_option("--operands", f.operands,
                 "Operands and results of a graph of one kernel: streamed, or resident on its PEs (copied and launched "
                 "by the host)")
      ->check(cli::one_of({"streamed", "resident"}))
      ->default_str("streamed");
  app.add_option("--autogen-policy", f.policy, "When to generate kernels")
      ->check(cli::one_of({"disabled", "default", "medium", "aggressive"}))
      ->default_str("runconfig.autogen_policy of the model, else default")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  app.add_option("--autogen-on-failure", f.autogen_failure,
                 "A loss with use_autogen that cannot be one kernel: primitives, with a warning, or error")
      ->check(cli::one_of({"primitives", "fallback", "error"}))
      ->default_str("runconfig.autogen_on_failure of the model, else primitives");
  app.add_option("--host-ops", f.host_ops, "Operators that only the host can run: allow, warn of each, or forbid")
      ->check(CLI::IsMember({"allow", "warn", "forbid"}))
      ->default_str("warn");
  app.add_option(
         "--pace", o.pace,
         "Give kernels the PEs with which they take this share of the slowest one's interval, where PEs help")
      ->check(CLI::Range(0.01, 1.0))
      ->default_str("0.9, steps of training 0.1");
  app.add_option("--unroll", o.unroll, "Make a kernel of every step of recurrences with at most N steps; 0: of none")
      ->check(CLI::Range(int64_t(0), int64_t(100'000)))
      ->default_str("where that is faster by estimate");
  app.add_option("--copies", o.copies, "The network so many times side by side; the copies take the samples in turn")
      ->check(CLI::Range(1, kMostCopies))
      ->default_str("1, or those of a plan")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  app.add_option("--without", o.pipeline.without,
                 "Leave a pass out that only makes kernels faster or fewer: pieces, rows, fuse or regions");
  app.add_option("--dim", f.dims, "Value of a symbolic dimension, NAME=N");
  app.add_option("--set", f.set,
                 "Machine value, machine.KEY=VALUE, or key of a model configuration, model.KEY=VALUE");
  app.add_option("--emit", f.emit, "Write this instead of a Program")
      ->check(cli::one_of({"graph", "plan", "csl", "dot", "mir", "asm"}));
  app.add_option("--dump-after", o.pipeline.dump_after,
                 "Write the graph, or the MIR of a CSL program, after PASS, all, or changed");
  app.add_option("--dump-dir", o.pipeline.dump_dir, "Folder of the dumps");
  app.add_option("--stop-after", o.pipeline.stop_after, "Stop after this pass and write the plan");
  app.add_option("--start-from", f.start_from, "Go on from a plan that --stop-after or --emit plan wrote");
  app.add_flag("--print-config", f.print_config, "Merged model configuration, each key with its source");
  app.add_flag("--list-passes", f.list_passes, "Passes in their order");
  app.add_flag("--list-ops", f.list_ops, "Operators with their rows");
  app.add_flag("--list-kernels", f.list_kernels, "Handwritten kernels");
  app.add_flag("--list-machine", f.list_machine, "Every value of the machine (-m), as YAML");
  app.add_option("--explain", f.explain,
                 "Print why: origins, choices (what was considered), placement, fit; trace, what `if` and "
                 "`repeat` of a "
                 "graph's text became; and how long each of the passes took")
      ->check(cli::one_of({"origins", "choices", "placement", "fit", "trace", "passes"}));
  app.add_flag("--no-baselines", f.no_baselines, "No stand-alone programs to compare generated kernels with");
  app.add_flag("--no-advice", f.no_advice,
               "No other forms of the program, which cs-sim --report runs to see whether one is faster");
}

void layout_flags(CLI::App& app, Flags& f, api::CompileOptions& o) {
  const std::string group = "CSL layouts (the flags of the vendor's compiler)";
  app.add_option("--host", o.host_file, "Host part of the program (host.yaml)")->group(group);
  f.layout.declare(app, o, group);
}

bool is_config_key(const std::string& set) {
  if (set.find('=') == std::string::npos) return false;
  for (const char* section : {"model.", "train_input.", "eval_input.", "optimizer.", "runconfig."})
    if (set.rfind(section, 0) == 0) return true;
  return false;
}

std::string unknown_pass(const std::string& name) {
  std::vector<std::string> names;
  for (const passes::Pass& p : passes::pass_table()) names.emplace_back(p.name);
  return fmt::format("there is no pass '{}'; --list-passes lists them{}", name, cli::did_you_mean(name, names));
}

void check_dump(const std::string& pass, bool layout) {
  if (pass.empty() || pass == "all" || pass == "changed") return;
  if (!layout && !passes::is_pass(pass)) throw cli::Usage{unknown_pass(pass)};
  std::vector<std::string> names{"lowered"};
  for (const csl::mir::Pass& p : csl::mir::pass_table()) names.emplace_back(p.name);
  if (layout && std::find(names.begin(), names.end(), pass) == names.end())
    throw cli::Usage{fmt::format("there is no pass '{}' of CSL programs; --list-passes lists them{}", pass,
                                 cli::did_you_mean(pass, names))};
}

// The passes of CSL programs, in their order.
std::string list_mir_passes() {
  std::string text = "\nPasses of CSL programs, over their MIR (lowered: before all)\n";
  for (const csl::mir::Pass& p : csl::mir::pass_table())
    text += fmt::format("  {:<12} from --opt-level {}: {}\n", p.name, p.level, p.what);
  return text;
}

void apply(const Flags& f, bool machine_given, api::CompileOptions& o) {
  if (!f.start_from.empty()) o.input = f.start_from;
  o.machine_given = machine_given;
  if (!f.layout.arch().empty() && !machine_given) o.machine = f.layout.arch();
  for (const std::string& set : f.set) (is_config_key(set) ? o.set_config : o.set).push_back(set);
  o.machine_given = o.machine_given || !o.set.empty();
  // A policy that does not exist is reported when the model is read.
  const auto policy =
      passes::policy_from_name(f.policy.empty() ? frontend::config_policy(o.input, o.set_config) : f.policy);
  o.choices = std::find(f.explain.begin(), f.explain.end(), "choices") != f.explain.end();
  o.policy = policy.value_or(*passes::policy_from_name("default"));
  o.policy_name = passes::policy_name(o.policy);
  o.host_ops = *passes::host_ops_from_name(f.host_ops);
  const std::string failure =
      f.autogen_failure.empty() ? frontend::config_autogen_failure(o.input, o.set_config) : f.autogen_failure;
  o.autogen_failure = passes::autogen_failure_from_name(failure).value_or(passes::AutogenFailure::primitives);
  o.resident = f.operands == "resident";
  const std::string extension = std::filesystem::path(o.input).extension().string();
  if (o.copies && (extension == ".csl" || extension == ".csptext"))
    throw cli::Usage{fmt::format("--copies is for models; '{}' is placed already", o.input)};
  if (o.resident && o.copies.value_or(1) > 1)
    throw cli::Usage{"--copies is for networks whose operands are streamed: leave out --operands resident"};
  o.baselines = !f.no_baselines && !o.resident;
  o.only_passes = f.emit == "graph" || f.emit == "plan" || f.emit == "dot";
  o.only_mapping = f.emit == "csl";
  if (f.emit == "graph" && o.pipeline.stop_after.empty()) o.pipeline.stop_after = "shapes";
  if (!o.pipeline.stop_after.empty() && !passes::is_pass(o.pipeline.stop_after)) {
    throw cli::Usage{unknown_pass(o.pipeline.stop_after)};
  }
  check_dump(o.pipeline.dump_after, extension == ".csl");
  if (f.emit == "mir" && extension != ".csl") throw cli::Usage{"--emit mir is for CSL layouts"};
  for (const std::string& pass : o.pipeline.without) {
    if (!passes::is_pass(pass)) throw cli::Usage{unknown_pass(pass)};
    if (!passes::is_optional_pass(pass))
      throw cli::Usage{fmt::format("the pass '{}' cannot be left out; pieces, rows, fuse and regions can", pass)};
  }
  for (const std::string& set : o.set) {
    if (set.rfind("machine.", 0) != 0)
      throw cli::Usage{fmt::format("--set takes machine.KEY=VALUE or model.KEY=VALUE, got '{}'", set)};
  }
  for (const std::string& dim : f.dims) {
    size_t sign = dim.find('=');
    int64_t n = 0;
    const char* end = dim.data() + dim.size();
    bool ok = sign != std::string::npos && sign > 0;
    if (ok) {
      auto r = std::from_chars(dim.data() + sign + 1, end, n);
      ok = r.ec == std::errc() && r.ptr == end && n > 0;
    }
    if (!ok) throw cli::Usage{fmt::format("--dim takes NAME=N with N > 0, got '{}'", dim)};
    o.dims.emplace_back(dim.substr(0, sign), n);
  }
  if (!f.fabric.empty()) {
    std::tie(o.fabric_width, o.fabric_height) = two_numbers(f.fabric, "--fabric");
    if (o.fabric_width < 1 || o.fabric_height < 1) throw cli::Usage{"--fabric takes WxH with at least one PE"};
  }
  if (!f.rect.empty()) {
    std::tie(o.rect_width, o.rect_height) = two_numbers(f.rect, "--rect");
    if (o.rect_width < 1 || o.rect_height < 1) throw cli::Usage{"--rect takes WxH with at least one PE"};
  }
  f.layout.apply(o);
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
  reply.text(graph::graph_text(*c.graph, "weights.bin", plan).yaml);
  return true;
}

bool emit_results(const api::Compiled& c, const api::CompileOptions& o, const Flags& f, cli::Reply& reply,
                  Diag& diag) {
  bool stopped = c.graph && !c.mapped && !o.pipeline.stop_after.empty();
  if (stopped || f.emit == "graph" || f.emit == "plan" || f.emit == "dot") return emit_graph(c, f, reply, diag);
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

void talk(const api::Compiled& c, const api::CompileOptions& o, const Flags& f, std::ostream& out) {
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
                                 : api::explain_fit(c));
  }
  to << api::summary(c);
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
  reply.text("# policy in effect: " + o.policy_name + (f.policy.empty() ? "\n" : ", from --autogen-policy\n"));
  return kOk;
}

// NAME.csp, or NAME.csl for --emit csl, where the user is; nothing where something is printed instead.
void name_output(Flags& f, const api::CompileOptions& o) {
  const bool prints = !f.explain.empty() || !f.emit.empty() || !o.pipeline.stop_after.empty() || f.json;
  if (!f.output.empty() || (prints && f.emit != "csl")) return;
  f.output = std::filesystem::path(o.input).stem().string() + (f.emit == "csl" ? ".csl" : ".csp");
}

std::string shell_word(const std::string& word) {
  constexpr const char* kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%+=:,./_-";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string quoted = "'";
  for (char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

// The command without what decides where results go and what is said: for commands that recommend more options.
std::string bare_command(int argc, char** argv) {
  std::string command = "cs-compile";
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto is = [&](std::initializer_list<const char*> names) {
      return std::find(names.begin(), names.end(), word) != names.end();
    };
    if (is({"-q", "--quiet", "--json"})) continue;
    if (is({"-o", "--output", "-j", "--threads", "--explain"})) {
      ++i;
    } else if (!word.starts_with("--output=") && !word.starts_with("--threads=") && !word.starts_with("-o") &&
               !word.starts_with("-j")) {
      command += " " + shell_word(word);
    }
  }
  return command;
}

// Advice is for the plain way from a model to a Program that is written.
bool wants_advice(const Flags& f, const api::CompileOptions& o) {
  return !f.no_advice && o.baselines && !f.output.empty() && f.emit.empty() && f.start_from.empty() &&
         o.pipeline.stop_after.empty() && o.rect_width == 0;
}

int compile(const Flags& f, api::CompileOptions o, cli::Reply& reply) {
  if (!f.quiet) reply.show_progress();
  Diag diag;
  std::map<size_t, std::string> mir;  // by tile: the last that was shown
  if (f.emit == "mir") {
    o.csl.threads = o.threads = 1;
    o.csl.dump = [&](size_t tile, size_t, std::string_view, const std::string& text) { mir[tile] = text; };
  }
  std::optional<api::Compiled> compiled = api::compile(o, diag);
  if (compiled) f.layout.check(diag);
  std::string extras;
  std::string mir_text;
  for (const auto& [tile, text] : mir) mir_text += text;
  bool ok = compiled.has_value() && diag.ok() &&
            (f.emit == "mir" ? put(mir_text, f.output, reply, diag) : emit_results(*compiled, o, f, reply, diag)) &&
            f.layout.write_extras(*compiled, f.output.empty() ? "out" : f.output, extras, diag);
  reply.show(diag);
  if (!ok) return kInputError;
  reply.text(extras);
  talk(*compiled, o, f, f.json ? std::cerr : std::cout);
  if (f.json) reply.object(api::compile_report(*compiled));
  return kOk;
}

int run(Flags& f, api::CompileOptions& o, const std::string& command, cli::Reply& reply) {
  if (f.list_ops || f.list_kernels || f.list_passes) {
    if (f.list_ops) reply.text(api::list_ops());
    if (f.list_kernels) reply.text(api::list_kernels());
    if (f.list_passes) reply.text(api::list_passes() + list_mir_passes());
    return kOk;
  }
  if (f.list_machine) return list_machine(o, reply);
  if (o.input.empty()) throw cli::Usage{"a model, a layout or a Program's text is needed"};
  if (f.print_config) return print_config(f, o, reply);
  name_output(f, o);
  if (wants_advice(f, o)) o.command = command;
  return compile(f, o, reply);
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
  app.add_option("-o,--output", f.output,
                 "Folder (or file, for --emit) to write (default: INPUT's name with .csp, in the present folder)");
  app.add_option("-j,--threads", o.threads, "Threads")->check(CLI::Range(1, 1024));
  app.add_option("--seed", f.seed, "Accepted by every tool; compiling needs no random numbers");
  app.add_flag("--json", f.json, "One JSON object on stdout");
  app.add_flag("-q,--quiet", f.quiet, "Print nothing but errors");
  model_flags(app, f, o);
  layout_flags(app, f, o);
  cli::Reply reply("cs-compile");
  return cli::run_tool(reply, app, argc, argv, cli::Interrupt::ends, [&] {
    apply(f, machine->count() > 0, o);
    return run(f, o, bare_command(argc, argv), reply);
  });
}

}  // namespace
}  // namespace cs

int main(int argc, char** argv) { return cs::main_of_tool(argc, argv); }
