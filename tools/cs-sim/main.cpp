// cs-sim: runs a compiled Program on the simulated wafer.
#include <signal.h>
#include <sys/prctl.h>

#include <algorithm>
#include <charconv>

#include "runtime/support/files.h"
#include "tools/cli/interrupt.h"
#include "tools/cs-sim/ranks.h"
#include "tools/cs-sim/serve.h"
#include "tools/cs-sim/simulate.h"
#include "tools/cs-sim/structural_run.h"

namespace cs {
namespace {

const std::vector<std::string> kFaults = {"out-of-bounds",  "uninitialised-read",  "colour-conflict",
                                          "queue-conflict", "leftover-wavelets",   "deadlock",
                                          "timeout",        "illegal-instruction", "unimplemented"};
const std::vector<std::string> kAllowable = {"out-of-bounds",  "uninitialised-read", "colour-conflict",
                                             "queue-conflict", "leftover-wavelets",  "deadlock",
                                             "timeout"};

bool contains(const std::vector<std::string>& list, const std::string& word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

bool parse_block(SimOptions& o) {
  const size_t x = o.block.find('x');
  if (x == std::string::npos) return false;
  const auto number = [](std::string_view text, int& value) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size() && value >= 1 && value <= 4096;
  };
  return number(std::string_view(o.block).substr(0, x), o.block_width) &&
         number(std::string_view(o.block).substr(x + 1), o.block_height);
}

// What is wrong with the options beyond their syntax; empty if nothing.
std::string usage_problem(SimOptions& o) {
  if (o.model != "engine" && o.model != "structural")
    return "--model: unknown model '" + o.model + "'" + cli::did_you_mean(o.model, {"engine", "structural"});
  if (o.model == "structural")
    if (const std::string beyond = beyond_the_structural_model(o); !beyond.empty()) return beyond;
  if (!o.data.empty() && !o.inputs.empty())
    return "--data and --inputs are both what goes in: a program that trains takes --data";
  if (o.serve &&
      (!o.launch.empty() || !o.inputs.empty() || !o.outputs.empty() || !o.against.empty() || o.json))
    return "--serve takes its data from the process that started it: no --launch, --inputs, --outputs, "
           "--against or --json";
  if (o.serve && (!o.checkpoint.empty() || !o.restore.empty()))
    return "--serve: the process that drives the run is no part of a checkpoint: no --checkpoint or --restore";
  if (const std::string beyond = beyond_ranks(o); !beyond.empty()) return beyond;
  if (!parse_block(o)) return "--block must be WxH with numbers from 1 to 4096, got '" + o.block + "'";
  for (const std::string& fault : o.allow) {
    if (!contains(kFaults, fault)) {
      return "--allow: unknown fault '" + fault + "'" + cli::did_you_mean(fault, kFaults);
    }
    if (!contains(kAllowable, fault))
      return "--allow " + fault + ": a program cannot go on after this fault";
  }
  return "";
}

void add_options(CLI::App& app, SimOptions& o) {
  app.add_option("OUT", o.program, "folder of the compiled program")->required();
  app.add_option("--inputs", o.inputs, "npz with the inputs; without it seeded random ones")->group("Data");
  app.add_option("--input-offset", o.input_offsets,
                 "NAME=BYTES: the array of this input begins so many bytes behind an aligned address of the host")
      ->delimiter(',')
      ->group("Data");
  app.add_option("--expect", o.expect, "npz with expected outputs; exit code 4 if they differ")
      ->group("Data");
  app.add_option("--outputs", o.outputs, "write the outputs here (npz)")->group("Data");
  app.add_option("--iterations", o.iterations,
                 "samples to run; inputs are used again from the start (default: what the "
                 "inputs hold, 8 with --report)")
      ->check(CLI::Range(1, 1'000'000))
      ->group("Data");
  app.add_option(
         "--data", o.data,
         "npz for a program that trains or evaluates: step i takes slice i of every array, again from the start when\n"
         "they are used up; arrays are [steps, ...] or [steps * batch, ...]")
      ->group("Training");
  app.add_option("--eval-data", o.eval_data,
                 "npz for a program of mode train_and_eval: after the last step all slices are evaluated; without "
                 "--data nothing is trained")
      ->group("Training");
  app.add_option("--eval-every", o.eval_every, "evaluate after every so many steps too")
      ->check(CLI::Range(1, 1'000'000))
      ->needs("--eval-data")
      ->group("Training");
  app.add_option("--state-in", o.state_in,
                 "npz with weights and optimizer state to go on from (default: as compiled)")
      ->group("Training");
  app.add_option("--state-out", o.state_out, "write weights and optimizer state after the last step (npz)")
      ->group("Training");
  app.add_option("--launch", o.launch,
                 "exported functions to launch, in order, for programs without a host part; `init,run(1,2.5)`")
      ->allow_extra_args(false)
      ->group("Data");
  app.add_option("--seed", o.seed, "of random inputs")->capture_default_str()->group("Data");
  app.add_option("--against", o.against,
                 "run this program too, with the same inputs, and compare all figures")
      ->group("Results");
  app.add_option("--report", o.report,
                 "write run.json, config.yaml, stats.json and report.html into this folder")
      ->group("Results");
  app.add_flag(
         "--no-waits", o.no_waits,
         "--report: leave out who waits for whom, the critical path, and cycles by line and function, which "
         "take time and one thread")
      ->group("Results");
  app.add_flag("--json", o.json, "print stats.json to stdout, talk to stderr")->group("Results");
  app.add_flag("-q,--quiet", o.quiet, "one line instead of a summary, no progress")->group("Results");
  app.add_option("--state", o.state,
                 "write what is inside of PEs when the run ends, by a deadlock or fault too: operations, queues,\n"
                 "tasks, registers, variables; JSON if the name ends in .json")
      ->group("Results");
  app.add_option("--state-region", o.state_region,
                 "X,Y,W,H: of these PEs (default: those with something begun and not ended, at most 64)")
      ->group("Results");
  app.add_option("--print", o.print, "File for the lines that PEs print with <simprint>; default stderr");
  app.add_option("--trace", o.traces,
                 "KIND=FILE, KIND chrome (.json or .json.gz), perfetto, simlog or vcd; may be repeated")
      ->allow_extra_args(false)
      ->group("Trace");
  app.add_option("--trace-region", o.trace_region, "X,Y,W,H: only these PEs")->group("Trace");
  app.add_option("--trace-window", o.trace_window, "A:B: only these cycles")->group("Trace");
  app.add_option("--trace-level", o.trace_level,
                 "of chrome and perfetto: coarse (tasks, launches, host), normal (also operations, switches and\n"
                 "counters of queues), full (also stalls and wavelets)")
      ->capture_default_str()
      ->group("Trace");
  app.add_option("--trace-kinds", o.trace_kinds,
                 "instead of a level: tasks, operations, stalls, wavelets, switches, queues, launches, host")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->group("Trace");
  app.add_option("--trace-bytes", o.trace_bytes, "bytes of a trace at most, before compression; K, M, G")
      ->capture_default_str()
      ->group("Trace");
  app.add_option("--trace-events", o.trace_events, "events of a trace at most (default: no limit)")
      ->group("Trace");
  app.add_flag("--child", o.child)->group("");
  app.add_option("--max-cycles", o.max_cycles, "stop with the fault timeout (default: no limit)")
      ->group("Simulation");
  app.add_option("--max-seconds", o.max_seconds, "the same, by this computer's clock")->group("Simulation");
  app.add_option("--block", o.block, "PEs stepped together, WxH; no influence on results")
      ->capture_default_str()
      ->group("Simulation");
  app.add_option("-j,--threads", o.threads, "no influence on results")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str()
      ->group("Simulation");
  app.add_option("--ranks", o.ranks,
                 "auto: the processes that mpirun has started simulate the fabric together, each a strip of its rows;\n"
                 "mpi: they must; off: every process runs alone. No influence on results. Not with --trace, --serve,\n"
                 "--model structural, or --report without --no-waits")
      ->check(cli::one_of({"auto", "mpi", "off"}))
      ->capture_default_str()
      ->group("Simulation");
  app.add_option("-m,--machine", o.machine,
                 "machine description (default: the one that the program carries); an error if it differs")
      ->group("Simulation");
  app.add_option("--set", o.set,
                 "machine.KEY=VALUE, for example machine.router.hop_cycles=2; may be repeated; an error if it differs")
      ->allow_extra_args(false)
      ->group("Simulation");
  app.add_flag("--on-other-machine", o.on_other_machine,
               "run on the machine of -m and --set although the program was compiled for another one; the\n"
               "program is verified against it first")
      ->group("Simulation");
  app.add_option("--allow", o.allow,
                 "let this fault pass: out-of-bounds, uninitialised-read, colour-conflict, queue-conflict,\n"
                 "leftover-wavelets, deadlock, timeout; counted and recorded")
      ->allow_extra_args(false)
      ->group("Simulation");
  app.add_option("--model", o.model,
                 "engine, or structural: a SystemC module for every router, link, queue and core, at most 4096 PEs,\n"
                 "slow; same values and cycles, --trace vcd=FILE has every signal, no reports")
      ->capture_default_str()
      ->group("Simulation");
  app.add_option("--checkpoint", o.checkpoint,
                 "FILE[@CYCLE]: write the simulation to this file, to go on with it later: at this cycle, or wherever\n"
                 "the run is stopped (Ctrl-C, --max-cycles, --max-seconds)")
      ->group("Simulation");
  app.add_option("--checkpoint-every", o.checkpoint_every,
                 "N or Ns: write it every so many cycles or seconds as well, over the one before")
      ->needs("--checkpoint")
      ->group("Simulation");
  app.add_option("--restore", o.restore,
                 "go on with the simulation of this file, with the same program and inputs; --block and --threads may\n"
                 "be others")
      ->group("Simulation");
  app.add_option("--mmap-weights", o.mmap_weights,
                 "map weights.bin instead of reading it, so that only what PEs at work need is in memory: on, off, or\n"
                 "auto, from a megabyte on")
      ->check(cli::one_of({"auto", "on", "off"}))
      ->capture_default_str()
      ->group("Simulation");
  app.add_flag("--serve", o.serve,
               "be the device of another process: frames on stdin and stdout until stdin closes")
      ->group("Simulation");
  app.add_option("--misbehave", o.misbehave, "of tests")
      ->check(CLI::IsMember({"endless", "deaf", "crash", "memory"}))
      ->group("");
  app.set_version_flag("--version", version_string("cs-sim"));
}

}  // namespace
}  // namespace cs

int main(int argc, char** argv) {
  cs::SimOptions o;
  CLI::App app{
      "cs-sim: run a compiled program on a simulated wafer\n\n"
      "Examples:\n"
      "  cs-sim net.csp --inputs in.npz --expect out.npz        values and figures\n"
      "  cs-sim net.csp --report report --against other.csp     eight samples, report/report.html\n"
      "  cs-sim net.csp --trace chrome=t.json.gz --trace-region 4,1,8,8 --trace-window 0:5000\n"
      "  cs-sim step.csp --data digits.npz --iterations 200 --state-out trained.npz    200 steps of "
      "training\n"
      "  cs-sim kernel.csp --launch run --outputs out.npz       a CSL program without a host part\n"
      "  cs-sim kernel.csp --launch run --model structural --trace vcd=run.vcd     every signal of a small fabric\n"
      "  cs-sim net.csp --checkpoint net.wsim --max-seconds 3600      an hour of it; the rest, on any computer:\n"
      "  cs-sim net.csp --restore net.wsim\n"
      "  mpirun -n 2 cs-sim net.csp                             the same, by two processes (Open MPI)\n"
      "  cs-sim net.csp --set machine.router.hop_cycles=4 --on-other-machine\n"
      "                                                         the same code on slower links\n\n"
      "Exit codes: 0 ok, 1 input error, 2 usage, 3 the simulated program failed, 4 results differ, 70 "
      "internal error,\n"
      "130 interrupted"};
  cs::add_options(app, o);
  std::string command = "cs-sim";
  cs::be_silent_but_as_rank_0({argv + 1, argv + argc});
  for (int i = 1; i < argc; ++i) command += std::string(" ") + argv[i];
  cs::cli::Reply reply("cs-sim");
  return cs::cli::run_tool(reply, app, argc, argv, cs::cli::Interrupt::asked, [&] {
    if (const std::string problem = cs::usage_problem(o); !problem.empty()) throw cs::cli::Usage{problem};
    // A run that another cs-sim waits for ends with it, however that ends.
    if (o.child) prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (o.model == "structural") return cs::simulate_structurally(o, reply);
    if (o.serve) return cs::serve(o, cs::cli::interrupted());
    if (!cs::runs_in_ranks(o)) return cs::simulate(o, command, reply);
    return cs::simulate_in_ranks(o, reply, [&](cs::sim::Ranks& ranks) {
      o.with = &ranks;
      return cs::simulate(o, command, reply);
    });
  });
}
