// Constants as kernels read them.
#include "compiler/kernels/constant_view.h"

#include <gmock/gmock.h>

#include <bit>
#include <cmath>
#include <limits>

namespace cs::kernels {
namespace {

using ::testing::ElementsAre;

std::shared_ptr<const ops::Tensor> shared(ops::Tensor t) { return std::make_shared<const ops::Tensor>(std::move(t)); }

TEST(ConstantView, ATurnedMatrixIsReadByItsOwnRowsAndColumns) {
  // The tensor is [[1, 2], [3, 4], [5, 6]], the view [[1, 3, 5], [2, 4, 6]], twice as much.
  const auto tensor = shared(ops::Tensor::from_floats({3, 2}, {1, 2, 3, 4, 5, 6}));
  const ConstantView view = ConstantView(tensor, 2).turned(2, 3);
  EXPECT_EQ(view.size(), 6);
  EXPECT_THAT(view.floats(), ElementsAre(2, 6, 10, 4, 8, 12));
  EXPECT_EQ(view[4], 8);
  std::vector<float> column(2);
  view.copy(1, 2, 3, column.data());  // down the second column
  EXPECT_THAT(column, ElementsAre(6, 8));
}

TEST(ConstantView, WordsAreIntegersOrFloatsAsTheTensorIs) {
  ops::Tensor whole(ops::TensorType{DataType::i64, {2}}), half(ops::TensorType{DataType::f16, {2}});
  whole.set_int(0, -1);
  whole.set_int(1, 7);
  half.set(0, 0.5);
  half.set(1, -2);
  std::vector<uint32_t> words;
  ConstantView(shared(whole)).append_words(0, 2, words);
  ConstantView(shared(half)).append_words(1, 1, words);
  EXPECT_THAT(words, ElementsAre(0xffffffffu, 7u, std::bit_cast<uint32_t>(-2.0F)));
}

TEST(Tensor, AllHalvesBecomeTheFloatsThatTheyAre) {
  ops::Tensor t(ops::TensorType{DataType::f16, {65536}});
  for (int64_t i = 0; i < 65536; ++i) {
    t.bytes[size_t(2 * i)] = uint8_t(i);
    t.bytes[size_t(2 * i) + 1] = uint8_t(i >> 8);
  }
  const std::vector<float> got = t.to_floats();
  for (int i = 0; i < 65536; ++i) {
    // IEEE 754: fraction of 10 bits, exponent of 5 with bias 15.
    const int exponent = i >> 10 & 31, fraction = i & 1023;
    const float sign = i >> 15 != 0 ? -1.0F : 1.0F;
    if (exponent == 31 && fraction != 0) {
      EXPECT_TRUE(std::isnan(got[size_t(i)])) << i;
    } else if (exponent == 31) {
      EXPECT_EQ(got[size_t(i)], sign * std::numeric_limits<float>::infinity()) << i;
    } else {
      const float want = exponent == 0 ? std::ldexp(float(fraction), -24)
                                       : std::ldexp(float(1024 + fraction), exponent - 25);
      EXPECT_EQ(got[size_t(i)], sign * want) << i;
      EXPECT_EQ(std::signbit(got[size_t(i)]), sign < 0) << i;
    }
  }
}

}  // namespace
}  // namespace cs::kernels
