// Every field of the options is named here once, whether it counts or not: a field that is added does not
// compile until somebody has decided.
#include "tools/api/program_key.h"

#include <filesystem>

#include <fmt/format.h>

#include "compiler/csl/kernel_checks.h"
#include "compiler/frontend/frontend.h"
#include "compiler/kernels/kernels.h"
#include "compiler/kernels/library.h"
#include "runtime/support/files.h"

namespace cs {
const std::vector<std::pair<std::string_view, std::string_view>>& embedded_csl_lib_files();
}  // namespace cs

namespace cs::api {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFormat = "wafersmith-program-key/1";

std::string number(double value) { return fmt::format("{:a}", value); }

void add_csl(const csl::CslOptions& options, KeyText& key) {
  const auto& [layout, params, import_paths, files, ports, fabric_width, fabric_height, offset_x, offset_y,
               fp16, channels, max_inlined_iterations, comptime_depth_limit, comptime_step_limit, warnings,
               opt_level, dump, threads, observer] = options;
  (void)layout, (void)ports;   // what is compiled, not how
  (void)dump, (void)observer;  // they only look
  (void)threads;
  (void)import_paths, (void)files;  // of layouts
  for (const auto& [name, value] : params) key.add("param " + name, value);
  for (const int64_t n : {fabric_width, fabric_height, offset_x, offset_y, int(fp16), channels,
                          max_inlined_iterations, comptime_depth_limit, opt_level})
    key.add("csl", n);
  key.add("kernel checks", int(csl::kernel_checks()));
  key.add("csl steps", comptime_step_limit);
  for (const std::string& entry : warnings.entries) key.add("warning", entry);
}

void add_pipeline(const passes::PipelineOptions& options, KeyText& key) {
  const auto& [start_after, stop_after, dump_after, dump_dir, without] = options;
  (void)dump_after, (void)dump_dir;
  key.add("start after", start_after);
  key.add("stop after", stop_after);
  for (const std::string& pass : without) key.add("without", pass);
}

// A budget that was spent leaves a result that is not kept.
void add_tuning(const Tuning& tuning, KeyText& key) {
  const auto& [level, budget_seconds, epilogues, defer_all, epilogue_choices, measurer, log, stop] = tuning;
  (void)measurer, (void)log, (void)stop, (void)budget_seconds;
  key.add("tuning", std::string(tune_level_name(level)));
  key.add("epilogues", std::string(passes::epilogue_fusion_name(tuning.fusion())));
  if (level != TuneLevel::off) key.add("epilogue choices", epilogue_choices);
  if (level != TuneLevel::off) key.add("defer all", int(defer_all));
}

void add_options(const CompileOptions& options, KeyText& key) {
  const auto& [input, machine, set, machine_given, set_config, fabric_width, fabric_height, rect_width,
               rect_height, threads, resident, policy, policy_name, host_ops, autogen_failure, dims, pipeline,
               pace, unroll, copies, baselines, choices, command, only_passes, only_mapping, only_estimate,
               known, too_slow, least_library_product, rewrites, tuning, measured, not_fused, trials, host_file, csl,
               west_buffer, east_buffer, low_memory_end, colors] =
      options;
  (void)input, (void)machine, (void)host_file;             // what they name counts, which the caller adds
  (void)threads, (void)known, (void)trials, (void)measured;  // how fast it goes; of a tuner's own compilations
  for (const std::string& one : set) key.add("set", one);  // the manifest has it as it was written
  for (const std::string& one : set_config) key.add("set config", one);
  for (const int64_t n :
       {int(machine_given), fabric_width, fabric_height, rect_width, rect_height, int(resident), int(policy),
        int(host_ops), int(autogen_failure), int(baselines), int(choices), int(only_passes),
        int(only_mapping), int(only_estimate), west_buffer, east_buffer, low_memory_end})
    key.add("option", n);
  key.add("policy", policy_name);
  key.add("least library product", least_library_product);
  key.add("rewrites", rewrites.text());
  for (const auto& [name, value] : dims) key.add("dim " + name, value);
  key.add("pace", number(pace));
  key.add("too slow", number(too_slow));
  key.add("unroll", unroll ? std::to_string(*unroll) : "");
  key.add("copies", copies ? std::to_string(*copies) : "");
  key.add("command", command);  // stands in what is recommended
  for (const auto& [name, value] : colors) key.add("color " + name, value);
  for (const std::string& one : not_fused) key.add("not fused", one);
  add_tuning(tuning, key);
  add_pipeline(pipeline, key);
  add_csl(csl, key);
}

bool add_model(const CompileOptions& options, KeyText& key) {
  Diag ignored;
  const graph::PlanHeader plan = frontend::plan_header(options.input, ignored);
  const auto model = frontend::load_model(options.input, {options.dims, options.set_config}, ignored);
  if (!model || !ignored.ok()) return false;
  key.add("plan", fmt::format("{} {} {} {} {}", plan.policy, plan.after, plan.form, plan.copies, plan.pace));
  const graph::GraphText text = graph::graph_text(*model, "weights.bin", plan);
  key.add("graph", text.yaml);
  key.add("weights",
          wide_hash_text({reinterpret_cast<const char*>(text.weights.data()), text.weights.size()}));
  if (fs::path(options.input).extension() == ".onnx") return true;
  const std::optional<std::string> file = read_file(options.input, ignored);
  key.add("file", file.value_or(""));
  return file.has_value();
}

}  // namespace

void KeyText::add(std::string_view name, std::string_view value) {
  text_ += fmt::format("{} {}\n", name, value.size());
  text_ += value;
  text_ += '\n';
}

std::string KeyText::digest() const { return wide_hash_text(text_); }

const std::string& build_identity() {
  static const std::string identity = [] {
    Diag ignored;
    return wide_hash_text(read_file("/proc/self/exe", ignored).value_or(version()));
  }();
  return identity;
}

const std::string& kernels_identity() {
  static const std::string identity = [] {
    KeyText key;
    const kernels::Library& library = kernels::library();
    for (const auto& [name, text] : library.files) key.add(name, text);
    key.add("library version", library.version);
    for (const auto& [kernel, list] : library.capabilities)
      for (const std::string& one : list) key.add("capability " + kernel, one);
    for (const auto& [kernel, list] : library.needs)
      for (const kernels::MachineNeed& need : list) key.add("need of " + kernel + " " + need.key, need.least);
    for (const auto& [name, text] : embedded_csl_lib_files()) key.add(name, text);
    return key.digest();
  }();
  return identity;
}

std::optional<Machine> effective_machine(const CompileOptions& options, Diag& diag) {
  std::optional<Machine> machine = load_machine(options.machine, diag);
  if (!machine) return std::nullopt;
  for (const std::string& set : options.set)
    if (!set_machine_value(*machine, set, diag)) return std::nullopt;
  if (!verify_machine(*machine, diag)) return std::nullopt;
  return machine;
}

std::optional<std::string> program_key(const CompileOptions& options, const std::string& build) {
  const std::string extension = fs::path(options.input).extension().string();
  if (extension != ".onnx" && extension != ".yaml" && extension != ".yml") return std::nullopt;
  Diag ignored;
  const std::optional<Machine> machine = effective_machine(options, ignored);
  if (!machine) return std::nullopt;
  KeyText key;
  key.add("format", kFormat);
  key.add("build", build);
  key.add("kernels", kernels_identity());
  key.add("machine", machine_to_yaml(*machine));
  add_options(options, key);
  if (!add_model(options, key)) return std::nullopt;
  return key.digest();
}

}  // namespace cs::api
