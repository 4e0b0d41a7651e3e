// Machines: the shipped files, reading, writing, --set and verification.
#include "runtime/machine/machine.h"

#include <gmock/gmock.h>

#include <set>

#include "runtime/support/files.h"

namespace cs {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Machine load(const std::string& name) {
  Diag diag;
  const auto m = load_machine(name, diag);
  EXPECT_TRUE(m) << diag.to_string();
  return m.value_or(Machine{});
}

TEST(Machine, ShippedMachinesHaveThePublishedValues) {
  EXPECT_THAT(machine_names(), ElementsAre("small", "wse2", "wse3"));
  const Machine w2 = load("wse2"), w3 = load("wse3"), small = load("small");
  EXPECT_EQ(w2.arch, Arch::wse2);
  EXPECT_EQ(w3.arch, Arch::wse3);
  EXPECT_EQ(w2.fabric.width * w2.fabric.height, 753972);  // PEs of the program fabric, WSE-2 documentation
  EXPECT_EQ(w3.fabric.width * w3.fabric.height, 893064);
  EXPECT_EQ(w2.router.hop_cycles, 1);
  EXPECT_EQ(w3.router.hop_cycles, 2);
  EXPECT_EQ(w2.ramp.down_cycles, 2);
  EXPECT_EQ(w3.ramp.down_cycles, 3);
  EXPECT_EQ(w2.router.switchable_colors.size(), 24u);
  EXPECT_THAT(w3.router.switchable_colors, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 16, 17, 20, 21));
  EXPECT_THAT(w2.queues.output_words, ElementsAre(2, 2, 6, 6, 2, 2));
  EXPECT_EQ(w3.task_ids.local_first, 8);
  EXPECT_EQ(small.fabric.user_width, 16);
  EXPECT_EQ(small.core, w2.core);
  EXPECT_EQ(small.simd_width, w2.simd_width);
  // 7.5 PFLOP/s of fp16 for 850,000 cores at 1.1 GHz is 4 fused multiply-adds per cycle.
  EXPECT_EQ(w2.peak_flops_per_cycle(true), 8);
  EXPECT_EQ(w2.peak_flops_per_cycle(false), 2);
  EXPECT_EQ(w2.simd("fadds"), 2);
  EXPECT_EQ(w3.simd("fadds"), 4);
  EXPECT_EQ(w3.simd("fmacs"), 1);
}

TEST(Machine, TextFormReadsBackEqual) {
  for (const std::string& name : machine_names()) {
    const Machine m = load(name);
    Diag diag;
    const auto back = parse_machine(machine_to_yaml(m), name, diag);
    ASSERT_TRUE(back) << diag.to_string();
    EXPECT_EQ(*back, m);
  }
}

// Every key of the list can be set, and setting it changes the text in that one line.
TEST(Machine, EveryKeyCanBeSet) {
  const Machine m = load("wse2");
  std::set<std::string> seen;
  for (const MachineKey& key : machine_keys()) {
    EXPECT_TRUE(seen.insert(key.key).second) << key.key;
    EXPECT_FALSE(key.unit.empty() || key.sentence.empty()) << key.key;
    const std::string leaf = key.key.substr(key.key.find('.') + 1);
    EXPECT_NE(machine_to_yaml(m).find(leaf + ": "), std::string::npos) << key.key;
  }
  EXPECT_GT(seen.size(), 70u);
  Machine changed = m;
  Diag diag;
  EXPECT_TRUE(set_machine_value(changed, "machine.router.hop_cycles=2", diag));
  EXPECT_TRUE(set_machine_value(changed, "clock_mhz=875.5", diag));
  EXPECT_TRUE(set_machine_value(changed, "queues.input_words=[1, 2]", diag));
  EXPECT_TRUE(set_machine_value(changed, "calibration.silicon_calibration=true", diag));
  EXPECT_TRUE(set_machine_value(changed, "simd_width.fmacs=2", diag));
  EXPECT_TRUE(diag.ok()) << diag.to_string();
  EXPECT_EQ(changed.router.hop_cycles, 2);
  EXPECT_EQ(changed.clock_mhz, 875.5);
  EXPECT_THAT(changed.queues.input_words, ElementsAre(1, 2));
  EXPECT_TRUE(changed.calibration.silicon_calibration);
  EXPECT_EQ(changed.simd("fmacs"), 2);
}

TEST(Machine, WrongSettingsAreRefusedAndChangeNothing) {
  Machine m = load("wse2");
  const Machine before = m;
  const std::pair<const char*, const char*> cases[] = {
      {"router.hop_cycle=2", "did you mean 'router.hop_cycles'"},
      {"router.hop_cycles", "form key=value"},
      {"router.hop_cycles=two", "must be a whole number, got 'two'"},
      {"router.hop_cycles=0", "router.hop_cycles is 0 cycles, must be from 1 to 64"},
      {"fabric.user_width=9999", "from 1 to 4096"},
      {"fabric.width=100", "the user rectangle is 750 x 994, the fabric only 100 x 996"},
      {"memcpy.colors=[21, 21]", "21 is listed twice"},
      {"clock_mhz=.nan", "clock_mhz is nan"},
      {"queues.input_words=[]", "lists 0 queues"},
  };
  for (const auto& [text, message] : cases) {
    Diag diag;
    EXPECT_FALSE(set_machine_value(m, text, diag)) << text;
    EXPECT_THAT(diag.to_string(), HasSubstr(message));
    EXPECT_EQ(m, before);
  }
}

TEST(Machine, FilesAreReadStrictly) {
  Diag diag;
  std::string text = read_file(machines_directory() + "/wse2.yaml", diag).value();
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string changed = text;
    changed.replace(changed.find(from), from.size(), to);
    Diag d;
    EXPECT_FALSE(parse_machine(changed, "m.yaml", d)) << to;
    return d.to_string();
  };
  EXPECT_THAT(with("hop_cycles:", "hop_cycle:"), HasSubstr("did you mean 'hop_cycles'?"));
  EXPECT_THAT(with("hop_cycles:", "hop_cycle:"), HasSubstr("'router' needs the key 'hop_cycles'"));
  EXPECT_THAT(with("arch: wse2", "arch: wse4"), HasSubstr("arch must be wse2 or wse3, got 'wse4'"));
  EXPECT_THAT(with("limits:", "limit:"), HasSubstr("needs the section 'limits'"));
  EXPECT_THAT(with("fadds: 2", "fadds: 0"), HasSubstr("simd_width.fadds is 0"));
}

TEST(Machine, ABaseGivesWhatTheFileDoesNotSay) {
  Diag diag;
  const auto m = parse_machine("name: slow\nbase: wse3\nrouter:\n  hop_cycles: 5\n", "slow.yaml", diag);
  ASSERT_TRUE(m) << diag.to_string();
  Machine expected = load("wse3");
  expected.name = "slow";
  expected.router.hop_cycles = 5;
  EXPECT_EQ(*m, expected);
  Diag unknown, chain;
  EXPECT_FALSE(parse_machine("name: x\nbase: wse4\n", "x.yaml", unknown));
  EXPECT_THAT(unknown.to_string(), HasSubstr("no machine 'wse4'"));
  EXPECT_FALSE(parse_machine("name: x\nbase: small\n", "x.yaml", chain));
  EXPECT_THAT(chain.to_string(), HasSubstr("itself built on"));
}

TEST(Machine, UnknownNamesGetASuggestion) {
  Diag diag, missing;
  EXPECT_FALSE(load_machine("wse_2", diag));
  EXPECT_THAT(diag.to_string(), HasSubstr("did you mean 'wse2'?"));
  EXPECT_FALSE(load_machine("/none/m.yaml", missing));
  EXPECT_THAT(missing.to_string(), HasSubstr("no such file"));
}

}  // namespace
}  // namespace cs
