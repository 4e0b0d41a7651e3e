// Each option has a variable of the environment, which counts where the flag is not given.
#include "tools/cs-compile/tune_flags.h"

#include <fmt/format.h>

#include "tools/cache/settings.h"
#include "tools/cli/tool.h"
#include "tools/tune/log_file.h"

namespace cs {
namespace {

constexpr const char* kGroup = "Tuning (choices by measurement instead of estimates)";
constexpr const char* kLevel = "--autotune";
constexpr const char* kEpilogues = "--epilogue-fusion";
constexpr const char* kDefer = "--defer-epilogues";

}  // namespace

void declare_tune_flags(CLI::App& app, TuneFlags& f) {
  const auto option = [&](const char* name, auto& value, const char* environment, const char* help) {
    return app.add_option(name, value, help)
        ->group(kGroup)
        ->envname(environment)
        ->capture_default_str()
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  };
  option(kLevel, f.level, "WAFERSMITH_AUTOTUNE",
         "Measure kernels on the simulator: off; default, those that set the interval; max, all that may, "
         "and other forms "
         "and paces of the network. The result is never slower than that of off")
      ->check(cli::one_of({"off", "default", "max"}));
  option("--autotune-budget", f.budget, "WAFERSMITH_AUTOTUNE_BUDGET",
         "Seconds after which no more is measured; the best so far is taken. 0: no limit")
      ->check(CLI::NonNegativeNumber);
  option("--autotune-log", f.log, "WAFERSMITH_AUTOTUNE_LOG",
         "File that gets a JSON document per measurement, a line each");
  option("--autotune-workers", f.workers, "WAFERSMITH_AUTOTUNE_WORKERS",
         "Processes that measure at the same time; they never change the result. 0: as many as threads")
      ->check(CLI::Range(0, 1024));
  option("--autotune-soft-timeout", f.soft_timeout, "WAFERSMITH_AUTOTUNE_SOFT_TIMEOUT",
         "Seconds after which a candidate is told to end, and counts as slow")
      ->check(CLI::PositiveNumber);
  option("--autotune-hard-timeout", f.hard_timeout, "WAFERSMITH_AUTOTUNE_HARD_TIMEOUT",
         "Seconds after which a candidate is killed")
      ->check(CLI::PositiveNumber);
  option("--autotune-memory", f.memory, "WAFERSMITH_AUTOTUNE_MEMORY",
         "Memory of a candidate's process, beyond which it is killed, as 500M or 4G")
      ->check([](const std::string& text) {
        return cache::parse_size(text) ? std::string()
                                       : fmt::format("'{}' is no size such as 500M or 4G", text);
      });
  option(kEpilogues, f.epilogues, "WAFERSMITH_EPILOGUE_FUSION",
         "When an elementwise operator joins the kernel that makes its operand: estimate, where that is "
         "about as fast by "
         "estimate; always; benchmark, where it is not slower as measured; never. Default: benchmark with "
         "--autotune max, "
         "else estimate")
      ->check(cli::one_of({"estimate", "always", "benchmark", "never"}));
  option("--epilogue-choices", f.epilogue_choices, "WAFERSMITH_EPILOGUE_CHOICES",
         "Kernels of an operator that are measured with an epilogue, at most")
      ->check(CLI::Range(1, 100));
  app.add_flag(kDefer, f.defer_all,
               "Experimental: measure every operator of a chain with all kernels that are still possible, and choose "
               "behind the last of them instead of with the first that joins")
      ->group(kGroup)
      ->envname("WAFERSMITH_DEFER_EPILOGUES");
}

void apply_tune_flags(const TuneFlags& f, api::CompileOptions& o) {
  o.tuning.defer_all = f.defer_all;
  o.tuning.level = *api::tune_level_from_name(f.level);
  o.tuning.budget_seconds = f.budget;
  o.tuning.epilogue_choices = f.epilogue_choices;
  if (!f.epilogues.empty()) o.tuning.epilogues = passes::epilogue_fusion_from_name(f.epilogues);
  if (f.hard_timeout < f.soft_timeout)
    throw cli::Usage{fmt::format("--autotune-hard-timeout is {} s, less than --autotune-soft-timeout of {} s",
                                 f.hard_timeout, f.soft_timeout)};
  if (o.copies == api::kAllCopies && o.tuning.level != api::TuneLevel::off)
    throw cli::Usage{"--autotune is for one network: leave out --copies auto"};
  if (f.defer_all && o.tuning.fusion() != passes::EpilogueFusion::benchmark)
    throw cli::Usage{fmt::format("{} is of epilogues that are measured: it needs --autotune max, or --epilogue-fusion "
                                 "benchmark",
                                 kDefer)};
  const bool benchmark = o.tuning.epilogues == passes::EpilogueFusion::benchmark;
  if (benchmark && o.tuning.level == api::TuneLevel::off)
    throw cli::Usage{"--epilogue-fusion benchmark measures: it needs --autotune default or max"};
}

std::string effective_command(std::string command, const TuneFlags& f) {
  const TuneFlags usual;
  const auto add = [&](const std::string& flag, const std::string& value, const std::string& normal) {
    const bool given = command.find(" " + flag + " ") != std::string::npos ||
                       command.find(" " + flag + "=") != std::string::npos;
    if (value != normal && !given) command += " " + flag + " " + value;
  };
  add(kLevel, f.level, usual.level);
  add("--autotune-budget", fmt::format("{}", f.budget), fmt::format("{}", usual.budget));
  add(kEpilogues, f.epilogues, usual.epilogues);
  if (f.defer_all && command.find(std::string(" ") + kDefer) == std::string::npos) command += std::string(" ") + kDefer;
  add("--epilogue-choices", std::to_string(f.epilogue_choices), std::to_string(usual.epilogue_choices));
  return command;
}

std::unique_ptr<TuneRun> TuneRun::begin(const TuneFlags& f, api::CompileOptions& o, Diag& diag) {
  if (o.tuning.level == api::TuneLevel::off) return nullptr;
  auto run = std::make_unique<TuneRun>();
  if (!f.log.empty() && !(run->log_ = tune::open_log(f.log, diag))) return nullptr;
  const tune::ChildLimits limits{f.soft_timeout, f.hard_timeout, *cache::parse_size(f.memory)};
  run->measurer_ = std::make_unique<tune::ChildMeasurer>(f.workers > 0 ? f.workers : o.threads, limits,
                                                         &run->cut_short_.asked());
  o.tuning.measurer = run->measurer_.get();
  o.tuning.log = run->log_.get();
  o.tuning.stop = &run->cut_short_.asked();
  return run;
}

}  // namespace cs
