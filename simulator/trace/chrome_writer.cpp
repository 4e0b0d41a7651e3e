// The JSON form that ui.perfetto.dev and chrome://tracing open: a line per event, 1 unit of time = 1 cycle.
// Lines of slices are put together from pieces without a formatter, since a run makes millions of them.
#include <fmt/format.h>

#include <array>
#include <charconv>
#include <unordered_map>

#include "simulator/trace/timeline_writer.h"
#include "simulator/trace/trace_file.h"

namespace cs::sim {
namespace {

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

class ChromeWriter : public TimelineWriter {
 public:
  ChromeWriter(TraceFile& out, TimelineHead head) : out_(out), head_(std::move(head)) {
    out_.write("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n");
  }

  void process(uint32_t process, const std::string& name) override {
    out_.write(fmt::format(
        "{{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":{},\"tid\":0,\"args\":{{\"name\":{}}}}},\n",
        process, quoted(name)));
  }
  void track(const Track& t, const std::string& name) override {
    out_.write(fmt::format(
        "{{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":{},\"tid\":{},\"args\":{{\"name\":{}}}}},\n",
        t.process, t.number, quoted(name)));
  }
  // Counters are told apart by process and name.
  void counter_track(const Track& t, const std::string& name, const std::string& unit) override {
    counters_[t.number] = fmt::format("\"name\":{},\"args\":{{{}:", quoted(name), quoted(unit));
  }
  void text(uint32_t number, const SliceText& t) override {
    if (texts_.size() <= number) texts_.resize(number + 1);
    std::string args;
    for (const auto& [key, value] : t.words)
      args += (args.empty() ? "" : ",") + quoted(key) + ":" + quoted(value);
    for (const auto& [key, value] : t.numbers)
      args += (args.empty() ? "" : ",") + quoted(key) + ":" + std::to_string(value);
    texts_[number] =
        fmt::format("\"cat\":\"{}\",\"name\":{},\"args\":{{{}", t.category, quoted(t.name), args);
  }

  void slice(const Track& t, Cycle begin, Cycle end, uint32_t text, const WaveletArgs* wavelet) override {
    start("X", t, begin);
    line_ += ",\"dur\":";
    number(end - begin);
    line_ += ',';
    line_ += texts_[text];
    if (wavelet != nullptr) {
      line_ += fmt::format("\"data\":\"{:08x}\",\"control\":{},\"landed\":{}", wavelet->data,
                           wavelet->control, wavelet->landed);
      if (*wavelet->from != 0) line_ += fmt::format(",\"from\":\"{}\"", wavelet->from);
    }
    line_ += "}},\n";
    out_.write(line_);
    if (wavelet == nullptr || wavelet->flow == 0) return;
    start(wavelet->flow_begins ? "s" : "f", t, begin);
    line_ += wavelet->flow_begins ? ",\"id\":" : ",\"bp\":\"e\",\"id\":";
    number(wavelet->flow);
    line_ += ",\"cat\":\"message\",\"name\":\"message\"},\n";
    out_.write(line_);
  }
  void instant(const Track& t, Cycle cycle, uint32_t text) override {
    start("i", t, cycle);
    line_ += ",\"s\":\"t\",";
    line_ += texts_[text];
    line_ += "}},\n";
    out_.write(line_);
  }
  void counter(const Track& t, Cycle cycle, uint64_t value) override {
    start("C", {t.process, 0}, cycle);
    line_ += ',';
    line_ += counters_[t.number];
    number(value);
    line_ += "}},\n";
    out_.write(line_);
  }
  // JSON has no trailing comma: the last event says that the trace is complete.
  void end(std::optional<Cycle> truncated_at) override {
    out_.write("{\"ph\":\"M\",\"name\":\"trace_end\",\"pid\":0,\"tid\":0,\"args\":{}}\n],\n");
    out_.write(fmt::format("\"otherData\":{{\"program\":{},\"unit\":\"cycle\",\"clock_mhz\":{}{}}}}}\n",
                           quoted(head_.program), head_.clock_mhz,
                           truncated_at ? fmt::format(",\"truncated_at_cycle\":{}", *truncated_at) : ""));
  }

 private:
  void number(uint64_t value) {
    std::array<char, 20> digits;
    line_.append(digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr);
  }
  void start(const char* phase, const Track& t, Cycle at) {
    line_ = "{\"ph\":\"";
    line_ += phase;
    line_ += "\",\"pid\":";
    number(t.process);
    line_ += ",\"tid\":";
    number(t.number);
    line_ += ",\"ts\":";
    number(at);
  }

  TraceFile& out_;
  TimelineHead head_;
  std::string line_;
  std::vector<std::string> texts_;  // by number: everything from "cat" on, but for the last braces
  std::unordered_map<uint64_t, std::string>
      counters_;  // by track, lookup only: everything from "name" to the value
};

}  // namespace

std::unique_ptr<TimelineWriter> make_chrome_writer(TraceFile& out, TimelineHead head) {
  return std::make_unique<ChromeWriter>(out, std::move(head));
}

}  // namespace cs::sim
