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

// Two copies of the network take samples twice as fast; of layers of eight steps as kernels, what was joined to them
// computes at the same time, apart. Each gains what it says when its command is run.
TEST_F(Advice, GainsWhatItSays) {
  const std::string network = "rnn_both_directions";
  const std::string model = kSource + "/tests/networks/" + network + "/model.onnx";
  ASSERT_EQ(run("cs-compile", {model, "-q", "-o", path("p.csp")}).exit_code, 0);
  const Json s = stats(path("p.csp"), network, {"--report", path("report")});
  ASSERT_TRUE(s.is_object() && !s.at("advice").empty()) << s.dump();
  EXPECT_NE(s.at("advice")[0].at("command").get<std::string>().find("--copies 2"), std::string::npos);
  EXPECT_NEAR(s.at("advice")[0].at("gain").get<double>(), 0.5, 0.05);
  for (const Json& advice : s.at("advice")) {
    EXPECT_GE(advice.at("gain").get<double>(), 0.05);
    EXPECT_EQ(advice.at("this"), s.at("interval_cycles"));
    EXPECT_NEAR(advice.at("gain").get<double>(),
                1 - advice.at("advised").get<double>() / advice.at("this").get<double>(), 1e-12);
    std::vector<std::string> command = words(advice.at("command"));
    ASSERT_GE(command.size(), 4u);
    EXPECT_EQ(command[0], "cs-compile");
    EXPECT_EQ(command[command.size() - 2], "-o");
    command.back() = path("faster.csp");
    ASSERT_EQ(run("cs-compile", {command.begin() + 1, command.end()}).exit_code, 0);
    EXPECT_EQ(stats(path("faster.csp"), network, {"--iterations", "8"}).at("interval_cycles"), advice.at("advised"));
    EXPECT_NE(slurp(path("report/report.html")).find(advice.at("command").get<std::string>()), std::string::npos);
  }
}

// Two copies may become four, which have an interval from 16 samples on. They do not help where the host's network sets
// the interval: 64 words of 4 bytes at 0.085 GB/s and 850 MHz are 2,560 cycles, more than the kernel takes.
TEST_F(Advice, OfCopiesGoesOnUntilTheHostBindsThem) {
  const std::string model = write("m.yaml", "inputs:\n  - {name: x, type: \"f32[1, 64]\"}\nnodes:\n"
                                            "  - {name: y, op: softmax, inputs: [x]}\noutputs: [y]\n");
  const auto advice = [&](std::vector<std::string> options) {
    options.insert(options.begin(), {model, "-q", "-o", path("p.csp")});
    EXPECT_EQ(run("cs-compile", options).exit_code, 0);
    const ChildResult r = run("cs-sim", {path("p.csp"), "--report", path("report"), "--json"});
    EXPECT_EQ(r.exit_code, 0) << r.err;
    const Json all = Json::parse(r.out, nullptr, false);
    for (const Json& row : all.at("advice"))
      if (row.at("command").get<std::string>().find("--copies") != std::string::npos) return row;
    return Json();
  };
  const Json four = advice({"--copies", "2"});
  ASSERT_TRUE(four.is_object());
  EXPECT_NE(four.at("command").get<std::string>().find("--copies 4"), std::string::npos);
  EXPECT_NEAR(four.at("gain").get<double>(), 0.5, 0.01);
  EXPECT_TRUE(advice({"--set", "machine.host.system_gb_per_s=0.085"}).is_null());
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
