// What cycles consist of, and the errors beside them. By hand, see samples.h.
#include "simulator/report/cycle_classes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "simulator/report/collect.h"
#include "simulator/report/profile.h"
#include "simulator/report/stats_json.h"
#include "simulator/report/summary.h"
#include "tests/unit/shell/samples.h"

namespace cs::sim::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

uint64_t cycles_of(const RunReport& r, const std::string& name) {
  for (const CycleClass& c : r.classes)
    if (c.name == name) return c.pe_cycles.value();
  ADD_FAILURE() << "no class " << name;
  return 0;
}

// Eight wavelets: eight cycles of the sender's datapath and eight of the receiver's. Whatever is not idle has
// a class.
TEST(Classes, of_a_run_are_told_apart_by_its_counters) {
  Fabric f = one_hop();
  Engine engine(f.machine, {});
  Diag diag;
  ASSERT_TRUE(engine.load(f.p, {}, diag)) << diag.to_string();
  engine.step(40);
  RunReport r = collect(engine, 40);
  add_classes(r, f.p);
  EXPECT_EQ(r.fabric_groups, 16u);
  EXPECT_EQ(cycles_of(r, "fabric"),
            16 + r.time.stalls[size_t(Stall::input)] + r.time.stalls[size_t(Stall::output)]);
  EXPECT_GE(r.time.stalls[size_t(Stall::input)],
            8u);  // from 12 on the receiver's thread waits for what comes in 20
  EXPECT_EQ(cycles_of(r, "vector"), 0u);
  EXPECT_EQ(cycles_of(r, "task"), r.time.stalls[size_t(Stall::dispatch)]);
  EXPECT_EQ(cycles_of(r, "launch"), 0u);
  EXPECT_EQ(cycles_of(r, "foreign library"), 0u);
  uint64_t sum = 0;
  for (const CycleClass& c : r.classes) sum += *c.pe_cycles;
  EXPECT_EQ(sum, r.time.total() - r.time.idle);
}

RunReport with_library() {
  RunReport r;
  r.time.busy = 100;
  r.memory_groups = 40;
  r.fabric_groups = 30;
  r.time.stalls[size_t(Stall::input)] = 20;
  r.time.stalls[size_t(Stall::dependency)] = 8;
  r.time.stalls[size_t(Stall::memory)] = 2;
  r.time.stalls[size_t(Stall::dispatch)] = 5;
  r.time.idle = 500;
  r.launches = {{.function = "main", .issued = 10, .begin = 167, .end = 300, .pes = 2}};
  r.lines = {{.file = "pe.csl", .line = 3, .busy = 60},
             {.file = "<collectives_2d/pe.csl>",
              .line = 7,
              .busy = 25,
              .stalls = {12, 0, 3, 0, 0},
              .fabric_groups = 20}};
  return r;
}

// The library's 25 busy and 15 waiting cycles are taken out of those that they would be in: 20 + 12 of
// fabric, 5 + 3 of scalar. The PEs stood still for 157 cycles each before the launch.
TEST(Classes, lines_of_a_library_of_ours_in_the_vendors_place_have_a_class_of_their_own) {
  RunReport r = with_library();
  add_classes(r, {});
  EXPECT_EQ(cycles_of(r, "fabric"), 50u - 32u);
  EXPECT_EQ(cycles_of(r, "vector"), 42u);
  EXPECT_EQ(cycles_of(r, "scalar"), 38u - 8u);
  EXPECT_EQ(cycles_of(r, "task"), 5u);
  EXPECT_EQ(cycles_of(r, "launch"), 2u * 157);
  EXPECT_EQ(cycles_of(r, "foreign library"), 40u);
}

TEST(Classes, a_run_that_nobody_listened_to_does_not_say_how_much_is_the_library) {
  Program p;
  TileProgram t;
  t.files = {"pe.csl", "<collectives_2d/pe.csl>"};
  t.lines = {{0, 0, 1, 1}, {4, 1, 9, 1}};
  p.tiles.push_back(t);
  RunReport r = with_library();
  r.lines.clear();
  add_classes(r, p);
  EXPECT_FALSE(r.classes.back().pe_cycles.has_value());
  EXPECT_FALSE(expected_error(r.classes).has_value());
  EXPECT_THAT(classes_line(r), HasSubstr("foreign library some"));
  const json rows = json::parse(stats_json(r)).at("classes");
  EXPECT_TRUE(rows.back().at("pe_cycles").is_null() && rows.back().at("share").is_null());
}

// 3 : 1 of classes that are off by 2 and by 6 percent.
TEST(Classes, errors_are_weighted_by_cycles) {
  RunReport r;
  r.classes = {{"fabric", 300, ClassError{"fabric", 1, 4, 2.0, -3.0}},
               {"scalar", 100, ClassError{"scalar", 1, 1, 6.0, 6.0}}};
  EXPECT_DOUBLE_EQ(expected_error(r.classes).value(), 3.0);
  EXPECT_EQ(classes_line(r), "fabric 75.0 % (2.0 %), scalar 25.0 % (6.0 %)");
  r.classes.push_back({"task", 0, std::nullopt});  // none of it: its error is not asked for
  EXPECT_DOUBLE_EQ(expected_error(r.classes).value(), 3.0);
  r.classes.back().pe_cycles = 1;
  EXPECT_FALSE(expected_error(r.classes).has_value());
  EXPECT_THAT(summary(r), HasSubstr("  classes       fabric 74.8 % (2.0 %)"));
}

}  // namespace
}  // namespace cs::sim::test
