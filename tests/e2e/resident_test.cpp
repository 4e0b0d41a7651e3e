// Operands that lie on the PEs, as a user compiles and runs them: values, the way through CSL text, refusals.
#include <gmock/gmock.h>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "tests/e2e/resident_program.h"

namespace cs::e2e {
namespace {

using ::testing::HasSubstr;

TEST_F(ResidentProgram, ValuesAreRightWhereNothingDividesEvenly) {
  expect_values(row("chain", "gelu", "", "[3, 2]", "{shape: [1, 101]}") +
                row("two", "sub", "", "[3, 1]", "{shape: [1, 50]}, {shape: [1, 50]}") +
                row("constant", "mul", "", "[2, 2]", "{shape: [1, 30]}, {shape: [1, 30], constant: true}") +
                row("softmax", "softmax", "", "[2, 2]", "{shape: [1, 7, 9]}") +
                row("norm", "layer_norm", "", "[2, 1]",
                    "{shape: [1, 5, 10]}, {shape: [10], constant: true}, {shape: [10], constant: true}") +
                row("rms", "rms_norm", "", "[1, 3]", "{shape: [1, 5, 10]}, {shape: [10], constant: true}"));
}

TEST_F(ResidentProgram, SumsOfPiecesMeetByEveryAlgorithm) {
  // By the model: one word along 16 PEs in a tree, 24 words in two phases, 800 in a chain.
  expect_values(row("tree", "reduce_sum", "axes: [2]", "[16, 1]", "{shape: [1, 1, 512]}") +
                row("two_phase", "reduce_mean", "axes: [2]", "[16, 2]", "{shape: [1, 47, 256]}") +
                row("chain", "reduce_max", "axes: [2]", "[4, 1]", "{shape: [1, 800, 8]}") +
                row("whole", "reduce_sum", "axes: [2]", "[2, 2]", "{shape: [1, 9, 33]}"));
}

// Elements of 16 bits become words of f32 in the place in which they lie, the first ones of an odd number, of
// one and behind an unused word too; results, words again.
TEST_F(ResidentProgram, ValuesOf16BitsAreRight) {
  const auto half = [](const std::string& name, const std::string& op, const std::string& attrs,
                       const std::string& rect,
                       const std::string& operands) { return row(name, op, attrs, rect, operands, true); };
  const std::string matrices = "{shape: [10, 17]}, {shape: [17, 9], constant: true}";
  const std::string per_element = "{shape: [1, 5, 10]}, {shape: [10], constant: true}";
  expect_values(half("chain", "gelu", "", "[3, 2]", "{shape: [1, 101]}") +
                half("element", "relu", "", "[1, 1]", "{shape: [1, 1]}") +
                half("more_pes", "relu", "", "[3, 3]", "{shape: [1, 4]}") +
                half("two", "sub", "", "[3, 1]", "{shape: [1, 50]}, {shape: [1, 50]}") +
                half("constant", "mul", "", "[2, 2]", per_element) +
                half("softmax", "softmax", "", "[2, 2]", "{shape: [1, 7, 9]}") +
                half("norm", "layer_norm", "", "[2, 1]", per_element + ", {shape: [10], constant: true}") +
                half("rms", "rms_norm", "", "[1, 3]", per_element) +
                half("tree", "reduce_sum", "axes: [2]", "[16, 1]", "{shape: [1, 1, 512]}") +
                half("two_phase", "reduce_mean", "axes: [2]", "[16, 2]", "{shape: [1, 47, 256]}") +
                half("largest", "reduce_max", "axes: [2]", "[4, 1]", "{shape: [1, 800, 8]}"));
  expect_values(half("gemm", "gemm", "", "[3, 3]", matrices + ", {shape: [9], constant: true}") +
                half("one", "matmul", "", "[1, 1]", matrices) +
                half("operands", "matmul", "", "[3, 3]", "{shape: [10, 17]}, {shape: [17, 9]}") +
                half("nine", "matmul", "", "[9, 9]", "{shape: [20, 31]}, {shape: [31, 26]}"));
}

// 10,240 of them take what as many f32 take: 40 KB of a PE's 48, with the conversion of each at a word per
// cycle.
TEST_F(ResidentProgram, SixteenBitsTakeNoMoreMemoryThan32) {
  std::vector<double> bytes;
  for (const std::string type : {"f32", "f16"}) {
    write("model.yaml",
          "inputs:\n  - {name: x, type: \"" + type +
              "[1, 10240]\"}\nnodes:\n  - {name: y, op: relu, inputs: [x]}\noutputs: [{name: y}]\n");
    const ChildResult r = compile("1x1", {"--json"});
    ASSERT_EQ(r.exit_code, 0) << r.err;
    bytes.push_back(nlohmann::json::parse(r.out).at("kernels").at(0).at("bytes_per_pe"));
  }
  EXPECT_GT(bytes[1], 40960);
  EXPECT_LT(bytes[1], bytes[0] + 600);
}

// One matrix in tiles of a square that exchange them, several whole ones on every PE; where nothing divides,
// rows of PEs have no word of the result.
TEST_F(ResidentProgram, TransposesOfMatrices) {
  const auto square = [](int side, const std::string& shape, bool half) {
    const std::string name = fmt::format("p{}{}", side, half ? "_half" : "");
    return row(name, "transpose", "perm: [1, 0]", fmt::format("[{0}, {0}]", side), "{shape: " + shape + "}",
               half);
  };
  for (const bool half : {false, true})
    expect_values(square(1, "[5, 3]", half) + square(2, "[3, 4]", half) + square(3, "[40, 41]", half) +
                  square(9, "[10, 126]", half) + square(17, "[17, 16]", half));
  expect_values(square(32, "[449, 33]", false) + square(64, "[64, 128]", false));
  expect_values(row("batch", "transpose", "perm: [0, 2, 1]", "[2, 3]", "{shape: [11, 2, 3]}") +
                row("batch_half", "transpose", "perm: [0, 2, 1]", "[4, 1]", "{shape: [4, 3, 5]}", true) +
                row("heads", "transpose", "perm: [0, 1, 4, 2, 3]", "[1, 2]", "{shape: [1, 3, 2, 1, 3]}") +
                row("vector", "transpose", "perm: [1, 2, 0]", "[2, 2]", "{shape: [1, 5, 2]}") +
                row("ones", "transpose", "perm: [2, 1, 0]", "[3, 3]", "{shape: [6, 1, 9]}") +
                row("blocks", "transpose", "perm: [2, 3, 0, 1]", "[3, 3]", "{shape: [2, 3, 4, 5]}"));
}

// Whole rows on every PE, or columns where there is one row; constants too.
TEST_F(ResidentProgram, ConcatsThatMoveNoWord) {
  const std::string three = "{shape: [7, 4]}, {shape: [7, 1]}, {shape: [7, 9]}";
  for (const bool half : {false, true})
    expect_values(
        row("rows", "concat", "axis: 1", "[2, 2]", three, half) +
        row("one_pe", "concat", "axis: 0", "[1, 1]", "{shape: [5]}, {shape: [8]}", half) +
        row("columns", "concat", "axis: 0", "[3, 1]", "{shape: [2, 13]}, {shape: [5, 13]}", half) +
        row("channels", "concat", "axis: -3", "[2, 3]",
            "{shape: [8, 2, 3, 3]}, {shape: [8, 3, 3, 3], constant: true}", half) +
        row("more_pes", "concat", "axis: 2", "[9, 1]", "{shape: [2, 3, 1]}, {shape: [2, 3, 14]}", half));
  expect_values(row("wide", "concat", "axis: 1", "[17, 17]", "{shape: [578, 3]}, {shape: [578, 14]}") +
                row("line", "concat", "axis: 0", "[64, 1]", "{shape: [1, 65]}, {shape: [4, 65]}"));
}

// Rows of the result over columns of PEs, channels over rows; neither divides. Padding on one side, strides
// that leave rows out, dilated kernels, groups that a PE's channels cut, one dimension.
TEST_F(ResidentProgram, ConvolutionsHaveTheWindowsThatTheyNeed) {
  const std::string picture = "{shape: [1, 4, 9, 7]}", bias = ", {shape: [6], constant: true}";
  const auto weights = [](const std::string& shape) { return ", {shape: " + shape + ", constant: true}"; };
  for (const bool half : {false, true})
    expect_values(
        row("plain", "conv", "", "[2, 2]", picture + weights("[6, 4, 3, 3]") + bias, half) +
        row("padded", "conv", "pads: [1, 1, 1, 1]", "[3, 4]", picture + weights("[6, 4, 3, 3]"), half) +
        row("one_side", "conv", "pads: [2, 0, 0, 1]", "[1, 1]", picture + weights("[6, 4, 3, 2]") + bias,
            half) +
        row("strides", "conv", "strides: [2, 3]", "[2, 3]", picture + weights("[6, 4, 1, 2]") + bias, half) +
        row("dilated", "conv", "dilations: [3, 2], pads: [1, 1, 2, 0]", "[4, 1]",
            picture + weights("[6, 4, 3, 3]"), half) +
        row("groups", "conv", "group: 2, pads: [1, 1, 1, 1]", "[2, 4]",
            picture + weights("[6, 2, 3, 3]") + bias, half) +
        row("depthwise", "conv", "group: 4, strides: [2, 2], auto_pad: SAME_UPPER", "[3, 3]",
            picture + weights("[4, 1, 3, 3]"), half) +
        row("line", "conv", "strides: [2], pads: [2, 1]", "[3, 2]",
            "{shape: [1, 3, 31]}, {shape: [5, 3, 4], constant: true}", half) +
        row("more_pes", "conv", "", "[9, 17]", picture + weights("[6, 4, 5, 3]") + bias, half));
  expect_values(row("wide", "conv", "pads: [1, 1, 1, 1]", "[32, 2]",
                    "{shape: [1, 2, 64, 5]}, {shape: [3, 2, 3, 3], constant: true}"));
}

TEST_F(ResidentProgram, AnActivationBehindAConvolutionIsPartOfIt) {
  write("model.yaml",
        "inputs:\n  - {name: x, type: \"f32[1, 1, 3, 3]\"}\n"
        "constants:\n  - {name: w, type: \"f32[1, 1, 2, 2]\", value: [1, -2, 3, -4]}\n"
        "nodes:\n  - {name: h, op: conv, inputs: [x, w]}\n  - {name: y, op: relu, inputs: [h]}\noutputs: "
        "[y]\n");
  const ChildResult made = compile("2x1", {"--json"});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  EXPECT_THAT(made.out, HasSubstr("\"conv_windows+dtg-elementwise\""));
  const auto ops = nlohmann::json::parse(made.out).at("ops");
  EXPECT_EQ(ops.at(0).at("reason"), "library kernel 'conv_windows', for operands on the PEs");
  EXPECT_EQ(ops.at(0).at("origin"), "handwritten");
  EXPECT_EQ(ops.at(1).at("origin"), "autogen");
  expect_streamed_values();
  expect_text_gives_the_same("2x1");
}

TEST_F(ResidentProgram, ChainsOf16BitsAreOneKernel) {
  write("model.yaml",
        "inputs:\n  - {name: x, type: \"f16[3, 7]\"}\n  - {name: z, type: \"f16[3, 7]\"}\n"
        "nodes:\n  - {name: h, op: mul, inputs: [z, x]}\n  - {name: a, op: tanh, inputs: [h]}\n"
        "  - {name: y, op: add, inputs: [a, x]}\noutputs: [y]\n");
  const ChildResult made = compile("2x2", {"--json"});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  EXPECT_THAT(made.out, HasSubstr("\"dtg-elementwise\""));
  EXPECT_THAT(made.out, HasSubstr("\"mul+tanh+add\""));
  expect_streamed_values();
}

TEST_F(ResidentProgram, WhatWouldMoveWordsIsRefused) {
  const auto refusal = [&](const std::string& inputs, const std::string& node, const std::string& rect) {
    write("model.yaml", "inputs:\n" + inputs + "nodes:\n  - {name: y, " + node + "}\noutputs: [y]\n");
    return why_not(rect);
  };
  const std::string two = "  - {name: a, type: \"f32[4]\"}\n  - {name: b, type: \"f32[6]\"}\n";
  const std::string rows = "  - {name: a, type: \"f32[1, 4, 8]\"}\n  - {name: b, type: \"f32[1, 6, 8]\"}\n";
  EXPECT_THAT(refusal(two, "op: concat, inputs: [a, b], attrs: {axis: 0}", "2x1"),
              HasSubstr("beyond one PE words would have to move from PE to PE"));
  EXPECT_THAT(refusal(rows, "op: concat, inputs: [a, b], attrs: {axis: 1}", "2x2"),
              HasSubstr("its columns lie on one row of PEs, W x 1"));
  EXPECT_THAT(refusal("  - {name: a, type: \"f32[4, 6]\"}\n",
                      "op: transpose, inputs: [a], attrs: {perm: [1, 0]}", "2x1"),
              HasSubstr("has no cut for 2 x 1 PEs: one matrix takes a square"));
  const std::string pair = "  - {name: a, type: \"f32[5, 4]\"}\n  - {name: b, type: \"f32[5, 4]\"}\n";
  EXPECT_THAT(refusal(pair, "op: gemm, inputs: [a, b], attrs: {trans_a: 1}", "2x2"),
              HasSubstr("an operand is transposed"));
  EXPECT_THAT(refusal("  - {name: a, type: \"f32[1, 4]\"}\n  - {name: b, type: \"f32[4, 4]\"}\n",
                      "op: gemm, inputs: [a, b], attrs: {alpha: 2}", "2x1"),
              HasSubstr("alpha is not 1"));
  EXPECT_THAT(refusal("  - {name: a, type: \"f32[1, 300]\"}\n  - {name: b, type: \"f32[300, 300]\"}\n",
                      "op: matmul, inputs: [a, b]", "2x1"),
              HasSubstr("a PE takes no more than 32767 of the 90000 elements of the matrix"));
  EXPECT_THAT(refusal("  - {name: a, type: \"f32[1, 2, 8, 8]\"}\n  - {name: b, type: \"f32[3, 2, 3, 3]\"}\n",
                      "op: conv, inputs: [a, b]", "2x2"),
              HasSubstr("its weights and bias are not constant"));
  EXPECT_THAT(
      refusal("  - {name: a, type: \"f32[3, 4, 6]\"}\n",
              "op: transpose, inputs: [a], attrs: {perm: [2, 1, 0]}", "2x2"),
      HasSubstr("its 3 groups of dimensions change places otherwise than rows and columns of matrices"));
}

constexpr const char* kModel =
    "inputs:\n  - {name: x, type: \"f32[2, 3, 4]\"}\n"
    "nodes:\n  - {name: y, op: softmax, inputs: [x]}\noutputs: [{name: y}]\n";

TEST_F(ResidentProgram, TheTextGivesTheSameProgram) {
  write("model.yaml", kModel);
  expect_text_gives_the_same("2x1");
  // Two launches and what is between them, reported as any run.
  const ChildResult report = run("cs-sim", {path("a.csp"), "--iterations", "2", "--report", path("report")});
  EXPECT_EQ(report.exit_code, 0) << report.err;
  EXPECT_THAT(report.out, HasSubstr("2 samples"));
}

// A sample is a copy of 24 words in, a launch and a copy of 24 words out. Each takes memcpy.command_cycles,
// 157, and a word of a copy 4 bytes / 3.4 GB/s, one cycle. So the first launch begins after 2 x 157 + 24
// cycles; the second as long after the first sample, whose copy out begins when the fabric is at rest, a few
// cycles after the launch.
TEST_F(ResidentProgram, EveryLaunchHasARow) {
  write("model.yaml", kModel);
  ASSERT_EQ(compile("2x1").exit_code, 0);
  const ChildResult r = run("cs-sim", {path("a.csp"), "--iterations", "2", "--json"});
  ASSERT_EQ(r.exit_code, 0) << r.err;
  const auto rows = nlohmann::json::parse(r.out).at("launches");
  ASSERT_EQ(rows.size(), 2u);
  const uint64_t call = 157, words = 24;
  uint64_t begin = 2 * call + words, rest = 0;
  for (const auto& row : rows) {
    EXPECT_EQ(row.at("function"), "compute");
    EXPECT_EQ(row.at("pes"), 2);
    EXPECT_GE(row.at("begin"), begin);
    EXPECT_LE(row.at("begin"), begin + rest);
    EXPECT_EQ(row.at("issued"), row.at("begin").get<uint64_t>() - call);
    EXPECT_GT(row.at("cycles"), 0);
    EXPECT_EQ(row.at("end"), row.at("begin").get<uint64_t>() + row.at("cycles").get<uint64_t>());
    rest = 20;
    begin = row.at("end").get<uint64_t>() + call + words + 2 * call + words;
  }
}

TEST_F(ResidentProgram, TheBoundIsThatOfTheOperatorWhoeverComputesIt) {
  for (const std::string op : {"softmax", "reduce_max"}) {
    const std::string attrs = op == "softmax" ? "{axis: 2}" : "{axes: [2]}";
    write("model.yaml", "inputs:\n  - {name: x, type: \"f32[1, 6, 64]\"}\nnodes:\n  - {name: y, op: " + op +
                            ", inputs: [x], attrs: " + attrs + "}\noutputs: [{name: y}]\n");
    std::vector<double> ideal;
    for (const std::string policy : {"medium", "aggressive"}) {
      const ChildResult r = compile("2x1", {"--json", "--autogen-policy", policy});
      ASSERT_EQ(r.exit_code, 0) << r.err;
      ideal.push_back(nlohmann::json::parse(r.out).at("placement").at(0).at("ideal").at("cycles"));
    }
    EXPECT_DOUBLE_EQ(ideal[0], ideal[1]) << op;
  }
}

// It would be one kernel of loops, with all its weights on every PE.
TEST_F(ResidentProgram, ANetworkThatNoPeHoldsIsRefused) {
  const ChildResult r = run("cs-compile", {kSource + "/models/mnist_mlp/model.onnx", "--operands", "resident",
                                           "-o", path("a.csp")});
  EXPECT_EQ(r.exit_code, 1);
  EXPECT_THAT(r.err, HasSubstr("B per PE on 1 x 2 PEs, a PE has 49152 B"));
  EXPECT_FALSE(std::filesystem::exists(path("a.csp")));
}

}  // namespace
}  // namespace cs::e2e
