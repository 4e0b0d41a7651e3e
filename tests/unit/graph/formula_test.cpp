// Formulas: what they compute, what is decided while lowering, equal subexpressions, and what is refused.
#include <gmock/gmock.h>

#include <map>

#include "runtime/ops/formula.h"
#include "tests/unit/graph/row_cases.h"

namespace cs::ops {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::vector<std::string_view> kOperands = {"x", "t", "w", "h"};
const std::vector<std::string_view> kAttrs = {"reduction", "alpha", "full", "list"};
const Attrs kGiven = {
    {"alpha", 0.5}, {"full", int64_t(1)}, {"list", Ints{1}}, {"reduction", std::string("sum")}};

struct Operands {
  // x has two samples of three classes, t names classes 2 and 0; w is absent, h in 16 bits.
  std::vector<std::optional<Tensor>> tensors = {floats({2, 3}, {1, 2, 3, 4, 5, 6}), ints({2}, {2, 0}),
                                                std::nullopt, halves({1.5, 2.5})};
  static Tensor halves(const std::vector<double>& values) {
    Tensor t(TensorType{DataType::f16, {int64_t(values.size())}});
    for (size_t i = 0; i < values.size(); ++i) t.set(int64_t(i), values[i]);
    return t;
  }
};

struct Lowered {
  std::vector<DecompositionStep> steps;
  TensorType type;
  std::string error;
};

Lowered lower(std::string_view text) {
  const Operands operands;
  Lowered l;
  const auto f = parse_formula(text, kOperands, kAttrs, l.error);
  if (!f) return l;
  std::vector<const TensorType*> types;
  for (const auto& t : operands.tensors) types.push_back(t ? &t->type : nullptr);
  const bool ok = lower_formula(*f, {kOperands, types, kGiven}, l.steps, l.type, l.error);
  EXPECT_EQ(ok, l.error.empty());
  return l;
}

std::vector<std::string> rows_of(std::string_view text) {
  std::vector<std::string> rows;
  const Lowered l = lower(text);
  EXPECT_EQ(l.error, "");
  for (const DecompositionStep& s : l.steps) rows.push_back(s.op);
  return rows;
}

// The formula on the operands, step by step.
Tensor value(std::string_view text) {
  const Operands operands;
  std::map<std::string, Tensor> values;
  for (size_t k = 0; k < kOperands.size(); ++k)
    if (operands.tensors[k]) values[std::string(kOperands[k])] = *operands.tensors[k];
  const Lowered l = lower(text);
  EXPECT_EQ(l.error, "") << text;
  Diag diag;
  for (const DecompositionStep& s : l.steps) {
    std::vector<const Tensor*> inputs;
    for (const std::string& name : s.operands) inputs.push_back(&values.at(name));
    std::vector<Tensor> made;
    EXPECT_TRUE(evaluate(*find_op(s.op), s.attrs, inputs, made, diag)) << diag.to_string();
    values[s.results[0]] = made.at(0);
  }
  EXPECT_EQ(values["y"].type, l.type) << text;
  return values["y"];
}

void expect_value(std::string_view text, const Shape& shape, const std::vector<double>& wanted) {
  const Tensor y = value(text);
  ASSERT_EQ(y.type.shape, shape) << text;
  for (size_t i = 0; i < wanted.size(); ++i)
    EXPECT_NEAR(y.get(int64_t(i)), wanted[i], 1e-6) << text << " " << i;
}

TEST(Formula, OperatorsBindAsInArithmetic) {
  expect_value("-x^2 + 2 * x - 6 / 3", {2, 3}, {-1, -2, -5, -10, -17, -26});
  expect_value("2^3^2 * 0 + x - 1 - 1", {2, 3}, {-1, 0, 1, 2, 3, 4});
  expect_value("select(x + 1 > 2 * 2, x, -1)", {2, 3}, {-1, -1, -1, 4, 5, 6});
  expect_value("(x >= 2) + (x != 3)", {2, 3}, {1, 2, 1, 2, 2, 2});
  expect_value("real(and(x > 1, not(x > 5)))", {2, 3}, {0, 1, 1, 1, 1, 0});
}

TEST(Formula, ReductionsGoAlongNamedAxes) {
  expect_value("sum(x)", {}, {21});
  expect_value("mean(x, axis=all)", {}, {3.5});
  expect_value("max(x, axis=last)", {2}, {3, 6});
  expect_value("min(x, axis=batch)", {3}, {1, 2, 3});
  expect_value("sum(x, axis=class, keep=1)", {2, 1}, {6, 15});
  expect_value("sum(x, axis=-2)", {3}, {5, 7, 9});
  expect_value("max(x, 3)", {2, 3}, {3, 3, 3, 4, 5, 6});
  expect_value("reduce_l1(-x, axis=0)", {3}, {5, 7, 9});
  expect_value("sum(x > 2)", {}, {4});
  // exp(k) / (1 + e + e²) for differences 0, 1, 2.
  expect_value("softmax(x, axis=class) * 0 + size(x, axis=class)", {2, 3}, {3, 3, 3, 3, 3, 3});
}

TEST(Formula, ClassesAreChosenByIndex) {
  expect_value("pick(x, t)", {2}, {3, 4});
  expect_value("real(chosen(t, x))", {2, 3}, {0, 0, 1, 1, 0, 0});
  expect_value("pick(x, t + 1)", {2}, {0, 5});  // there is no class 3
  expect_value("pick(x, t - 3)", {2}, {0, 0});  // and none counts from the end
  expect_value("x * along(sum(x, axis=batch), x)", {2, 3}, {5, 14, 27, 20, 35, 54});
  expect_value("pick(sum(x, axis=batch), t)", {2}, {9, 5});
  expect_value("x - expand(pick(x, t), axis=class)", {2, 3}, {-2, -1, 0, 0, 1, 2});
}

TEST(Formula, WhatIsKnownIsDecided) {
  EXPECT_THAT(rows_of("select(reduction == \"sum\", sum(x), mean(x))"), ElementsAre("reduce_sum"));
  EXPECT_THAT(rows_of("select(reduction != \"sum\", sum(x), abs(x))"), ElementsAre("abs"));
  EXPECT_THAT(rows_of("select(given(w), w * x, neg(x))"), ElementsAre("neg"));
  EXPECT_THAT(rows_of("select(integer(t) * full == 1, exp(x), w)"), ElementsAre("exp"));
  EXPECT_THAT(rows_of("select(same(x, t), x * t, select(rank(x) == size(t), log(x), x))"),
              ElementsAre("log"));
  // Numbers are computed, also by functions.
  const Lowered l = lower("x * (0.5 * log(2 * pi) + max(alpha, 1) + size(x, axis=class))");
  ASSERT_EQ(l.steps.size(), 2u);
  EXPECT_NEAR(std::get<std::vector<double>>(*find_attr(l.steps[0].attrs, "value"))[0], 0.9189385332046727 + 4,
              1e-15);
}

TEST(Formula, LinesAreComputedOnceAndOnlyIfNeeded) {
  EXPECT_THAT(rows_of("# twice the same, in other words\n"
                      "a = exp(x - 1)\n"
                      "b = w * 2          # nobody needs it\n"
                      "\n"
                      "y = a + exp(x -\t1) ^ 1"),
              ElementsAre("constant", "sub", "exp", "add"));
  EXPECT_THAT(rows_of("y = exp(\n  x\n)"), ElementsAre("exp"));
  EXPECT_THAT(rows_of("x ^ 2"), ElementsAre("square"));
  EXPECT_THAT(rows_of("x"), ElementsAre("identity"));
}

TEST(Formula, SixteenBitsAreComputedInThirtyTwo) {
  const Operands operands;
  std::string error;
  const std::vector<std::string_view> names = {"h"};
  const auto f = parse_formula("h * h", names, {}, error);
  ASSERT_TRUE(f) << error;
  const TensorType half{DataType::f16, {2}};
  const std::vector<const TensorType*> types = {&half};
  std::vector<DecompositionStep> steps;
  TensorType result;
  ASSERT_TRUE(lower_formula(*f, {names, types, {}}, steps, result, error)) << error;
  EXPECT_EQ(type_text(result), "f16[2]");
  EXPECT_EQ(type_text(lower("sum(h)").type), "f32[]");  // of the first operand, x
  expect_value("h * 1", {2}, {1.5, 2.5});
}

TEST(Formula, MistakesAreNamedWithTheirPlace) {
  const auto refused = [](std::string_view text, const std::string& why) {
    const Lowered l = lower(text);
    EXPECT_EQ(l.error, why) << text;
    EXPECT_TRUE(l.steps.empty()) << text;
  };
  refused("", "line 1, column 1: an expression was expected");
  refused("y = x +", "line 1, column 8: an operand was expected");
  refused("y = (x", "line 1, column 7: ')' was expected");
  refused("y = x x", "line 1, column 7: 'x' where an operator or the end of the line was expected");
  refused("a = x\nz = a", "line 2, column 6: the last line defines 'z'; it must define 'y'");
  refused("x\ny = x", "line 2, column 1: an expression without a name must be the last line");
  refused("x = t", "line 1, column 1: 'x' is defined already");
  refused("y = weigth", "line 1, column 5: there is no 'weigth'");
  refused("y = alhpa * x", "line 1, column 5: there is no 'alhpa'; did you mean 'alpha'?");
  refused("y = x\n  + softmx(x)", "line 2, column 3: '+' where an operand was expected");
  refused("softmx(x)", "line 1, column 1: there is no function 'softmx'; did you mean 'softmax'?");
  refused("exp(x, x)", "line 1, column 1: 'exp' has 1 operand, 2 given");
  refused("exp(x, axis=last)", "line 1, column 1: 'exp' has no axis");
  refused("clip(x, mn=1)", "line 1, column 1: 'clip' has no 'mn'; did you mean 'min'?");
  refused("sum(x, axis=rows)",
          "line 1, column 13: an axis is class, last, batch, all or an integer, not 'rows'");
  refused("sum(x, axis=2)", "line 1, column 1: axis 2 does not exist in a tensor with 2 dimensions");
  refused("2e999 * x", "line 1, column 1: not a number that fits");
  refused("2x", "line 1, column 2: a name directly behind a number");
  refused("x * \"two", "line 1, column 5: a text without its closing '\"'");
  refused("x * reduction", "line 1, column 3: a text can only be compared with another one, by == and !=");
  refused("x * list", "line 1, column 5: attribute 'list' is a list");
  refused("x * w", "line 1, column 5: 'w' is not given; select(given(w), ...) asks first");
  refused("select(x, x, x)",
          "line 1, column 8: a condition was expected: a comparison, or and, or, not of some");
  refused("rank(x) + 1",
          "line 1, column 9: the result must be a tensor; nothing here depends on an operand's elements");
  refused("t + 0.5", "line 1, column 3: 0.5 is no i64; real() makes floating-point numbers of integers");
  refused("pick(x, sum(t))", "line 1, column 1: i64[] does not choose along axis 0 of f32[2, 3]");
  refused("pick(x, max(x, axis=last))", "line 1, column 1: an index must have integers, not f32[2]");
  refused("select(full == 2, x, fail(\"full must be 2\"))", "full must be 2");
  EXPECT_THAT(lower("x + sum(x, axis=class)").error, HasSubstr("do not broadcast"));
  EXPECT_THAT(lower(std::string(5000, '(')).error, HasSubstr("nested too deeply"));
  std::string chain = "a0 = x + 1\n";
  for (int i = 1; i < 1000; ++i) chain += "a" + std::to_string(i) + " = a" + std::to_string(i - 1) + " + 1\n";
  EXPECT_THAT(lower(chain + "y = a999").error, HasSubstr("nested too deeply, also by way of earlier lines"));
}

}  // namespace
}  // namespace cs::ops
