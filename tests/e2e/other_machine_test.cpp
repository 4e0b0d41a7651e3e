// A Program carries its machine: it runs on that one, and on another one only if that is asked for and it
// fits.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/e2e/run_tool.h"

namespace cs::e2e {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class OtherMachine : public Scratch {
 protected:
  void SetUp() override {
    Scratch::SetUp();
    compile("p.csp", "4");
  }
  // A chain of 4 PEs, so that a slower hop shows.
  void compile(const std::string& out, const std::string& hop_cycles) {
    const ChildResult r =
        run("cs-compile", {kSource + "/tests/sim/chain_layout.csl", "--params=P:4,B:16,buffered:false",
                           "--set", "machine.router.hop_cycles=" + hop_cycles, "-o", path(out)});
    ASSERT_EQ(r.exit_code, 0) << r.err;
  }
  ChildResult simulate(const std::string& out, std::vector<std::string> more = {}) {
    std::vector<std::string> args{path(out), "--launch", "run", "--json"};
    args.insert(args.end(), more.begin(), more.end());
    return run("cs-sim", args);
  }
  int64_t cycles(const ChildResult& r) { return nlohmann::json::parse(r.out).at("cycles").get<int64_t>(); }
};

TEST_F(OtherMachine, WithoutFlagsTheProgramsOwnIsUsed) {
  compile("fast.csp", "1");
  const ChildResult slow = simulate("p.csp"), fast = simulate("fast.csp");
  ASSERT_EQ(slow.exit_code, 0) << slow.err;
  EXPECT_GT(cycles(slow), cycles(fast));
  EXPECT_THAT(slurp(path("p.csp/machine.yaml")), HasSubstr("hop_cycles: 4"));
  EXPECT_EQ(run("cs-objdump", {path("p.csp"), "--machine"}).out, slurp(path("p.csp/machine.yaml")));
  // The same machine under another name, or given as a file, is no other machine.
  EXPECT_EQ(simulate("p.csp", {"-m", path("p.csp/machine.yaml")}).exit_code, 0);
  EXPECT_EQ(simulate("p.csp", {"--set", "machine.router.hop_cycles=4"}).exit_code, 0);
}

TEST_F(OtherMachine, AnotherOneIsAnErrorThatNamesTheKeysWithBothValues) {
  const ChildResult r = simulate("p.csp", {"-m", "wse2", "--set", "machine.core.registers=8"});
  EXPECT_EQ(r.exit_code, 1);
  EXPECT_THAT(r.err,
              AllOf(HasSubstr("router.hop_cycles is 4 there and 1 here"),
                    HasSubstr("core.registers is 16 there and 8 here"), HasSubstr("--on-other-machine")));
}

TEST_F(OtherMachine, AskedForItRunsAsIfCompiledForThatMachine) {
  compile("fast.csp", "1");
  const ChildResult there = simulate("p.csp", {"-m", "wse2", "--on-other-machine"});
  ASSERT_EQ(there.exit_code, 0) << there.err;
  EXPECT_EQ(cycles(there), cycles(simulate("fast.csp")));
}

TEST_F(OtherMachine, WhatTheProgramUsesMustBeThere) {
  const auto error = [&](const std::string& set) {
    const ChildResult r = simulate("p.csp", {"--set", set, "--on-other-machine"});
    EXPECT_EQ(r.exit_code, 1) << set;
    return r.err;
  };
  EXPECT_THAT(error("machine.core.dsrs_per_file=4"),
              AllOf(HasSubstr("DSR"), HasSubstr("cannot run on this machine")));
  EXPECT_THAT(error("machine.core.memory_bytes=4200"), HasSubstr("a PE has 4200"));
  EXPECT_THAT(error("machine.queues.input_words=[2]"), HasSubstr("there are 1"));
}

}  // namespace
}  // namespace cs::e2e
