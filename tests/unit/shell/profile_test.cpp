// Where the cycles of a CSL program go, by line and by function; launches in reports. By hand, see samples.h.
#include "simulator/report/profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "simulator/report/collect.h"
#include "simulator/report/insights.h"
#include "simulator/report/launches.h"
#include "simulator/report/stats_json.h"
#include "simulator/report/summary.h"
#include "tests/unit/shell/samples.h"

namespace cs::sim::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

// The sender's DSR loads (cycles 3 and 4, behind the start of the task) come from line 1, its operation and
// the end of the task from line 2: issue in 8, elements in 12 to 19; the end of the task in 16 shares its
// cycle with an element. It waits for the DSR in 5 to 7, and for the first element in 9 to 11.
TEST(Profile, every_cycle_belongs_to_the_line_that_worked_or_waited) {
  Fabric f = one_hop();
  f.p.tiles[0].files = {"send.csl"};
  f.p.tiles[0].lines = {{0, 0, 1, 1}, {2, 0, 2, 1}};
  Engine engine(f.machine, {});
  Profile profile(f.p);
  engine.set_trace(&profile);
  Diag diag;
  ASSERT_TRUE(engine.load(f.p, {}, diag)) << diag.to_string();
  engine.step(40);
  profile.end();
  const std::vector<LineCost> lines = profile.lines();
  ASSERT_EQ(lines.size(), 3u);  // those of the receiver come from no line
  std::map<uint32_t, LineCost> by_line;
  uint64_t busy = 0;
  for (const LineCost& l : lines) {
    by_line[l.line] = l;
    busy += l.busy;
  }
  EXPECT_EQ(by_line[1].busy, 2u);
  EXPECT_EQ(by_line[1].stalls[size_t(Stall::dispatch)], 3u);
  EXPECT_EQ(by_line[1].cycles(), 5u);
  EXPECT_EQ(by_line[2].busy, 9u);
  EXPECT_EQ(by_line[2].stalls[size_t(Stall::dependency)], 6u);
  EXPECT_EQ(by_line[2].cycles(), 15u);
  EXPECT_EQ(busy, engine.stats({0, 0}).busy + engine.stats({1, 0}).busy);

  for (const FunctionCost& c : profile.functions())
    if (c.where == "send.csl:1") {
      EXPECT_EQ(c.name, "start");
      EXPECT_EQ(c.kind, "local task");
      EXPECT_EQ(c.runs, 1u);
      EXPECT_EQ(c.cycles, 14u);  // 3 to 16
      EXPECT_EQ(c.longest_pe, (Coord{0, 0}));
      return;
    }
  ADD_FAILURE() << "no row for the sender's task";
}

LaunchSpan span(const std::string& function, Cycle begin, Cycle first_end, Cycle end, Coord last_pe,
                int64_t ended) {
  return {function, begin - 10, begin, begin, first_end, end, last_pe, 4, ended, 4 * (first_end - begin)};
}

// 100 + 150 + 50 cycles, of which the last 20 of the second launch are also the first of the third; the
// fourth is not over.
RunReport launched() {
  RunReport r;
  r.program = "p";
  r.machine = "wse3";
  r.clock_mhz = 850;
  r.cycles = 1000;
  r.launches = {span("step", 100, 200, 200, {1, 0}, 4), span("step", 300, 400, 450, {2, 1}, 4),
                span("last", 430, 480, 480, {1, 0}, 4), span("hangs", 600, 700, 700, {1, 0}, 3)};
  return r;
}

TEST(Launches, are_summed_by_function) {
  const RunReport r = launched();
  EXPECT_EQ(r.launched_cycles(), 280u);
  const std::vector<LaunchedFunction> rows = launched_functions(r.launches);
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].name, "step");
  EXPECT_EQ(rows[0].launches, 2u);
  EXPECT_EQ(rows[0].cycles, 250u);
  EXPECT_EQ(rows[0].shortest, 100u);
  EXPECT_EQ(rows[0].longest, 150u);
  EXPECT_EQ(rows[0].last_pe, (Coord{2, 1}));
  EXPECT_EQ(rows[0].behind, 50u);
  EXPECT_EQ(rows[2].ended, 0u);
  EXPECT_THAT(summary(r),
              testing::AllOf(HasSubstr("in launches   280 cycles"),
                             HasSubstr("PE (2, 1), 50 behind the first"), HasSubstr("never ended")));
}

TEST(Launches, that_are_not_over_have_no_end_in_json) {
  const json rows = json::parse(stats_json(launched())).at("launches");
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[1], json({{"function", "step"},
                           {"issued", 290},
                           {"begin", 300},
                           {"end", 450},
                           {"cycles", 150},
                           {"pes", 4},
                           {"pes_ended", 4},
                           {"last_begin", 300},
                           {"first_end", 400},
                           {"last_pe", {2, 1}},
                           {"pe_cycles", 400}}));
  EXPECT_TRUE(rows[3].at("end").is_null() && rows[3].at("cycles").is_null());
  EXPECT_EQ(rows[3].at("pes_ended"), 3);
}

// step takes 250 of the 280 cycles; its PEs were in it for 4 * 100 + 4 * 100 of 4 * 250 PE cycles. 720 of
// 1000 cycles lie outside.
TEST(Launches, insights_are_about_their_own_time) {
  RunReport r = launched();
  r.lines = {{.file = "pe.csl", .line = 7, .busy = 30, .stalls = {45, 0, 0, 0, 0}},
             {.file = "pe.csl", .line = 9, .busy = 25}};
  std::string text;
  for (const Insight& i : insights(r)) text += i.title + ": " + i.advice + "\n";
  EXPECT_THAT(
      text,
      HasSubstr("step takes 89 % of the cycles in launches: 250 in 2 launches: Its PEs are in it for 80 %"));
  EXPECT_THAT(
      text,
      HasSubstr("pe.csl:7 takes 75 % of the PE cycles in which code ran: 40 % of that is work, 60 % input"));
  EXPECT_THAT(text, HasSubstr("72 % of the run (720 cycles) lies outside launches"));
}

}  // namespace
}  // namespace cs::sim::test
