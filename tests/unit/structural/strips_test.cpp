// Several ranks, each with a strip of the fabric, simulate what one does: values, cycles, counters, lines, checkpoints.
#include "tests/unit/structural/strips.h"

#include <gtest/gtest.h>

#include "simulator/engine/engine_device.h"
#include "simulator/engine/strips.h"
#include "tests/unit/engine/random_traffic.h"
#include "tests/unit/engine/thread_ranks.h"
#include "tests/unit/structural/random_program.h"
#include "tests/unit/structural/random_programs.h"
#include "tests/unit/structural/stopped_run.h"

namespace cs::sim::test {
namespace {

TEST(Strips, random_programs_are_the_same) {
  const char* first = std::getenv("WAFERSMITH_FIRST_SEED");
  const int from = first != nullptr ? std::atoi(first) : 1;
  for (int seed = from; seed < from + random_programs(60); ++seed) {
    const Experiment e = RandomProgram(uint32_t(seed)).experiment();
    for (const int ranks : {2, 4}) EXPECT_EQ(difference_in_strips(e, ranks, 1 + seed % 5, 32), "") << "seed " << seed;
  }
}

TEST(Strips, much_traffic_is_the_same) {
  for (const char* name : {"wse2", "wse3"})
    for (int seed = 1; seed <= random_programs(2); ++seed) {
      const Traffic t(machine(name), uint32_t(seed));
      for (const int ranks : {2, 4})
        EXPECT_EQ(difference_in_strips({t.f.machine, t.f.p, {}, {}}, ranks, 5, 3, 1 + seed % 2), "")
            << name << " seed " << seed;
    }
}

// A checkpoint of one rank goes on with several, one of those with other numbers, and that with one.
TEST(Strips, checkpoints_go_on_with_other_ranks) {
  for (uint32_t seed = 1; seed <= 4; ++seed) {
    const Traffic t(machine(seed % 2 ? "wse2" : "wse3"), seed);
    const Experiment e{t.f.machine, t.f.p, {}, {}};
    std::string first, second, third;
    const Seen want = run_with_stops(e, {32, 32, 1}, 40 + seed, &first, nullptr);
    ASSERT_FALSE(first.empty());
    Seen got;
    lead_ranks(e, 3, {4, 4, 1}, 1, [&](const EngineOptions& o) { got = run_with_stops(e, o, 90, &second, &first); });
    EXPECT_EQ(difference(want, got), "") << "seed " << seed;
    const auto later = [&](const EngineOptions& o) { got = run_with_stops(e, o, 130, &third, &second); };
    lead_ranks(e, 2, {5, 32, 2, 0}, 1, later);
    EXPECT_EQ(difference(want, got), "") << "seed " << seed;
    EXPECT_EQ(difference(want, run_with_stops(e, {7, 7, 1}, kNever, nullptr, &third)), "") << "seed " << seed;
  }
}

// A watched port in the lower strip ends each step of all ranks, and cores that have run ahead go back.
TEST(Strips, a_watch_stops_all) {
  {
    Traffic traffic(wse2(), 4);
    traffic.f.route({0, kSide - 2, kSide, 1}, 20, {"W>E"});
    const int in = traffic.f.port("in", true, Port::west, kSide - 2, 20),
              out = traffic.f.port("out", false, Port::east, kSide - 2, 20);
    const Experiment e{traffic.f.machine, traffic.f.p, {}, {}};
    const auto stops_of = [&](const EngineOptions& options) {
      std::vector<Seen> stops;
      Engine engine(e.machine, options);
      Diag diag;
      EXPECT_TRUE(engine.load(e.program, {}, diag)) << diag.to_string();
      for (Cycle t = 1; t < 600; t += 29) engine.send(in, std::vector<uint32_t>{1}, t);
      do {
        engine.watch(out, engine.received(out).size() + 1);
        engine.step(3000);
        count(engine, e, stops.emplace_back());
      } while (engine.watch_fired());
      return stops;
    };
    const std::vector<Seen> want = stops_of({8, 3, 1});
    EXPECT_GT(want.size(), 20u);
    std::vector<Seen> got;
    lead_ranks(e, 3, {8, 3, 1}, 1, [&](const EngineOptions& o) { got = stops_of(o); });
    ASSERT_EQ(got.size(), want.size());
    for (size_t i = 0; i < want.size(); ++i) EXPECT_EQ(difference(want[i], got[i]), "") << "stop " << i;
  }
}

// ---- how the fabric is cut

Program rows_with_programs(int height, std::vector<Rect> rects) {
  Program p;
  p.fabric_width = 10;
  p.fabric_height = height;
  for (const Rect& r : rects) p.rects.push_back({r, 0});
  return p;
}

TEST(Strips, have_about_as_many_programs_each) {
  Diag diag;
  const auto even = cut_strips(rows_with_programs(64, {{0, 0, 10, 64}}), 8, 4, diag);
  ASSERT_TRUE(even);
  EXPECT_EQ(even->block_height, 8);
  EXPECT_EQ(even->first_row, (std::vector<int>{0, 2, 4, 6, 8}));
  // Blocks get lower where rows with programs are few, and rows without any weigh little.
  const auto top = cut_strips(rows_with_programs(64, {{0, 0, 10, 8}}), 32, 4, diag);
  ASSERT_TRUE(top);
  EXPECT_EQ(top->block_height, 2);
  EXPECT_EQ(top->first_row, (std::vector<int>{0, 1, 2, 3, 32}));
  const auto nothing = cut_strips(rows_with_programs(5, {}), 32, 4, diag);
  ASSERT_TRUE(nothing);
  EXPECT_EQ(nothing->block_height, 1);
  EXPECT_EQ(nothing->first_row.back(), 5);
  EXPECT_FALSE(cut_strips(rows_with_programs(3, {{0, 0, 10, 3}}), 32, 4, diag));
  EXPECT_NE(diag.to_string().find("3 rows, too few for 4 ranks"), std::string::npos) << diag.to_string();
}

// ---- what goes wrong

TEST(Strips, a_rank_with_another_program_is_named) {
  const Traffic t(wse2(), 1);
  const Experiment e{t.f.machine, t.f.p, {}, {}};
  Diag diag;
  bool loaded = true;
  run_as_ranks(
      2,
      [&](Ranks& r) {
        EngineOptions options;
        options.ranks = &r;
        Engine engine(e.machine, options);
        loaded = engine.load(e.program, e.weights, diag);
        end_followers(r);
      },
      [&](Ranks& r) {
        EngineOptions options;
        options.ranks = &r;
        Program other = e.program;
        other.name = "other";
        Engine engine(e.machine, options);
        Diag unheard;
        engine.load(other, e.weights, unheard);
        engine.follow();
      });
  EXPECT_FALSE(loaded);
  EXPECT_NE(diag.to_string().find("rank 1: error: has loaded another program"), std::string::npos) << diag.to_string();
}

TEST(Strips, a_rank_that_cannot_read_its_program_is_named) {
  const Traffic t(wse2(), 1);
  Diag diag;
  run_as_ranks(
      3,
      [&](Ranks& r) {
        EngineOptions options;
        options.ranks = &r;
        Engine engine(t.f.machine, options);
        EXPECT_FALSE(engine.load(t.f.p, {}, diag));
      },
      [&](Ranks& r) { cannot_follow(r, "no such folder"); });
  EXPECT_NE(diag.to_string().find("rank 1: error: cannot load the program: no such folder"), std::string::npos)
      << diag.to_string();
}

TEST(Strips, a_lost_rank_ends_the_run) {
  const Traffic t(wse2(), 1);
  const Experiment e{t.f.machine, t.f.p, {}, {}};
  const auto lead = [&](Ranks& r) {
    EngineOptions options;
    options.ranks = &r;
    Engine engine(e.machine, options);
    Diag diag;
    ASSERT_TRUE(engine.load(e.program, {}, diag)) << diag.to_string();
    engine.step(20000);
  };
  const auto follow = [&](Ranks& r) {
    EngineOptions options;
    options.ranks = &r;
    Engine engine(e.machine, options);
    Diag diag;
    ASSERT_TRUE(engine.load(e.program, {}, diag)) << diag.to_string();
    throw std::runtime_error("gone");
  };
  try {
    run_as_ranks(2, lead, follow);
    ADD_FAILURE() << "nobody noticed";
  } catch (const RankLost& lost) {
    EXPECT_STREQ(lost.what(), "rank 1: gone");
  }
}

}  // namespace
}  // namespace cs::sim::test
