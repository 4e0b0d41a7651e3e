// One function per event: which track, which text, then straight to the writer.
#include "simulator/trace/timeline_trace.h"

#include <fmt/format.h>

#include <algorithm>

namespace cs::sim {
namespace {

// Tracks of one PE: 0 tasks, 1 stalls, 2 + 2u and 3 + 2u microthread u and its stalls, the ramp, switches.
constexpr int kRampIn = 2 + 2 * widths::kMicrothreads, kRampOut = kRampIn + 1, kSwitches = kRampOut + 1,
              kTracks = kSwitches + 1;
static_assert(kTracks <= 64, "tracks that have been told are a bit each");
// Numbers of counters, above those of all tracks of PEs.
constexpr uint64_t kCounters = uint64_t(1) << 40;
constexpr size_t kMaxFills = 1024;     // PEs whose queues are counted
constexpr size_t kDoubleAfter = 2048;  // samples; then they are taken half as often
constexpr Cycle kFirstPeriod = 64;

std::string track_name(int track) {
  if (track == 0) return "tasks";
  if (track == 1) return "stalls";
  if (track == kRampIn) return "ramp in";
  if (track == kRampOut) return "ramp out";
  if (track == kSwitches) return "switches";
  return fmt::format("microthread {}{}", (track - 2) / 2, track % 2 == 0 ? "" : " stalls");
}

enum Key : unsigned { kTaskText, kStallText, kWaveletText, kSwitchText };

}  // namespace

TimelineTrace::TimelineTrace(TimelineFormat format, const std::string& path, const Program& program,
                             double clock_mhz, TraceFilter filter, Diag& diag)
    : program_(program),
      names_(program),
      filter_(filter),
      file_(path, diag),
      first_row_(uint32_t(program.host ? program.host->kernels.size() : 0) + 1),
      process_of_(size_t(program.fabric_width) * size_t(program.fabric_height)),
      tracks_of_(process_of_.size()),
      processes_(first_row_ + size_t(program.fabric_height) + 3) {
  TimelineHead head{program.name, clock_mhz};
  writer_ = format == TimelineFormat::chrome ? make_chrome_writer(file_, std::move(head))
                                             : make_perfetto_writer(file_, std::move(head));
}

bool TimelineTrace::room(Cycle begin) {
  if (events_ < filter_.max_events && file_.bytes() < filter_.max_bytes) return ++events_, true;
  truncated_at_ = std::min(truncated_at_.value_or(kNever), begin);
  return false;
}

bool TimelineTrace::takes(TraceKind kind, Coord pe, Cycle begin, Cycle end) {
  return filter_.has(kind) && filter_.keeps(pe, begin, end) && room(begin);
}

Track TimelineTrace::pe_track(Coord pe, int track) {
  const size_t index = size_t(pe.y) * size_t(program_.fabric_width) + size_t(pe.x);
  uint32_t& process = process_of_[index];
  if (process == 0) {
    const int kernel = names_.kernel(pe);
    process = kernel >= 0 ? uint32_t(kernel) + 1 : first_row_ + uint32_t(pe.y);
    if (!processes_[process])
      writer_->process(process, kernel >= 0 ? names_.kernel_name(kernel) : fmt::format("row {}", pe.y));
    processes_[process] = true;
  }
  const Track t{process, uint64_t(index) * kTracks + uint64_t(track) + 1};
  if ((tracks_of_[index] >> track & 1) == 0)
    writer_->track(t, fmt::format("P{}.{} {}", pe.x, pe.y, track_name(track)));
  tracks_of_[index] |= uint64_t(1) << track;
  return t;
}

// Processes of no kernel and no row; their tracks are numbered from the end of those of PEs.
Track TimelineTrace::plain_track(uint32_t process, const char* process_name, uint64_t number,
                                 const std::string& name) {
  const Track t{process, uint64_t(process_of_.size()) * kTracks + uint64_t(process) * 4096 + number};
  if (!processes_[process]) writer_->process(process, process_name);
  processes_[process] = true;
  if (plain_.emplace(t.number, true).second) writer_->track(t, name);
  return t;
}

std::optional<uint32_t> TimelineTrace::known(uint64_t key) const {
  const auto found = texts_.find(key);
  return found == texts_.end() ? std::nullopt : std::optional(found->second);
}

uint32_t TimelineTrace::text_of(uint64_t key, const SliceText& text) {
  const auto [at, added] = texts_.emplace(key, uint32_t(texts_.size()));
  if (added) writer_->text(at->second, text);
  return at->second;
}

// PEs with the same tile program say the same of the same instruction.
uint64_t TimelineTrace::code_key(Coord pe, unsigned kind, uint64_t detail, uint32_t inst) const {
  const TileProgram* tile = names_.tile(pe);
  const uint64_t index = tile == nullptr ? 0 : uint64_t(tile - program_.tiles.data()) + 1;
  return index << 40 | uint64_t(kind) << 36 | (detail & 0xFFFF) << 20 | (inst & 0xFFFFF);
}

void TimelineTrace::task(const TaskEvent& e) {
  const bool main = e.microthread < 0;
  if (!takes(main ? TraceKind::tasks : TraceKind::operations, e.pe, e.begin, e.end)) return;
  const uint64_t detail =
      main ? (e.task >= 0 ? uint64_t(e.task) : 0x8000u | uint64_t(e.function + 1)) : 0x7FFF;
  const uint64_t key = code_key(e.pe, kTaskText, detail, e.inst);
  auto text = known(key);
  if (!text) {
    SliceText t{.category = "task", .name = names_.task_name(e)};
    if (const std::string where = names_.where(e.pe, e.inst); !where.empty())
      t.words.emplace_back("where", where);
    text = text_of(key, t);
  }
  writer_->slice(pe_track(e.pe, main ? 0 : 2 + 2 * e.microthread), e.begin, e.end, *text);
}

void TimelineTrace::stall(const StallEvent& e) {
  if (e.end <= e.begin || !takes(TraceKind::stalls, e.pe, e.begin, e.end)) return;
  const uint64_t key = code_key(e.pe, kStallText, uint64_t(e.why) << 8 | uint64_t(e.queue + 1), e.inst);
  auto text = known(key);
  if (!text) {
    SliceText t{.category = "stall", .name = stall_name(e.why)};
    t.words.emplace_back("instruction", names_.instruction(e.pe, e.inst));
    if (const std::string where = names_.where(e.pe, e.inst); !where.empty())
      t.words.emplace_back("where", where);
    if (e.queue >= 0) t.numbers.emplace_back("queue", e.queue);
    text = text_of(key, t);
  }
  writer_->slice(pe_track(e.pe, e.microthread >= 0 ? 3 + 2 * e.microthread : 1), e.begin, e.end, *text);
}

// Wavelets leave a lane in the order in which they came, so nothing in the engine has to carry their number.
uint64_t TimelineTrace::flow_of(const WaveletEvent& e) {
  const auto lane = [&](Coord pe, Port from) -> Lane& {
    const uint64_t index = uint64_t(pe.y) * uint64_t(program_.fabric_width) + uint64_t(pe.x);
    return lanes_[index << 8 | uint64_t(from) << 5 | uint64_t(e.color)];
  };
  uint64_t flow = 0;
  if (e.from != Port::ramp)
    if (Lane& l = lane(e.pe, e.from); l.head < l.flows.size()) {
      flow = l.flows[l.head++];
      if (l.head == l.flows.size()) l.flows.clear(), l.head = 0;
    }
  if (flow == 0) flow = ++last_flow_;  // from the core, or from a host port
  for (int p = 0; p < 4; ++p) {
    const Coord next = neighbour(e.pe, Port(p));
    if ((e.to & port_bit(Port(p))) != 0 && next.x >= 0 && next.y >= 0 && next.x < program_.fabric_width &&
        next.y < program_.fabric_height)
      lane(next, opposite(Port(p))).flows.push_back(flow);
  }
  return flow;
}

void TimelineTrace::wavelet(const WaveletEvent& e) {
  if (!filter_.has(TraceKind::wavelets) || truncated_at_) return;
  const uint64_t flow = flow_of(e);
  const bool out = e.from == Port::ramp, in = (e.to & port_bit(Port::ramp)) != 0;
  if (!(out || in) || !takes(TraceKind::wavelets, e.pe, e.cycle, e.cycle)) return;
  const uint32_t text = text_of(uint64_t(kWaveletText) << 36 | uint64_t(e.color),
                                {.category = "wavelet", .name = fmt::format("C{}", e.color)});
  WaveletArgs args{
      .data = e.data, .control = e.control, .landed = e.landed, .flow = flow, .flow_begins = out};
  if (out) writer_->slice(pe_track(e.pe, kRampOut), e.cycle, e.cycle + 1, text, &args);
  if (!in) return;
  args.from = port_letter(e.from);
  args.flow_begins = false;
  writer_->slice(pe_track(e.pe, kRampIn), e.cycle, e.cycle + 1, text, &args);
}

void TimelineTrace::switched(const SwitchEvent& e) {
  if (!takes(TraceKind::switches, e.pe, e.cycle, e.cycle)) return;
  const uint32_t text =
      text_of(uint64_t(kSwitchText) << 36 | uint64_t(e.color) << 8 | uint64_t(e.position),
              {.category = "switch", .name = fmt::format("C{} to position {}", e.color, e.position)});
  writer_->instant(pe_track(e.pe, kSwitches), e.cycle, text);
}

void TimelineTrace::count(const Track& t, const std::string& name, const char* unit, Cycle at,
                          uint64_t value) {
  if (!room(at)) return;
  if (plain_.emplace(kCounters | t.number, true).second) writer_->counter_track(t, name, unit);
  writer_->counter(t, at, value);
}

void TimelineTrace::count_queues(const Engine& engine, Fill& fill, Cycle at) {
  const PeProbe probe = engine.probe(fill.pe);
  const size_t index = size_t(fill.pe.y) * size_t(program_.fabric_width) + size_t(fill.pe.x);
  const auto changes = [&](const std::vector<int>& now, std::vector<int>& before, const char* which,
                           size_t first) {
    before.resize(now.size());
    for (size_t q = 0; q < now.size(); ++q) {
      if (now[q] == before[q]) continue;
      before[q] = now[q];
      const uint32_t process = pe_track(fill.pe, 0).process;
      const uint64_t number =
          uint64_t(process_of_.size()) * kTracks + (uint64_t(1) << 32) + index * 64 + first + q;
      count({process, number}, fmt::format("P{}.{} {} queue {}", fill.pe.x, fill.pe.y, which, q), "wavelets",
            at, uint64_t(now[q]));
    }
  };
  changes(probe.input_fill, fill.input, "input", 0);
  changes(probe.output_fill, fill.output, "output", 32);
}

Cycle TimelineTrace::sample(const Engine& engine) {
  if (!filter_.has(TraceKind::queues)) return kNever;
  const Cycle now = engine.now();
  if (period_ == 0) {
    for (const TileRect& r : program_.rects)
      for (int y = r.rect.y; y < r.rect.y + r.rect.h; ++y)
        for (int x = r.rect.x; x < r.rect.x + r.rect.w; ++x)
          if (filter_.keeps({x, y}, filter_.begin, filter_.begin)) fills_.push_back({{x, y}, {}, {}});
    period_ = std::max<Cycle>(kFirstPeriod, fills_.size() / 8);
  }
  if (now < filter_.end && now >= filter_.begin) {
    const uint32_t process = fabric_process();
    uint64_t busy = 0;
    for (const Fill& fill : fills_) busy += engine.running(fill.pe) ? 1 : 0;
    if (fills_.size() <= kMaxFills)
      for (Fill& fill : fills_) count_queues(engine, fill, now);
    if (!processes_[process]) writer_->process(process, "fabric");
    processes_[process] = true;
    const uint64_t base = uint64_t(process_of_.size()) * kTracks + uint64_t(process) * 4096;
    count({process, base}, "busy PEs", "PEs", now, busy);
    const uint64_t hops = engine.wavelet_hops();
    if (now > sampled_at_)
      count({process, base + 1}, "link load, wavelets per 1000 cycles", "wavelets", now,
            (hops - hops_) * 1000 / (now - sampled_at_));
    hops_ = hops;
    sampled_at_ = now;
  }
  if (++samples_ % kDoubleAfter == 0) period_ *= 2;
  return truncated_at_ ? kNever : now + period_;
}

void TimelineTrace::host(const std::vector<HostSpan>& spans) {
  for (const HostSpan& e : spans) {
    if (!filter_.has(TraceKind::host) || e.begin >= filter_.end || e.end <= filter_.begin || !room(e.begin))
      continue;
    const HostStep& step = program_.host->steps[e.step];
    SliceText text{.category = "host", .name = step.op};
    text.numbers.emplace_back("sample", e.sample);
    text.words.emplace_back("makes", step.outputs.empty() ? "" : step.outputs.front());
    const Track t = plain_track(first_row_ + uint32_t(program_.fabric_height), "host", uint64_t(e.core) + 1,
                                fmt::format("core {}", e.core));
    writer_->slice(t, e.begin, e.end, text_of(~uint64_t(0) - texts_.size(), text));
  }
}

// On the first track that is free by then; launches come in the order in which they begin on some PE.
void TimelineTrace::launches(const std::vector<LaunchSpan>& spans) {
  for (const LaunchSpan& e : spans) {
    if (!filter_.has(TraceKind::launches) || !e.done() || e.begin >= filter_.end || e.end <= filter_.begin ||
        !room(e.begin))
      continue;
    const auto free =
        std::find_if(launched_until_.begin(), launched_until_.end(), [&](Cycle c) { return c <= e.begin; });
    const size_t track = size_t(free - launched_until_.begin());
    if (free == launched_until_.end()) launched_until_.push_back(0);
    launched_until_[track] = e.end;
    SliceText text{.category = "launch", .name = e.function};
    text.numbers = {{"pes", int64_t(e.pes)},
                    {"last_pe_x", e.last_pe.x},
                    {"last_pe_y", e.last_pe.y},
                    {"first_end", int64_t(e.first_end)}};
    const Track t = plain_track(first_row_ + uint32_t(program_.fabric_height) + 1, "launches", track + 1,
                                fmt::format("launches {}", track + 1));
    writer_->slice(t, e.begin, e.end, text_of(~uint64_t(0) - texts_.size(), text));
  }
}

bool TimelineTrace::finish() {
  writer_->end(truncated_at_);
  return file_.commit();
}

}  // namespace cs::sim
