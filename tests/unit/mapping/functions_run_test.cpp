// Functions as vector instructions, against double precision over the whole range of f32 that matters to
// them. Slices are long enough that no loop of scalars is chosen, and not a multiple of a part.
#include <cmath>
#include <functional>
#include <limits>

#include <gtest/gtest.h>

#include "compiler/autogen/expression.h"
#include "compiler/autogen/functions.h"
#include "compiler/autogen/vector_program.h"
#include "tests/unit/mapping/harness.h"

namespace cs {
namespace {

constexpr int kElements = 1031;
constexpr float kInf = std::numeric_limits<float>::infinity();

struct Function {
  const char* op;
  std::function<double(double)> reference;
  double low, high;     // arguments
  double units, floor;  // allowed: units of the last place of the result, or the floor
};

const Function kFunctions[] = {
    {"exp", [](double x) { return std::exp(x); }, -100, 89, 4, 1e-37},
    {"expm1", [](double x) { return std::expm1(x); }, -100, 89, 4, 0},
    {"tanh", [](double x) { return std::tanh(x); }, -12, 12, 4, 0},
    {"erf", [](double x) { return std::erf(x); }, -6, 6, 4, 0},
    {"sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }, -80, 100, 8, 1e-36},
    {"swish", [](double x) { return x / (1 + std::exp(-x)); }, -80, 100, 8, 1e-35},
    {"elu", [](double x) { return x > 0 ? x : std::expm1(x); }, -100, 30, 4, 0},
    {"celu", [](double x) { return x > 0 ? x : std::expm1(x); }, -100, 30, 4, 0},
    {"softplus", [](double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x))); }, -80, 80, 8,
     1e-36},
    {"mish",
     [](double x) {
       const double s = std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x)));
       return x * std::tanh(s);
     },
     -80, 80, 8, 1e-33},
    // Its difference from 0 is that of 1 + erf, whose unit is that of 1: |x| 2^-23.
    {"gelu", [](double x) { return 0.5 * x * std::erfc(-x / std::sqrt(2.0)); }, -10, 10, 4, 6e-7},
    {"gelu_tanh",
     [](double x) {
       return x / (1 + std::exp(-2 * std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x)));
     },
     -10, 10, 12, 4e-9},  // what the exponent, up to 87, loses: half a unit of it
    {"hard_swish", [](double x) { return x * std::min(1.0, std::max(0.0, x / 6 + 0.5)); }, -8, 8, 4, 1e-6},
};

// Numbers across the range, and small ones of both signs.
std::vector<float> arguments(const Function& f) {
  std::vector<float> x;
  for (int i = 0; i < kElements - 200; ++i)
    x.push_back(float(f.low + (f.high - f.low) * i / (kElements - 201)));
  for (int i = 0; i < 200; ++i) x.push_back(float((i % 2 != 0 ? -1 : 1) * std::ldexp(1.0, -i / 10) * 0.7));
  return x;
}

test::RunResult run(const char* op, const char* arch, int width, const std::vector<float>& x) {
  graph::Graph g;
  g.name = op;
  const auto n = int64_t(x.size());
  graph::ValueId in = g.add_input("x", {DataType::f32, {1, n}});
  g.set_output(test::add_op(g, "op", op, {in}, {1, n}, Origin::autogen));
  mapping::MapOptions options;
  options.force_width = width;
  options.force_height = 1;
  return test::run_graph(g, test::machine(arch), options, {{"x", x}}, 1);
}

class Functions : public testing::TestWithParam<std::tuple<size_t, const char*>> {};

TEST_P(Functions, AreExactOverTheWholeRange) {
  const auto& [row, arch] = GetParam();
  const Function& f = kFunctions[row];
  const std::vector<float> x = arguments(f);
  const test::RunResult r = run(f.op, arch, 1, x);
  ASSERT_TRUE(r.ok) << r.message;
  const std::vector<float>& out = r.outputs.at("op_out");
  ASSERT_EQ(out.size(), x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    const double y = f.reference(x[i]);
    if (std::fabs(y) > std::numeric_limits<float>::max()) {
      EXPECT_EQ(out[i], kInf) << x[i];
      continue;
    }
    const auto size = float(std::fabs(y));
    const double unit = double(std::nextafter(size, kInf)) - size;
    EXPECT_NEAR(out[i], y, std::max(f.units * unit, f.floor)) << x[i];
  }
}

INSTANTIATE_TEST_SUITE_P(Vectors, Functions,
                         testing::Combine(testing::Range(size_t(0), std::size(kFunctions)),
                                          testing::Values("wse2", "wse3")),
                         [](const auto& info) {
                           return std::string(kFunctions[std::get<0>(info.param)].op) + "_on_" +
                                  std::get<1>(info.param);
                         });

// Infinities, NaN and zeros; the rest of the slice is ones.
TEST(FunctionLimits, AreThoseOfTheFunctions) {
  std::vector<float> x(600, 1.0F);
  x[0] = kInf;
  x[1] = -kInf;
  x[2] = std::nanf("");
  x[3] = 0;
  x[4] = 200;
  x[5] = -200;
  const auto results = [&](const char* op) { return run(op, "wse2", 1, x).outputs.at("op_out"); };
  const std::vector<float> exp = results("exp");
  EXPECT_EQ(std::vector(exp.begin() + 3, exp.begin() + 6), (std::vector<float>{1, kInf, 0}));
  EXPECT_EQ(exp[0], kInf);
  EXPECT_EQ(exp[1], 0);
  for (const char* op : {"tanh", "erf"}) {
    const std::vector<float> y = results(op);
    EXPECT_EQ(std::vector(y.begin(), y.begin() + 2), (std::vector<float>{1, -1})) << op;
    EXPECT_EQ(std::vector(y.begin() + 3, y.begin() + 6), (std::vector<float>{0, 1, -1})) << op;
  }
  const std::vector<float> sigmoid = results("sigmoid");
  EXPECT_EQ(std::vector(sigmoid.begin(), sigmoid.begin() + 2), (std::vector<float>{1, 0}));
  EXPECT_NEAR(sigmoid[3], 0.5, 6e-8);
  EXPECT_EQ(results("gelu")[5], 0);
  EXPECT_TRUE(std::isnan(results("swish")[1]));  // -inf * 0
  for (const char* op : {"exp", "expm1", "tanh", "erf", "sigmoid", "elu", "gelu"})
    EXPECT_TRUE(std::isnan(results(op)[2])) << op;
}

// Quantised values have bounds behind the rounding, in front of which they are put so that vectors can round;
// ties go to the even number.
TEST(FunctionRounding, IsThatOfQuantisedValues) {
  for (const char* formula :
       {"max(min(round(x * 0.3), 127), -128) * 0.0625", "max(min(round(x) + 3, 127), -128) - 3"}) {
    std::string error;
    const std::string_view names[] = {"x"};
    const auto e = ops::parse_expr(formula, names, {}, error);
    ASSERT_TRUE(e) << error;
    autogen::ExpressionTarget target;
    target.inputs = {{"x[i]", "x_dsd", 1, 0}};
    target.out = {"y[i]", "y_dsd", 1, 0};
    target.n = 600;
    EXPECT_FALSE(autogen::generate_expression(*e, target, test::machine("wse2")).code.in_loop) << formula;
  }
  const std::vector<float> given = {0.5F, 1.5F,    2.5F, -0.5F, -1.5F, 127.4F, 127.5F,
                                    300,  -128.5F, -500, kInf,  -kInf, 3,      0.49999997F};
  const std::vector<float> expected = {0, 2, 2, 0, -2, 127, 127, 127, -128, -128, 127, -128, 3, 0};
  std::vector<float> x(600, 0.0F);
  std::copy(given.begin(), given.end(), x.begin());
  graph::Graph g;
  g.name = "quantise";
  const graph::ValueId in = g.add_input("x", {DataType::f32, {1, 600}});
  const graph::ValueId rounded = test::add_op(g, "r", "round", {in}, {1, 600}, Origin::autogen, "k");
  g.set_output(test::add_op(g, "c", "clip", {rounded}, {1, 600}, Origin::autogen, "k"));
  for (graph::NodeId id : g.nodes())
    if (g.node(id).op == "clip") g.node(id).attrs = {{"max", 127.0}, {"min", -128.0}};
  const test::RunResult r = test::run_graph(g, test::machine("wse2"), {}, {{"x", x}}, 1);
  ASSERT_TRUE(r.ok) << r.message;
  const std::vector<float>& y = r.outputs.at("c_out");
  EXPECT_EQ(std::vector(y.begin(), y.begin() + int(given.size())), expected);
}

// At a tie the bits that rounding a product to f32 drops would decide: it is no part of a multiply-add.
TEST(FunctionRounding, RoundsAProductBefore) {
  autogen::VectorProgram p;
  const std::vector<int> keep = {p.round(p.mul(p.input(0), 0.1))};
  p.fuse(keep);
  for (const autogen::VectorNode& n : p.nodes) EXPECT_NE(n.kind, autogen::VectorKind::multiply_add);
}

// ---- conditions

// What vectors compute of x is what the expression says, bit for bit, but the sign of a zero.
TEST(FunctionConditions, ChooseAsTheExpressionSays) {
  const std::vector<float> values = {0.0F,
                                     -0.0F,
                                     1,
                                     -1,
                                     0.5F,
                                     -0.5F,
                                     2,
                                     -2,
                                     kInf,
                                     -kInf,
                                     3e38F,
                                     -3e38F,
                                     std::nanf(""),
                                     1e-45F,
                                     -1e-45F,
                                     1e-38F,
                                     -1e-38F,
                                     std::nextafter(0.5F, 1.0F)};
  for (const char* formula : {"x < 0",
                              "x > 0",
                              "x <= 0",
                              "x >= 0",
                              "x == 0",
                              "x != 0",
                              "x < 0.5",
                              "x > 0.5",
                              "x <= 0.5",
                              "x >= 0.5",
                              "0.5 < x",
                              "0.5 >= x",
                              "x == 0.5",
                              "x != 0.5",
                              "x * x > x",
                              "x * 0.3 < x",
                              "not(x > 1)",
                              "not(x)",
                              "select(x > 0, x, 0)",
                              "select(x > 0, 0, x)",
                              "select(x > 0, x, 2)",
                              "select(x > 0, 2, x)",
                              "select(x > 0, 3, 5)",
                              "select(x >= 0, 1, 0)",
                              "select(x, 1, x * 2)",
                              "select(not(x < 1), x + 1, -x)",
                              "select(abs(x) <= 0.5, 0, select(x < 0, x + 0.5, x - 0.5))",
                              "(x > 0) - (x < 0)",
                              "select(x < -1, 0.125, select(x > 1, 3e38, x))",
                              "select(x > 0, x < 2, x > -2)"}) {
    std::string error;
    const std::string_view names[] = {"x"};
    const auto parsed = ops::parse_expr(formula, names, {}, error);
    ASSERT_TRUE(parsed) << error;
    const ops::Expr e = autogen::rewrite_for_vectors(*parsed);
    const auto ranges = autogen::ranges_of(e);
    autogen::VectorProgram p;
    std::vector<int> at;
    for (size_t i = 0; i < e.nodes.size(); ++i) {
      const ops::ExprNode& n = e.nodes[i];
      const bool leaf = n.kind == ops::ExprKind::constant || n.kind == ops::ExprKind::input;
      ASSERT_TRUE(leaf || autogen::has_vector_form(e, int(i), ranges)) << formula;
      at.push_back(n.kind == ops::ExprKind::constant ? p.scalar(n.value)
                   : leaf                            ? p.input(n.index)
                                                     : autogen::build_vector_form(p, e, int(i), ranges, at));
    }
    for (float x : values) {
      std::vector<float> scratch;
      const auto expected = ops::expr_value<float>(e, std::span(&x, 1), scratch);
      const float got = p.value_at(at[size_t(e.root)], p.input(0), x);
      if (std::isnan(expected))
        EXPECT_TRUE(std::isnan(got)) << formula << " of " << x;
      else
        EXPECT_EQ(got, expected) << formula << " of " << x;
    }
  }
}

// The same as instructions, with two operands too.
TEST(FunctionConditions, RunAsVectors) {
  std::vector<float> x(600), slope(600);
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = float(int(i) - 300) / 64;
    slope[i] = float(i % 7) - 3;
  }
  x[0] = kInf;
  x[1] = -kInf;
  x[2] = std::nanf("");
  x[3] = -0.0F;
  for (const char* arch : {"wse2", "wse3"}) {
    for (const char* op : {"thresholded_relu", "shrink"}) {
      const test::RunResult r = run(op, arch, 1, x);
      ASSERT_TRUE(r.ok) << r.message;
      for (size_t i = 0; i < x.size(); ++i) {
        const float v = x[i];
        const float want = op[0] == 't' ? (v > 1 ? v : 0) : (std::fabs(v) <= 0.5F ? 0 : v);
        if (std::isnan(v))
          EXPECT_EQ(std::isnan(r.outputs.at("op_out")[i]), op[0] == 's');
        else
          EXPECT_EQ(r.outputs.at("op_out")[i], want) << op << " of " << v;
      }
    }
    graph::Graph g;
    g.name = "prelu";
    const graph::ValueId a = g.add_input("x", {DataType::f32, {1, 600}});
    const graph::ValueId b = g.add_input("slope", {DataType::f32, {1, 600}});
    g.set_output(test::add_op(g, "op", "prelu", {a, b}, {1, 600}, Origin::autogen));
    const test::RunResult r = test::run_graph(g, test::machine(arch), {}, {{"x", x}, {"slope", slope}}, 1);
    ASSERT_TRUE(r.ok) << r.message;
    for (size_t i = 4; i < x.size(); ++i)
      EXPECT_EQ(r.outputs.at("op_out")[i], x[i] >= 0 ? x[i] : slope[i] * x[i]) << x[i];
  }
}

// Several PEs compute at the same time, though they send in turns: less than one and a half times as long as
// one of them alone, and the stream.
TEST(FunctionTurns, DoNotHoldUpTheOthers) {
  std::vector<float> x(1200), all;
  for (size_t i = 0; i < x.size(); ++i) x[i] = float(i) / 300 - 2;
  for (int k = 0; k < 4; ++k) all.insert(all.end(), x.begin(), x.end());
  const test::RunResult one = run("gelu", "wse2", 1, x), four = run("gelu", "wse2", 4, all);
  ASSERT_TRUE(one.ok && four.ok) << one.message << four.message;
  EXPECT_LT(double(four.sample_ends[0]), 1.5 * double(one.sample_ends[0]));
  for (size_t i = 0; i < all.size(); ++i)
    EXPECT_EQ(four.outputs.at("op_out")[i], one.outputs.at("op_out")[i % 1200]);
}

}  // namespace
}  // namespace cs
