// Machines: the shipped files, reading, writing, --set and verification.
#include "runtime/machine/machine.h"

#include <gmock/gmock.h>

#include <set>

#include "runtime/machine/differences.h"
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
  EXPECT_THAT(machine_names(), ElementsAre("small", "wse2", "wse3", "wse4"));
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

// What an encoding has no room for is refused with that reason.
TEST(Machine, FieldsHaveWidths) {
  Machine m = load("wse3");
  const std::pair<const char*, const char*> cases[] = {
      {"core.memory_bytes=131072", "an address has 16 bits and counts bytes, so a PE has at most 65536"},
      {"router.colors=33", "a descriptor names a color in 5 bits, so there are at most 32"},
      {"core.registers=34", "an instruction names a register in 5 bits, so there are at most 32"},
      {"core.dsrs_per_file=33", "an instruction names a DSR in 5 bits, so a file has at most 32"},
      {"core.microthreads=17", "a descriptor names a microthread in 4 bits, so there are at most 16"},
      {"router.switch_positions=5", "names its switch position in 2 bits, so there are at most 4"},
      {"task_ids.control_last=64", "a control wavelet names a task in 6 bits, so ids are 0 to 63"},
      {"task_ids.local_last=63", "in 6 bits, so ids are 0 to 62"},
      {"queues.output_words=[2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2]",
       "names a queue in 4 bits, so there are at most 16"},
      {"queues.input_words=[2, 2, 2, 2, 2, 2, 2, 2, 2]", "data tasks have the ids of the 9 input queues"},
      {"ramp.wavelets_per_cycle=5", "must be from 1 to 4"},
  };
  for (const auto& [text, reason] : cases) {
    Diag diag;
    EXPECT_FALSE(set_machine_value(m, text, diag)) << text;
    EXPECT_THAT(diag.to_string(), HasSubstr(reason)) << text;
  }
  Machine w2 = load("wse2");
  Diag diag;
  EXPECT_FALSE(set_machine_value(w2, "core.memory_bytes=65536", diag));
  EXPECT_THAT(diag.to_string(), HasSubstr("on wse2 addresses from 64512 on are registers of the router"));
}

TEST(Machine, TheFictitiousOneIsAsLargeAsTheFieldsAllow) {
  const Machine m = load("wse4");
  EXPECT_EQ(m.router.colors, 32);
  EXPECT_EQ(m.core.memory_bytes, 65536);
  EXPECT_EQ(m.core.registers, 24);
  EXPECT_EQ(m.core.microthreads, 16);
  EXPECT_EQ(m.core.dsrs_per_file, 32);
  EXPECT_EQ(m.ramp.wavelets_per_cycle, 2);
}

TEST(Machine, DifferencesNameEveryKeyWithBothValues) {
  Machine a = load("wse3"), b = a;
  b.name = "other";
  EXPECT_TRUE(machine_differences(a, b).empty());
  b.core.registers = 12;
  b.queues.output_queue_per_color = false;
  b.simd_width.pop_back();
  const auto found = machine_differences(a, b);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(
      differences_text(found, "there", "here"),
      "queues.output_queue_per_color is true there and false here; core.registers is 16 there and 12 here; "
      "simd_width.xp162fs is 4 there and 1 here");
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
  EXPECT_THAT(with("arch: wse2", "arch: wse9"), HasSubstr("arch must be wse2 or wse3, got 'wse9'"));
  EXPECT_THAT(with("energy:", "energies:"), HasSubstr("needs the section 'energy'"));
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
  EXPECT_FALSE(parse_machine("name: x\nbase: wse9\n", "x.yaml", unknown));
  EXPECT_THAT(unknown.to_string(), HasSubstr("no machine 'wse9'"));
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
