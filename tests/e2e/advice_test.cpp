// Advice: what the report recommends was simulated, and its command does what it says.
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/e2e/run_tool.h"

namespace cs::e2e {
namespace {

using Json = nlohmann::json;

class Advice : public Scratch {
 protected:
  Json stats(const std::string& program, const std::string& network, std::vector<std::string> more) {
    const std::string folder = kSource + "/tests/networks/" + network + "/";
    std::vector<std::string> args{program, "--inputs", folder + "inputs_0.npz", "--expect", folder + "expected_0.npz",
                                  "--json"};
    args.insert(args.end(), more.begin(), more.end());
    const ChildResult r = run("cs-sim", args);
    EXPECT_EQ(r.exit_code, 0) << r.err;
    return Json::parse(r.out, nullptr, false);
  }
  // Of a command for a shell: blanks between single quotes belong to a word.
  static std::vector<std::string> words(const std::string& line) {
    std::vector<std::string> list(1);
    bool quoted = false;
    for (char c : line) {
      if (c == '\'') {
        quoted = !quoted;
      } else if (c == ' ' && !quoted) {
        list.emplace_back();
      } else {
        list.back() += c;
      }
    }
    return list;
  }
};

// Layers of eight steps as kernels: what was joined to them computes at the same time, apart.
TEST_F(Advice, GainsWhatItSays) {
  const std::string network = "rnn_both_directions";
  const std::string model = kSource + "/tests/networks/" + network + "/model.onnx";
  ASSERT_EQ(run("cs-compile", {model, "-q", "-o", path("p.csp")}).exit_code, 0);
  const Json s = stats(path("p.csp"), network, {"--report", path("report")});
  ASSERT_TRUE(s.is_object() && !s.at("advice").empty()) << s.dump();
  const Json advice = s.at("advice")[0];
  EXPECT_GE(advice.at("gain").get<double>(), 0.05);
  EXPECT_EQ(advice.at("this"), s.at("interval_cycles"));
  EXPECT_NEAR(advice.at("gain").get<double>(), 1 - advice.at("advised").get<double>() / advice.at("this").get<double>(),
              1e-12);
  std::vector<std::string> command = words(advice.at("command"));
  ASSERT_GE(command.size(), 4u);
  EXPECT_EQ(command[0], "cs-compile");
  EXPECT_EQ(command[command.size() - 2], "-o");
  command.back() = path("faster.csp");
  ASSERT_EQ(run("cs-compile", {command.begin() + 1, command.end()}).exit_code, 0);
  EXPECT_EQ(stats(path("faster.csp"), network, {"--iterations", "8"}).at("interval_cycles"), advice.at("advised"));
  EXPECT_NE(slurp(path("report/report.html")).find(advice.at("command").get<std::string>()), std::string::npos);
}

// Results are kept by content: a second report runs nothing again, and what was kept is believed.
TEST_F(Advice, IsSimulatedOnce) {
  const std::string model = kSource + "/tests/networks/rnn/model.onnx";
  ASSERT_EQ(run("cs-compile", {model, "-q", "-o", path("p.csp")}).exit_code, 0);
  const Json first = stats(path("p.csp"), "rnn", {"--report", path("report")});
  Json kept = Json::parse(slurp(path("p.csp/advice/results.json")), nullptr, false);
  // Those that gain nothing too.
  ASSERT_GE(kept.size(), first.at("advice").size());
  for (auto& row : kept) row["interval_cycles"] = 1.0;
  std::ofstream(path("p.csp/advice/results.json")) << kept.dump();
  const Json second = stats(path("p.csp"), "rnn", {"--report", path("report")});
  EXPECT_EQ(second.at("advice").size(), kept.size());
  EXPECT_EQ(second.at("advice")[0].at("advised"), 1.0);
}

TEST_F(Advice, IsNotWrittenWhereItIsNotWanted) {
  const std::string model = kSource + "/tests/networks/rnn/model.onnx";
  for (const char* flag : {"--no-advice", "--no-baselines"}) {
    ASSERT_EQ(run("cs-compile", {model, "-q", "-o", path("p.csp"), flag}).exit_code, 0);
    EXPECT_FALSE(std::filesystem::exists(path("p.csp/advice"))) << flag;
  }
  const Json s = stats(path("p.csp"), "rnn", {"--report", path("report")});
  EXPECT_TRUE(s.at("advice").empty());
}

TEST_F(Advice, OnlyPassesThatJoinOperatorsCanBeLeftOut) {
  const std::string model = kSource + "/tests/networks/rnn/model.onnx";
  EXPECT_EQ(run("cs-compile", {model, "-o", path("p.csp"), "--without", "map"}).exit_code, 2);
  EXPECT_EQ(run("cs-compile", {model, "-o", path("p.csp"), "--without", "maps"}).exit_code, 2);
  EXPECT_EQ(run("cs-compile", {model, "-o", path("p.csp"), "--pace", "2"}).exit_code, 2);
  EXPECT_FALSE(std::filesystem::exists(path("p.csp")));
}

}  // namespace
}  // namespace cs::e2e
