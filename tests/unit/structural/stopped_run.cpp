// The device, the journal in front of it, and what is compared.
#include "tests/unit/structural/stopped_run.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <span>

#include "runtime/host/journal.h"
#include "simulator/engine/simulation_file.h"

namespace cs::sim::test {

std::string difference(const Seen& a, const Seen& b) {
  for (size_t i = 0; i < std::max(a.host.size(), b.host.size()); ++i) {
    const std::string x = i < a.host.size() ? a.host[i] : "nothing", y = i < b.host.size() ? b.host[i] : "nothing";
    if (x != y) return fmt::format("the host's line {}: '{}', '{}'", i, x, y);
  }
  if (a.printed != b.printed) return fmt::format("{} and {} printed lines differ", a.printed.size(), b.printed.size());
  for (size_t i = 0; i < std::max(a.counters.size(), b.counters.size()); ++i)
    if (i >= a.counters.size() || i >= b.counters.size() || a.counters[i] != b.counters[i])
      return fmt::format("counter {} of {}: {}, {}", i, a.counters.size(), i < a.counters.size() ? a.counters[i] : 0,
                         i < b.counters.size() ? b.counters[i] : 0);
  return a.memory == b.memory ? "" : "memory differs";
}

void count(const Engine& engine, const Experiment& e, Seen& seen) {
  seen.counters = {engine.now(), engine.instructions(), engine.wavelet_hops()};
  for (int y = 0; y < e.program.fabric_height; ++y)
    for (int x = 0; x < e.program.fabric_width; ++x) {
      const PeStats s = engine.stats({x, y});
      seen.counters.insert(seen.counters.end(),
                           {s.busy, s.memory_groups, s.fabric_groups, s.instructions, s.elements, s.flops, s.half_flops,
                            s.memory_bytes, s.tasks, s.launch_cycles, s.first_task, s.last_task_end, s.injected,
                            s.first_arrival});
      for (const auto& list : {std::span<const uint64_t>(s.stalls), std::span<const uint64_t>(s.sent),
                               std::span<const uint64_t>(s.blocked)})
        seen.counters.insert(seen.counters.end(), list.begin(), list.end());
      std::vector<uint8_t> bytes(size_t(e.machine.core.memory_bytes));
      engine.read({x, y}, 0, bytes);
      seen.memory.insert(seen.memory.end(), bytes.begin(), bytes.end());
    }
}

Seen run_with_stops(const Experiment& e, const EngineOptions& engine, Cycle stop, std::string* file,
                    const std::string* from) {
  Seen seen;
  EngineDeviceOptions options{.engine = engine};
  std::optional<JournalDevice> journal;
  std::optional<EngineDevice> device;
  if (file != nullptr)
    options.checkpoints = {stop, 0, 0, [&] {
                             if (file->empty()) *file = simulation_bytes(device->engine(), journal->bytes());
                           }};
  device.emplace(e.machine, options);
  Diag diag;
  const auto print = [&](Cycle cycle, Coord pe, const std::string& line) {
    seen.printed.push_back(fmt::format("{} ({}, {}) {}", cycle, pe.x, pe.y, line));
  };
  device->engine().set_print(print);
  if (!device->load(e.program, e.weights, diag)) {
    seen.host.push_back(diag.to_string());
    return seen;
  }
  journal.emplace(*device);
  if (from != nullptr) {
    auto host = read_simulation_bytes(*from, "checkpoint", device->engine(), diag);
    EXPECT_TRUE(host) << diag.to_string();
    if (!host) return seen;
    EXPECT_TRUE(journal->replay(std::move(*host)));
  }
  if (e.host)
    e.host(*journal, seen.host);
  else
    describe(journal->run({}), seen.host);
  EXPECT_EQ(journal->problem(), "");
  EXPECT_FALSE(journal->replaying());
  seen.last_event = device->now();
  device->end_checkpoints();
  if (device->engine().faulted()) {
    seen.host.push_back(device->engine().fault().message);
    return seen;  // other cores may have come further
  }
  device->run({.cycle = device->now() + 3000});
  count(device->engine(), e, seen);
  return seen;
}

// Lines printed before the checkpoint are not printed again.
static void forget_printed_before(Cycle cycle, Seen& seen) {
  std::erase_if(seen.printed, [&](const std::string& line) { return std::stoull(line) < cycle; });
}

std::string go_on(const Experiment& e, uint32_t seed, int& stops) {
  std::mt19937 rng(seed);
  Seen whole = run_with_stops(e, {32, 32, 1}, kNever, nullptr, nullptr);
  const auto options = [&] {
    const int sides[] = {1, 2, 3, 5, 32};
    return EngineOptions{sides[rng() % 5], sides[rng() % 5], int(1 + rng() % 2), 0};
  };
  // Twice: the second one is of a simulation that was restored itself.
  std::string file;
  const Cycle at = 1 + rng() % std::max<Cycle>(1, whole.last_event);
  const EngineOptions first = options(), second = options(), third = options();
  const Seen stopped = run_with_stops(e, first, at, &file, nullptr);
  if (const std::string text = difference(whole, stopped); !text.empty()) return "with a checkpoint: " + text;
  if (file.empty()) return "";  // over before
  ++stops;
  forget_printed_before(at, whole);
  std::string file2;
  const Cycle later = at + rng() % (1 + whole.last_event - std::min(at, whole.last_event));
  const Seen restored = run_with_stops(e, second, later, &file2, &file);
  if (const std::string text = difference(whole, restored); !text.empty())
    return fmt::format("restored at {} of {} in blocks of {} x {}: {}", at, whole.last_event, second.block_width,
                       second.block_height, text);
  if (file2.empty()) return "";
  forget_printed_before(later, whole);
  const Seen again = run_with_stops(e, third, kNever, nullptr, &file2);
  if (const std::string text = difference(whole, again); !text.empty())
    return fmt::format("restored twice, at {} and {} of {}: {}", at, later, whole.last_event, text);
  return "";
}

}  // namespace cs::sim::test
