// Parts of stages, of rounds and of works within a work, by hand.
#include "runtime/support/progress.h"

#include <gtest/gtest.h>

namespace cs::progress {
namespace {

TEST(Progress, a_part_lies_within_its_stage) {
  stage("a", 0.2, 0.6);
  EXPECT_DOUBLE_EQ(now().fraction, 0.2);
  part("a", 1, 4);
  EXPECT_DOUBLE_EQ(now().fraction, 0.3);
  part("b", 4, 4);  // another stage is at work
  EXPECT_DOUBLE_EQ(now().fraction, 0.3);
  part("a", 9, 4);
  EXPECT_DOUBLE_EQ(now().fraction, 0.6);
}

// 0 to 1/4, 1/4 to 1/4 + 3/16, of a stage from 0 to 0.8.
TEST(Progress, a_round_is_a_quarter_of_what_is_left) {
  stage("a", 0, 0.8);
  round("a");
  part("a", 1, 2);
  EXPECT_DOUBLE_EQ(now().fraction, 0.8 / 8);
  round("b");
  EXPECT_DOUBLE_EQ(now().fraction, 0.8 / 8);
  round("a");
  EXPECT_DOUBLE_EQ(now().fraction, 0.2);
  part("a", 1, 1);
  EXPECT_DOUBLE_EQ(now().fraction, 0.8 * 7 / 16);
  stage("c", 0, 1);
  part("c", 1, 2);
  EXPECT_DOUBLE_EQ(now().fraction, 0.5);
}

TEST(Progress, stages_of_a_part_are_parts_of_it) {
  {
    const Within half(0.5, 1);
    const Within quarter(0, 0.5);  // 0.5 to 0.75
    stage("a", 0.4, 0.8);
    EXPECT_DOUBLE_EQ(now().fraction, 0.6);
    part("a", 1, 1);
    EXPECT_DOUBLE_EQ(now().fraction, 0.7);
  }
  stage("b", 0.1, 1);
  EXPECT_DOUBLE_EQ(now().fraction, 0.1);
}

}  // namespace
}  // namespace cs::progress
