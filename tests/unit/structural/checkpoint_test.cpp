// A simulation that goes on from a checkpoint is the one that was never stopped: values, cycles and counters of random
// programs, stopped at random cycles and restored in blocks of other sizes and with other numbers of threads.
#include <gtest/gtest.h>

#include "runtime/host/journal.h"
#include "runtime/support/files.h"
#include "simulator/engine/simulation_file.h"
#include "tests/unit/engine/random_traffic.h"
#include "tests/unit/structural/random_program.h"
#include "tests/unit/structural/random_programs.h"
#include "tests/unit/structural/stopped_run.h"

namespace cs::sim::test {
namespace {

TEST(Checkpoint, random_programs_go_on_from_any_cycle) {
  const char* first = std::getenv("WAFERSMITH_FIRST_SEED");
  const int from = first != nullptr ? std::atoi(first) : 1, programs = random_programs(60);
  int stops = 0;
  for (int seed = from; seed < from + programs; ++seed)
    EXPECT_EQ(go_on(RandomProgram(uint32_t(seed)).experiment(), uint32_t(seed), stops), "") << "seed " << seed;
  EXPECT_GT(stops, programs / 2);
}

TEST(Checkpoint, much_traffic_goes_on_from_any_cycle) {
  int stops = 0;
  for (const char* name : {"wse2", "wse3"})
    for (uint32_t seed = 1; seed <= 4; ++seed) {
      const Traffic traffic(machine(name), seed);
      EXPECT_EQ(go_on({traffic.f.machine, traffic.f.p, {}, {}}, seed, stops), "") << name << " " << seed;
    }
  EXPECT_EQ(stops, 8);
}

// At the end of a stretch cores may be ahead of the clock: so they are in the file.
TEST(Checkpoint, cores_that_have_run_ahead_go_on) {
  constexpr Cycle kEnd = 20000;
  for (uint32_t seed = 1; seed <= 6; ++seed) {
    const Traffic traffic(machine(seed % 2 ? "wse2" : "wse3"), seed);
    const Experiment e{traffic.f.machine, traffic.f.p, {}, {}};
    const auto load = [&](Engine& engine) {
      Diag diag;
      ASSERT_TRUE(engine.load(e.program, {}, diag)) << diag.to_string();
    };
    Engine whole(e.machine, {8, 8, 1});
    load(whole);
    Seen want;
    for (Cycle stop : {5, 40, 77, 190, 333}) {
      whole.step(stop, true, kEnd);
      const std::string file = simulation_bytes(whole, "");
      Engine restored(e.machine, {5, 3, 2, 0});
      load(restored);
      Diag diag;
      ASSERT_TRUE(read_simulation_bytes(file, "file", restored, diag)) << diag.to_string();
      EXPECT_EQ(restored.now(), stop);
      restored.step(kEnd);
      if (want.counters.empty()) {
        Engine other(e.machine, {32, 32, 1});
        load(other);
        other.step(kEnd);
        count(other, e, want);
      }
      Seen got;
      count(restored, e, got);
      EXPECT_EQ(difference(want, got), "") << "seed " << seed << ", stopped at " << stop;
    }
  }
}

// ---- files that are none

struct Written {
  Experiment e;
  std::string file;
  // Of the first program that runs for 60 cycles: compilers evaluate arguments in different orders.
  Written() {
    for (uint32_t seed = 7; file.empty(); ++seed) {
      e = RandomProgram(seed).experiment();
      run_with_stops(e, {32, 32, 1}, 60, &file, nullptr);
    }
  }
  std::string error_of(std::string_view bytes, std::vector<std::string> allow = {}) const {
    EngineOptions options;
    options.allow = std::move(allow);
    Engine engine(e.machine, options);
    Diag diag;
    EXPECT_TRUE(engine.load(e.program, e.weights, diag));
    return read_simulation_bytes(bytes, "file", engine, diag) ? "" : diag.to_string();
  }
};

TEST(Checkpoint, damage_is_an_error) {
  const Written w;
  ASSERT_FALSE(w.file.empty());
  EXPECT_EQ(w.error_of(w.file), "");
  std::mt19937 rng(1);
  for (int i = 0; i < 300; ++i) {
    std::string bytes = w.file;
    bytes[rng() % bytes.size()] ^= char(1 << rng() % 8);
    EXPECT_NE(w.error_of(bytes), "");
    EXPECT_NE(w.error_of(std::string_view(w.file).substr(0, rng() % w.file.size())), "");
  }
  EXPECT_NE(w.error_of("").find("no checkpoint of a simulation"), std::string::npos);
  EXPECT_NE(w.error_of("PK and something").find("no checkpoint of a simulation"), std::string::npos);
  EXPECT_NE(w.error_of(w.file + "x").find("damaged or cut short"), std::string::npos);
}

// Behind a hash that is right: the state is refused, or it is one.
TEST(Checkpoint, states_that_are_none_are_refused) {
  const Written w;
  std::mt19937 rng(2);
  int refused = 0;
  for (int i = 0; i < 2000; ++i) {
    std::string bytes = w.file.substr(0, w.file.size() - 32);
    const size_t at = 12 + rng() % (bytes.size() - 12);
    if (rng() % 4 == 0)
      bytes.resize(at);
    else
      bytes[at] ^= char(1 + rng() % 255);
    refused += !w.error_of(bytes + wide_hash_text(bytes)).empty();
  }
  EXPECT_GT(refused, 500);
}

TEST(Checkpoint, foreign_files_say_of_what_they_are) {
  Written w;
  EXPECT_NE(w.error_of(w.file, {"out-of-bounds"}).find("--allow"), std::string::npos);
  w.e.program.name = "another";
  EXPECT_NE(w.error_of(w.file).find("this program is 'another'"), std::string::npos);
  Written other;
  other.e.machine.router.switch_advance_cycles += 1;
  EXPECT_NE(other.error_of(other.file).find("another machine"), std::string::npos);
}

// ---- the journal

TEST(Checkpoint, a_host_that_does_something_else_is_told) {
  const Traffic traffic(wse2(), 3);
  Experiment e{traffic.f.machine, traffic.f.p, {}, {}};
  const auto host = [](uint32_t value) {
    return [value](Device& d, std::vector<std::string>& lines) {
      const std::array<uint8_t, 4> bytes{uint8_t(value), 0, 0, 0};
      d.write({1, 1}, 1024, bytes);
      describe(d.run({.cycle = 50}), lines);
      describe(d.run({}), lines);
    };
  };
  e.host = host(1);
  std::string file;
  run_with_stops(e, {32, 32, 1}, 100, &file, nullptr);
  ASSERT_FALSE(file.empty());
  EngineDevice device(e.machine, {});
  Diag diag;
  ASSERT_TRUE(device.load(e.program, {}, diag));
  auto journal_bytes = read_simulation_bytes(file, "file", device.engine(), diag);
  ASSERT_TRUE(journal_bytes);
  JournalDevice journal(device);
  ASSERT_TRUE(journal.replay(*journal_bytes));
  std::vector<std::string> lines;
  host(2)(journal, lines);
  EXPECT_NE(journal.problem().find("a copy to PEs has other arguments or data, at call 1"), std::string::npos)
      << journal.problem();
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_NE(lines[0].find("'restore'"), std::string::npos);
  EXPECT_EQ(device.now(), 100u);
}

}  // namespace
}  // namespace cs::sim::test
