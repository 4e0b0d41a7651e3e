// Elementwise chains, reductions and broadcasts through the CSL compiler and the engine, against double
// precision.
#include <cmath>
#include <functional>

#include <gtest/gtest.h>

#include "tests/unit/mapping/harness.h"

namespace cs {
namespace {

using graph::ValueId;

constexpr int kSamples = 4;

struct Unary {
  const char* op;
  std::function<double(double)> reference;
  double shift;      // added to numbers in [-1, 1) to stay in the domain
  double tolerance;  // of single precision library functions
};

const Unary kUnary[] = {
    {"relu", [](double x) { return std::max(x, 0.0); }, 0, 0},
    {"leaky_relu", [](double x) { return x >= 0 ? x : 0.01 * x; }, 0, 1e-8},
    {"neg", [](double x) { return -x; }, 0, 0},
    {"abs", [](double x) { return std::fabs(x); }, 0, 0},
    {"exp", [](double x) { return std::exp(x); }, 0, 1e-6},
    {"log", [](double x) { return std::log(x); }, 1.5, 1e-6},
    {"sqrt", [](double x) { return std::sqrt(x); }, 1.5, 1e-6},
    {"tanh", [](double x) { return std::tanh(x); }, 0, 1e-6},
    {"sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }, 0, 1e-6},
    {"gelu", [](double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); }, 0, 1e-6},
    {"elu", [](double x) { return x > 0 ? x : std::exp(x) - 1; }, 0, 1e-6},
    {"hard_swish", [](double x) { return x * std::min(1.0, std::max(0.0, x / 6 + 0.5)); }, 0, 1e-6},
    {"round", [](double x) { return std::nearbyint(x); }, 7, 0},
    {"reciprocal", [](double x) { return 1 / x; }, 2, 1e-6},
};

class Elementwise : public testing::TestWithParam<std::tuple<size_t, int, const char*>> {};

TEST_P(Elementwise, ComputesEveryElement) {
  const auto& [row, width, arch] = GetParam();
  const Unary& unary = kUnary[row];
  graph::Graph g;
  g.name = unary.op;
  ValueId x = g.add_input("x", {DataType::f32, {1, 11}});
  g.set_output(test::add_op(g, "op", unary.op, {x}, {1, 11}, Origin::autogen));
  mapping::MapOptions options;
  options.force_width = width;
  options.force_height = 1;
  std::vector<float> in = test::numbers(11 * kSamples, 5);
  for (float& f : in) f += float(unary.shift);
  test::RunResult r = test::run_graph(g, test::machine(arch), options, {{"x", in}}, kSamples);
  ASSERT_TRUE(r.ok) << r.message;
  const std::vector<float>& out = r.outputs.at("op_out");
  ASSERT_EQ(out.size(), in.size());
  for (size_t i = 0; i < in.size(); ++i)
    EXPECT_NEAR(out[i], unary.reference(in[i]), unary.tolerance) << in[i];
}

// Four PEs take 3, 3, 3 and 2 elements and send in turns; the switches are used again for every sample.
INSTANTIATE_TEST_SUITE_P(Operators, Elementwise,
                         testing::Combine(testing::Range(size_t(0), std::size(kUnary)), testing::Values(1, 4),
                                          testing::Values("wse2", "wse3")),
                         [](const auto& info) {
                           return std::string(kUnary[std::get<0>(info.param)].op) + "_on_" +
                                  std::to_string(std::get<1>(info.param)) + "_" + std::get<2>(info.param);
                         });

// y = (a + b) * c with c constant and different in every element; then the same with b a single number per
// row.
TEST(ElementwiseRun, TwoStreamsAndAConstant) {
  for (int width : {1, 3}) {
    graph::Graph g;
    g.name = "binary";
    ValueId a = g.add_input("a", {DataType::f32, {2, 4}});
    ValueId b = g.add_input("b", {DataType::f32, {2, 1}});
    std::vector<float> c = test::numbers(8, 9);
    ValueId constant = g.add_constant("c", ops::Tensor::from_floats({2, 4}, c));
    ValueId sum = test::add_op(g, "sum", "add", {a, b}, {2, 4}, Origin::autogen, "kernel");
    g.set_output(test::add_op(g, "product", "mul", {sum, constant}, {2, 4}, Origin::autogen, "kernel"));
    mapping::MapOptions options;
    options.force_width = width;
    options.force_height = 1;
    std::vector<float> in_a = test::numbers(8 * kSamples, 6), in_b = test::numbers(2 * kSamples, 7);
    test::RunResult r =
        test::run_graph(g, test::machine("wse2"), options, {{"a", in_a}, {"b", in_b}}, kSamples);
    ASSERT_TRUE(r.ok) << r.message;
    const std::vector<float>& out = r.outputs.at("product_out");
    ASSERT_EQ(out.size(), in_a.size());
    for (size_t i = 0; i < out.size(); ++i) {
      EXPECT_NEAR(out[i], (double(in_a[i]) + in_b[i / 4]) * c[i % 8], 1e-6)
          << "width " << width << " element " << i;
    }
  }
}

// max(x * c + d, 0) of 576 elements on one PE of a wse2: a cycle per element to take x, one for the product, a
// half for the sum (two a cycle), and one to send. With both sources in one bank product and sum took twice as
// long.
TEST(ElementwiseRun, ConstantsLieInOtherBanksThanWhatTheyMeet) {
  constexpr int kElements = 576;
  graph::Graph g;
  g.name = "scaled";
  const ops::Shape shape = {1, kElements};
  ValueId x = g.add_input("x", {DataType::f32, shape});
  const std::vector<float> c = test::numbers(kElements, 11), d = test::numbers(kElements, 12);
  ValueId by = g.add_constant("c", ops::Tensor::from_floats(shape, c));
  ValueId more = g.add_constant("d", ops::Tensor::from_floats(shape, d));
  ValueId product = test::add_op(g, "product", "mul", {x, by}, shape, Origin::autogen, "kernel");
  ValueId sum = test::add_op(g, "sum", "add", {product, more}, shape, Origin::autogen, "kernel");
  g.set_output(test::add_op(g, "op", "relu", {sum}, shape, Origin::autogen, "kernel"));
  mapping::MapOptions options;
  options.force_width = options.force_height = 1;
  const std::vector<float> in = test::numbers(kElements * kSamples, 13);
  const test::RunResult r = test::run_graph(g, test::machine("wse2"), options, {{"x", in}}, kSamples);
  ASSERT_TRUE(r.ok) << r.message;
  for (size_t i = 0; i < in.size(); ++i) {
    const size_t k = i % kElements;
    EXPECT_NEAR(r.outputs.at("op_out")[i], std::max(0.0, double(in[i]) * c[k] + d[k]), 1e-6);
  }
  constexpr double kStarts = 80;  // of tasks and instructions
  EXPECT_LE(double(r.sample_ends[3] - r.sample_ends[2]), 3.5 * kElements + kStarts);
}

// What is left of -(-x) for the loop of scalars is the operand itself.
TEST(ElementwiseRun, ALoopReadsWhatVectorsLeaveAsItIs) {
  graph::Graph g;
  g.name = "twice_negated";
  ValueId x = g.add_input("x", {DataType::f32, {1, 3}});
  ValueId y = test::add_op(g, "neg", "neg", {x}, {1, 3}, Origin::autogen, "chain");
  g.set_output(test::add_op(g, "op", "sigmoid", {y}, {1, 3}, Origin::autogen, "chain"));
  const std::vector<float> in = test::numbers(3, 8);
  const test::RunResult r = test::run_graph(g, test::machine("wse2"), {}, {{"x", in}}, 1);
  ASSERT_TRUE(r.ok) << r.message;
  for (size_t i = 0; i < in.size(); ++i)
    EXPECT_NEAR(r.outputs.at("op_out")[i], 1 / (1 + std::exp(double(in[i]))), 1e-6);
}

// The library's and the generated one.
void check_reduction(const std::string& op, int width, Origin origin, const char* machine) {
  graph::Graph g;
  g.name = op;
  ValueId x = g.add_input("x", {DataType::f32, {2, 13}});
  ValueId y = test::add_op(g, "op", op, {x}, {2, 1}, origin);
  ops::set_attr(g.node(*g.find_node("op")).attrs, "axes", std::vector<int64_t>{1});
  g.set_output(y);
  mapping::MapOptions options;
  options.force_width = width;
  options.force_height = 1;
  std::vector<float> in = test::numbers(26 * kSamples, 8);
  test::RunResult r = test::run_graph(g, test::machine(machine), options, {{"x", in}}, kSamples);
  ASSERT_TRUE(r.ok) << r.message;
  const std::vector<float>& out = r.outputs.at("op_out");
  ASSERT_EQ(out.size(), size_t(2 * kSamples));
  for (size_t row = 0; row < out.size(); ++row) {
    double sum = 0, most = -2;
    for (size_t i = row * 13; i < row * 13 + 13; ++i) {
      sum += in[i];
      most = std::max(most, double(in[i]));
    }
    double expected = op == "reduce_sum" ? sum : op == "reduce_max" ? most : sum / 13;
    EXPECT_NEAR(out[row], expected, 1e-5) << op << " on " << width << ", " << machine;
  }
}

TEST(ElementwiseRun, ReductionsAlongARow) {
  for (const char* op : {"reduce_sum", "reduce_max", "reduce_mean"}) {
    for (int width : {1, 2, 5}) {
      for (Origin origin : {Origin::handwritten, Origin::autogen}) {
        for (const char* machine : {"wse2", "wse3"}) check_reduction(op, width, origin, machine);
      }
    }
  }
}

// A value that two kernels need: y = relu(x) and z = x * relu(x). The stream is multicast; the second operand
// of the product comes later than the first, which must not stop the first.
TEST(ElementwiseRun, ReconvergingStreams) {
  graph::Graph g;
  g.name = "diamond";
  ValueId x = g.add_input("x", {DataType::f32, {1, 30}});
  ValueId y = test::add_op(g, "r", "relu", {x}, {1, 30}, Origin::handwritten);
  g.set_output(test::add_op(g, "p", "mul", {x, y}, {1, 30}, Origin::autogen));
  std::vector<float> in = test::numbers(30 * 6, 4);
  test::RunResult r = test::run_graph(g, test::machine("wse2"), {}, {{"x", in}}, 6);
  ASSERT_TRUE(r.ok) << r.message;
  const std::vector<float>& out = r.outputs.at("p_out");
  for (size_t i = 0; i < in.size(); ++i) EXPECT_FLOAT_EQ(out[i], in[i] * std::max(in[i], 0.0F));
}

// An instance named like a library file gets a file of its own.
TEST(Names, AreNotThoseOfLibraryFiles) {
  graph::Graph g;
  g.name = "names";
  ValueId x = g.add_input("x", {DataType::f32, {2}});
  g.set_output(test::add_op(g, "relu", "relu", {x}, {2}, Origin::handwritten));
  test::RunResult r = test::run_graph(g, test::machine("wse2"), {}, {{"x", {-1, 2}}}, 1);
  ASSERT_TRUE(r.ok) << r.message;
  ASSERT_EQ(r.outputs.size(), 1U);
  EXPECT_EQ(r.outputs.begin()->second, (std::vector<float>{0, 2}));
}

// y = q / z or q + z, where q = relu(x); `shared`: -q is asked for too.
graph::Graph quotient_of(const std::string& op, bool shared) {
  graph::Graph g;
  g.name = op;
  const ops::Shape shape{1, 64};
  const ValueId x = g.add_input("x", {DataType::f32, shape}), z = g.add_input("z", {DataType::f32, shape});
  const ValueId q = test::add_op(g, "q", "relu", {x}, shape, Origin::autogen);
  g.set_output(test::add_op(g, "y", op, {q, z}, shape, Origin::autogen));
  if (shared) g.set_output(test::add_op(g, "minus", "neg", {q}, shape, Origin::autogen));
  return g;
}

// Do words go before computing in the kernel that makes y? It can, and is told that others wait for them.
bool words_go_first(const graph::Graph& g, const char* arch) {
  Diag diag;
  mapping::MapOptions options;
  options.force_width = options.force_height = 1;
  const auto mapped = mapping::map_graph(g, test::machine(arch), options, diag);
  EXPECT_TRUE(mapped) << diag.to_string();
  bool can = false, told = false;
  int imports = 0;
  for (const auto& [name, text] : mapped ? mapped->files : std::map<std::string, std::string>()) {
    if (name == "y_kernel.csl") can = text.find(".priority = .{ .medium = shared }") != std::string::npos;
    const size_t import = text.find("@import_module(\"y_kernel.csl\"");
    if (import == std::string::npos) continue;
    ++imports;
    told = text.find(".shared = true", import) != std::string::npos;
  }
  EXPECT_EQ(imports, 1);
  return can && told;
}

// A quotient takes 14 cycles for its two words, a sum one: only the quotient holds up others that take q.
TEST(ElementwiseOfTwo, WordsGoFirstWhereComputingIsDearAndOthersWaitForThem) {
  for (const char* arch : {"wse2", "wse3"}) {
    SCOPED_TRACE(arch);
    EXPECT_TRUE(words_go_first(quotient_of("div", true), arch));
    EXPECT_FALSE(words_go_first(quotient_of("add", true), arch));
    EXPECT_FALSE(words_go_first(quotient_of("div", false), arch));
  }
}

}  // namespace
}  // namespace cs
