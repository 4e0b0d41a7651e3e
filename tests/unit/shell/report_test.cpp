// Reports of a run whose counters are known: sums that must close, fields that must be there, text that must
// say it.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "simulator/report/collect.h"
#include "simulator/report/insights.h"
#include "simulator/report/page.h"
#include "simulator/report/stats_json.h"
#include "simulator/report/summary.h"
#include "simulator/report/timeline.h"
#include "tests/unit/shell/samples.h"
#include "tools/cs-sim/check.h"

namespace cs::sim::test {
namespace {

using nlohmann::json;

constexpr Cycle kCycles = 40;

struct SmallRun {
  SmallRun() : fabric(one_hop_with_kernels()), engine(fabric.machine, {}) {
    Diag diag;
    EXPECT_TRUE(engine.load(fabric.p, {}, diag)) << diag.to_string();
  }
  RunReport report(Cycle cycles = kCycles) {
    engine.step(cycles);
    return collect(engine, cycles);
  }
  Fabric fabric;
  Engine engine;
};

TEST(Report, time_of_every_kernel_and_of_all_pes_closes) {
  const RunReport r = SmallRun().report();
  ASSERT_EQ(r.kernels.size(), 2u);
  for (const KernelReport& k : r.kernels) EXPECT_EQ(k.time.total(), kCycles);
  EXPECT_EQ(r.time.total(), 2 * kCycles);
  EXPECT_EQ(r.pes_used, 2u);
  // 8 wavelets: each leaves the sender's router once and the receiver's once (to the ramp).
  EXPECT_EQ(r.wavelet_hops, 16u);
  EXPECT_EQ(r.hot_link.wavelets, 8u);
  EXPECT_EQ(r.hot_link.port, Port::east);
  EXPECT_EQ(r.hot_link.pe, (Coord{0, 0}));
  EXPECT_EQ(r.flops, 0u);
}

// 8 wavelets of two hops each; 8 words read, 8 written and four descriptors of 8 bytes loaded; 2 PEs for 40
// cycles.
TEST(Report, energy_is_what_was_counted_times_the_machines_picojoules) {
  SmallRun run;
  run.fabric.machine.energy = {
      .hop_pj = 1, .memory_pj_per_byte = 100, .instruction_pj = 1e4, .idle_pj_per_cycle = 1e6};
  Engine engine(run.fabric.machine, {});
  Diag diag;
  ASSERT_TRUE(engine.load(run.fabric.p, {}, diag));
  engine.step(kCycles);
  const RunReport r = collect(engine, kCycles);
  EXPECT_EQ(r.memory_bytes, 8u * 4 + 8 * 4 + 4 * 8);
  EXPECT_DOUBLE_EQ(r.energy.hops, 16e-6);
  EXPECT_DOUBLE_EQ(r.energy.memory, 9600e-6);
  EXPECT_DOUBLE_EQ(r.energy.instructions, double(r.instructions) * 1e-2);
  EXPECT_DOUBLE_EQ(r.energy.operations, 0);
  EXPECT_DOUBLE_EQ(r.energy.idle, 2 * double(kCycles));
  EXPECT_DOUBLE_EQ(r.energy.total(), r.energy.hops + r.energy.memory + r.energy.instructions + r.energy.idle);
}

TEST(Report, kernel_cycles_run_from_the_first_task_to_the_end_of_the_last) {
  const RunReport r = SmallRun().report();
  EXPECT_EQ(r.kernels[1].first_task, 3u);
  EXPECT_EQ(r.kernels[1].last_task_end, kDoneTask + 1);
  EXPECT_EQ(r.kernels[1].cycles, double(kDoneTask + 1 - 3));
}

// The receiver's task starts at 3 to wait; its first wavelet arrives at 17.
TEST(Report, a_kernel_that_waits_begins_with_its_first_wavelet) {
  const Fabric f = one_hop_with_kernels();
  Engine engine(f.machine, {});
  Diag diag;
  ASSERT_TRUE(engine.load(f.p, {}, diag));
  engine.step(kCycles);
  RunReport r = collect(engine, kCycles);
  begin_with_input(r, engine);
  EXPECT_EQ(r.kernels[0].first_task, 3u);  // the sender waits for nothing
  EXPECT_EQ(r.kernels[1].first_task, kFirstCrossing + 2);
  EXPECT_EQ(r.kernels[1].cycles, double(kDoneTask + 1 - (kFirstCrossing + 2)));
}

TEST(Report, json_has_every_field_of_the_schema) {
  RunReport r = SmallRun().report();
  r.kernels[1].counterpart = Counterpart{Origin::handwritten, 50, 25, 0.5, {}, {}};
  r.comparisons = {{"cycles", 40, 80}};
  const json j = json::parse(stats_json(r));
  EXPECT_EQ(j.at("schema"), "wafersmith-stats/1");
  for (const char* key : {"machine", "fabric", "clock_mhz", "iterations", "cycles", "latency_cycles",
                          "interval_cycles", "samples_per_second", "flops", "utilisation", "wavelet_hops",
                          "energy_uj", "memory_bytes", "kernels", "ops", "launches", "waits", "set_by", "critical_path",
                          "against", "simulator", "check"})
    EXPECT_TRUE(j.contains(key)) << key;
  EXPECT_EQ(j.at("fabric"), json({2, 1}));
  const json& k = j.at("kernels").at(1);
  for (const char* key : {"name", "op", "origin", "rect", "cycles", "busy", "stalls", "idle", "ideal_cycles",
                          "estimated_cycles", "bytes_per_pe", "colours", "counterpart"})
    EXPECT_TRUE(k.contains(key)) << key;
  uint64_t sum = k.at("busy").get<uint64_t>() + k.at("idle").get<uint64_t>();
  for (const auto& [why, cycles] : k.at("stalls").items()) sum += cycles.get<uint64_t>();
  EXPECT_EQ(sum, j.at("cycles").get<uint64_t>());
  EXPECT_EQ(k.at("counterpart").at("ratio"), 0.5);
  EXPECT_TRUE(j.at("kernels").at(0).at("counterpart").is_null());
  EXPECT_EQ(j.at("against").at(0),
            json({{"name", "cycles"}, {"this", 40.0}, {"base", 80.0}, {"ratio", 0.5}}));
  for (const char* key :
       {"wall_s", "cycles_per_s", "wavelet_hops_per_s", "tile_cycles_per_s", "peak_rss_mb", "threads"})
    EXPECT_TRUE(j.at("simulator").contains(key)) << key;
  EXPECT_TRUE(j.at("check").is_null());
}

TEST(Report, estimates_hold_within_fifteen_per_cent_of_wafer_kernels) {
  RunReport r;
  const auto add = [&](Origin origin, double estimated, std::optional<double> cycles) {
    KernelReport& k = r.kernels.emplace_back();
    k.row.name = "k";
    k.row.origin = origin;
    k.row.estimated_cycles = estimated;
    k.cycles = cycles;
  };
  add(Origin::autogen, 115, 100);
  add(Origin::handwritten, 84, 100);
  add(Origin::handwritten, 86, 100);
  add(Origin::host, 100, 100);              // nobody estimated it
  add(Origin::autogen, 100, std::nullopt);  // did not run
  const json j = json::parse(stats_json(r));
  EXPECT_EQ(j.at("estimates"), json({{"kernels", 3}, {"within", 2}, {"tolerance", 0.15}}));
  EXPECT_DOUBLE_EQ(j.at("kernels").at(1).at("estimate_ratio"), 0.84);
  EXPECT_TRUE(j.at("kernels").at(3).at("estimate_ratio").is_null());
  EXPECT_NE(summary(r).find("2 of 3 kernels within 15 %"), std::string::npos);
}

TEST(Report, model_run_gives_latency_interval_and_throughput) {
  RunReport r = SmallRun().report();
  ModelRunResult run;
  run.samples = 8;
  run.latency_cycles = 100;
  run.interval_cycles = 50;
  r.kernels[0].row.origin = Origin::host;  // a host kernel takes the time of its operator, per sample
  HostPart host;
  host.steps = {{.kind = HostStep::Kind::op, .op = "identity", .outputs = {"t"}}};
  run.host_steps = {{.name = "t", .busy = 80, .first_start = 5, .last_end = 99}};
  add_model_run(r, host, {}, run);
  EXPECT_EQ(r.kernels[0].cycles, 10.0);
  EXPECT_EQ(r.latency_cycles, 100u);
  EXPECT_DOUBLE_EQ(*r.samples_per_second, r.clock_mhz * 1e6 / 50);
}

TEST(Report, text_names_kernels_figures_and_check) {
  RunReport r = SmallRun().report();
  r.kernels[1].counterpart = Counterpart{Origin::handwritten, 50, 25, 0.5, {}, {}};
  r.check = CheckResult{.tensors = 1, .max_rel = 2e-7, .tolerance = 1e-4};
  const std::string text = summary(r);
  EXPECT_THAT(text, testing::AllOf(testing::HasSubstr("hop on wse3"), testing::HasSubstr("receive"),
                                   testing::HasSubstr("0.50 x handwritten (25 / 50)"),
                                   testing::HasSubstr("ok: 1 tensor")));
  EXPECT_EQ(grouped(1234567), "1,234,567");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_THAT(one_line(r), testing::EndsWith("; 40 cycles\n"));
}

TEST(Report, insights_name_the_fault_first_and_the_busiest_link) {
  RunReport r = SmallRun().report();
  r.status.fault = "deadlock";
  r.status.message = "PE (1, 0) waits";
  r.iterations = 2;  // 8 wavelets are 4 per sample
  r.interval_cycles = 5;
  const auto found = insights(r);
  ASSERT_GE(found.size(), 2u);
  EXPECT_THAT(found[0].title, testing::HasSubstr("deadlock"));
  const std::string wanted = "leaves PE (0, 0) to the east: 4 wavelets per sample, 80 % of the interval";
  bool link = false;
  for (const Insight& i : found) link |= i.title.find(wanted) != std::string::npos;
  EXPECT_TRUE(link);
}

// A link is said to bound the interval above 90 %, stalls are named from 5 % on.
TEST(Report, insights_begin_at_their_thresholds) {
  const auto text = [](const RunReport& r) {
    std::string all;
    for (const Insight& i : insights(r)) all += i.title + ": " + i.advice + "\n";
    return all;
  };
  RunReport r = SmallRun().report();
  r.iterations = 2;         // 4 wavelets per sample
  r.interval_cycles = 4.5;  // 89 %
  EXPECT_THAT(text(r), testing::HasSubstr("It does not bound the interval"));
  r.interval_cycles = 4.4;  // 91 %
  EXPECT_THAT(text(r), testing::HasSubstr("It bounds the interval"));
  r.time = {};
  r.time.busy = 951;
  r.time.stalls[size_t(Stall::memory)] = 49;
  EXPECT_THAT(text(r), testing::Not(testing::HasSubstr("memory stalls")));
  r.time.busy = 950;
  r.time.stalls[size_t(Stall::memory)] = 50;
  EXPECT_THAT(text(r), testing::HasSubstr("5 % of all PE cycles are memory stalls"));
}

TEST(Report, page_is_one_offline_file_with_its_data) {
  RunReport r = SmallRun().report();
  r.model = "</script><b>";
  const std::string page = report_page(r);
  EXPECT_EQ(page.find("</script><b>"), std::string::npos);
  EXPECT_EQ(page.find("http"), std::string::npos);
  EXPECT_EQ(page.find("/*DATA*/"), std::string::npos);
  EXPECT_THAT(page, testing::HasSubstr("wafersmith-stats/1"));
}

TEST(Report, maps_show_the_largest_pe_of_a_cell) {
  const RunReport r = SmallRun().report();
  ASSERT_EQ(r.maps.maps.size(), 4u);
  EXPECT_EQ(r.maps.columns, 2);
  EXPECT_EQ(r.maps.maps[2].name, "busiest link");
  EXPECT_DOUBLE_EQ(r.maps.maps[2].values[0], 100.0 * 8 / kCycles);
  EXPECT_DOUBLE_EQ(r.maps.maps[3].values[1], 96);  // sections of 64 and 32 bytes
}

// Whatever the bins were merged to, their sums are those of the run.
TEST(Timeline, bins_sum_up_to_the_run_after_merging) {
  SmallRun run;
  TimelineSampler sampler(run.engine, 4);
  Cycle next = sampler.first();
  while (run.engine.now() < 400) {
    run.engine.step(std::min<Cycle>(next, 400));
    next = sampler.sample();
  }
  const Timeline t = sampler.finish();
  EXPECT_LE(t.bins.size(), 5u);
  EXPECT_GE(t.bin_cycles, 128u);
  const RunReport r = collect(run.engine, 400);
  PeTime sum;
  uint64_t receive = 0;
  for (const TimelineBin& b : t.bins) {
    sum.busy += b.time.busy;
    sum.idle += b.time.idle;
    for (size_t i = 0; i < sum.stalls.size(); ++i) sum.stalls[i] += b.time.stalls[i];
    receive += b.kernel_busy.at(1);
  }
  EXPECT_EQ(sum, r.time);
  EXPECT_EQ(receive, r.kernels[1].time.busy);
}

TEST(Check, expected_samples_are_used_over_and_over) {
  const HostTensor t{"y", DataType::f32, {2, 1, 2}, 1};  // samples in the middle dimension
  const NamedArray expected{"y", ops::Tensor::from_floats({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8})};
  EXPECT_EQ(fit_samples(t, expected, 3).tensor.to_floats(),
            (std::vector<float>{1, 2, 3, 4, 1, 2, 5, 6, 7, 8, 5, 6}));
  EXPECT_EQ(fit_samples(t, expected, 1).tensor.to_floats(), (std::vector<float>{1, 2, 5, 6}));
  EXPECT_EQ(fit_samples(t, expected, 2).tensor, expected.tensor);
}

}  // namespace
}  // namespace cs::sim::test
