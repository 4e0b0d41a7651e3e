// Builds the command line of a child run and reads its JSON.
#include "tools/cs-sim/child.h"

#include <fmt/format.h>

#include "tools/cli/child_process.h"
#include "tools/cli/interrupt.h"

namespace cs {

ChildRun run_child_sim(const SimOptions& o, const std::string& program,
                       const std::vector<std::string>& arguments) {
  std::vector<std::string> argv{
      executable_folder() + "/cs-sim", program,   "--json", "--seed", std::to_string(o.seed), "--threads",
      std::to_string(o.threads),       "--block", o.block, "--ranks", "off"};
  if (!o.machine.empty()) argv.insert(argv.end(), {"--machine", o.machine});
  if (o.max_cycles > 0) argv.insert(argv.end(), {"--max-cycles", std::to_string(o.max_cycles)});
  if (o.max_seconds > 0) argv.insert(argv.end(), {"--max-seconds", fmt::format("{}", o.max_seconds)});
  for (const std::string& set : o.set) argv.insert(argv.end(), {"--set", set});
  if (o.on_other_machine) argv.push_back("--on-other-machine");
  for (const std::string& fault : o.allow) argv.insert(argv.end(), {"--allow", fault});
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  const ChildResult r = run_child(argv, 0, &cli::interrupted());
  ChildRun out;
  out.exit_code = r.exit_code;
  out.stats = nlohmann::json::parse(r.out, nullptr, false);
  if (r.exit_code != kOk || !out.stats.is_object()) {
    out.error = r.err.empty() ? fmt::format("exit code {}", r.exit_code) : r.err;
    if (!out.stats.is_object()) out.stats = nlohmann::json::object();
    if (out.exit_code == kOk) out.exit_code = kInternal;
  }
  return out;
}

}  // namespace cs
