// Sweeps: what a point is, what its row says, and that a sweep that was killed gives the same table when it
// is run again.
#include <gmock/gmock.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/e2e/run_tool.h"

extern char** environ;

namespace cs::e2e {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class Sweep : public Scratch {
 protected:
  // Three values of a key, three policies, one network.
  std::vector<std::string> three_by_three(const std::string& out) const {
    const std::string model = kSource + "/models/mnist_mlp/";
    return {"--program", model + "model.onnx",
            "--inputs",  model + "inputs_0.npz",
            "--expect",  model + "expected_0.npz",
            "--set",     "machine.router.hop_cycles=1,2,4",
            "--policy",  "disabled,medium,aggressive",
            "-j",        "1",
            "-o",        path(out)};
  }
  static size_t lines(const std::string& file) {
    const std::string text = slurp(file);
    return size_t(std::count(text.begin(), text.end(), '\n'));
  }
  // Starts a sweep in a process group of its own and kills all of it when so many points are finished.
  void kill_after(const std::vector<std::string>& args, const std::string& journal, size_t points) {
    std::vector<std::string> words{kBin + "cs-sweep"};
    words.insert(words.end(), args.begin(), args.end());
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    pid_t pid = 0;
    ASSERT_EQ(posix_spawn(&pid, argv[0], nullptr, &attributes, argv.data(), environ), 0);
    posix_spawnattr_destroy(&attributes);
    for (int i = 0; i < 60'000 && lines(journal) < points; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    kill(-pid, SIGKILL);
    int status = 0;
    waitpid(pid, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status)) << "it ended before it was killed";
  }
};

TEST_F(Sweep, KilledAndRunAgainGivesTheSameTable) {
  const ChildResult whole = run("cs-sweep", three_by_three("whole"));
  ASSERT_EQ(whole.exit_code, 0) << whole.err;
  const std::string table = slurp(path("whole/sweep.csv"));
  EXPECT_EQ(lines(path("whole/sweep.csv")), 10u);

  kill_after(three_by_three("killed"), path("killed/points.jsonl"), 3);
  const size_t before = lines(path("killed/points.jsonl"));
  EXPECT_GE(before, 3u);
  EXPECT_FALSE(std::filesystem::exists(path("killed/sweep.csv")));
  std::ofstream(path("killed/points.jsonl"), std::ios::app)
      << "{\"key\": \"half a li";  // as a full disk leaves it

  std::vector<std::string> again = three_by_three("killed");
  again.push_back("--json");
  const ChildResult resumed = run("cs-sweep", again);
  ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_EQ(slurp(path("killed/sweep.csv")), table);
  const auto json = nlohmann::json::parse(resumed.out);
  EXPECT_EQ(json.at("reused").get<size_t>(), before);
  EXPECT_EQ(lines(path("killed/points.jsonl")), 9u);
  EXPECT_FALSE(std::filesystem::exists(path("killed/work")));

  // Slower hops never make a network faster; figures are there.
  std::map<std::string, std::vector<double>> cycles;
  for (const auto& row : json.at("rows")) {
    EXPECT_EQ(row.at("outcome"), "ok");
    EXPECT_GT(row.at("energy_uj").get<double>(), 0);
    cycles[row.at("policy")].push_back(row.at("cycles").get<double>());
  }
  for (const auto& [policy, values] : cycles)
    EXPECT_TRUE(std::is_sorted(values.begin(), values.end())) << policy;
  EXPECT_THAT(slurp(path("killed/sweep.html")),
              AllOf(HasSubstr("router.hop_cycles"), HasSubstr("<svg id=\"plot\"")));
}

// A file, parameters of a layout, and a point that no machine of the sweep can hold: its row says why.
TEST_F(Sweep, APointThatIsNotPossibleIsARowWithItsReason) {
  const std::string file =
      write("s.yaml",
            "machine: [wse2, wse3]\nset:\n  core.memory_bytes: [4400, 49152]\nprograms:\n"
            "  - {name: chain, program: " +
                kSource +
                "/tests/sim/chain_layout.csl, launch: run,\n"
                "     params: {P: 2, B: [4, 256], buffered: false}}\n");
  const ChildResult r = run("cs-sweep", {file, "-o", path("out"), "--json", "-j", "2"});
  EXPECT_EQ(r.exit_code, 3) << r.err;
  const auto rows = nlohmann::json::parse(r.out).at("rows");
  ASSERT_EQ(rows.size(), 8u);
  EXPECT_EQ(rows[0].at("params.B"), 4);
  EXPECT_EQ(rows[0].at("machine"), "wse2");
  for (const auto& row : rows) {
    const bool fits = row.at("core.memory_bytes") == 49152;
    EXPECT_EQ(row.at("outcome"), fits ? "ok" : "refused") << row;
    EXPECT_EQ(row.contains("cycles"), fits);
    if (!fits) {
      EXPECT_THAT(row.at("error").get<std::string>(), HasSubstr("4400"));
    }
  }
}

TEST_F(Sweep, WhatCannotBeSweptIsSaidBeforeAnythingRuns) {
  const std::string model = kSource + "/models/mnist_mlp/model.onnx";
  const auto error = [&](std::vector<std::string> args, int code) {
    args.insert(args.end(), {"-o", path("out")});
    const ChildResult r = run("cs-sweep", args);
    EXPECT_EQ(r.exit_code, code) << r.err;
    return r.err;
  };
  EXPECT_THAT(error({"--program", model, "--set", "machine.router.hop_cycle=1,2"}, 1),
              HasSubstr("did you mean"));
  EXPECT_THAT(error({"--program", model, "--set", "machine.core.memory_bytes=131072"}, 1),
              HasSubstr("an address has 16 bits"));
  EXPECT_THAT(error({"--program", path("none.onnx")}, 1), HasSubstr("no such file"));
  EXPECT_THAT(error({"--set", "machine.router.hop_cycles=1,2"}, 2), HasSubstr("--program"));
  EXPECT_FALSE(std::filesystem::exists(path("out")));
  std::filesystem::create_directories(path("out"));
  write("out/thesis.txt", "years of work");
  EXPECT_THAT(error({"--program", model}, 1), HasSubstr("is no folder of a sweep"));
}

}  // namespace
}  // namespace cs::e2e
