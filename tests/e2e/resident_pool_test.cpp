// Pools on operands that lie on the PEs: values where windows, planes and rows do not divide, at borders,
// beside PEs without work; what is refused.
#include <gmock/gmock.h>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "tests/e2e/resident_program.h"
#include "tests/e2e/some_are_enough.h"

namespace cs::e2e {
namespace {

using ::testing::HasSubstr;

class ResidentPool : public ResidentProgram {
 protected:
  static std::string pool(const std::string& name, const std::string& op, const std::string& attrs,
                          const std::string& rect, const std::string& shape, bool half = false) {
    return row(name, op, attrs, rect, "{shape: " + shape + "}", half);
  }
  // Both operators; a mean also with places beside the picture that count.
  static std::string pools(const std::string& name, const std::string& attrs, const std::string& rect,
                           const std::string& shape, bool half = false) {
    return pool(name + "_max", "max_pool", attrs, rect, shape, half) +
           pool(name + "_mean", "average_pool", attrs, rect, shape, half) +
           pool(name + "_all", "average_pool", attrs + ", count_include_pad: 1", rect, shape, half);
  }
  static std::string square(int kernel, int stride, int pad, int dilation = 1) {
    return fmt::format(
        "kernel_shape: [{0}, {0}], strides: [{1}, {1}], pads: [{2}, {2}, {2}, {2}], dilations: [{3}, {3}]",
        kernel, stride, pad, dilation);
  }
  ChildResult compile_graph(const std::string& inputs, const std::string& nodes, const std::string& rect,
                            const std::string& outputs = "y") const {
    write("model.yaml", "inputs:\n" + inputs + "nodes:\n" + nodes + "outputs: [" + outputs + "]\n");
    return compile(rect, {"--json"});
  }
};

// Fewer planes than PEs, so columns of PEs have rows; some have none.
TEST_F(ResidentPool, RowsOverEveryNumberOfPes) {
  std::string rows;
  for (int pes = 1; pes <= (kSomeAreEnough ? 6 : 17); ++pes)
    rows += pools(fmt::format("p{}", pes), square(2 + pes % 2, 1 + pes % 3, 1, 1 + pes % 2),
                  fmt::format("[{}, 1]", pes), "[1, 2, 14, 9]", pes % 4 == 1);
  expect_values(rows);
}

TEST_F(ResidentPool, PlanesAndRowsOverRectangles) {
  expect_values(pools("planes", square(3, 2, 1), "[8, 8]", "[1, 70, 6, 5]") +
                pools("rows", square(3, 1, 1), "[8, 8]", "[1, 3, 33, 4]") +
                pools("half", square(3, 2, 1), "[8, 8]", "[1, 9, 19, 5]", true) +
                pools("wide", square(2, 2, 0), "[32, 2]", "[1, 3, 66, 4]") +
                pools("flat", square(2, 2, 0), "[5, 3]", "[2, 7, 10, 10]") +
                pools("tall", square(3, 3, 1), "[1, 9]", "[1, 20, 9, 8]"));
}

// Padding on one side, windows that only padding has, rows and columns that no window has, long and dilated
// windows, one place, one dimension.
TEST_F(ResidentPool, WindowsOfAnySize) {
  for (const std::string rect : {"[1, 1]", "[3, 2]"})
    expect_values(
        pools("one_side", "kernel_shape: [3, 2], pads: [2, 0, 0, 1]", rect, "[1, 3, 7, 6]") +
        pools("gaps", "kernel_shape: [2, 1], strides: [4, 3]", rect, "[1, 3, 13, 8]") +
        pools("ceil", "kernel_shape: [3, 3], strides: [2, 2], ceil_mode: 1", rect, "[1, 3, 8, 10]", true) +
        pools("dilated", "kernel_shape: [3, 2], dilations: [3, 4], pads: [2, 1, 1, 2]", rect,
              "[1, 4, 9, 7]") +
        pools("same", "kernel_shape: [4, 3], strides: [2, 3], auto_pad: SAME_UPPER", rect, "[1, 4, 9, 7]") +
        pools("rows", "kernel_shape: [3, 1], pads: [1, 0, 1, 0]", rect, "[1, 2, 9, 7]") +
        pools("columns", "kernel_shape: [1, 5], pads: [0, 2, 0, 2]", rect, "[1, 2, 9, 7]") +
        pools("line", "kernel_shape: [4], strides: [3], pads: [1, 2]", rect, "[1, 5, 31]") +
        pools("long", "kernel_shape: [40], pads: [20, 20]", rect, "[2, 2, 50]") +
        pools("place", "kernel_shape: [1, 1]", rect, "[1, 1, 3, 3]") +
        pool("far", "max_pool", "kernel_shape: [2, 2], dilations: [5, 5], pads: [3, 3, 3, 3]", rect,
             "[1, 2, 4, 4]"));
}

// Global pools of f32 are reductions of rows.
TEST_F(ResidentPool, WholePlanes) {
  expect_values(pool("mean", "global_average_pool", "", "[2, 2]", "[1, 9, 5, 7]") +
                pool("max", "global_max_pool", "", "[3, 1]", "[1, 4, 6, 6]", true) +
                pool("half_mean", "global_average_pool", "", "[2, 3]", "[1, 9, 14, 14]", true));
}

// All elements are negative: zeros beside the picture would win.
TEST_F(ResidentPool, WhatIsBesideThePictureIsNeverTheLargest) {
  const std::string inputs = "  - {name: x, type: \"f32[1, 2, 8, 8]\"}\n";
  const std::string negative = "  - {name: e, op: exp, inputs: [x]}\n  - {name: n, op: neg, inputs: [e]}\n";
  write("negative.yaml", "inputs:\n" + inputs + "nodes:\n" + negative + "outputs: [n]\n");
  ASSERT_EQ(run("cs-compile", {path("negative.yaml"), "-o", path("n.csp")}).exit_code, 0);
  ASSERT_EQ(run("cs-sim", {path("n.csp"), "--outputs", path("n.npz"), "--seed", "3"}).exit_code, 0);
  const std::string named = "  - {name: n, type: \"f32[1, 2, 8, 8]\"}\n",
                    node = "  - {name: y, op: max_pool, inputs: [n], attrs: {" + square(3, 2, 1) + "}}\n";
  ASSERT_EQ(compile_graph(named, node, "4x1").exit_code, 0);
  ASSERT_EQ(run("cs-compile", {path("model.yaml"), "-o", path("b.csp")}).exit_code, 0);
  ASSERT_EQ(run("cs-sim", {path("b.csp"), "--inputs", path("n.npz"), "--outputs", path("out.npz")}).exit_code,
            0);
  const ChildResult same =
      run("cs-sim", {path("a.csp"), "--inputs", path("n.npz"), "--expect", path("out.npz")});
  EXPECT_EQ(same.exit_code, 0) << same.out << same.err;
}

TEST_F(ResidentPool, AnActivationBehindItIsPartOfIt) {
  const ChildResult made = compile_graph("  - {name: x, type: \"f32[1, 2, 9, 6]\"}\n",
                                         "  - {name: h, op: average_pool, inputs: [x], attrs: {" +
                                             square(3, 2, 1) + "}}\n  - {name: y, op: tanh, inputs: [h]}\n",
                                         "3x1");
  ASSERT_EQ(made.exit_code, 0) << made.err;
  EXPECT_THAT(made.out, HasSubstr("\"dtg-pool+dtg-elementwise\""));
  ASSERT_EQ(run("cs-compile", {path("model.yaml"), "-o", path("b.csp")}).exit_code, 0);
  ASSERT_EQ(run("cs-sim", {path("b.csp"), "--outputs", path("out.npz"), "--seed", "3"}).exit_code, 0);
  const ChildResult same = run("cs-sim", {path("a.csp"), "--expect", path("out.npz"), "--seed", "3"});
  EXPECT_EQ(same.exit_code, 0) << same.out << same.err;
}

// The launch takes within 15 % of what the estimate says, with rows beside the picture and without.
TEST_F(ResidentPool, EstimatesAreThoseOfTheLaunch) {
  for (const std::string rect : {"1x1", "2x2", "8x1"}) {
    for (const std::string op : {"max_pool", "average_pool"}) {
      const ChildResult made = compile_graph(
          "  - {name: x, type: \"f32[1, 4, 32, 17]\"}\n",
          "  - {name: y, op: " + op + ", inputs: [x], attrs: {" + square(3, 2, 1) + "}}\n", rect);
      ASSERT_EQ(made.exit_code, 0) << made.err;
      const double estimated = nlohmann::json::parse(made.out).at("kernels").at(0).at("estimated_cycles");
      const ChildResult r = run("cs-sim", {path("a.csp"), "--json"});
      const double cycles = nlohmann::json::parse(r.out).at("launches").at(0).at("cycles");
      EXPECT_NEAR(estimated / cycles, 1, 0.15) << op << " " << rect;
    }
  }
}

TEST_F(ResidentPool, WhatNoPeCanDoIsRefused) {
  const auto refusal = [&](const std::string& shape, const std::string& attrs, const std::string& rect) {
    const ChildResult r =
        compile_graph("  - {name: x, type: \"f32" + shape + "\"}\n",
                      "  - {name: y, op: max_pool, inputs: [x], attrs: {" + attrs + "}}\n", rect);
    EXPECT_EQ(r.exit_code, 1);
    return r.err;
  };
  EXPECT_THAT(refusal("[1, 1, 4, 4, 4]", "kernel_shape: [2, 2, 2]", "2x1"),
              HasSubstr("it has 3 dimensions, PEs take rows and columns"));
  EXPECT_THAT(
      refusal("[1, 2, 400, 300]", "kernel_shape: [2, 2], strides: [2, 2]", "1x2"),
      HasSubstr("has no cut for 1 x 2 PEs: PEs have whole planes of 400 x 300, or columns of PEs rows"));
  EXPECT_THAT(refusal("[1, 1, 100, 100]", "kernel_shape: [2, 2], strides: [2, 2]", "1x1"),
              HasSubstr("a PE has 49152 B; largest: planes of the operand 40000 B"));
  const ChildResult both = compile_graph(
      "  - {name: x, type: \"f32[1, 2, 6, 6]\"}\n",
      "  - {name: p, op: max_pool, inputs: [x], outputs: [y, i], attrs: {kernel_shape: [2, 2]}}\n", "2x1",
      "y, i");
  EXPECT_EQ(both.exit_code, 1);
  EXPECT_THAT(both.err, HasSubstr("it also gives the places of the largest elements"));
}

}  // namespace
}  // namespace cs::e2e
