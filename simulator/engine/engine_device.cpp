// run(): arms what the engine can stop for exactly, lets time advance, then says why it stopped.
#include "simulator/engine/engine_device.h"

#include <fmt/format.h>

#include <algorithm>

namespace cs::sim {

namespace {

constexpr Cycle kStretch = 1 << 14;  // some milliseconds of a busy wafer: an interrupt is seen soon
// How far cores run ahead of that: a loop without wavelets would else be simulated to its end before anybody looks.
constexpr Cycle kAhead = 4 * kStretch;

}  // namespace

EngineDevice::EngineDevice(const Machine& machine, EngineDeviceOptions options)
    : machine_(machine), options_(std::move(options)), engine_(machine, options_.engine) {}

bool EngineDevice::load(const Program& program, std::span<const uint8_t> weights, Diag& diag) {
  if (!engine_.load(program, weights, diag)) return false;
  watches_.assign(program.ports.size(), 0);
  start_ = last_checkpoint_ = std::chrono::steady_clock::now();
  loaded_ = true;
  return true;
}

void EngineDevice::advance(const Advance& request) {
  const Cycle end = std::min(request.target, request.limit);
  while (engine_.now() < end && !engine_.faulted() && !(request.stop && request.stop())) {
    if (engine_.idle() && request.target == kNever) return;
    const Cycle now = engine_.now(), event = engine_.next_event();
    // With every_cycle a cycle with events alone, dead time before it in one go.
    const bool single = request.every_cycle && event != kNever;
    const Cycle to = single ? (event > now ? event : now + 1) : now + kStretch;
    const Cycle ahead = end - now > kAhead ? now + kAhead : end;
    engine_.step(std::min(end, to), request.target != kNever, request.every_cycle ? now : ahead);
  }
}

// A function may be exported by several tile programs; the engine finds each PE's own entry by the export.
bool EngineDevice::launch(const std::string& function, std::span<const uint32_t> args, Rect pes,
                          Cycle not_before, Diag& diag) {
  const auto& exports = program().exports;
  std::vector<std::string> names;
  for (size_t i = 0; i < exports.size(); ++i) {
    const auto has = [&](const TileProgram& t) { return t.function(exports[i].name) != nullptr; };
    if (!exports[i].is_function || std::none_of(program().tiles.begin(), program().tiles.end(), has))
      continue;
    if (exports[i].name == function) {
      engine_.launch(int(i), args, pes, not_before);
      return true;
    }
    names.push_back(exports[i].name);
  }
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
  diag.error_at(function, "the program exports no function of this name",
                list.empty() ? "it exports no function at all: @export_name in the layout makes one visible"
                             : "it exports " + list);
  return false;
}

std::vector<std::vector<uint32_t>> EngineDevice::take_streamed(uint8_t color, Rect pes) {
  std::vector<std::vector<uint32_t>> words;
  for (int y = 0; y < pes.h; ++y)
    for (int x = 0; x < pes.w; ++x) words.push_back(engine_.take_streamed(color, {pes.x + x, pes.y + y}));
  return words;
}

void EngineDevice::watch(int port, size_t count) {
  watches_[size_t(port)] = count;
  engine_.watch(port, count);
}

bool EngineDevice::condition_holds(const RunUntil& u) const {
  if (engine_.now() >= u.cycle) return true;
  if (u.while_active && engine_.idle()) return true;
  if (u.commands_done && engine_.commands_pending() == 0) return true;
  if (u.streams_done && engine_.stream_words_pending() == 0) return true;
  if (u.received_port >= 0 && engine_.received(u.received_port).size() >= u.received_count) return true;
  if (!u.any_watch) return false;
  for (size_t port = 0; port < watches_.size(); ++port)
    if (watches_[port] > 0 && engine_.received(int(port)).size() >= watches_[port]) return true;
  return false;
}

bool EngineDevice::out_of_time() {
  if (options_.interrupted != nullptr && *options_.interrupted) return true;
  if (options_.max_seconds <= 0) return false;
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  timed_out_ = seconds > options_.max_seconds;
  return timed_out_;
}

bool EngineDevice::checkpoint_due() const {
  const CheckpointTimes& times = options_.checkpoints;
  if (!times.make || engine_.faulted()) return false;
  if (engine_.now() >= times.at) return true;
  return times.every_seconds > 0 && engine_.now() != last_checkpoint_cycle_ &&
         std::chrono::duration<double>(std::chrono::steady_clock::now() - last_checkpoint_).count() >
             times.every_seconds;
}

void EngineDevice::skip_checkpoints(Cycle up_to) {
  CheckpointTimes& times = options_.checkpoints;
  if (times.at > up_to) return;
  times.at = times.every == 0 ? kNever : times.at + ((up_to - times.at) / times.every + 1) * times.every;
}

void EngineDevice::make_checkpoint() {
  CheckpointTimes& times = options_.checkpoints;
  times.make();
  last_checkpoint_ = std::chrono::steady_clock::now();
  last_checkpoint_cycle_ = engine_.now();
  skip_checkpoints(engine_.now());
}

// The engine stops by itself in the very cycle of these events, so the shell need not look after every cycle.
void EngineDevice::arm(const RunUntil& u) {
  engine_.watch_commands(u.commands_done);
  engine_.watch_streams(u.streams_done);
  for (size_t port = 0; port < watches_.size(); ++port)
    engine_.watch(int(port), u.any_watch ? watches_[port] : 0);
  if (u.received_port >= 0 && (!u.any_watch || watches_[size_t(u.received_port)] == 0))
    engine_.watch(u.received_port, u.received_count);
}

RunStatus EngineDevice::judge(const RunUntil& u) {
  RunStatus status;
  status.now = engine_.now();
  if (engine_.faulted()) return engine_.fault();
  if (condition_holds(u)) {
    status.reason = StopReason::condition;
  } else if (options_.interrupted != nullptr && *options_.interrupted) {
    status.reason = StopReason::interrupted;
  } else if (timed_out_ || engine_.now() >= options_.max_cycles) {
    status.reason = StopReason::max_cycles;
    status.fault = "timeout";
    status.message = timed_out_
                         ? fmt::format("not finished after {} s (--max-seconds)", options_.max_seconds)
                         : fmt::format("not finished after {} cycles (--max-cycles)", options_.max_cycles);
  } else if (engine_.blocked()) {
    status.reason = StopReason::deadlock;
    status.fault = "deadlock";
    status.message = engine_.deadlock_report();
  } else {
    status.reason = StopReason::idle;
  }
  return status;
}

std::string EngineDevice::leftovers() const {
  if (!engine_.idle()) return {};
  const std::vector<std::string> left = engine_.leftovers();
  if (left.empty()) return {};
  std::string text = fmt::format("wavelets were left in {} places at the end of the run", left.size());
  for (size_t i = 0; i < std::min<size_t>(left.size(), 8); ++i) text += "\n  " + left[i];
  return text;
}

RunStatus EngineDevice::run(const RunUntil& u) {
  CS_CHECK(loaded_, "run before load");
  arm(u);
  // Both conditions on one port with different counts: the engine can watch for one, so look after every
  // cycle.
  const bool both = u.received_port >= 0 && u.any_watch && watches_[size_t(u.received_port)] > 0;
  Advance request;
  // Waiting for a cycle lets time pass; a limit on the whole run does not: a deadlock before it is a
  // deadlock.
  if (u.cycle < options_.max_cycles && !u.while_active) request.target = u.cycle;
  request.limit = u.while_active ? std::min(u.cycle, options_.max_cycles) : options_.max_cycles;
  request.every_cycle = both;
  request.stop = [&] {
    if (options_.progress) options_.progress(engine_.now());
    return condition_holds(u) || out_of_time() || checkpoint_due();
  };
  // Cores run ahead up to the next checkpoint, and stand where the clock stands when it is made.
  const Cycle limit = request.limit;
  for (;;) {
    request.limit = std::min(limit, options_.checkpoints.at);
    advance(request);
    if (!checkpoint_due()) break;
    make_checkpoint();
  }
  RunStatus status = judge(u);
  if (u.list_leftovers && status.fault.empty()) status.message = leftovers();
  return status;
}

}  // namespace cs::sim
