// Logarithm, roots, quotients and powers as vector instructions, against double precision over all exponents
// of f32 with random mantissas, and for zeros, infinities, NaN and negative numbers: as the vector program
// says, and as what runs on both machines.
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include <gtest/gtest.h>

#include "compiler/autogen/expression.h"
#include "compiler/autogen/functions.h"
#include "tests/unit/mapping/harness.h"

namespace cs {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr int kExponents = 254;  // of numbers that are not below 2^-126

struct Function {
  const char* name;
  const char* formula;
  std::function<double(double)> reference;
  bool negative;  // it is defined for them
};

const Function kFunctions[] = {
    {"log", "log(x)", [](double x) { return std::log(x); }, false},
    {"log1p", "log(1 + x)", [](double x) { return std::log(double(1 + float(x))); }, false},
    {"sqrt", "sqrt(x)", [](double x) { return std::sqrt(x); }, false},
    {"rsqrt", "1 / sqrt(x)", [](double x) { return 1 / std::sqrt(x); }, false},
    {"reciprocal", "1 / x", [](double x) { return 1 / x; }, true},
    {"cube", "pow(x, 3)", [](double x) { return x * x * x; }, true},
    {"fourth", "pow(x, 4)", [](double x) { return x * x * x * x; }, true},
    {"root_by_power", "pow(x, 0.5)", [](double x) { return std::sqrt(x); }, false},
    {"inverse_root_by_power", "pow(x, -0.5)", [](double x) { return 1 / std::sqrt(x); }, false},
    {"half_five", "pow(x, 2.5)", [](double x) { return x * x * std::sqrt(x); }, false},
    {"inverse_by_power", "pow(x, -1)", [](double x) { return 1 / x; }, true},
};

ops::Expr parsed(const char* formula, std::span<const std::string_view> names) {
  std::string error;
  const auto e = ops::parse_expr(formula, names, {}, error);
  EXPECT_TRUE(e) << error;
  return autogen::rewrite_for_vectors(*e);
}

// The vector program of an expression of x.
struct Program {
  autogen::VectorProgram nodes;
  int input = -1, root = -1;
  float of(float x) const { return nodes.value_at(root, input, x); }
};
Program program_of(const char* formula) {
  const std::string_view names[] = {"x"};
  const ops::Expr e = parsed(formula, names);
  const auto ranges = autogen::ranges_of(e);
  autogen::VectorProgram p;
  std::vector<int> at;
  for (size_t i = 0; i < e.nodes.size(); ++i) {
    const ops::ExprNode& n = e.nodes[i];
    const bool leaf = n.kind == ops::ExprKind::constant || n.kind == ops::ExprKind::input;
    EXPECT_TRUE(leaf || autogen::has_vector_form(e, int(i), ranges)) << formula;
    at.push_back(n.kind == ops::ExprKind::constant ? p.scalar(n.value)
                 : leaf                            ? p.input(n.index)
                                                   : autogen::build_vector_form(p, e, int(i), ranges, at));
  }
  const int input = p.input(0);
  return {std::move(p), input, at[size_t(e.root)]};
}

// Units in the last place of the result; beyond the range infinity is right, below 2^-126 what is within
// 2^-126.
double units(float got, double want) {
  const auto size = float(std::fabs(want));
  if (std::isinf(size)) return got == float(want) ? 0 : 1e9;
  if (size < 0x1p-126F) return std::fabs(got) <= 0x1p-126F ? 0 : 1e9;
  return std::fabs(got - want) / (double(std::nextafter(size, kInf)) - size);
}

std::vector<float> over_all_exponents(int of_each, uint32_t seed, bool negative = false) {
  std::mt19937 random(seed);
  std::vector<float> list;
  for (uint32_t e = 1; e <= kExponents; ++e) {
    for (int k = 0; k < of_each; ++k) {
      const auto bits = uint32_t(random());
      list.push_back(std::bit_cast<float>(e << 23 | (bits & 0x7fffff) | (negative ? bits & 0x80000000 : 0)));
    }
  }
  return list;
}

class General : public testing::TestWithParam<size_t> {};

TEST_P(General, IsWithinFourUnitsOverAllExponents) {
  const Function& f = kFunctions[GetParam()];
  const Program p = program_of(f.formula);
  for (float v : over_all_exponents(300, 7, f.negative))
    ASSERT_LE(units(p.of(v), f.reference(v)), 4) << f.formula << " of " << v;
  // Where a logarithm has its zero, and roots and quotients are close to 1.
  std::mt19937 random(11);
  for (int k = 0; k < 50000; ++k) {
    const float v = 1 + std::ldexp(float(int32_t(random())), -32 - k % 20);
    ASSERT_LE(units(p.of(v), f.reference(v)), 4) << f.formula << " of " << v;
  }
}

INSTANTIATE_TEST_SUITE_P(Forms, General, testing::Range(size_t(0), std::size(kFunctions)),
                         [](const auto& info) { return std::string(kFunctions[info.param].name); });

// What IEEE 754 and C's <math.h> say of them.
TEST(GeneralLimits, AreThoseOfTheFunctions) {
  const float nan = std::nanf("");
  struct Case {
    const char* formula;
    float zero, minus_zero, infinity, minus_infinity, minus_one;
  };
  for (const Case& c :
       {Case{"log(x)", -kInf, -kInf, kInf, nan, nan}, Case{"sqrt(x)", 0, -0.0F, kInf, nan, nan},
        Case{"1 / sqrt(x)", kInf, kInf, 0, nan, nan}, Case{"1 / x", kInf, -kInf, 0, -0.0F, -1},
        Case{"3 / x", kInf, -kInf, 0, -0.0F, -3}, Case{"1 / (abs(x) + 1)", 1, 1, 0, 0, 0.5F},
        Case{"sqrt(x * x)", 0, 0, kInf, kInf, 1}, Case{"log(x * x)", -kInf, -kInf, kInf, kInf, 0}}) {
    const Program p = program_of(c.formula);
    EXPECT_TRUE(std::isnan(p.of(nan))) << c.formula;
    for (const auto& [v, want] :
         {std::pair{0.0F, c.zero}, std::pair{-0.0F, c.minus_zero}, std::pair{kInf, c.infinity},
          std::pair{-kInf, c.minus_infinity}, std::pair{-1.0F, c.minus_one}}) {
      const float got = p.of(v);
      if (std::isnan(want)) {
        EXPECT_TRUE(std::isnan(got)) << c.formula << " of " << v << " is " << got;
      } else if (std::isinf(want) || want == 0) {
        EXPECT_EQ(got, want) << c.formula << " of " << v;
        EXPECT_EQ(std::signbit(got), std::signbit(want)) << c.formula << " of " << v;
      } else {
        EXPECT_NEAR(got, want, 4e-7 * std::fabs(want)) << c.formula << " of " << v;
      }
    }
  }
}

// ---- what runs

test::RunResult run(const char* op, const char* arch, const std::map<std::string, std::vector<float>>& inputs,
                    const std::vector<std::string>& names) {
  graph::Graph g;
  g.name = op;
  const auto n = int64_t(inputs.begin()->second.size());
  std::vector<graph::ValueId> in;
  for (const std::string& name : names) in.push_back(g.add_input(name, {DataType::f32, {1, n}}));
  g.set_output(test::add_op(g, "op", op, in, {1, n}, Origin::autogen));
  mapping::MapOptions options;
  options.force_width = options.force_height = 1;
  return test::run_graph(g, test::machine(arch), options, inputs, 1);
}

class GeneralOnMachine : public testing::TestWithParam<const char*> {};

// The instructions do what the vector program says, bit for bit.
TEST_P(GeneralOnMachine, ComputesWhatTheProgramSays) {
  std::vector<float> x = over_all_exponents(8, 23, true);
  for (float v : {0.0F, -0.0F, kInf, -kInf, std::nanf(""), 1e-40F, -1e-40F, 1e-45F}) x.push_back(v);
  for (const auto& [op, formula] : {std::pair{"log", "log(x)"}, std::pair{"sqrt", "sqrt(x)"},
                                    std::pair{"rsqrt", "1 / sqrt(x)"}, std::pair{"reciprocal", "1 / x"}}) {
    const test::RunResult r = run(op, GetParam(), {{"x", x}}, {"x"});
    ASSERT_TRUE(r.ok) << r.message;
    const std::vector<float>& y = r.outputs.at("op_out");
    const Program p = program_of(formula);
    for (size_t i = 0; i < x.size(); ++i) {
      const float want = p.of(x[i]);
      if (std::isnan(want)) {
        EXPECT_TRUE(std::isnan(y[i])) << op << " of " << x[i];
      } else {
        EXPECT_EQ(std::bit_cast<uint32_t>(y[i]), std::bit_cast<uint32_t>(want)) << op << " of " << x[i];
      }
    }
  }
}

// Numerator and divisor of every exponent, also where the divisor's reciprocal is below 2^-126: there it has
// fewer digits.
TEST_P(GeneralOnMachine, DividesNumbersOfAllExponents) {
  std::vector<float> a = over_all_exponents(8, 3, true), b = over_all_exponents(8, 5, true);
  std::mt19937 random(17);
  std::shuffle(a.begin(), a.end(), random);
  for (int k = 0; k < 64; ++k) {  // far ends, with quotients within the range
    a[size_t(k)] = std::ldexp(1 + float(k) / 64, 100);
    b[size_t(k)] = std::ldexp(2 - float(k) / 64, k % 2 == 0 ? 126 : 127) * 0.999F;
  }
  const std::vector<std::pair<float, float>> limits = {{1, 0},
                                                       {-1, 0},
                                                       {1, -0.0F},
                                                       {0, 0},
                                                       {kInf, 2},
                                                       {2, kInf},
                                                       {2, -kInf},
                                                       {kInf, kInf},
                                                       {std::nanf(""), 1},
                                                       {1, std::nanf("")},
                                                       {0, 3},
                                                       {kInf, 0},
                                                       {0, kInf}};
  for (const auto& [n, d] : limits) {
    a.push_back(n);
    b.push_back(d);
  }
  const test::RunResult r = run("div", GetParam(), {{"a", a}, {"b", b}}, {"a", "b"});
  ASSERT_TRUE(r.ok) << r.message;
  const std::vector<float>& y = r.outputs.at("op_out");
  for (size_t i = 0; i < a.size(); ++i) {
    const double want = double(a[i]) / double(b[i]);
    if (std::isnan(want)) {
      EXPECT_TRUE(std::isnan(y[i])) << a[i] << " / " << b[i] << " is " << y[i];
      continue;
    }
    EXPECT_LE(units(y[i], want), std::fabs(b[i]) < 0x1p126F ? 4 : 7)
        << a[i] << " / " << b[i] << " is " << y[i];
  }
}

INSTANTIATE_TEST_SUITE_P(Machines, GeneralOnMachine, testing::Values("wse2", "wse3"));

// A quotient that is rounded to whole numbers is the correctly rounded one.
TEST(GeneralSteps, AreOfExactQuotients) {
  const std::string_view names[] = {"x", "y"};
  for (const char* formula : {"floor(x / y)", "x - y * floor(x / y)", "select(x / y < 1, x, y)"}) {
    const ops::Expr e = parsed(formula, names);
    const auto ranges = autogen::ranges_of(e);
    for (size_t i = 0; i < e.nodes.size(); ++i) {
      if (e.nodes[i].kind != ops::ExprKind::div) continue;
      EXPECT_FALSE(autogen::has_vector_form(e, int(i), ranges)) << formula;
    }
  }
}

}  // namespace
}  // namespace cs
