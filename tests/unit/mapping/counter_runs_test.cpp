// Loops of counters give every PE its own counter, and are few where counters go up or down evenly.
#include "compiler/mapping/counter_runs.h"

#include <map>
#include <random>

#include <gtest/gtest.h>

namespace cs::mapping {
namespace {

// The counter of every PE of the runs, by the definition of CounterRun; twice in a run is an error.
std::map<std::pair<int, int>, int> spread(const std::vector<CounterRun>& runs) {
  std::map<std::pair<int, int>, int> all;
  for (const CounterRun& r : runs)
    for (int row = 0; row < r.run.h; ++row)
      for (int i = 0; i < r.run.count; ++i) {
        const int x = r.run.x + i * r.run.step, y = r.run.y + row;
        const bool fresh = all.emplace(std::pair(x, y), r.counter + r.by_x * (x - r.run.x) + r.by_y * row).second;
        EXPECT_TRUE(fresh) << x << ' ' << y;
      }
  return all;
}

TEST(CounterRuns, RowsThatGoDownAreOneLoop) {
  std::vector<CountedPe> pes;
  for (int y = 5; y < 8; ++y)
    for (int x = 100; x < 164; ++x) pes.push_back({{x, y}, uint16_t(163 - x + 2 * (y - 5))});
  const std::vector<CounterRun> runs = counter_runs_of(pes);
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].run.h, 3);
  // 63 at (100, 5): 63 + 100 - 2 * 5.
  EXPECT_EQ(counter_text(runs[0]), "153 - x + 2 * y");
}

// The first one of a row begins at 0, those behind it go down.
TEST(CounterRuns, ALongRunIsNotCutByWhatIsBeforeIt) {
  std::vector<CountedPe> pes{{{10, 0}, 0}};
  for (int x = 11; x < 74; ++x) pes.push_back({{x, 0}, uint16_t(74 - x)});
  const std::vector<CounterRun> runs = counter_runs_of(pes);
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[1].run.count, 63);
}

TEST(CounterRuns, EqualCountersAreANumber) {
  const std::vector<CounterRun> runs = counter_runs_of({{{3, 1}, 7}, {{4, 1}, 7}, {{3, 2}, 7}, {{4, 2}, 7}});
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(counter_text(runs[0]), "7");
}

// 600 * 64 is beyond i16.
TEST(CounterRuns, LongCountersAreWide) {
  const std::vector<CounterRun> runs = counter_runs_of({{{600, 0}, 64}, {{601, 0}, 128}, {{602, 0}, 192}});
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(counter_text(runs[0]), "-38336 + 64 * @as(i32, x)");
}

TEST(CounterRuns, EveryPeKeepsItsCounter) {
  std::mt19937 rng(11);
  for (int round = 0; round < 300; ++round) {
    std::map<std::pair<int, int>, int> want;
    std::vector<CountedPe> pes;
    for (int n = int(rng() % 60); n > 0; --n) {
      const int x = int(rng() % 9), y = int(rng() % 9), counter = int(rng() % 4);
      if (want.emplace(std::pair(x, y), counter).second) pes.push_back({{x, y}, uint16_t(counter)});
    }
    EXPECT_EQ(spread(counter_runs_of(pes)), want);
  }
}

}  // namespace
}  // namespace cs::mapping
