// cs-sweep: machine values x programs x policies.
#include <fmt/format.h>

#include <thread>

#include "runtime/support/files.h"
#include "tools/cli/child_process.h"
#include "tools/cli/interrupt.h"
#include "tools/cli/tool.h"
#include "tools/cs-sweep/run_sweep.h"

namespace cs::sweep {
namespace {

struct Options {
  std::string file, out = "sweep";
  std::vector<std::string> programs, machines, policies, set, params;
  std::string inputs, check, launch, fabric;
  int iterations = 0, jobs = 0;
  double timeout = 600;
  uint64_t seed = 0;
  bool json = false;
};

void add_options(CLI::App& app, Options& o) {
  app.add_option("SWEEP", o.file, "sweep file (YAML); what is given here beside it is added");
  app.add_option("--set", o.set, "machine.KEY=A,B,C: a machine value to sweep; may be repeated")
      ->allow_extra_args(false);
  app.add_option("-m,--machine", o.machines, "machines, with commas (default: wse2)")->delimiter(',');
  app.add_option("-p,--autogen-policy,--policy", o.policies, "policies, with commas (default: medium)")
      ->delimiter(',')
      ->check(cli::one_of({"disabled", "default", "medium", "aggressive"}));
  app.add_option("--program", o.programs, "MODEL or LAYOUT.csl; may be repeated")->allow_extra_args(false);
  app.add_option("--inputs", o.inputs, "npz with the inputs of the programs given here");
  app.add_option("--expect", o.check, "npz with their expected outputs; exit code 4 if a point differs");
  app.add_option("--params", o.params,
                 "NAME=A,B,C: a parameter of their LAYOUT.csl to sweep; may be repeated")
      ->allow_extra_args(false);
  app.add_option("--launch", o.launch, "exported functions that they launch");
  app.add_option("--fabric", o.fabric, "WxH: rectangle for them");
  app.add_option("--iterations", o.iterations, "samples per run (default: what the inputs hold)")
      ->check(CLI::Range(1, 1'000'000));
  app.add_option("-o,--output", o.out, "folder of the results; one that is there is gone on with")
      ->capture_default_str();
  app.add_option("-j,--threads", o.jobs, "points at a time; 0: one per core")->capture_default_str();
  app.add_option("--timeout", o.timeout, "seconds per tool run")->capture_default_str();
  app.add_option("--seed", o.seed, "accepted for uniformity; inputs that are not given have a fixed seed");
  app.add_flag("--json", o.json, "one JSON object on stdout: the rows");
  app.set_version_flag("--version", version_string("cs-sweep"));
}

std::optional<Sweep> read(const Options& o, Diag& diag) {
  auto sweep = o.file.empty() ? Sweep{} : read_sweep(o.file, diag);
  if (!sweep) return std::nullopt;
  if (!o.machines.empty()) sweep->machines = o.machines;
  if (!o.policies.empty()) sweep->policies = o.policies;
  if (o.iterations > 0) sweep->iterations = o.iterations;
  for (const std::string& set : o.set) add_axis(*sweep, set, diag);
  for (const std::string& program : o.programs) {
    ProgramRow row{
        .program = program, .inputs = o.inputs, .check = o.check, .launch = o.launch, .fabric = o.fabric};
    for (const std::string& param : o.params) {
      const size_t equals = std::min(param.find('='), param.size());
      if (equals + 1 >= param.size())
        diag.error_at("--params " + param, "must have the form NAME=A,B,C");
      else
        row.params.push_back({param.substr(0, equals), split_values(param.substr(equals + 1))});
    }
    sweep->programs.push_back(std::move(row));
  }
  if (!diag.ok() || !finish_sweep(*sweep, diag)) return std::nullopt;
  return sweep;
}

int run(const Options& o, cli::Reply& reply) {
  Diag diag;
  if (o.file.empty() && o.programs.empty()) throw cli::Usage{"give a sweep file or --program"};
  if (o.json) reply.use_json();
  const auto sweep = read(o, diag);
  std::optional<SweepSummary> summary;
  if (sweep) {
    const int jobs = o.jobs > 0 ? o.jobs : std::max(1, int(std::thread::hardware_concurrency()));
    summary = run_sweep(*sweep, {o.out, jobs, o.timeout, executable_folder(), &cli::interrupted()}, diag);
  }
  reply.show(diag);
  if (!summary) return kInputError;
  if (summary->stopped) {
    reply.error("interrupted; the same command goes on where it stopped");
    return kInterrupted;
  }
  if (o.json)
    reply.object(nlohmann::ordered_json{
        {"schema", "wafersmith-sweep/1"}, {"reused", summary->reused}, {"rows", summary->rows}}
                     .dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
  else
    reply.text(
        fmt::format("{} points, {} of them from an earlier run; {} not possible, {} differ\n{}/sweep.html\n",
                    summary->points, summary->reused, summary->failed, summary->differ, o.out));
  return summary->differ > 0 ? kDiffers : summary->failed > 0 ? kSimulatedFailure : kOk;
}

}  // namespace
}  // namespace cs::sweep

int main(int argc, char** argv) {
  cs::sweep::Options o;
  CLI::App app{
      "cs-sweep: run programs on many machines and compare the figures\n\n"
      "Every combination of machine, machine values, program, parameters and policy is compiled and "
      "simulated. OUT gets\n"
      "sweep.csv, sweep.json and sweep.html (a plot, offline). A sweep that was stopped goes on with the "
      "same command.\n\n"
      "Examples:\n"
      "  cs-sweep sweep.yaml -o results\n"
      "  cs-sweep --program mlp.onnx --set machine.router.hop_cycles=1,2,4 --policy disabled,medium\n"
      "  cs-sweep --program layout.csl --launch run --params P=4,8,16 --set "
      "machine.ramp.down_cycles=2,3,4\n\n"
      "Exit codes: 0 every point ran, 1 input error, 2 usage, 3 a point cannot be compiled or does not end "
      "(its row says\n"
      "why), 4 results differ, 70 internal error, 130 interrupted"};
  cs::sweep::add_options(app, o);
  cs::cli::Reply reply("cs-sweep");
  return cs::cli::run_tool(reply, app, argc, argv, cs::cli::Interrupt::asked,
                           [&] { return cs::sweep::run(o, reply); });
}
