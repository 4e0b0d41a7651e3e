// Options one by one; what only makes sense together is checked when all are known.
#include "tools/cs-compile/flags.h"

#include <algorithm>
#include <charconv>
#include <filesystem>

#include <fmt/format.h>

#include "compiler/csl/mir_passes.h"
#include "compiler/frontend/frontend.h"
#include "compiler/frontend/model_config.h"
#include "compiler/passes/shards.h"
#include "tools/cli/counts.h"
#include "tools/cli/tool.h"

namespace cs {
namespace {

void model_flags(CLI::App& app, Flags& f, api::CompileOptions& o) {
  app.add_option("--fabric", f.fabric, "Fabric to use, WxH (default: the machine's)");
  app.add_option("--rect", f.rect,
                 "Rectangle of every kernel, WxH, instead of sizing it (to compare kernels)");
  app.add_option("--operands", f.operands,
                 "Operands and results of a graph of one kernel: streamed, or resident on its PEs (copied "
                 "and launched "
                 "by the host)")
      ->check(cli::one_of({"streamed", "resident"}))
      ->default_str("streamed");
  app.add_option("--assume-aligned-inputs", f.aligned,
                 "on, off, or NAME=on and NAME=off of an input: its array begins at a multiple of 4 bytes, so elements "
                 "of 16 bits are copied to PEs two to a word (--operands resident)")
      ->delimiter(',')
      ->default_str("runconfig.assume_aligned_inputs of the model, else off");
  app.add_option("--align-policy", f.align_policy,
                 "Arrays that break that promise: clone them never (an error), where they are operands of products "
                 "(else an error), or always")
      ->check(cli::one_of({"never", "products", "always"}))
      ->default_str("runconfig.align_policy of the model, else always");
  app.add_option("--autogen-policy", f.policy, "When to generate kernels")
      ->check(cli::one_of({"disabled", "default", "medium", "aggressive"}))
      ->default_str("runconfig.autogen_policy of the model, else default")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  app.add_option("--autogen-on-failure", f.autogen_failure,
                 "A loss with use_autogen that cannot be one kernel: primitives, with a warning, or error")
      ->check(cli::one_of({"primitives", "fallback", "error"}))
      ->default_str("runconfig.autogen_on_failure of the model, else primitives");
  app.add_option("--host-ops", f.host_ops,
                 "Operators that only the host can run: allow, warn of each, or forbid")
      ->check(CLI::IsMember({"allow", "warn", "forbid"}))
      ->default_str("warn");
  app.add_option(
         "--pace", o.pace,
         "Give kernels the PEs with which they take this share of the slowest one's interval, where PEs help")
      ->check(CLI::Range(0.01, 1.0))
      ->default_str("0.9, steps of training 0.1");
  app.add_option("--least-library-product", o.least_library_product,
                 "Multiply-adds of a product below which kernels of the library are not considered")
      ->check(CLI::Range(int64_t(0), int64_t(1) << 60))
      ->default_str("0");
  app.add_option("--rewrite", f.rewrites,
                 "KEY=VALUE: parts=on|off (operators on all parts of a split become one), batch_products=N (so many "
                 "products of one value become one; 0: none), products=whole|rule|estimate (products that memory "
                 "bounds become broadcast, multiply and sum), shards=N|auto (as --shards), columns=N (products that "
                 "make outputs in N parts beside each other, by the columns of their matrices), heads=N (heads of "
                 "attention in N parts), sums=N (layers inside of two products in N parts, whose sums are added up), "
                 "attention=on|off (no score of an attention leaves a kernel)")
      ->default_str("runconfig.rewrite of the model, above parts=on batch_products=0 products=whole attention=off");
  app.add_option("--result", f.result,
                 "What leaves a language model of a configuration: logits of all steps, of the last one, of masked "
                 "positions (input masked_lm_positions), or the places of the largest logits")
      ->check(CLI::IsMember({"logits", "last", "masked", "argmax"}))
      ->default_str("runconfig.result of the model, else logits");
  app.add_option("--shards", f.shards,
                 "Compute one sample in so many parts beside each other (tokens of a sequence, rows of a picture, "
                 "elements), with streams of their own, where operators allow that. auto: as many as are "
                 "faster by estimate")
      ->transform(cli::shards_of_text)
      ->option_text(fmt::format("N in [1 - {}] | auto", passes::kMostShards))
      ->default_str("runconfig.rewrite of the model, else 1")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  app.add_option("--unroll", o.unroll,
                 "Make a kernel of every step of recurrences with at most N steps; 0: of none")
      ->check(CLI::Range(int64_t(0), int64_t(100'000)))
      ->default_str("where that is faster by estimate");
  app.add_option("--copies", o.copies,
                 "The network so many times side by side; the copies take the samples in turn. auto: as many as "
                 "host and fabric have room for")
      ->transform(cli::copies_of_text)
      ->option_text(fmt::format("N in [1 - {}] | auto", kMostCopies))
      ->default_str("1, or those of a plan")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  app.add_option("--without", o.pipeline.without,
                 "Leave a pass out that only makes kernels faster or fewer: pieces, rows, fuse or regions");
  app.add_option("--dim", f.dims, "Value of a symbolic dimension, NAME=N");
  app.add_option("--set", f.set,
                 "Machine value, machine.KEY=VALUE, or key of a model configuration, model.KEY=VALUE");
  app.add_flag("--allow-mutated-static-inputs", f.mutated_static,
               "Let a step write inputs and weights that are said to be static, which else is an error (the same as "
               "--set runconfig.allow_mutated_static_inputs=true)");
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
  app.add_flag("--list-workarounds", f.list_workarounds,
               "What is done for the sake of others' mistakes and old forms: when, why, and the test of it");
  app.add_option("--kernel-library", f.kernel_library,
                 "Folder of handwritten kernels: its .csl files take the places of ours, library.yaml says its "
                 "version and what its kernels can do");
  app.add_flag("--list-machine", f.list_machine, "Every value of the machine (-m), as YAML");
  app.add_option("--explain", f.explain,
                 "Print why: origins, choices (what was considered), placement, fit; trace, what `if` and "
                 "`repeat` of a "
                 "graph's text became; alignment, what it is worth of each input; and how long each of the passes took")
      ->check(cli::one_of({"origins", "choices", "placement", "fit", "trace", "passes", "alignment"}));
  app.add_flag("--no-baselines", f.no_baselines, "No stand-alone programs to compare generated kernels with");
  app.add_option("--emit-kernel-runner", f.kernel_runners,
                 "Folder for every kernel of the model as a program of its own, with operands, expected values and the "
                 "command that compares them");
  app.add_flag("--bisect-fusion", f.bisect_fusion,
               "Compare the network with what the host computes; if they differ, name the first fusion with which "
               "they do");
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
  return fmt::format("there is no pass '{}'; --list-passes lists them{}", name,
                     cli::did_you_mean(name, names));
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

}  // namespace

void declare_flags(CLI::App& app, Flags& f, api::CompileOptions& o) {
  model_flags(app, f, o);
  layout_flags(app, f, o);
  declare_tune_flags(app, f.tune);
  cache::declare_cache_flags(app, f.cache);
}

// As keys of the configuration, above those that it has.
void apply_alignment(const Flags& f, api::CompileOptions& o) {
  std::string list;
  for (const std::string& word : f.aligned) {
    const std::string value = word.substr(word.find('=') + 1);  // all of it without one
    if (value != "on" && value != "off")
      throw cli::Usage{fmt::format("--assume-aligned-inputs takes on, off, NAME=on or NAME=off, got '{}'", word)};
    list += (list.empty() ? "" : ", ") + word;
  }
  if (!list.empty()) o.set_config.push_back(fmt::format("runconfig.assume_aligned_inputs=[{}]", list));
  if (!f.result.empty()) o.set_config.push_back("runconfig.result=" + f.result);
  if (!f.align_policy.empty()) o.set_config.push_back("runconfig.align_policy=" + f.align_policy);
}

// Flags win over the configuration, key by key.
void apply_rewrites(const std::vector<std::string>& of_model, const Flags& f, passes::Rewrites& rewrites) {
  std::string why;
  for (const std::string& rewrite : of_model)
    if (!passes::read_rewrite(rewrite, rewrites, why)) throw cli::Usage{"runconfig.rewrite: " + why};
  for (const std::string& rewrite : f.rewrites)
    if (!passes::read_rewrite(rewrite, rewrites, why)) throw cli::Usage{why};
  if (f.shards) rewrites.shards = *f.shards;
}

void apply_flags(const Flags& f, bool machine_given, api::CompileOptions& o) {
  if (!f.start_from.empty()) o.input = f.start_from;
  o.machine_given = machine_given;
  if (!f.layout.arch().empty() && !machine_given) o.machine = f.layout.arch();
  for (const std::string& set : f.set) (is_config_key(set) ? o.set_config : o.set).push_back(set);
  apply_alignment(f, o);
  if (f.mutated_static) o.set_config.emplace_back("runconfig.allow_mutated_static_inputs=true");
  o.machine_given = o.machine_given || !o.set.empty();
  // A policy that does not exist is reported when the model is read.
  const frontend::CompileKeys keys = frontend::compile_keys(o.input, o.set_config);
  const auto policy = passes::policy_from_name(f.policy.empty() ? keys.autogen_policy : f.policy);
  o.choices = std::find(f.explain.begin(), f.explain.end(), "choices") != f.explain.end();
  o.policy = policy.value_or(*passes::policy_from_name("default"));
  o.policy_name = passes::policy_name(o.policy);
  o.host_ops = *passes::host_ops_from_name(f.host_ops);
  const std::string& failure = f.autogen_failure.empty() ? keys.autogen_on_failure : f.autogen_failure;
  o.autogen_failure = passes::autogen_failure_from_name(failure).value_or(passes::AutogenFailure::primitives);
  o.resident = f.operands == "resident";
  apply_rewrites(keys.rewrite, f, o.rewrites);
  const std::string extension = std::filesystem::path(o.input).extension().string();
  if (o.copies && (extension == ".csl" || extension == ".csptext"))
    throw cli::Usage{fmt::format("--copies is for models; '{}' is placed already", o.input)};
  if (o.rewrites.shards != 1 && (extension == ".csl" || extension == ".csptext"))
    throw cli::Usage{fmt::format("--shards is for models; '{}' is placed already", o.input)};
  if (o.rewrites.shards != 1 && o.resident)
    throw cli::Usage{"--shards is for networks whose operands are streamed: leave out --operands resident"};
  if (o.resident && o.copies.value_or(1) != 1)
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
    if (o.fabric_width < 1 || o.fabric_height < 1)
      throw cli::Usage{"--fabric takes WxH with at least one PE"};
  }
  if (!f.rect.empty()) {
    std::tie(o.rect_width, o.rect_height) = two_numbers(f.rect, "--rect");
    if (o.rect_width < 1 || o.rect_height < 1) throw cli::Usage{"--rect takes WxH with at least one PE"};
  }
  apply_tune_flags(f.tune, o);
  f.layout.apply(o);
}

}  // namespace cs
