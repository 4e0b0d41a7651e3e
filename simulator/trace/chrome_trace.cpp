// Writes trace events as JSON by hand: a line per event, in the order of (process, thread, begin, longest
// first).
#include "simulator/trace/chrome_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "simulator/trace/names.h"
#include "simulator/trace/trace_file.h"

namespace cs::sim {
namespace {

// Tracks of one PE: 0 tasks, 1 stalls, 2 + 2u and 3 + 2u microthread u and its stalls, then the ramp.
constexpr int kRampIn = 2 + 2 * widths::kMicrothreads, kRampOut = kRampIn + 1, kTracks = kRampOut + 1;

// A line of the file: a slice [ts, ts + dur) on a track; args is JSON without braces.
struct Slice {
  int process = 0, thread = 0;
  Cycle ts = 0, dur = 0;
  std::string name, args;
  const char* category = "";
};

// JSON text of a string: our names are CSL identifiers and paths, but a path may hold anything.
std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\u{:04x}", int(c));
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string track_name(int track) {
  if (track == 0) return "tasks";
  if (track == 1) return "stalls";
  if (track == kRampIn) return "ramp in";
  if (track == kRampOut) return "ramp out";
  return fmt::format("microthread {}{}", (track - 2) / 2, track % 2 == 0 ? "" : " stalls");
}

// Gives every PE its process and threads, and remembers which exist.
class Tracks {
 public:
  Tracks(const Program& program, const TraceNames& names) : program_(program), names_(names) {}

  void place(Slice& slice, Coord pe, int track) {
    const int kernels = program_.host ? int(program_.host->kernels.size()) : 0;
    const int kernel = names_.kernel(pe);
    slice.process = kernel >= 0 ? kernel + 1 : kernels + 1 + pe.y;
    slice.thread = (pe.y * program_.fabric_width + pe.x) * kTracks + track + 1;
    if (processes_.insert(slice.process).second)
      metadata_ += event("process_name", slice,
                         kernel >= 0 ? names_.kernel_name(kernel) : fmt::format("row {}", pe.y));
    if (threads_.insert({slice.process, slice.thread}).second)
      metadata_ += event("thread_name", slice, fmt::format("P{}.{} {}", pe.x, pe.y, track_name(track)));
  }
  // A core of the host; its process comes after those of kernels and rows.
  void place_host(Slice& slice, int core) {
    slice.process = int(program_.host->kernels.size()) + 1 + program_.fabric_height;
    slice.thread = core + 1;
    if (processes_.insert(slice.process).second) metadata_ += event("process_name", slice, "host");
    if (threads_.insert({slice.process, slice.thread}).second)
      metadata_ += event("thread_name", slice, fmt::format("core {}", core));
  }
  // The first track that is free by then; launches come in the order in which they begin on some PE.
  void place_launch(Slice& slice) {
    slice.process = (program_.host ? int(program_.host->kernels.size()) : 0) + 2 + program_.fabric_height;
    const auto free =
        std::find_if(launched_until_.begin(), launched_until_.end(), [&](Cycle c) { return c <= slice.ts; });
    slice.thread = int(free - launched_until_.begin()) + 1;
    if (free == launched_until_.end()) launched_until_.push_back(0);
    launched_until_[size_t(slice.thread) - 1] = slice.ts + slice.dur;
    if (processes_.insert(slice.process).second) metadata_ += event("process_name", slice, "launches");
    if (threads_.insert({slice.process, slice.thread}).second)
      metadata_ += event("thread_name", slice, fmt::format("launches {}", slice.thread));
  }
  const std::string& metadata() const { return metadata_; }

 private:
  static std::string event(const char* what, const Slice& s, const std::string& name) {
    return fmt::format("{{\"ph\":\"M\",\"name\":\"{}\",\"pid\":{},\"tid\":{},\"args\":{{\"name\":{}}}}},\n",
                       what, s.process, s.thread, quoted(name));
  }
  const Program& program_;
  const TraceNames& names_;
  std::set<int> processes_;
  std::set<std::pair<int, int>> threads_;
  std::vector<Cycle> launched_until_;  // by track of launches
  std::string metadata_;
};

Slice slice_of(const TaskEvent& e, const TraceNames& names, Tracks& tracks) {
  Slice s{.ts = e.begin, .dur = e.end - e.begin, .name = names.task_name(e), .category = "task"};
  if (const std::string where = names.where(e.pe, e.inst); !where.empty())
    s.args = "\"where\":" + quoted(where);
  tracks.place(s, e.pe, e.microthread >= 0 ? 2 + 2 * e.microthread : 0);
  return s;
}

Slice slice_of(const StallEvent& e, const TraceNames& names, Tracks& tracks) {
  Slice s{.ts = e.begin, .dur = e.end - e.begin, .name = stall_name(e.why), .category = "stall"};
  s.args = fmt::format("\"instruction\":{}", quoted(names.instruction(e.pe, e.inst)));
  if (e.queue >= 0) s.args += fmt::format(",\"queue\":{}", e.queue);
  if (const std::string where = names.where(e.pe, e.inst); !where.empty())
    s.args += ",\"where\":" + quoted(where);
  tracks.place(s, e.pe, e.microthread >= 0 ? 3 + 2 * e.microthread : 1);
  return s;
}

Slice slice_of(const WaveletEvent& e, bool in, Tracks& tracks) {
  Slice s{.ts = e.cycle, .dur = 1, .name = fmt::format("C{}", e.color), .category = "wavelet"};
  s.args = fmt::format("\"data\":\"{:08x}\",\"control\":{},\"landed\":{}", e.data, e.control, e.landed);
  if (in) s.args += fmt::format(",\"from\":\"{}\"", port_letter(e.from));
  tracks.place(s, e.pe, in ? kRampIn : kRampOut);
  return s;
}

Slice slice_of(const HostSpan& e, const Program& program, Tracks& tracks) {
  const HostStep& step = program.host->steps[e.step];
  Slice s{.ts = e.begin, .dur = e.end - e.begin, .name = step.op, .category = "host"};
  s.args = fmt::format("\"sample\":{},\"makes\":{}", e.sample,
                       quoted(step.outputs.empty() ? "" : step.outputs.front()));
  tracks.place_host(s, e.core);
  return s;
}

Slice slice_of(const LaunchSpan& e, Tracks& tracks) {
  Slice s{.ts = e.begin, .dur = e.end - e.begin, .name = e.function, .category = "launch"};
  s.args = fmt::format("\"pes\":{},\"last_pe\":[{},{}],\"first_end\":{}", e.pes, e.last_pe.x, e.last_pe.y,
                       e.first_end);
  tracks.place_launch(s);
  return s;
}

}  // namespace

ChromeTrace::ChromeTrace(const Program& program, const Machine& machine, TraceFilter filter)
    : program_(program), clock_mhz_(machine.clock_mhz), filter_(filter) {}

bool ChromeTrace::room(Coord pe, Cycle begin, Cycle end) {
  if (!filter_.keeps(pe, begin, end)) return false;
  if (events() < filter_.max_events) return true;
  truncated_at_ = std::min(truncated_at_.value_or(kNever), begin);
  return false;
}

void ChromeTrace::task(const TaskEvent& e) {
  if (room(e.pe, e.begin, e.end)) tasks_.push_back(e);
}

void ChromeTrace::stall(const StallEvent& e) {
  if (e.end > e.begin && room(e.pe, e.begin, e.end)) stalls_.push_back(e);
}

void ChromeTrace::wavelet(const WaveletEvent& e) {
  const bool touches_ramp = e.from == Port::ramp || (e.to & port_bit(Port::ramp)) != 0;
  if (touches_ramp && room(e.pe, e.cycle, e.cycle)) wavelets_.push_back(e);
}

void ChromeTrace::host(const std::vector<HostSpan>& spans) {
  for (const HostSpan& span : spans)
    if (span.begin < filter_.end && span.end > filter_.begin) host_.push_back(span);
}

void ChromeTrace::launches(const std::vector<LaunchSpan>& spans) {
  for (const LaunchSpan& span : spans)
    if (span.done() && span.begin < filter_.end && span.end > filter_.begin) launches_.push_back(span);
}

bool ChromeTrace::write(const std::string& path, Diag& diag) const {
  const TraceNames names(program_);
  Tracks tracks(program_, names);
  std::vector<Slice> slices;
  slices.reserve(events());
  for (const TaskEvent& e : tasks_) slices.push_back(slice_of(e, names, tracks));
  for (const StallEvent& e : stalls_) slices.push_back(slice_of(e, names, tracks));
  for (const WaveletEvent& e : wavelets_) {
    if (e.from == Port::ramp) slices.push_back(slice_of(e, false, tracks));
    if ((e.to & port_bit(Port::ramp)) != 0) slices.push_back(slice_of(e, true, tracks));
  }
  for (const LaunchSpan& e : launches_) slices.push_back(slice_of(e, tracks));
  for (const HostSpan& e : host_) slices.push_back(slice_of(e, program_, tracks));
  std::stable_sort(slices.begin(), slices.end(), [](const Slice& a, const Slice& b) {
    if (a.process != b.process) return a.process < b.process;
    if (a.thread != b.thread) return a.thread < b.thread;
    if (a.ts != b.ts) return a.ts < b.ts;
    return a.dur > b.dur;
  });
  TraceFile out(path, diag);
  if (!out.ok()) return false;
  out.write(fmt::format(
      "{{\"displayTimeUnit\":\"ns\",\"otherData\":{{\"program\":{},\"unit\":\"cycle\",\"clock_mhz\":{}",
      quoted(program_.name), clock_mhz_));
  if (truncated_at_) out.write(fmt::format(",\"truncated_at_cycle\":{}", *truncated_at_));
  out.write("},\n\"traceEvents\":[\n");
  out.write(tracks.metadata());
  for (const Slice& s : slices)
    out.write(
        fmt::format("{{\"ph\":\"X\",\"pid\":{},\"tid\":{},\"ts\":{},\"dur\":{},\"cat\":\"{}\",\"name\":{},"
                    "\"args\":{{{}}}}},\n",
                    s.process, s.thread, s.ts, s.dur, s.category, quoted(s.name), s.args));
  // JSON has no trailing comma; the last entry says where the run was cut, or nothing.
  out.write("{\"ph\":\"M\",\"name\":\"trace_end\",\"pid\":0,\"tid\":0,\"args\":{}}\n]}\n");
  return out.commit();
}

}  // namespace cs::sim
