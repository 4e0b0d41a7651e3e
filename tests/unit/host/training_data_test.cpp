// Slices of training data and checkpoints: shapes, types, and what is wrong with those that do not fit.
#include "runtime/host/training_data.h"

#include <gmock/gmock.h>

#include <filesystem>

namespace cs {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

HostPart host() {
  HostPart h;
  h.inputs = {{"x", DataType::f32, {2, 3}, kStackedSamples}, {"t", DataType::i32, {2}, kStackedSamples}};
  h.states = {{"w", "weights", DataType::f32, {2}}, {"w.m", "optimizer", DataType::f32, {2}}};
  return h;
}

NamedArray array(const std::string& name, DataType type, ops::Shape shape) {
  ops::Tensor t({type, std::move(shape)});
  for (int64_t i = 0; i < t.elements(); ++i) t.set(i, double(i));
  return {name, std::move(t)};
}

TEST(TrainingData, TakesSlicesStackedOrOneBehindTheOther) {
  Diag diag;
  std::vector<NamedArray> a = {array("x", DataType::f32, {4, 2, 3}), array("t", DataType::i32, {8})};
  ASSERT_TRUE(slice_data(host(), a, diag)) << diag.to_string();
  EXPECT_THAT(a[0].tensor.type.shape, ElementsAre(4, 2, 3));
  EXPECT_THAT(a[1].tensor.type.shape, ElementsAre(4, 2));
  EXPECT_EQ(a[1].tensor.get_int(7), 7);
}

TEST(TrainingData, OneSliceIsThatOfAllSteps) {
  Diag diag;
  std::vector<NamedArray> a = {array("x", DataType::f32, {3, 2, 3}), array("t", DataType::i32, {2})};
  ASSERT_TRUE(slice_data(host(), a, diag)) << diag.to_string();
  EXPECT_THAT(a[1].tensor.type.shape, ElementsAre(3, 2));
  for (int64_t i = 0; i < 6; ++i) EXPECT_EQ(a[1].tensor.get_int(i), i % 2);
}

TEST(TrainingData, ConvertsNumbersThatFit) {
  Diag diag;
  std::vector<NamedArray> a = {array("x", DataType::u8, {2, 3}), array("t", DataType::i64, {2})};
  ASSERT_TRUE(slice_data(host(), a, diag)) << diag.to_string();
  EXPECT_EQ(a[0].tensor.type.dtype, DataType::f32);
  EXPECT_EQ(a[0].tensor.get(5), 5);
  EXPECT_EQ(a[1].tensor.type.dtype, DataType::i32);
  a[1] = array("t", DataType::i64, {2});
  a[1].tensor.set_int(0, int64_t(1) << 40);
  EXPECT_FALSE(slice_data(host(), a, diag));
  EXPECT_THAT(diag.to_string(), HasSubstr("does not fit the input's i32"));
}

TEST(TrainingData, SaysWhatAStepTakes) {
  Diag diag;
  std::vector<NamedArray> a = {array("x", DataType::f32, {3, 3})};
  EXPECT_FALSE(slice_data(host(), a, diag));
  EXPECT_THAT(diag.to_string(), HasSubstr("array 'x' is f32[3, 3], a step takes f32[2, 3]"));
}

class Checkpoints : public ::testing::Test {
 protected:
  std::optional<Checkpoint> read(const std::vector<NamedArray>& arrays) {
    diag_ = {};
    EXPECT_TRUE(write_npz(file_, arrays, diag_));
    return read_checkpoint(file_, host(), diag_);
  }
  void TearDown() override { std::filesystem::remove(file_); }
  const std::string file_ = ::testing::TempDir() + "cs_checkpoint_" +
                            ::testing::UnitTest::GetInstance()->current_test_info()->name() + ".npz";
  Diag diag_;
};

TEST_F(Checkpoints, ComeBackAsTheyWereWritten) {
  Diag diag;
  const Checkpoint c{{array("w", DataType::f32, {2}), array("w.m", DataType::f32, {2})}, 12};
  ASSERT_TRUE(write_checkpoint(file_, c, diag)) << diag.to_string();
  const auto back = read_checkpoint(file_, host(), diag);
  ASSERT_TRUE(back) << diag.to_string();
  EXPECT_EQ(back->steps, 12);
  ASSERT_EQ(back->states.size(), 2u);
  EXPECT_EQ(back->states[0].tensor.bytes, c.states[0].tensor.bytes);
}

TEST_F(Checkpoints, OfWeightsAloneBeginANewOptimizer) {
  const auto c = read({array("w", DataType::f32, {2})});
  ASSERT_TRUE(c) << diag_.to_string();
  EXPECT_EQ(c->steps, 0);
}

TEST_F(Checkpoints, MissAndKnowNothingElse) {
  EXPECT_FALSE(read({array("w.m", DataType::f32, {2})}));
  EXPECT_THAT(diag_.to_string(), HasSubstr("has no array 'w' (weights)"));
  EXPECT_FALSE(read({array("w", DataType::f32, {2}), array("w.n", DataType::f32, {2})}));
  EXPECT_THAT(diag_.to_string(), HasSubstr("the program has no state 'w.n'"));
  EXPECT_THAT(diag_.to_string(), HasSubstr("did you mean 'w.m'?"));
}

}  // namespace
}  // namespace cs
