// Filters against the law: what a counter lets through (docs/timing.md §4, filters), word by word, and what
// the walk behind it then keeps, must be what the walk without a filter keeps, sample after sample.
#include <gtest/gtest.h>

#include <vector>

#include "compiler/autogen/stream_filter.h"

namespace cs::test {
namespace {

using autogen::StreamFilter;
using autogen::Walk;

constexpr int kSamples = 3;

int64_t runs_of(const Walk& w) {
  int64_t n = 1;
  for (const Walk::Loop& l : w.loops) n *= l.count;
  return n;
}

// Of every word of a stream of several samples: is it kept? Done as row_feeder.csl does it.
std::vector<bool> kept(const Walk& w) {
  std::vector<bool> list;
  for (int sample = 0; sample < kSamples; ++sample) {
    list.insert(list.end(), size_t(w.before), false);
    std::vector<int64_t> rounds(w.loops.size(), 0);
    for (int64_t run = 0; run < runs_of(w); ++run) {
      list.insert(list.end(), size_t(w.run), true);
      for (size_t k = 0; k < rounds.size(); ++k) {
        if (++rounds[k] < w.loops[k].count) {
          list.insert(list.end(), size_t(w.loops[k].gap), false);
          break;
        }
        rounds[k] = 0;
      }
    }
    list.insert(list.end(), size_t(w.after), false);
  }
  return list;
}

// Words that are kept of the stream, by number: through the filter and then the walk.
std::vector<size_t> through(const StreamFilter& f, const Walk& w, size_t words) {
  const std::vector<bool> keeps = kept(w);
  std::vector<size_t> list;
  size_t seen = 0;
  uint32_t counter = f.first;
  for (size_t i = 0; i < words; ++i) {
    const bool passes = !f.used() || counter <= f.keep - 1;
    if (f.used()) counter = counter < f.period - 1 ? counter + 1 : 0;
    if (!passes) continue;
    EXPECT_LT(seen, keeps.size());
    if (seen < keeps.size() && keeps[seen]) list.push_back(i);
    ++seen;
  }
  EXPECT_EQ(seen, keeps.size());
  return list;
}

StreamFilter expect_same(const Walk& whole) {
  Walk walk = whole;
  const StreamFilter f = autogen::filter_walk(walk);
  const size_t words = kept(whole).size();
  EXPECT_EQ(through(f, walk, words), through({}, whole, words));
  EXPECT_LE(runs_of(walk), runs_of(whole));
  return f;
}

TEST(StreamFilter, RowsOfAPictureLeaveOneRunPerChannel) {
  // 5 channels of 8 x 10 words; rows 2 to 4, of each the words 3 to 6.
  Walk w{23, 4, 33, {{3, 6}, {5, 56}}};
  Walk filtered = w;
  const StreamFilter f = autogen::filter_walk(filtered);
  // 4 of 10 words pass; word 0 is the 7th of a period that begins with word 3.
  EXPECT_EQ(f.period, 10u);
  EXPECT_EQ(f.keep, 4u);
  EXPECT_EQ(f.first, 7u);
  // A channel has 8 * 4 words that pass: 2 rows before, 3 in one run, 3 behind.
  EXPECT_EQ(filtered.before, 8);
  EXPECT_EQ(filtered.run, 12);
  EXPECT_EQ(filtered.after, 12);
  ASSERT_EQ(filtered.loops.size(), 1u);
  EXPECT_EQ(filtered.loops[0].count, 5);
  EXPECT_EQ(filtered.loops[0].gap, 20);
  expect_same(w);
}

TEST(StreamFilter, WhatPassesIsWhatIsKept) {
  EXPECT_TRUE(expect_same({12, 4, 8, {}}).used());  // one run: the stream is the period
  EXPECT_TRUE(expect_same({0, 4, 8, {}}).used());
  EXPECT_TRUE(expect_same({20, 4, 0, {}}).used());
  EXPECT_TRUE(expect_same({6, 4, 0, {{3, 6}}}).used());  // a period ends where the stream does
  EXPECT_TRUE(expect_same({1, 3, 4, {{2, 1}, {3, 5}, {2, 13}}}).used());
  // 4 divides the steps of 12 and all 48 words; in the second, 4 does not divide 13, which divides 52.
  EXPECT_EQ(expect_same({1, 3, 4, {{2, 1}, {4, 5}}}).period, 4u);
  EXPECT_EQ(expect_same({1, 3, 5, {{2, 1}, {4, 6}}}).period, 13u);
}

TEST(StreamFilter, EqualPartsOfAStreamThatACounterCannotCount) {
  // 86 rows of 768 words are 66,048, on 6 rows of PEs 11,008 for each: of each half 11,008 pass.
  Walk w{22016, 11008, 33024, {}}, filtered = w;
  const StreamFilter f = autogen::filter_walk(filtered);
  EXPECT_EQ(f.period, 33024u);
  EXPECT_EQ(f.keep, 11008u);
  EXPECT_EQ(filtered.before, 0);
  EXPECT_EQ(filtered.run, 11008);
  EXPECT_EQ(filtered.after, 11008);
  expect_same(w);
  EXPECT_EQ(expect_same({0, 11008, 55040, {}}).period, 33024u);
  EXPECT_EQ(expect_same({55040, 11008, 0, {}}).period, 33024u);
  EXPECT_EQ(expect_same({22010, 11007, 33031, {}}).period, 33024u);   // over the border of two halves
  EXPECT_EQ(expect_same({100, 20, 65416, {}}).period, 65536u);        // as many as a counter counts
  EXPECT_EQ(expect_same({7, 5, 131051, {{3, 9}}}).period, 43697u);   // two parts of 131,091 words are not equal
}

TEST(StreamFilter, NoneWithoutAPeriod) {
  EXPECT_FALSE(expect_same({0, 24, 0, {}}).used());      // everything is kept
  EXPECT_FALSE(expect_same({24, 0, 0, {}}).used());      // nothing is
  EXPECT_FALSE(expect_same({0, 70000, 10, {}}).used());  // a counter has 16 bits
  EXPECT_FALSE(expect_same({10, 40000, 30000, {}}).used());  // over half of what two periods have
  EXPECT_FALSE(expect_same({0, 20, 65517, {}}).used());      // 65,537 is a prime
  EXPECT_EQ(expect_same({2, 3, 1, {{3, 4}}}).period,
            20u);  // 7 does not divide 20: all three runs are one window
}

}  // namespace
}  // namespace cs::test
