// Several copies of a network: values of one, the interval divided by their number, in every form and report.
#include <gmock/gmock.h>

#include <cmath>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>

#include "runtime/host/npz.h"
#include "tests/e2e/run_tool.h"

namespace cs::e2e {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

NamedArray rows(const std::string& name, int64_t samples, int64_t columns,
                const std::function<double(int64_t)>& value) {
  NamedArray a{name, ops::Tensor({DataType::f32, {samples, columns}})};
  for (int64_t i = 0; i < a.tensor.elements(); ++i) a.tensor.set(i, value(i));
  return a;
}

// Nodes that make m of 64 words x and a matrix w of 64 columns.
std::string product(const std::string& nodes) {
  std::string values = "0.01";
  for (int i = 1; i < 64 * 64; ++i) values += ", 0.01";
  return "inputs:\n  - {name: x, type: \"f32[1, 64]\"}\nconstants:\n  - {name: w, type: \"f32[64, 64]\", value: [" +
         values + "]}\nnodes:\n" + nodes + "outputs: [m]\n";
}

class Copies : public Scratch {
 protected:
  static std::string forms(const std::string& name) { return kSource + "/tests/golden/forms/inputs/" + name; }

  std::string npz(const std::string& name, const std::vector<NamedArray>& arrays) const {
    Diag diag;
    EXPECT_TRUE(write_npz(path(name), arrays, diag)) << diag.to_string();
    return path(name);
  }
  ChildResult compile(const std::string& model, int copies, std::vector<std::string> more = {}) const {
    return compile(model, std::to_string(copies), std::move(more));
  }
  ChildResult compile(const std::string& model, const std::string& copies, std::vector<std::string> more) const {
    more.insert(more.begin(), {model, "--copies", copies, "--no-baselines", "--no-advice", "-q"});
    if (std::find(more.begin(), more.end(), "-o") == more.end()) more.insert(more.end(), {"-o", path("p.csp")});
    return run("cs-compile", more);
  }
  // The same values for 1, 2, 3 and 5 copies, more samples than copies or fewer, on both machines.
  void expect_values(const std::string& model, const std::vector<std::string>& options, const std::string& inputs,
                     const std::string& expected) const {
    for (const std::string machine : {"wse2", "wse3"})
      for (const int copies : {1, 2, 3, 5}) {
        std::vector<std::string> more = options;
        more.insert(more.end(), {"-m", machine});
        const ChildResult made = compile(model, copies, more);
        ASSERT_EQ(made.exit_code, 0) << made.err;
        for (const int samples : {1, 2, 4, 7, 16}) {
          const ChildResult r = run("cs-sim", {path("p.csp"), "-q", "--inputs", inputs, "--expect", expected,
                                               "--iterations", std::to_string(samples)});
          EXPECT_EQ(r.exit_code, 0) << copies << " copies, " << samples << " samples, " << machine << r.err;
        }
      }
  }
};

// y = sigmoid(x) * z + relu(x) of 16 samples; x and z have both signs.
TEST_F(Copies, WaysThatMeetAgain) {
  const auto x = [](int64_t i) { return 0.25 * double(i % 23) - 2.5; };
  const auto z = [](int64_t i) { return 1.0 - 0.125 * double(i % 17); };
  const auto y = [&](int64_t i) { return z(i) / (1 + std::exp(-x(i))) + std::max(0.0, x(i)); };
  expect_values(forms("join.yaml"), {}, npz("in.npz", {rows("x", 16, 6, x), rows("z", 16, 6, z)}),
                npz("out.npz", {rows("y", 16, 6, y)}));
}

// x u = (x0 + 4 x1, 2 x0 + 5 x1, 3 x0 + 6 x1); t = tanh of it on the host; y = (t1 - t0, t1 - t2).
TEST_F(Copies, AnOperatorOnTheHost) {
  const auto x = [](int64_t i) { return 0.03 * double(i % 7) - 0.02 * double(i % 3); };
  const auto y = [&](int64_t i) {
    const double a = x(i / 2 * 2), b = x(i / 2 * 2 + 1);
    return std::tanh(2 * a + 5 * b) - std::tanh(i % 2 == 0 ? a + 4 * b : 3 * a + 6 * b);
  };
  expect_values(forms("host.yaml"), {"--autogen-policy", "disabled", "--host-ops", "allow"},
                npz("in.npz", {rows("x", 16, 2, x)}), npz("out.npz", {rows("y", 16, 2, y)}));
}

// h = W x + b with the rows (1 2 3 4), (5 6 7 8), (9 10 11 12) and b = (0.5, -0.5, 0.25); y = relu(h); s = h - y.
TEST_F(Copies, SeveralResults) {
  const std::string model =
      write("m.yaml", "inputs:\n  - {name: x, type: \"f32[1, 4]\", sample_dim: 0}\nconstants:\n"
                      "  - {name: w, type: \"f32[3, 4]\", value: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]}\n"
                      "  - {name: b, type: \"f32[3]\", value: [0.5, -0.5, 0.25]}\nnodes:\n"
                      "  - {name: h, op: gemm, inputs: [x, w, b], attrs: {trans_b: 1}}\n"
                      "  - {name: y, op: relu, inputs: [h]}\n  - {name: s, op: sub, inputs: [h, y]}\n"
                      "outputs: [h, s, y]\n");
  const auto x = [](int64_t i) { return 0.5 * double(i % 11) - 2.5; };
  const auto h = [&](int64_t i) {
    const double bias[] = {0.5, -0.5, 0.25};
    double sum = bias[i % 3];
    for (int64_t k = 0; k < 4; ++k) sum += double(i % 3 * 4 + k + 1) * x(i / 3 * 4 + k);
    return sum;
  };
  const auto y = [&](int64_t i) { return std::max(0.0, h(i)); };
  const auto s = [&](int64_t i) { return std::min(0.0, h(i)); };
  expect_values(model, {}, npz("in.npz", {rows("x", 16, 4, x)}),
                npz("out.npz", {rows("h", 16, 3, h), rows("s", 16, 3, s), rows("y", 16, 3, y)}));
}

// Three results over a batch of samples, two of them of all samples together; PyTorch's and numpy's values.
TEST_F(Copies, ResultsOfTheWholeBatch) {
  const std::string folder = kSource + "/tests/models/forms/batch_softmax/";
  for (const int copies : {2, 3}) {
    const ChildResult made = compile(folder + "model.onnx", copies, {"--host-ops", "allow"});
    ASSERT_EQ(made.exit_code, 0) << made.err;
    const ChildResult r = run("cs-sim", {path("p.csp"), "-q", "--inputs", folder + "inputs_0.npz", "--expect",
                                         folder + "expected_0.npz"});
    EXPECT_EQ(r.exit_code, 0) << copies << r.err;
  }
}

TEST_F(Copies, ASymbolicBatch) {
  const std::string folder = kSource + "/tests/models/forms/mlp_batch_norm/";
  expect_values(folder + "model.onnx", {}, folder + "inputs_0.npz", folder + "expected_0.npz");
}

// A product of 64 x 64 on one PE: 4,096 multiplications of a word each, at one a cycle, and at most a tenth of that
// for taking 64 words and giving 64. Two copies take half, 5 a fifth, of what one does.
TEST_F(Copies, TheIntervalIsThatOfOneDividedByTheirNumber) {
  const std::string model = write("m.yaml", product("  - {name: m, op: gemm, inputs: [x, w]}\n"));
  double one = 0;
  for (const int copies : {1, 2, 5}) {
    ASSERT_EQ(compile(model, copies, {"--rect", "1x1"}).exit_code, 0);
    const ChildResult r = run("cs-sim", {path("p.csp"), "--json", "--iterations", std::to_string(4 * copies)});
    ASSERT_EQ(r.exit_code, 0) << r.err;
    const json stats = json::parse(r.out);
    const double interval = stats.at("interval_cycles");
    if (copies == 1) one = interval;
    EXPECT_GE(one, 4096);
    EXPECT_LE(one, 1.1 * 4096);
    EXPECT_NEAR(interval, one / copies, 0.005 * one / copies);
    EXPECT_EQ(stats.at("copies"), copies);
    EXPECT_EQ(stats.at("pes_used"), copies);
    const json estimate = json::parse(slurp(path("p.csp/compile_report.json"))).at("estimate");
    EXPECT_NEAR(estimate.at("interval_cycles").get<double>(), interval, 0.15 * interval);
    // 64 words of 4 bytes at 150 GB/s and 850 MHz.
    EXPECT_NEAR(estimate.at("host_cycles").get<double>(), 64 * 4 / 150e9 * 850e6, 1e-9);
  }
}

// Ports whose rate is no whole number of cycles keep it all the same.
TEST_F(Copies, ARateOfFiveWordsInSixCyclesIsKept) {
  const std::string model = write("m.yaml",
                                  "inputs:\n  - {name: x, type: \"f32[1, 600]\"}\nnodes:\n"
                                  "  - {name: y, op: relu, inputs: [x]}\noutputs: [y]\n");
  // 4 bytes * 5 / 6 a cycle at 850 MHz: one word in 1.2 cycles.
  const std::vector<std::string> options{"--rect", "1x1", "--set", "machine.host.system_gb_per_s=2.8333333333333335"};
  ASSERT_EQ(compile(model, 1, options).exit_code, 0);
  const ChildResult r = run("cs-sim", {path("p.csp"), "--json", "--iterations", "16"});
  ASSERT_EQ(r.exit_code, 0) << r.err;
  EXPECT_NEAR(json::parse(r.out).at("interval_cycles").get<double>(), 600 * 1.2, 0.01 * 600 * 1.2);
}

// However many copies there are: 64 words a sample at 0.85 GB/s are 256 cycles at 850 MHz.
TEST_F(Copies, TheHostsNetworkIsSharedByAll) {
  const std::string model = write("m.yaml",
                                  "inputs:\n  - {name: x, type: \"f32[1, 64]\"}\nnodes:\n"
                                  "  - {name: y, op: relu, inputs: [x]}\noutputs: [y]\n");
  for (const int copies : {1, 4}) {
    ASSERT_EQ(compile(model, copies, {"--set", "machine.host.system_gb_per_s=0.85"}).exit_code, 0);
    const ChildResult r = run("cs-sim", {path("p.csp"), "--json", "--iterations", "16"});
    ASSERT_EQ(r.exit_code, 0) << r.err;
    EXPECT_NEAR(json::parse(r.out).at("interval_cycles").get<double>(), 256, 1) << copies;
    const json estimate = json::parse(slurp(path("p.csp/compile_report.json"))).at("estimate");
    EXPECT_NEAR(estimate.at("host_cycles").get<double>(), 256, 0.01);
    if (copies > 1) {
      EXPECT_NEAR(estimate.at("interval_cycles").get<double>(), 256, 0.01);
    }
  }
}

// 64 words at 8.5 GB/s and 850 MHz are 25.6 cycles a sample; one PE takes 64 for them and some for itself, 3 times as
// many at most. So 3 to 8 copies are nearly as fast as the host, and one fewer is not.
TEST_F(Copies, AutoMakesAsManyAsTheHostCanFeed) {
  const std::string model = write("m.yaml",
                                  "inputs:\n  - {name: x, type: \"f32[1, 64]\"}\nnodes:\n"
                                  "  - {name: y, op: relu, inputs: [x]}\noutputs: [y]\n");
  const std::vector<std::string> slow_host{"--set", "machine.host.system_gb_per_s=8.5"};
  ASSERT_EQ(compile(model, "auto", slow_host).exit_code, 0);
  const ChildResult r = run("cs-sim", {path("p.csp"), "--json", "--iterations", "64"});
  ASSERT_EQ(r.exit_code, 0) << r.err;
  const json stats = json::parse(r.out);
  const int copies = stats.at("copies");
  EXPECT_GE(copies, 3);
  EXPECT_LE(copies, 8);
  EXPECT_GE(stats.at("interval_cycles").get<double>(), 25.6);
  EXPECT_LE(stats.at("interval_cycles").get<double>(), 1.1 * 25.6);
  ASSERT_EQ(compile(model, std::to_string(copies - 1), slow_host).exit_code, 0);
  const ChildResult fewer = run("cs-sim", {path("p.csp"), "--json", "--iterations", "64"});
  EXPECT_GT(json::parse(fewer.out).at("interval_cycles").get<double>(), 1.1 * 25.6);
}

// Two kernels on a PE each: two networks on four PEs. The plan says so, and reads back to the same Program.
TEST_F(Copies, AutoMakesAsManyAsTheFabricHolds) {
  const std::vector<std::string> small{"--fabric", "4x1"};
  ASSERT_EQ(compile(forms("join.yaml"), "auto", small).exit_code, 0);
  EXPECT_THAT(slurp(path("p.csp/manifest.json")), HasSubstr("\"copies\": \"2\""));
  ASSERT_EQ(run("cs-compile", {forms("join.yaml"), "--copies", "auto", "--fabric", "4x1", "--emit", "plan", "-q", "-o",
                               path("plan.yaml")})
                .exit_code,
            0);
  ASSERT_EQ(run("cs-compile", {"--start-from", path("plan.yaml"), "--fabric", "4x1", "--no-baselines", "-q", "-o",
                               path("again.csp")})
                .exit_code,
            0);
  EXPECT_EQ(slurp(path("again.csp/program.fb")), slurp(path("p.csp/program.fb")));
  // One has room, two have not.
  ASSERT_EQ(compile(forms("join.yaml"), "auto", {"--fabric", "3x1"}).exit_code, 0);
  EXPECT_THAT(slurp(path("p.csp/manifest.json")), Not(HasSubstr("copies")));
}

TEST_F(Copies, EveryFormReadsBack) {
  const std::string model = forms("join.yaml");
  ASSERT_EQ(compile(model, 1, {"-o", path("one.csp")}).exit_code, 0);
  ASSERT_EQ(compile(model, 3).exit_code, 0);
  const std::string program = slurp(path("p.csp/program.fb"));
  // Constants are there once.
  EXPECT_EQ(slurp(path("p.csp/weights.bin")), slurp(path("one.csp/weights.bin")));
  EXPECT_THAT(slurp(path("p.csp/manifest.json")), HasSubstr("\"copies\": \"3\""));
  // Graph half: the plan says how many.
  ASSERT_EQ(run("cs-compile", {model, "--copies", "3", "--emit", "plan", "-q", "-o", path("plan.yaml")}).exit_code, 0);
  EXPECT_THAT(slurp(path("plan.yaml")), HasSubstr("copies: 3}"));
  const std::vector<std::string> from_plan{"--start-from", path("plan.yaml"), "--no-baselines", "-q", "-o",
                                           path("again.csp")};
  ASSERT_EQ(run("cs-compile", from_plan).exit_code, 0);
  EXPECT_EQ(slurp(path("again.csp/program.fb")), program);
  // CSL, and the Program's text.
  ASSERT_EQ(run("cs-compile", {model, "--copies", "3", "--emit", "csl", "-q", "-o", path("csl")}).exit_code, 0);
  ASSERT_EQ(run("cs-compile", {path("csl/layout.csl"), "--host", path("csl/host.yaml"), "-q", "-o", path("layout.csp")})
                .exit_code,
            0);
  EXPECT_EQ(slurp(path("layout.csp/program.fb")), program);
  const ChildResult text = run("cs-objdump", {path("p.csp"), "--text"});
  ASSERT_EQ(text.exit_code, 0) << text.err;
  const ChildResult back = run("cs-compile", {write("p.csptext", text.out), "--emit", "asm", "-q"});
  ASSERT_EQ(back.exit_code, 0) << back.err;
  EXPECT_EQ(back.out, text.out);
}

// a is done with 64 words long before m, a product of 64 x 64 on one PE, is with one sample: m sets the interval. The
// path stays in a copy, and so in every second sample.
TEST_F(Copies, TheReportKnowsThem) {
  const std::string model = write(
      "m.yaml", product("  - {name: a, op: relu, inputs: [x]}\n  - {name: m, op: gemm, inputs: [a, w]}\n"));
  ASSERT_EQ(compile(model, 2, {"--rect", "1x1", "--autogen-policy", "disabled"}).exit_code, 0);
  const ChildResult r = run("cs-sim", {path("p.csp"), "--report", path("report")});
  ASSERT_EQ(r.exit_code, 0) << r.err;
  EXPECT_THAT(r.out, HasSubstr("8 samples, 2 copies, 4 PEs"));
  const json stats = json::parse(slurp(path("report/stats.json")));
  const json& set_by = stats.at("set_by");
  EXPECT_EQ(set_by.at("steady"), true);
  EXPECT_EQ(set_by.at("shares")[0].at("kernel"), "m_copy1");
  EXPECT_GT(set_by.at("shares")[0].at("share").get<double>(), 0.9);
  // From the end of sample 4 to that of sample 8.
  EXPECT_EQ(set_by.at("end").get<double>() - set_by.at("begin").get<double>(),
            4 * stats.at("interval_cycles").get<double>());
  for (const json& step : stats.at("critical_path")) EXPECT_EQ(step.at("sample").get<int>() % 2, 1) << step.dump();
  // Kernels of both copies, each with the cycles of one sample.
  std::map<std::string, json> kernels;
  for (const json& k : stats.at("kernels")) kernels[k.at("name")] = k;
  ASSERT_EQ(kernels.size(), 4u);
  for (const std::string name : {"a", "m"}) {
    EXPECT_EQ(kernels.at(name).at("copy"), 0);
    EXPECT_EQ(kernels.at(name + "_copy1").at("copy"), 1);
    EXPECT_GT(kernels.at(name).at("cycles").get<double>(), 60);
    EXPECT_EQ(kernels.at(name + "_copy1").at("cycles"), kernels.at(name).at("cycles"));
  }
  EXPECT_EQ(stats.at("ops")[1].at("kernels"), json::array({"m", "m_copy1"}));
  // Against one network, with as many samples as two copies need.
  ASSERT_EQ(compile(model, 1, {"--rect", "1x1", "--autogen-policy", "disabled", "-o", path("one.csp")}).exit_code, 0);
  const ChildResult against =
      run("cs-sim", {path("one.csp"), "--report", path("against"), "--against", path("p.csp"), "--json"});
  ASSERT_EQ(against.exit_code, 0) << against.err;
  std::map<std::string, double> ratio;
  const json compared = json::parse(against.out);
  for (const json& row : compared.at("against")) ratio[row.at("name")] = row.at("ratio");
  EXPECT_NEAR(ratio.at("interval_cycles"), 2, 0.01);
}

// One sample and three copies: two of them have none, and no cycles.
TEST_F(Copies, ACopyWithoutASampleHasNoCycles) {
  ASSERT_EQ(compile(forms("join.yaml"), 3).exit_code, 0);
  const ChildResult r = run("cs-sim", {path("p.csp"), "--json", "--iterations", "1"});
  ASSERT_EQ(r.exit_code, 0) << r.err;
  const json stats = json::parse(r.out);
  for (const json& k : stats.at("kernels")) EXPECT_EQ(k.at("cycles").is_number(), k.at("copy") == 0);
}

// 16 ports at an edge: more than 16 copies of a network that takes two streams and gives one have room only on a
// ring, 5 or 4 at each edge; 32 need all ports. Three rounds of samples and a part of one; values as in
// WaysThatMeetAgain.
TEST_F(Copies, ARingOfThemHasAllPortsOfAllEdges) {
  const auto x = [](int64_t i) { return 0.25 * double(i % 23) - 2.5; };
  const auto z = [](int64_t i) { return 1.0 - 0.125 * double(i % 17); };
  const auto y = [&](int64_t i) { return z(i) / (1 + std::exp(-x(i))) + std::max(0.0, x(i)); };
  const std::string inputs = npz("in.npz", {rows("x", 107, 6, x), rows("z", 107, 6, z)});
  const std::string expected = npz("out.npz", {rows("y", 107, 6, y)});
  for (const int copies : {17, 19, 32}) {
    ASSERT_EQ(compile(forms("join.yaml"), copies, {"-m", "small"}).exit_code, 0);
    const ChildResult r = run("cs-sim", {path("p.csp"), "--json", "--inputs", inputs, "--expect", expected});
    ASSERT_EQ(r.exit_code, 0) << copies << r.err;
    const json stats = json::parse(r.out);
    EXPECT_EQ(stats.at("copies"), copies);
    EXPECT_GE(stats.at("kernels").size(), 2 * size_t(copies));
    const std::string text = run("cs-objdump", {path("p.csp"), "--text"}).out;
    std::map<std::string, int> edges;
    for (const std::string edge : {"north", "south", "west", "east"})
      for (size_t at = 0; (at = text.find("side: " + edge, at)) != std::string::npos; ++at) ++edges[edge];
    EXPECT_EQ(edges.size(), 4U);
    for (const auto& [edge, ports] : edges) EXPECT_LE(ports, 3 * (copies + 3) / 4) << edge;
  }
}

TEST_F(Copies, AreNotSilentlyIgnoredOrTooMany) {
  const std::string resident = forms("resident.yaml"), join = forms("join.yaml");
  const ChildResult launched = compile(resident, 2, {"--operands", "resident"});
  EXPECT_EQ(launched.exit_code, 2);
  EXPECT_THAT(launched.err, HasSubstr("--copies is for networks whose operands"));
  EXPECT_EQ(compile(resident, 1, {"--operands", "resident"}).exit_code, 0);
  EXPECT_EQ(compile(join, 0).exit_code, 2);
  EXPECT_EQ(compile(join, 129).exit_code, 2);
  const ChildResult tuned = compile(join, "auto", {"--autotune", "default"});
  EXPECT_EQ(tuned.exit_code, 2);
  EXPECT_THAT(tuned.err, HasSubstr("--autotune is for one network"));
  const ChildResult word = compile(join, "many", {});
  EXPECT_EQ(word.exit_code, 2);
  EXPECT_THAT(word.err, HasSubstr("'many' is neither auto nor a number from 1 to 128"));
  EXPECT_EQ(compile("layout.csl", 2).exit_code, 2);
  // Two kernels, on a PE each.
  const ChildResult narrow = compile(join, 4, {"--fabric", "4x1"});
  EXPECT_EQ(narrow.exit_code, 1);
  EXPECT_THAT(narrow.err, HasSubstr("4 copies have no room: each has 1 x 1 of the 4 x 1 PEs of the fabric, and join: "
                                    "needs at least 2 PEs for 2 kernels, a fabric of 1 x 1 has 1 (1 too few)"));
  EXPECT_THAT(narrow.err, HasSubstr("use --copies 2, which was found to fit"));
  const ChildResult ports = compile(join, 33, {"-m", "small"});
  EXPECT_EQ(ports.exit_code, 1);
  EXPECT_THAT(ports.err, HasSubstr("there are 16 ports at an edge"));
  // What does not fit once is said as ever.
  const ChildResult none = compile(join, 2, {"--fabric", "1x1"});
  EXPECT_EQ(none.exit_code, 1);
  EXPECT_THAT(none.err, ::testing::Not(HasSubstr("copies")));
}

}  // namespace
}  // namespace cs::e2e
