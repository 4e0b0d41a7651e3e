// cs-sim --checkpoint and --restore as a user has them: a network, launches, limits; files that cannot be used.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/e2e/run_tool.h"

namespace cs::e2e {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

class SimulationCheckpoint : public Scratch {
 protected:
  // Figures that say how a simulation went, without those of the simulating computer.
  static json figures(const std::string& text) {
    json stats = json::parse(text);
    for (const char* key : {"simulator", "config", "timeline", "estimates"}) stats.erase(key);
    return stats;
  }
  ChildResult sim(const std::string& program, std::vector<std::string> args) const {
    args.insert(args.begin(), {path(program), "--json"});
    return run("cs-sim", args);
  }
  void compile(std::vector<std::string> args, const std::string& out) const {
    args.insert(args.end(), {"-o", path(out), "-q"});
    const ChildResult r = run("cs-compile", args);
    ASSERT_EQ(r.exit_code, 0) << r.err;
  }
  // The rest of a run from a checkpoint at each of these cycles, against the run as a whole.
  void expect_same(const std::string& program, const std::vector<std::string>& args,
                   const std::vector<uint64_t>& cycles) const {
    const auto with = [&](std::vector<std::string> more) {
      more.insert(more.end(), args.begin(), args.end());
      return more;
    };
    const ChildResult whole = sim(program, with({"--outputs", path("whole.npz")}));
    ASSERT_EQ(whole.exit_code, 0) << whole.err;
    for (const uint64_t cycle : cycles) {
      const std::string file = path("run.wsim");
      const ChildResult first = sim(program, with({"--checkpoint", file + "@" + std::to_string(cycle)}));
      ASSERT_EQ(first.exit_code, 0) << first.err;
      EXPECT_EQ(figures(first.out), figures(whole.out)) << cycle;
      const ChildResult rest =
          sim(program, with({"--restore", file, "--block", "3x2", "-j", "2", "--outputs", path("rest.npz")}));
      ASSERT_EQ(rest.exit_code, 0) << rest.err;
      EXPECT_EQ(figures(rest.out), figures(whole.out)) << cycle;
      EXPECT_EQ(slurp(path("rest.npz")), slurp(path("whole.npz"))) << cycle;
    }
  }
};

TEST_F(SimulationCheckpoint, a_network_goes_on) {
  compile({kSource + "/models/mnist_mlp/model.onnx", "-m", "wse2", "--no-baselines", "--no-advice"}, "mlp.csp");
  expect_same("mlp.csp", {"--inputs", kSource + "/models/mnist_mlp/inputs_0.npz"}, {1, 700, 3210});
}

TEST_F(SimulationCheckpoint, launches_go_on) {
  compile({kSource + "/tests/sim/chain_layout.csl", "--params=P:16,B:64,buffered:false"}, "chain.csp");
  expect_same("chain.csp", {"--launch", "run"}, {1, 50, 140});
}

// Stopped by a limit, gone on with, stopped again, gone on with to the end.
TEST_F(SimulationCheckpoint, limits_leave_a_checkpoint) {
  compile({kSource + "/models/mnist_mlp/model.onnx", "-m", "wse2", "--no-baselines", "--no-advice"}, "mlp.csp");
  const std::string inputs = kSource + "/models/mnist_mlp/inputs_0.npz", a = path("a.wsim"), b = path("b.wsim");
  const ChildResult whole = sim("mlp.csp", {"--inputs", inputs});
  const ChildResult first = sim("mlp.csp", {"--inputs", inputs, "--max-cycles", "2000", "--checkpoint", a});
  EXPECT_EQ(first.exit_code, 3);
  EXPECT_THAT(first.err, HasSubstr("of cycle 2000"));
  const ChildResult second =
      sim("mlp.csp", {"--inputs", inputs, "--restore", a, "--max-cycles", "3500", "--checkpoint", b, "--block", "1x1"});
  EXPECT_EQ(second.exit_code, 3);
  const ChildResult third = sim("mlp.csp", {"--inputs", inputs, "--restore", b});
  ASSERT_EQ(third.exit_code, 0) << third.err;
  EXPECT_EQ(figures(third.out), figures(whole.out));
}

TEST_F(SimulationCheckpoint, every_so_many_cycles_over_the_one_before) {
  compile({kSource + "/models/mnist_mlp/model.onnx", "-m", "wse2", "--no-baselines", "--no-advice"}, "mlp.csp");
  const std::string inputs = kSource + "/models/mnist_mlp/inputs_0.npz", file = path("a.wsim");
  const ChildResult whole = sim("mlp.csp", {"--inputs", inputs, "--checkpoint", file, "--checkpoint-every", "1000"});
  ASSERT_EQ(whole.exit_code, 0) << whole.err;
  EXPECT_THAT(whole.err, HasSubstr("000\n"));
  const ChildResult rest = sim("mlp.csp", {"--inputs", inputs, "--restore", file});
  EXPECT_EQ(figures(rest.out), figures(whole.out));
}

TEST_F(SimulationCheckpoint, what_cannot_be_used_says_why) {
  compile({kSource + "/tests/sim/chain_layout.csl", "--params=P:16,B:64,buffered:false"}, "chain.csp");
  compile({kSource + "/tests/sim/chain_layout.csl", "--params=P:16,B:65,buffered:false"}, "other.csp");
  const std::string file = path("run.wsim");
  ASSERT_EQ(sim("chain.csp", {"--launch", "run", "--checkpoint", file + "@100"}).exit_code, 0);
  const auto refused = [&](const std::string& program, const std::vector<std::string>& args, const std::string& why) {
    const ChildResult r = sim(program, args);
    EXPECT_EQ(r.exit_code, 1) << r.out;
    EXPECT_THAT(r.out, HasSubstr(why));
  };
  refused("other.csp", {"--launch", "run", "--restore", file}, "is a checkpoint of");
  refused("chain.csp", {"--launch", "run", "--restore", path("none")}, "cannot read the checkpoint");
  refused("chain.csp", {"--launch", "run", "--restore", path(".")}, "cannot read the checkpoint");
  refused("chain.csp", {"--restore", file}, "is of a run that did something else");
  refused("chain.csp",
          {"--launch", "run", "--restore", file, "--set", "machine.router.hop_cycles=2", "--on-other-machine"},
          "another machine");
  const std::string bytes = slurp(file);
  write("run.wsim", bytes.substr(0, bytes.size() / 2));
  refused("chain.csp", {"--launch", "run", "--restore", file}, "is damaged or cut short");
  EXPECT_EQ(sim("chain.csp", {"--launch", "run", "--checkpoint-every", "10"}).exit_code, 2);
  EXPECT_EQ(sim("chain.csp", {"--launch", "run", "--checkpoint", file, "--checkpoint-every", "soon"}).exit_code, 2);
  EXPECT_EQ(sim("chain.csp", {"--serve", "--restore", file}).exit_code, 2);
}

// The run goes on when a checkpoint cannot be written, and its end says so.
TEST_F(SimulationCheckpoint, a_full_disk_loses_the_checkpoint_only) {
  compile({kSource + "/tests/sim/chain_layout.csl", "--params=P:16,B:64,buffered:false"}, "chain.csp");
  const ChildResult r = sim("chain.csp", {"--launch", "run", "--checkpoint", "/dev/full@100"});
  EXPECT_EQ(r.exit_code, 1);
  EXPECT_THAT(r.out + r.err, HasSubstr("No space left"));
  EXPECT_GT(json::parse(r.out).value("cycles", 0), 0);
}

}  // namespace
}  // namespace cs::e2e
