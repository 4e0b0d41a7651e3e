// The command line: what is nearly right is understood, defaults, what an error tells the user to do.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "runtime/support/rng.h"
#include "tests/e2e/run_tool.h"

namespace cs::e2e {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class CommandLine : public Scratch {
 protected:
  const std::string model_ = kSource + "/models/mnist_mlp/model.onnx";
  // Two functions of the host, one with arguments.
  std::string csl_program() {
    write("pe.csl",
          "param memcpy_params: comptime_struct;\n"
          "const sys = @import_module(\"<memcpy/memcpy>\", memcpy_params);\n"
          "fn start(n: i16) void { sys.unblock_cmd_stream(); }\nfn finish() void { sys.unblock_cmd_stream(); "
          "}\n"
          "comptime { @export_symbol(start); @export_symbol(finish); }\n");
    write("layout.csl",
          "const memcpy = @import_module(\"<memcpy/get_params>\", .{ .width = 1, .height = 1 });\n"
          "layout {\n  @set_rectangle(1, 1);\n"
          "  @set_tile_code(0, 0, \"pe.csl\", .{ .memcpy_params = memcpy.get_params(0) });\n"
          "  @export_name(\"start\", fn (i16) void);\n  @export_name(\"finish\", fn () void);\n}\n");
    EXPECT_EQ(run("cs-compile", {path("layout.csl"), "-q", "-o", path("k.csp")}).exit_code, 0);
    return path("k.csp");
  }
};

TEST_F(CommandLine, WhatIsNearlyRightIsNamed) {
  const std::string k = csl_program();
  const struct {
    const char* tool;
    std::vector<std::string> args;
    int code;
    const char* says;
  } cases[] = {
      {"cs-compile", {model_, "--autogen-polcy", "medium"}, 2, "did you mean '--autogen-policy'?"},
      {"cs-compile", {model_, "--autogen-polcy=medium"}, 2, "did you mean '--autogen-policy'?"},
      {"cs-compile", {model_, "--autogen-policy", "agressive"}, 2, "did you mean 'aggressive'?"},
      {"cs-compile", {model_, "--emit", "grph"}, 2, "did you mean 'graph'?"},
      {"cs-compile", {model_, "-m", "wse22", "-o", path("p.csp")}, 1, "did you mean 'wse2'?"},
      {"cs-compile",
       {model_, "--set", "machine.router.hop_cycle=2", "-o", path("p.csp")},
       1,
       "did you mean 'router.hop_cycles'?"},
      {"cs-compile", {model_, "--stop-after", "shaps"}, 2, "did you mean 'shapes'?"},
      {"cs-sim", {k, "--lunch", "start"}, 2, "did you mean '--launch'?"},
      {"cs-sim", {k, "--launch", "strat(1)"}, 1, "did you mean 'start'? it exports start, finish"},
      {"cs-sim", {k, "--allow", "deadlok"}, 2, "did you mean 'deadlock'?"},
      {"cs-sim", {k, "--trace", "crome=t.json"}, 2, "did you mean 'chrome'?"},
      {"cs-sim", {k, "--trace", "chrome=" + path("t.json"), "--trace-level", "ful"}, 2, "did you mean 'full'?"},
      {"cs-sim",
       {k, "--launch", "start(1)", "--trace", "perfetto=" + path("t.pftrace"), "--trace-region", "5000,0,1,1"},
       1,
       "lies outside the fabric"},
      {"cs-objdump", {k, "--memry"}, 2, "did you mean '--memory'?"},
      {"cs-regress", {"--golden", kSource, "--dtype", "fp61"}, 2, "did you mean 'fp16'?"},
      {"cslc", {path("layout.csl"), "--arch", "wse1"}, 2, "did you mean 'wse2'?"},
  };
  for (const auto& c : cases) {
    const ChildResult r = run(c.tool, c.args);
    EXPECT_EQ(r.exit_code, c.code) << c.says << "\n" << r.err;
    EXPECT_THAT(r.err, HasSubstr(c.says));
  }
  EXPECT_THAT(run("cs-compile", {model_, "--xyzzy"}).err, Not(HasSubstr("did you mean")));
}

TEST_F(CommandLine, AProgramThatWaitsForALaunchSaysWhatCanBeLaunched) {
  const ChildResult r = run("cs-sim", {csl_program()});
  EXPECT_EQ(r.exit_code, 1);
  EXPECT_THAT(r.err, HasSubstr("start(i16), finish"));
  EXPECT_THAT(r.out, Not(HasSubstr("cycles")));
  EXPECT_EQ(run("cs-sim", {path("k.csp"), "--launch", "start(3),finish"}).exit_code, 0);
}

TEST_F(CommandLine, TheOutputIsNamedAfterTheInputWhereTheUserIs) {
  const ChildResult r = run_child({"/bin/sh", "-c",
                                   "cd \"$1\" && \"$2/cs-compile\" \"$3\" -q && \"$2/cs-compile\" "
                                   "\"$3\" -q --emit csl",
                                   "sh", path("."), kBin, model_});
  ASSERT_EQ(r.exit_code, 0) << r.err;
  EXPECT_TRUE(std::filesystem::exists(path("model.csp/program.fb")));
  EXPECT_TRUE(std::filesystem::exists(path("model.csl/layout.csl")));
}

TEST_F(CommandLine, NothingThatToolsDidNotWriteIsReplaced) {
  std::filesystem::create_directories(path("mine"));
  write("mine/notes.txt", "keep me");
  for (const std::vector<std::string>& how : {std::vector<std::string>{}, {"--emit", "csl"}}) {
    std::vector<std::string> args{model_, "-q", "-o", path("mine")};
    args.insert(args.end(), how.begin(), how.end());
    const ChildResult r = run("cs-compile", args);
    EXPECT_EQ(r.exit_code, 1);
    EXPECT_THAT(r.err, HasSubstr("so it is not replaced"));
    EXPECT_EQ(slurp(path("mine/notes.txt")), "keep me");
  }
}

// script(1) gives a terminal. Colour and progress are for terminals only, and NO_COLOR (no-color.org) is
// heard.
TEST_F(CommandLine, ColourAndProgressAreForTerminals) {
  write("bad.yaml",
        "inputs:\n  - {name: x, type: \"f32[4]\"}\noutputs: [y]\nnodes:\n"
        "  - {name: y, op: leeky_relu, inputs: [x]}\n");
  const auto on_terminal = [&](const std::string& line) {
    return run_child({"/usr/bin/script", "-qec", line, "/dev/null"}, kPatience).out;
  };
  if (on_terminal("echo here").empty()) GTEST_SKIP() << "no pseudo-terminals here (/dev/pts is not mounted)";
  const std::string bad = "'" + kBin + "cs-compile' '" + path("bad.yaml") + "'";
  EXPECT_THAT(on_terminal(bad), HasSubstr("\033[1;31m"));
  EXPECT_THAT(on_terminal("NO_COLOR=1 " + bad), AllOf(HasSubstr("leeky_relu"), Not(HasSubstr("\033["))));
  EXPECT_THAT(run("cs-compile", {path("bad.yaml")}).err, Not(HasSubstr("\033")));

  ASSERT_EQ(run("cs-compile", {model_, "-q", "-o", path("net.csp")}).exit_code, 0);
  const std::string sim = "'" + kBin + "cs-sim' '" + path("net.csp") + "' --iterations 6000";
  EXPECT_THAT(on_terminal("timeout -s INT 20 " + sim),
              ::testing::ContainsRegex("\\[cs-sim\\] [0-9]+ %, [0-9:]+ (s|min) left.* cycles"));
  const ChildResult quiet = run_child(
      {"/usr/bin/timeout", "-s", "INT", "3", kBin + "cs-sim", path("net.csp"), "--iterations", "6000"},
      kPatience);
  EXPECT_EQ(quiet.err.find("%"), std::string::npos) << quiet.err;
}

// Who wonders about a long run asks it: the line comes once, wherever stderr goes, and the run goes on.
TEST_F(CommandLine, ASignalAsksHowFarItIs) {
  ASSERT_EQ(run("cs-compile", {model_, "-q", "-o", path("net.csp")}).exit_code, 0);
  // Asked once the tool listens (bit 9 of the caught signals is SIGUSR1): before that it would end.
  const std::string ask = "'" + kBin + "cs-sim' '" + path("net.csp") + R"(' --iterations 1000 -q &
pid=$!
while caught=$(sed -n 's/^SigCgt:\t//p' /proc/$pid/status) && [ $((0x$caught & 0x200)) -eq 0 ]; do sleep 0.01; done
kill -USR1 $pid
wait $pid
)";
  const ChildResult r = run_child({"/bin/bash", "-c", ask}, kPatience);
  EXPECT_EQ(r.exit_code, 0) << r.err;
  EXPECT_THAT(r.err, ::testing::ContainsRegex("^\\[cs-sim\\] [^\n]+\n$"));
}

// Strings that nobody would type: a usage error or an input error, never a crash.
TEST_F(CommandLine, AnyTextAsOptionEndsInAMessage) {
  const std::string k = csl_program();
  Rng rng(11);
  const std::string letters = "0123456789xX,:=.-+eE()[]{}'\"%$ \t\n/\\machine\xff";
  const std::vector<std::vector<std::string>> options = {{"cs-compile", model_, "--fabric"},
                                                         {"cs-compile", model_, "--rect"},
                                                         {"cs-compile", model_, "--dim"},
                                                         {"cs-compile", model_, "--set"},
                                                         {"cs-compile", path("layout.csl"), "--params"},
                                                         {"cs-sim", k, "--launch"},
                                                         {"cs-sim", k, "--trace-region"},
                                                         {"cs-sim", k, "--trace-window"},
                                                         {"cs-sim", k, "--block"},
                                                         {"cs-sim", k, "--set"},
                                                         {"cs-sim", k, "--trace"},
                                                         {"cs-objdump", k, "--tile"}};
  for (const auto& option : options)
    for (int i = 0; i < 12; ++i) {
      std::string text;
      for (uint64_t n = rng.next() % 12; n > 0; --n) text += letters[rng.next() % letters.size()];
      const ChildResult r = run(option[0], {option[1], option[2] + "=" + text, "--json", "-j", "1"});
      EXPECT_TRUE(r.exit_code >= 0 && r.exit_code <= 2)
          << option[0] << " " << option[2] << "=" << text << "\n"
          << r.err;
      EXPECT_TRUE(nlohmann::json::accept(r.out)) << option[0] << " " << option[2] << "=" << text << "\n"
                                                 << r.out;
    }
}

}  // namespace
}  // namespace cs::e2e
