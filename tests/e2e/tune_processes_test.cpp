// The processes that measure: what becomes of those that misbehave, and of all of them when the tool ends.
#include <gmock/gmock.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <chrono>
#include <functional>
#include <thread>

#include "tests/e2e/tune.h"

extern char** environ;

namespace cs::e2e {
namespace {

// One does not end and hears the first signal, one does not hear it, one dies, one eats memory: each is
// named, and what comes behind them is measured as ever.
TEST_F(Tune, CandidatesThatMisbehaveAreNamedAndReplaced) {
  const Environment faults(kFaults, "2:endless,5:deaf,6:crash,8:memory");
  const Tuned t = tune(chain(), {"--autotune", "max", "--rect", "1x8", "--without", "regions",
                                 "--autotune-workers", "2", "--autotune-memory", "400M",
                                 "--autotune-soft-timeout", "5", "--autotune-hard-timeout", "15"});
  ASSERT_EQ(t.exit_code, 0) << t.err;
  for (const char* status : {"slow", "killed", "crashed", "memory"})
    EXPECT_EQ(t.count("status", status), 1u) << status;
  EXPECT_GE(t.count("status", "ok"), 4u);
  for (const json& line : t.log) {
    const double seconds = line.at("wall_ms").get<double>() / 1000;
    if (line.at("status") == "slow") {
      EXPECT_GE(seconds, 5);
    }
    if (line.at("status") == "killed") {
      EXPECT_GE(seconds, 15);
    }
  }
  EXPECT_EQ(t.report.at("tuning").at("repeatable"), false);
  EXPECT_GT(interval("t.csp"), 0);
}

// Processes whose environment has this, but for ourselves.
int processes_with(const std::string& mark) {
  int count = 0;
  std::error_code ec;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", ec)) {
    std::ifstream in(entry.path() / "environ", std::ios::binary);
    std::stringstream text;
    text << in.rdbuf();
    count += text.str().find(mark) != std::string::npos ? 1 : 0;
  }
  return count;
}

class TuneSignals : public Tune {
 protected:
  // Starts a compilation all of whose candidates after the first are deaf, and waits until one of them runs.
  pid_t start(const std::string& mark) {
    std::string faults;
    for (int i = 2; i < 200; ++i) faults += (i > 2 ? "," : "") + std::to_string(i) + ":deaf";
    const Environment misbehave(kFaults, faults);
    const Environment marked("WAFERSMITH_TEST_MARK", mark);
    std::vector<std::string> words = {kBin + "cs-compile",
                                      two_products(),
                                      "--no-advice",
                                      "--no-baselines",
                                      "-q",
                                      "--autotune",
                                      "max",
                                      "--autotune-workers",
                                      "2",
                                      "--autotune-log",
                                      path("log.jsonl"),
                                      "-o",
                                      path("t.csp")};
    std::vector<char*> argv;
    for (std::string& w : words) argv.push_back(w.data());
    argv.push_back(nullptr);
    pid_t pid = 0;
    EXPECT_EQ(posix_spawn(&pid, argv[0], nullptr, nullptr, argv.data(), environ), 0);
    wait_for([&] { return processes_with(mark) >= 3; });
    return pid;
  }
  static void wait_for(const std::function<bool()>& what) {
    const auto begin = std::chrono::steady_clock::now();
    while (!what() && std::chrono::steady_clock::now() - begin < std::chrono::seconds(60))
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_TRUE(what());
  }
};

TEST_F(TuneSignals, CtrlCKeepsTheBestAndLeavesNoChild) {
  const std::string mark = path("mark");
  const pid_t pid = start(mark);
  kill(pid, SIGINT);
  int status = 0;
  ASSERT_EQ(waitpid(pid, &status, 0), pid);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 130);
  EXPECT_EQ(processes_with(mark), 0);
  EXPECT_GE(read_log(path("log.jsonl")).size(), 1u);
  const json report = json::parse(slurp(path("t.csp/compile_report.json")));
  EXPECT_EQ(report.at("tuning").at("cut_short"), true);
  EXPECT_GT(interval("t.csp"), 0);
}

TEST_F(TuneSignals, NoChildOutlivesItsParent) {
  const std::string mark = path("mark");
  const pid_t pid = start(mark);
  kill(pid, SIGKILL);
  ASSERT_EQ(waitpid(pid, nullptr, 0), pid);
  wait_for([&] { return processes_with(mark) == 0; });
  read_log(path("log.jsonl"));
}

}  // namespace
}  // namespace cs::e2e
