// The rule for agreement: per output, max|out - expected| <= tolerance * max|expected|; integers exactly;
// special values in place.
#include "runtime/host/compare.h"

#include <gtest/gtest.h>

#include <cmath>

namespace cs {
namespace {

std::vector<NamedArray> one(std::vector<float> values) {
  const auto n = int64_t(values.size());
  return {{"y", ops::Tensor::from_floats({n}, values)}};
}

TEST(Compare, ScalesWithTheLargestExpectedValue) {
  // 1e-4 * 100 = 0.01 is allowed, also at the small element.
  EXPECT_TRUE(compare_outputs(one({100.009f, 0.009f}), one({100, 0}), "fp32").ok);
  const CheckResult r = compare_outputs(one({100, 0.011f}), one({100, 0}), "fp32");
  EXPECT_FALSE(r.ok);
  EXPECT_NEAR(r.max_abs, 0.011, 1e-6);
  EXPECT_NEAR(r.max_rel, 1.1e-4, 1e-8);
  EXPECT_NE(r.mismatch.find("[1]"), std::string::npos) << r.mismatch;
}

TEST(Compare, HalfPrecisionAllowsTwoPercent) {
  EXPECT_TRUE(compare_outputs(one({1.019f}), one({1}), "fp16").ok);
  EXPECT_FALSE(compare_outputs(one({1.021f}), one({1}), "fp16").ok);
  // 70000 is beyond fp16: only +inf agrees.
  EXPECT_TRUE(compare_outputs(one({INFINITY}), one({70000}), "fp16").ok);
  EXPECT_FALSE(compare_outputs(one({65504}), one({70000}), "fp16").ok);
}

TEST(Compare, SpecialValuesMustBeInTheSamePlaces) {
  EXPECT_TRUE(compare_outputs(one({NAN, INFINITY, 1}), one({NAN, INFINITY, 1}), "fp32").ok);
  EXPECT_FALSE(compare_outputs(one({1, INFINITY}), one({NAN, INFINITY}), "fp32").ok);
  EXPECT_FALSE(compare_outputs(one({-INFINITY}), one({INFINITY}), "fp32").ok);
  EXPECT_FALSE(compare_outputs(one({NAN}), one({1}), "fp32").ok);
}

TEST(Compare, IntegersAgreeExactly) {
  ops::Tensor a({DataType::i64, {2}}), b = a;
  a.set_int(0, (int64_t(1) << 53) + 1);
  b.set_int(0, int64_t(1) << 53);
  EXPECT_FALSE(compare_outputs({{"y", a}}, {{"y", b}}, "fp32").ok);
  EXPECT_TRUE(compare_outputs({{"y", a}}, {{"y", a}}, "fp32").ok);
}

TEST(Compare, MissingOutputsAndWrongShapesFail) {
  EXPECT_FALSE(compare_outputs({}, one({1}), "fp32").ok);
  EXPECT_FALSE(compare_outputs(one({1, 2}), one({1}), "fp32").ok);
  EXPECT_FALSE(compare_outputs(one({1}), {}, "fp32").ok);
}

// An output in 16 bits of a program whose inputs have 32 is held to 16 bits, the others are not.
TEST(Compare, EveryOutputByItsOwnType) {
  ops::Tensor half(ops::TensorType{DataType::f16, {1}});
  half.set(0, 1.0);
  const std::vector<NamedArray> outputs{{"y", half}, {"z", ops::Tensor::from_floats({1}, {1})}};
  const auto expected = [](float y, float z) {
    return std::vector<NamedArray>{{"y", ops::Tensor::from_floats({1}, {y})},
                                   {"z", ops::Tensor::from_floats({1}, {z})}};
  };
  EXPECT_TRUE(compare_outputs(outputs, expected(1.019f, 1), "fp32").ok);
  EXPECT_FALSE(compare_outputs(outputs, expected(1.021f, 1), "fp32").ok);
  EXPECT_FALSE(compare_outputs(outputs, expected(1, 1.019f), "fp32").ok);
  EXPECT_EQ(compare_outputs(outputs, expected(1, 1), "fp32").tolerance, 2e-2);
}

TEST(Compare, OptionsCanOnlyTighten) {
  EXPECT_FALSE(compare_outputs(one({1.00005f}), one({1}), "fp32", 1e-6).ok);
  EXPECT_EQ(compare_outputs(one({1}), one({1}), "fp32", 0.5).tolerance, 1e-4);
}

}  // namespace
}  // namespace cs
