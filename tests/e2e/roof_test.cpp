// The roof of a network, calculated by hand, and its efficiency against the whole wafer.
#include <nlohmann/json.hpp>

#include "tests/e2e/run_tool.h"

namespace cs::e2e {
namespace {

class Roof : public Scratch {};

// 784-20-20-20-20-20-20-10, f32, on the 750 x 994 PEs of WSE-2 at 850 MHz:
//   operations  2 (784 20 + 5 20 20 + 20 10) = 35,760 at 2 a cycle, and at most 4 for each of the 120 + 10 biases
//               and LeakyReLUs
//   memory      18,010 weights and biases, 16 bytes a cycle
//   host        784 words in (10 out) at 150 GB/s: 3136 / (150e9 / 850e6) = 17.771 cycles
TEST_F(Roof, OfTheDigitClassifierIsItsInput) {
  const std::string model = kSource + "/models/mnist_mlp/";
  ASSERT_EQ(run("cs-compile", {model + "model.onnx", "-o", path("p.csp"), "--no-baselines"}).exit_code, 0);
  const std::string inputs = model + "inputs_4.npz";
  const ChildResult r = run("cs-sim", {path("p.csp"), "--inputs", inputs, "--iterations", "8", "--json"});
  const auto stats = nlohmann::json::parse(r.out, nullptr, false);
  ASSERT_TRUE(stats.is_object()) << r.out << r.err;
  const auto& roof = stats.at("roof");
  const double pes = 750 * 994;
  EXPECT_GE(roof.at("operations").get<double>(), 35760 / 2.0 / pes);
  EXPECT_LE(roof.at("operations").get<double>(), (35760 + 4 * 130) / 2.0 / pes);
  EXPECT_NEAR(roof.at("memory").get<double>(), 18010 * 4 / 16.0 / pes, 1e-5);
  EXPECT_NEAR(roof.at("host").get<double>(), 3136 / (150e9 / 850e6), 1e-3);
  EXPECT_EQ(stats.at("roof_cycles"), roof.at("host"));
  EXPECT_NEAR(stats.at("efficiency").get<double>(),
              stats.at("roof_cycles").get<double>() / stats.at("interval_cycles").get<double>(), 1e-9);
}

}  // namespace
}  // namespace cs::e2e
