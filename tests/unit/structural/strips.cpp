// The host program runs on a device whose engine leads; then everything that an engine can be asked is asked.
#include "tests/unit/structural/strips.h"

#include <fmt/format.h>

#include "simulator/engine/engine_device.h"
#include "simulator/engine/simulation_file.h"
#include "simulator/engine/strips.h"
#include "tests/unit/engine/thread_ranks.h"
#include "tests/unit/structural/stopped_run.h"

namespace cs::sim::test {
namespace {

struct All {
  Seen seen;
  std::string checkpoint;  // when the run is over; empty after a fault
};

std::string text_of(const PeState& s) {
  std::string out = fmt::format("{} {} {} {} {}", s.tile, s.running, s.source, s.inst, s.commands);
  for (const OperationState& op : s.operations)
    out += fmt::format(" {} {}/{} {}", op.thread, op.done, op.total, op.waits);
  for (const QueueState& q : s.queues) out += fmt::format(" q{}:{}", q.id, q.words.size());
  for (const LaneState& l : s.lanes) out += fmt::format(" l{}:{}", l.color, l.wavelets);
  return out;
}

void ask_everything(EngineDevice& device, const Experiment& e, All& all) {
  Engine& engine = device.engine();
  std::vector<std::string>& lines = all.seen.host;
  lines.push_back(fmt::format("{} {} {} {}", engine.now(), engine.idle(), engine.blocked(), engine.faulted()));
  if (engine.faulted()) lines.push_back(engine.fault().message);
  if (engine.blocked() && engine.idle() && !engine.faulted())
    lines.push_back(engine.deadlock_report());
  for (const std::string& left : engine.leftovers()) lines.push_back(left);
  for (const Coord at : engine.waiting()) lines.push_back(fmt::format("({}, {}) waits", at.x, at.y));
  for (const LaunchSpan& s : engine.launches())
    lines.push_back(fmt::format("{} {} {} {} {} {} ({}, {}) {} {} {}", s.function, s.issued, s.begin, s.last_begin,
                                s.first_end, s.end, s.last_pe.x, s.last_pe.y, s.pes, s.ended, s.pe_cycles));
  lines.push_back(fmt::format("{} {}", engine.commands_pending(), engine.stream_words_pending()));
  for (const std::string_view fault : allowable_faults())
    lines.push_back(fmt::format("{}", engine.allowed(std::string(fault))));
  for (size_t port = 0; port < e.program.ports.size(); ++port) {
    for (size_t i = 0; engine.entered(int(port), i) != kNever; ++i)
      lines.push_back(fmt::format("port {}: {} entered in {}", port, i, engine.entered(int(port), i)));
    for (const PortEvent& r : engine.received(int(port)))
      lines.push_back(fmt::format("port {}: {:#x} in {} {}", port, r.data, r.cycle, r.control));
  }
  for (int y = 0; y < e.program.fabric_height; ++y)
    for (int x = 0; x < e.program.fabric_width; ++x) {
      lines.push_back(fmt::format("({}, {}) {}", x, y, engine.running({x, y})));
      if (!engine.faulted()) lines.push_back(text_of(engine.state({x, y})));
    }
  count(engine, e, all.seen);
  if (!engine.faulted()) all.checkpoint = simulation_bytes(engine, "host");
}

All run(const Experiment& e, const EngineOptions& options) {
  All all;
  EngineDevice device(e.machine, {.engine = options});
  device.engine().set_print([&](Cycle cycle, Coord pe, const std::string& line) {
    all.seen.printed.push_back(fmt::format("{} ({}, {}) {}", cycle, pe.x, pe.y, line));
  });
  Diag diag;
  if (!device.load(e.program, e.weights, diag)) {
    all.seen.host.push_back(diag.to_string());
    return all;
  }
  if (e.host) {
    e.host(device, all.seen.host);
  } else {
    const RunStatus s = device.run({});
    describe(s, all.seen.host);
    all.seen.host.push_back(s.message);
  }
  ask_everything(device, e, all);
  if (device.engine().faulted()) return all;
  device.run({.cycle = device.now() + 3000});
  ask_everything(device, e, all);
  return all;
}

}  // namespace

void lead_ranks(const Experiment& e, int ranks, const EngineOptions& options, int engines,
                const std::function<void(EngineOptions)>& lead) {
  run_as_ranks(
      ranks,
      [&](Ranks& r) {
        EngineOptions its = options;  // followers read it meanwhile
        its.ranks = &r;
        for (int i = 0; i < engines; ++i) {
          lead(its);
          end_followers(r);
        }
      },
      [&](Ranks& r) {
        EngineOptions its = options;
        its.ranks = &r;
        for (int i = 0; i < engines; ++i) {
          Engine engine(e.machine, its);
          Diag unheard;
          engine.load(e.program, e.weights, unheard);
          engine.follow();
        }
      });
}

std::string difference_in_strips(const Experiment& e, int ranks, int block_width, int block_height, int threads) {
  ranks = std::min(ranks, e.program.fabric_height);
  Diag diag;
  const auto strips = cut_strips(e.program, block_height, ranks, diag);
  if (!strips) return diag.to_string();
  // Cores that run ahead of a fault stop where their block has no more ways back: blocks of one size for both.
  const All one = run(e, {block_width, strips->block_height, 1});
  All several;
  const auto lead = [&](const EngineOptions& options) { several = run(e, options); };
  lead_ranks(e, ranks, {block_width, block_height, threads, 0}, 1, lead);
  std::string text = difference(one.seen, several.seen);
  if (text.empty() && one.checkpoint != several.checkpoint) text = "checkpoints differ";
  if (text.empty()) return "";
  return fmt::format("{} ranks, blocks of {} x {}: {}", ranks, block_width, strips->block_height, text);
}

}  // namespace cs::sim::test
