// The command line of cs-compile: what it may say, and what that means for the library (api.h).
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/api/api.h"
#include "tools/cache/settings.h"
#include "tools/cs-compile/tune_flags.h"
#include "tools/cslc/layout_flags.h"

namespace cs {

struct Flags {
  std::string output, emit, policy, autogen_failure, start_from, fabric, rect, operands = "streamed",
                                                                               host_ops = "warn";
  std::string kernel_runners, kernel_library, align_policy, result;
  std::vector<std::string> aligned, dims, set, explain, rewrites;
  std::optional<int64_t> shards;
  LayoutFlags layout;
  cache::Settings cache;
  TuneFlags tune;
  bool print_config = false, list_passes = false, list_ops = false, list_kernels = false,
       list_machine = false, list_workarounds = false;
  bool mutated_static = false, bisect_fusion = false, no_baselines = false, no_advice = false, json = false,
       quiet = false;
  uint64_t seed = 0;
};

void declare_flags(CLI::App&, Flags&, api::CompileOptions&);
// After parsing; throws cli::Usage.
void apply_flags(const Flags&, bool machine_given, api::CompileOptions&);

}  // namespace cs
