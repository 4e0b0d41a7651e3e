// Values of `runconfig`: numbers of steps, truth values, names. Most say nothing to a compiler, but who
// writes a word where a number belongs means something else.
#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "compiler/frontend/model_config_keys.h"

namespace cs::frontend {

namespace {

constexpr std::string_view kSection = "runconfig.";

constexpr const char* kCounts[] = {"checkpoint_steps",
                                   "eval_frequency",
                                   "eval_steps",
                                   "keep_checkpoint_max",
                                   "log_step_count_steps",
                                   "log_steps",
                                   "max_checkpoints",
                                   "max_steps",
                                   "num_act_servers",
                                   "num_csx",
                                   "num_epochs",
                                   "num_replicas",
                                   "num_steps",
                                   "num_wgt_servers",
                                   "num_workers_per_csx",
                                   "save_checkpoint_steps",
                                   "save_checkpoints_steps",
                                   "save_summary_steps",
                                   "steps_per_epoch",
                                   "throttle_secs",
                                   "transfer_processes"};
constexpr const char* kFlags[] = {"autoload_last_checkpoint",
                                  "check_loss_values",
                                  "compile_only",
                                  "disable_strict_checkpoint_loading",
                                  "disable_version_check",
                                  "drop_data",
                                  "dump_activations",
                                  "enable_distributed",
                                  "enable_summaries",
                                  "experimental_api",
                                  "is_pretrained_checkpoint",
                                  "log_initialization",
                                  "log_input_summaries",
                                  "multireplica",
                                  "retrace_every_iteration",
                                  "save_initial_checkpoint",
                                  "save_losses",
                                  "show_debug_metrics",
                                  "sync_batchnorm",
                                  "use_appliance_data",
                                  "use_cs_grad_accum",
                                  "use_cstorch_optimizer_step",
                                  "validate_only"};
constexpr std::array<const char*, 3> kFailures = {"primitives", "fallback", "error"};

}  // namespace

void check_run_keys(ModelConfig& c) {
  for (const char* name : kCounts) {
    const std::string key = std::string(kSection) + name;
    if (c.has(key) && c.integer(key, 0) < 0) c.error(key, "must not be negative");
  }
  for (const char* name : kFlags) c.flag(std::string(kSection) + name, false);
  const std::string key = std::string(kSection) + "autogen_on_failure";
  const std::string failure = c.text(key, kFailures[0]);
  if (std::find(kFailures.begin(), kFailures.end(), failure) == kFailures.end()) {
    const std::string near = nearest(failure, {kFailures.begin(), kFailures.end()});
    c.error(key, fmt::format("unknown value '{}'; there are {}", failure, fmt::join(kFailures, ", ")),
            near.empty() ? "" : "did you mean '" + near + "'?");
  }
}

}  // namespace cs::frontend
