// Operators whose operands or results no PE holds, on PEs with little memory: they are cut over several PEs,
// and compute what the host's evaluation (policy disabled, whole PEs) computes.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/e2e/run_tool.h"

namespace cs::e2e {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

struct Case {
  std::string name, input;  // input: type of x
  std::string nodes;        // the last one makes y
  std::string constants = {};
  int weights = 0;  // numbers in the weights file
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

std::string node(const std::string& op, const std::string& inputs, const std::string& attrs = "") {
  return "  - {name: y, op: " + op + ", inputs: [" + inputs + "]" +
         (attrs.empty() ? "" : ", attrs: {" + attrs + "}") + "}\n";
}

class LargerThanAPe : public Scratch, public ::testing::WithParamInterface<Case> {
 protected:
  std::string model(const Case& c) {
    std::string bytes;
    uint32_t state = 1;
    for (int i = 0; i < c.weights; ++i) {
      state = state * 1664525 + 1013904223;
      const float w = float(int32_t(state >> 8) - (1 << 23)) / float(1 << 24);
      bytes.append(reinterpret_cast<const char*>(&w), sizeof w);
    }
    if (c.weights > 0) write("w.bin", bytes);
    return write("m.yaml", std::string(c.weights > 0 ? "weights: w.bin\n" : "") +
                               "inputs:\n  - {name: x, type: \"" + c.input + "\"}\n" +
                               (c.constants.empty() ? "" : "constants:\n" + c.constants) + "nodes:\n" +
                               c.nodes + "outputs: [{name: y}]\n");
  }
};

TEST_P(LargerThanAPe, IsCutOverSeveralAndRight) {
  const std::string file = model(GetParam());
  ASSERT_EQ(
      run("cs-compile", {file, "--autogen-policy", "disabled", "--no-baselines", "-o", path("host.csp")})
          .exit_code,
      0);
  const ChildResult want =
      run("cs-sim", {path("host.csp"), "--iterations", "2", "--outputs", path("want.npz"), "-q"});
  ASSERT_EQ(want.exit_code, 0) << want.err;
  for (const std::string machine : {"wse2", "wse3"}) {
    const ChildResult made =
        run("cs-compile", {file, "-m", machine, "--set", "machine.core.memory_bytes=8192", "--no-baselines",
                           "-o", path("p.csp"), "--json"});
    ASSERT_EQ(made.exit_code, 0) << made.err;
    EXPECT_THAT(made.err, Not(HasSubstr("on the host")));
    const ChildResult r =
        run("cs-sim", {path("p.csp"), "--iterations", "2", "--expect", path("want.npz"), "--json"});
    ASSERT_EQ(r.exit_code, 0) << machine << r.err;
    const nlohmann::json stats = nlohmann::json::parse(r.out);
    for (const nlohmann::json& k : stats.at("kernels")) EXPECT_NE(k.at("origin"), "host") << k.dump();
  }
}

std::string matrix(const std::string& name, const std::string& type, int offset = 0) {
  return "  - {name: " + name + ", type: \"" + type + "\", offset: " + std::to_string(offset) + "}\n";
}

// A PE has 2,048 words, of which code takes some 500. Extents with and without divisors (3,001 is prime).
const Case kCases[] = {
    {"reduce_min_of_everything", "f32[64, 100]", node("reduce_min", "x", "keepdims: 0")},
    {"reduce_sum_axis_0", "f32[3000, 3]", node("reduce_sum", "x", "axes: [0], keepdims: 0")},
    {"reduce_max_axes_0_and_2", "f32[40, 3, 60]", node("reduce_max", "x", "axes: [0, 2]")},
    {"reduce_mean_of_a_prime_extent", "f32[3001, 2]", node("reduce_mean", "x", "axes: [0]")},
    {"reduce_l2", "f32[3001, 2]", node("reduce_l2", "x", "axes: [0]")},
    {"reduce_log_sum_exp", "f32[3001, 2]", node("reduce_log_sum_exp", "x", "axes: [0]")},
    {"arg_max_of_a_prime_extent", "f32[3001]", node("arg_max", "x")},
    {"arg_min_axis_0", "f32[3000, 2]", node("arg_min", "x", "axis: 0, keepdims: 0")},
    // Values 0 and 1 only: the place of the last 1.
    {"arg_max_last_index", "f32[3001]",
     "  - {name: s, op: sign, inputs: [x]}\n" + node("arg_max", "s", "select_last_index: 1")},
    {"top_k", "f32[3001]", node("top_k", "x", "k: 5")},
    {"top_k_smallest_of_rows", "f32[2, 3000]", node("top_k", "x", "k: 7, largest: 0")},
    {"cum_sum", "f32[5000]", node("cum_sum", "x", "axis: 0")},
    {"cum_sum_reverse_exclusive", "f32[5003]", node("cum_sum", "x", "axis: 0, reverse: 1, exclusive: 1")},
    {"softmax", "f32[2, 3000]", node("softmax", "x")},
    // The largest and the sum are needed more often than one instruction repeats them (32,767 times).
    {"softmax_of_33000", "f32[1, 33000]", node("softmax", "x")},
    {"softmax_at_the_limit", "f32[2, 300]", node("softmax", "x")},
    {"log_softmax", "f32[2, 3001]", node("log_softmax", "x")},
    {"layer_norm", "f32[2, 3000]", node("layer_norm", "x, a, b"),
     matrix("a", "f32[3000]") + matrix("b", "f32[3000]", 12000), 6000},
    {"rms_norm", "f32[2, 3000]", node("rms_norm", "x, a"), matrix("a", "f32[3000]"), 3000},
    {"convolution_of_many_channels", "f32[1, 64, 7, 7]",
     node("conv", "x, w, b", "kernel_shape: [3, 3], pads: [1, 1, 1, 1]"),
     matrix("w", "f32[32, 64, 3, 3]") + matrix("b", "f32[32]", 4 * 32 * 64 * 9), 32 * 64 * 9 + 32},
    {"convolution_in_groups", "f32[1, 96, 7, 7]", node("conv", "x, w", "kernel_shape: [3, 3], group: 2"),
     matrix("w", "f32[8, 48, 3, 3]"), 8 * 48 * 9},
    {"max_pool", "f32[1, 8, 32, 32]", node("max_pool", "x", "kernel_shape: [3, 3], strides: [2, 2]")},
    {"max_pool_gradient", "f32[1, 8, 1023]",
     "  - {name: p, op: max_pool, inputs: [x], attrs: {kernel_shape: [3], strides: [2]}}\n" +
         node("max_pool_gradient", "x, p", "kernel_shape: [3], strides: [2]")},
    {"max_pool_gradient_of_large_windows", "f32[1, 4, 24, 24]",
     "  - {name: p, op: max_pool, inputs: [x], attrs: {kernel_shape: [5, 5], pads: [2, 2, 2, 2]}}\n" +
         node("max_pool_gradient", "x, p", "kernel_shape: [5, 5], pads: [2, 2, 2, 2]")},
    {"concat", "f32[3000]", node("concat", "x, x", "axis: 0")},
    {"product_of_two_streams", "f32[2, 3, 3000]",
     "  - {name: t, op: transpose, inputs: [x], attrs: {perm: [0, 2, 1]}}\n" + node("matmul", "x, t")},
    // More than 16 PEs hold: keys and values stay while rows come, and rows of the mask are taken in turn.
    {"attention_of_two_heads", "f32[2, 320, 16]",
     "  - {name: t, op: transpose, inputs: [x], attrs: {perm: [0, 2, 1]}}\n"
     "  - {name: s, op: matmul, inputs: [x, t]}\n"
     "  - {name: m, op: add, inputs: [s, w]}\n"
     "  - {name: p, op: softmax, inputs: [m]}\n" +
         node("matmul", "p, x"),
     matrix("w", "f32[320, 320]"), 320 * 320},
    {"product_with_a_matrix", "f32[1, 400]", node("matmul", "x, w"), matrix("w", "f32[400, 300]"), 400 * 300},
};

INSTANTIATE_TEST_SUITE_P(Operators, LargerThanAPe, ::testing::ValuesIn(kCases),
                         [](const auto& info) { return info.param.name; });

// Small networks that had no place: a kernel whose text takes more memory than its estimate; a narrow and
// high rectangle beside wide and low ones. Expected values are ONNX Runtime's.
class HasAPlace : public Scratch, public ::testing::WithParamInterface<std::string> {};

TEST_P(HasAPlace, CompilesAndIsRight) {
  const std::string folder = kSource + "/tests/large/" + GetParam() + "/";
  for (const std::string machine : {"wse2", "wse3"}) {
    const ChildResult made =
        run("cs-compile", {folder + "model.onnx", "-m", machine, "--no-baselines", "-o", path("p.csp")});
    ASSERT_EQ(made.exit_code, 0) << made.err;
    EXPECT_EQ(made.err, "");
    const ChildResult r = run("cs-sim", {path("p.csp"), "--inputs", folder + "inputs_0.npz", "--expect",
                                         folder + "expected_0.npz"});
    EXPECT_EQ(r.exit_code, 0) << machine << r.err;
  }
}

INSTANTIATE_TEST_SUITE_P(Networks, HasAPlace, ::testing::Values("inception", "rectangles"));

// An operator for which there is no other way runs on the host, with a warning that names it, its line and
// what does not fit: the best 1,000 of 4,000 elements need all of them in one place.
using Demotion = Scratch;

TEST_F(Demotion, NamesOperatorLineAndReason) {
  const std::string model =
      write("m.yaml",
            "inputs:\n  - {name: x, type: \"f32[4000]\"}\nnodes:\n"
            "  - {name: y, op: top_k, inputs: [x], attrs: {k: 1000}}\noutputs: [{name: y}]\n");
  const ChildResult made = run("cs-compile", {model, "--set", "machine.core.memory_bytes=8192",
                                              "--no-baselines", "-o", path("p.csp")});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  EXPECT_THAT(made.err, AllOf(HasSubstr("m.yaml:4:"), HasSubstr("warning: top_k 'y' runs on the host: "),
                              HasSubstr("a PE has 8192 B")));
  EXPECT_EQ(run("cs-sim", {path("p.csp"), "-q"}).exit_code, 0);
}

// A sample waits in a buffer of 36 PEs until the operand that has the longer way has come: more than 16 are no row, but
// a rectangle in which words go down one column and up the next one.
using LongBuffer = Scratch;

TEST_F(LongBuffer, IsASnake) {
  const std::string model =
      write("m.yaml",
            "inputs:\n  - {name: x, type: \"f32[160, 200]\"}\nnodes:\n"
            "  - {name: a, op: sigmoid, inputs: [x]}\n"
            "  - {name: turned, op: transpose, inputs: [a], attrs: {perm: [1, 0]}}\n"
            "  - {name: soft, op: softmax, inputs: [turned], attrs: {axis: -1}}\n"
            "  - {name: back, op: transpose, inputs: [soft], attrs: {perm: [1, 0]}}\n"
            "  - {name: soft2, op: softmax, inputs: [back], attrs: {axis: -1}}\n"
            "  - {name: y, op: add, inputs: [a, soft2]}\noutputs: [{name: y}]\n");
  run("cs-compile", {model, "--autogen-policy", "disabled", "--no-baselines", "-o", path("host.csp")});
  ASSERT_EQ(run("cs-sim", {path("host.csp"), "--iterations", "2", "--outputs", path("want.npz"), "-q"}).exit_code, 0);
  for (const std::string machine : {"wse2", "wse3"}) {
    const ChildResult made = run("cs-compile", {model, "-m", machine, "--set", "machine.core.memory_bytes=8192",
                                                "--no-baselines", "--no-advice", "-o", path("p.csp")});
    ASSERT_EQ(made.exit_code, 0) << made.err;
    const ChildResult r = run("cs-sim", {path("p.csp"), "--iterations", "2", "--expect", path("want.npz"), "--json"});
    ASSERT_EQ(r.exit_code, 0) << machine << r.err;
    int columns = 0, rows = 0;
    const nlohmann::json stats = nlohmann::json::parse(r.out);
    for (const nlohmann::json& k : stats.at("kernels"))
      if (k.at("op") == "slack") columns = k.at("rect").at(2), rows = k.at("rect").at(3);
    EXPECT_GE(columns * rows, 36) << machine;
    EXPECT_GT(rows, 1) << machine;
  }
}

}  // namespace
}  // namespace cs::e2e
