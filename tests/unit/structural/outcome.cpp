// Both models under the same host program; their traces as sorted lines of text.
#include "tests/unit/structural/outcome.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "simulator/engine/engine_device.h"
#include "simulator/systemc/structural/device.h"

namespace cs::sim::test {
namespace {

std::string place(Cycle cycle, Coord pe) { return fmt::format("cycle {:7} ({}, {}) ", cycle, pe.x, pe.y); }

struct Line {
  Cycle cycle = 0, end = 0;
  Coord pe;
  std::string text;
};

// Nothing that ends behind a fault counts, or just before it: an operation retires some cycles before the last group by
// which it is known, and the engine may have gone on.
std::vector<std::string> in_order(std::vector<Line> lines, Cycle fault = kNever) {
  constexpr Cycle kKnownLate = 16;
  std::erase_if(lines, [&](const Line& l) { return fault != kNever && l.end + kKnownLate >= fault; });
  const auto key = [](const Line& l) { return std::tuple(l.cycle, l.pe.y, l.pe.x); };
  std::stable_sort(lines.begin(), lines.end(), [&](const Line& a, const Line& b) {
    return key(a) != key(b) ? key(a) < key(b) : a.text < b.text;
  });
  std::vector<std::string> out;
  for (const Line& l : lines) out.push_back(place(l.cycle, l.pe) + l.text);
  return out;
}

std::string ports(PortSet set) {
  std::string out;
  for (int p = 0; p < kPorts; ++p)
    if (set >> p & 1) out += "EWSNR"[p];
  return out;
}

Line departure(Coord pe, Cycle cycle, int color, bool control, uint32_t data, Port from, PortSet to) {
  return {cycle, cycle, pe,
          fmt::format("color {} {}{:#x} {} > {}", color, control ? "control " : "", data, ports(port_bit(from)),
                      ports(to))};
}

Line activation(Coord pe, Cycle begin, Cycle end, int task, int function, int thread, uint32_t inst) {
  return {begin, end, pe,
          fmt::format("until {}: task {} function {} thread {} at {}", end, task, function, thread, inst)};
}

class EngineRecorder : public TraceSink {
 public:
  void task(const TaskEvent& e) override {
    tasks.push_back(activation(e.pe, e.begin, e.end, e.task, e.function, e.microthread, e.inst));
  }
  void stall(const StallEvent&) override {}
  void wavelet(const WaveletEvent& e) override {
    wavelets.push_back(departure(e.pe, e.cycle, e.color, e.control, e.data, e.from, e.to));
  }
  std::vector<Line> tasks, wavelets;
};

class StructuralRecorder : public structural::Observer {
 public:
  void departs(const structural::Departure& d) override {
    wavelets.push_back(departure(d.pe, d.cycle, d.wavelet.color, d.wavelet.control, d.wavelet.data, d.from, d.to));
  }
  void ended(const structural::Activation& a) override {
    tasks.push_back(activation(a.pe, a.begin, a.end, a.task, a.function, a.thread, a.inst));
  }
  void printed(Cycle cycle, Coord pe, const std::string& line) override { prints.push_back({cycle, cycle, pe, line}); }
  std::vector<Line> tasks, wavelets, prints;
};

// The cycle of the fault that ended the run, if one did.
Cycle drive(Device& device, const Experiment& e, Outcome& o) {
  if (e.host)
    e.host(device, o.host);
  else
    describe(device.run({}), o.host);
  for (const LaunchSpan& l : device.launches())
    o.host.push_back(fmt::format("launch {}: issued {}, {} to {}, ends {} to {} at ({}, {}), {} of {} PEs, {} cycles",
                                 l.function, l.issued, l.begin, l.last_begin, l.first_end, l.end, l.last_pe.x,
                                 l.last_pe.y, l.ended, l.pes, l.pe_cycles));
  for (size_t port = 0; port < e.program.ports.size(); ++port) {
    const bool input = e.program.ports[port].input;
    for (size_t i = 0; input && device.entered(int(port), i) != kNever; ++i)
      o.host.push_back(fmt::format("port {}: {} entered in {}", port, i, device.entered(int(port), i)));
    if (input) continue;
    for (const PortEvent& r : device.received(int(port)))
      o.host.push_back(fmt::format("port {}: {:#x} in {}", port, r.data, r.cycle));
  }
  for (int y = 0; y < e.program.fabric_height; ++y)
    for (int x = 0; x < e.program.fabric_width; ++x)
      for (const TileRect& r : e.program.rects) {
        if (!r.rect.contains({x, y})) continue;
        device.read({x, y}, 0, o.memory.emplace_back(size_t(e.machine.core.memory_bytes)));
      }
  const RunStatus end = device.run({});
  if (end.reason != StopReason::fault) return kNever;
  o.memory.clear();
  o.faulted = true;
  return Cycle(std::strtoull(end.message.c_str() + std::string_view("cycle ").size(), nullptr, 10));
}

std::string around(const std::vector<std::string>& lines, size_t i) {
  std::string out;
  for (size_t k = i > 6 ? i - 6 : 0; k < std::min(lines.size(), i + 4); ++k)
    out += (k == i ? "  > " : "    ") + lines[k] + "\n";
  return out;
}

std::string difference(const char* what, const std::vector<std::string>& a, const std::vector<std::string>& b) {
  if (a == b) return "";
  size_t i = 0;
  while (i < a.size() && i < b.size() && a[i] == b[i]) ++i;
  return fmt::format("{}: number {} of {} and {} differ\n  engine\n{}  structural\n{}", what, i, a.size(), b.size(),
                     around(a, i), around(b, i));
}

// Loads, drives and notes what was watched; false: the Program was not loaded.
template <class Recorder>
bool watch(Device& device, const Experiment& e, Recorder& recorder, const std::vector<Line>& prints, Outcome& o) {
  Diag diag;
  if (!device.load(e.program, e.weights, diag)) {
    o.host.push_back(diag.to_string());
    return false;
  }
  const Cycle fault = drive(device, e, o);
  o.wavelets = in_order(recorder.wavelets, fault);
  o.tasks = in_order(recorder.tasks, fault);
  o.printed = in_order(prints);
  return true;
}

}  // namespace

void describe(const RunStatus& s, std::vector<std::string>& out, bool exact) {
  const std::string fault = s.reason == StopReason::fault ? s.message.substr(0, s.message.find(')') + 1) : "";
  out.push_back(fmt::format("run ends: reason {}, cycle {}, fault '{}' {}", int(s.reason), exact ? s.now : 0, s.fault,
                            fault));
}

Outcome run_on_engine(const Experiment& e) {
  Outcome o;
  EngineRecorder recorder;
  std::vector<Line> prints;
  EngineDevice device(e.machine, {});
  device.engine().set_trace(&recorder);
  device.engine().set_print(
      [&](Cycle cycle, Coord pe, const std::string& line) { prints.push_back({cycle, cycle, pe, line}); });
  if (watch(device, e, recorder, prints, o)) o.instructions = device.engine().instructions();
  return o;
}

Outcome run_structurally(const Experiment& e) {
  Outcome o;
  StructuralRecorder recorder;
  structural::StructuralDevice device(e.machine, {.observer = &recorder});
  if (watch(device, e, recorder, recorder.prints, o)) o.instructions = device.instructions();
  return o;
}

std::string difference(const Outcome& engine, const Outcome& structural) {
  std::string text = difference("wavelets", engine.wavelets, structural.wavelets) +
                     difference("tasks", engine.tasks, structural.tasks) +
                     difference("host", engine.host, structural.host) +
                     difference("log", engine.printed, structural.printed);
  for (size_t pe = 0; pe < std::min(engine.memory.size(), structural.memory.size()); ++pe) {
    const auto &a = engine.memory[pe], &b = structural.memory[pe];
    if (a == b || !text.empty()) continue;
    const size_t at = size_t(std::mismatch(a.begin(), a.end(), b.begin()).first - a.begin());
    text += fmt::format("memory of PE number {} differs at {}: {:#x}, {:#x}\n", pe, at, a[at], b[at]);
  }
  if (text.empty() && !engine.faulted && engine.instructions != structural.instructions)
    text = fmt::format("instructions: {}, {}\n", engine.instructions, structural.instructions);
  return text;
}

std::string in_child(const std::function<std::string()>& work) {
  int pipe_ends[2];
  if (pipe(pipe_ends) != 0) return "no pipe";
  const pid_t child = fork();
  if (child == 0) {
    const std::string text = work();
    for (size_t done = 0; done < text.size();) {
      const ssize_t n = ::write(pipe_ends[1], text.data() + done, text.size() - done);
      if (n <= 0) break;
      done += size_t(n);
    }
    _exit(0);
  }
  close(pipe_ends[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t n; (n = ::read(pipe_ends[0], buffer, sizeof buffer)) > 0;) text.append(buffer, size_t(n));
  close(pipe_ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (status != 0) text += fmt::format("the process ended with status {:#x}\n", status);
  return text;
}

std::string compare(const Experiment& e) {
  return in_child([&] {
    const Outcome engine = run_on_engine(e), structural = run_structurally(e);
    const bool nothing = engine.instructions == 0 && engine.wavelets.empty() && !engine.faulted;
    return nothing ? "nothing happened" : difference(engine, structural);
  });
}

}  // namespace cs::sim::test
