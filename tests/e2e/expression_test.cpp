// The expressions of `measure:` and `expect:`; expected values are plain arithmetic.
#include "tools/cs-regress/expression.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cs {
namespace {

std::optional<double> evaluate(const std::string& text, std::string* why = nullptr) {
  const Lookup lookup = [](const std::string& name) -> std::optional<std::vector<double>> {
    if (name == "n") return std::vector{10.0};
    if (name == "t") return std::vector{1.0, 0.0, 0.0, 5.0, 2.0, 0.0};  // two stamps: 1 and 5 + 2 * 65536
    return std::nullopt;
  };
  std::string error;
  const auto value = evaluate_expression(text, lookup, error);
  if (why != nullptr) *why = error;
  return value;
}

TEST(Expression, FollowsThePrecedenceOfArithmetic) {
  EXPECT_EQ(evaluate("2 + 3 * 4 - 6 / 2"), 11);
  EXPECT_EQ(evaluate("-(2 - n) * 2"), 16);
}

TEST(Expression, ReducesArraysOfTimeStamps) {
  EXPECT_EQ(evaluate("max(tsc(t)) - min(tsc(t))"), 4 + 131072);
  EXPECT_EQ(evaluate("at(tsc(t), 1)"), 131077);
  EXPECT_EQ(evaluate("sum(t) / 6"), 8.0 / 6);
  EXPECT_EQ(evaluate("max(t - t)"), 0);
}

TEST(Expression, HasTheFunctionsOfClosedForms) {
  EXPECT_EQ(evaluate("max(n * log2(8), 29, 2) + sqrt(16)"), 34);
  EXPECT_EQ(evaluate("min(floor(2.9), ceil(2.1))"), 2);
}

TEST(Expression, TakesColumnsOfEveryRow) {
  // t as two rows of three: columns 1 and 2 are 0 0 and 2 0.
  EXPECT_EQ(evaluate("sum(columns(t, 3, 1, 2))"), 2);
  EXPECT_EQ(evaluate("max(columns(t, 6, 3, 1))"), 5);
  std::string why;
  EXPECT_FALSE(evaluate("sum(columns(t, 4, 0, 1))", &why));
  EXPECT_THAT(why, testing::HasSubstr("these columns do not exist"));
}

TEST(Expression, ErrorsNameTheColumnAndTheReason) {
  std::string why;
  EXPECT_FALSE(evaluate("max(t", &why));
  EXPECT_EQ(why, "column 6: ')' expected");
  EXPECT_FALSE(evaluate("n + cycle", &why));
  EXPECT_EQ(why, "column 10: unknown name 'cycle'");
  EXPECT_FALSE(evaluate("t", &why));
  EXPECT_EQ(why, "column 2: the result is an array; use max, min, sum or mean");
  EXPECT_FALSE(evaluate(std::string(1000, '('), &why));
  EXPECT_NE(why.find("nested too deeply"), std::string::npos);
}

}  // namespace
}  // namespace cs
