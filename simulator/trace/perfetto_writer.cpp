// The protobuf form of Perfetto (protos/perfetto/trace): TracePackets of one sequence, encoded by hand, since
// the wire format is a page and the schema's generated code would be a dependency. 1 ns of the trace = 1
// cycle.
//
// Numbers of fields are those of the public schema. Texts are interned: a name is a number after its first
// packet.
#include <array>
#include <cstring>

#include "simulator/trace/timeline_writer.h"
#include "simulator/trace/trace_file.h"

namespace cs::sim {
namespace {

// Wire types.
constexpr uint32_t kVarint = 0, kFixed64 = 1, kBytes = 2;

namespace packet {
constexpr uint32_t kTimestamp = 8, kSequence = 10, kTrackEvent = 11, kInterned = 12, kFlags = 13,
                   kDescriptor = 60;
constexpr uint64_t kStateCleared = 1, kNeedsState = 2;  // of kFlags
}  // namespace packet
namespace descriptor {
constexpr uint32_t kUuid = 1, kName = 2, kProcess = 3, kParent = 5, kCounter = 8;
constexpr uint32_t kPid = 1, kProcessName = 6;  // of kProcess
constexpr uint32_t kUnitName = 6;               // of kCounter
}  // namespace descriptor
namespace event {
constexpr uint32_t kCategory = 3, kArguments = 4, kType = 9, kName = 10, kTrack = 11, kCounterValue = 30;
constexpr uint32_t kFlow = 47;
constexpr uint64_t kBegin = 1, kEnd = 2, kInstant = 3, kCounter = 4;                 // of kType
constexpr uint32_t kBool = 2, kUint = 3, kInt = 4, kString = 6, kArgumentName = 10;  // of kArguments
}  // namespace event
namespace interned {
constexpr uint32_t kCategories = 1, kNames = 2, kIid = 1, kText = 2;
}  // namespace interned

// A message under construction.
class Message {
 public:
  void varint(uint32_t field, uint64_t value) {
    raw(uint64_t(field) << 3 | kVarint);
    raw(value);
  }
  void fixed64(uint32_t field, uint64_t value) {
    raw(uint64_t(field) << 3 | kFixed64);
    for (int i = 0; i < 8; ++i) bytes_ += char(value >> (8 * i));
  }
  void text(uint32_t field, std::string_view value) {
    raw(uint64_t(field) << 3 | kBytes);
    raw(value.size());
    bytes_ += value;
  }
  void message(uint32_t field, const Message& m) { text(field, m.bytes_); }
  void append(const Message& m) { bytes_ += m.bytes_; }
  void clear() { bytes_.clear(); }
  const std::string& bytes() const { return bytes_; }

 private:
  void raw(uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += char(value | 0x80);
    bytes_ += char(value);
  }
  std::string bytes_;
};

class PerfettoWriter : public TimelineWriter {
 public:
  PerfettoWriter(TraceFile& out, TimelineHead head) : out_(out), head_(std::move(head)) {
    packet_.varint(packet::kFlags, packet::kStateCleared);
    finish();
  }

  void process(uint32_t process, const std::string& name) override {
    Message p;
    p.varint(descriptor::kPid, process);
    p.text(descriptor::kProcessName, name);
    Message d;
    d.varint(descriptor::kUuid, process_uuid(process));
    d.message(descriptor::kProcess, p);
    packet_.message(packet::kDescriptor, d);
    finish();
  }
  void track(const Track& t, const std::string& name) override { describe(t, name, nullptr); }
  void counter_track(const Track& t, const std::string& name, const std::string& unit) override {
    Message counter;
    counter.text(descriptor::kUnitName, unit);
    describe(t, name, &counter);
  }
  void text(uint32_t number, const SliceText& t) override {
    const uint64_t iid = number + 1;
    Message data, entry;
    entry.varint(interned::kIid, iid);
    entry.text(interned::kText, t.category);
    data.message(interned::kCategories, entry);
    entry.clear();
    entry.varint(interned::kIid, iid);
    entry.text(interned::kText, t.name);
    data.message(interned::kNames, entry);
    packet_.message(packet::kInterned, data);
    packet_.varint(packet::kFlags, packet::kNeedsState);
    finish();

    Message &ready = texts_.size() <= number ? texts_.resize(number + 1), texts_[number] : texts_[number];
    ready.varint(event::kCategory, iid);
    ready.varint(event::kName, iid);
    for (const auto& word : t.words)
      argument(ready, word.first, [&](Message& m) { m.text(event::kString, word.second); });
    for (const auto& number : t.numbers)
      argument(ready, number.first, [&](Message& m) { m.varint(event::kInt, uint64_t(number.second)); });
  }

  void slice(const Track& t, Cycle begin, Cycle end, uint32_t text, const WaveletArgs* wavelet) override {
    start(event::kBegin, t);
    event_.append(texts_[text]);
    if (wavelet != nullptr) add(*wavelet);
    finish_event(begin);
    start(event::kEnd, t);
    finish_event(end);
  }
  void instant(const Track& t, Cycle cycle, uint32_t text) override {
    start(event::kInstant, t);
    event_.append(texts_[text]);
    finish_event(cycle);
  }
  void counter(const Track& t, Cycle cycle, uint64_t value) override {
    start(event::kCounter, t);
    event_.varint(event::kCounterValue, value);
    finish_event(cycle);
  }
  // An instant on a track of its own says what the trace is of, and where it was cut.
  void end(std::optional<Cycle> truncated_at) override {
    SliceText last{.category = "trace", .name = "trace_end", .words = {{"program", head_.program}}};
    if (truncated_at) last.numbers.emplace_back("truncated_at_cycle", int64_t(*truncated_at));
    last.numbers.emplace_back("clock_mhz", int64_t(head_.clock_mhz));
    const uint32_t number = uint32_t(texts_.size());
    text(number, last);
    const Track t{0, 0};
    track(t, "trace");
    instant(t, truncated_at.value_or(last_), number);
  }

 private:
  static uint64_t process_uuid(uint32_t process) { return uint64_t(1) << 48 | process; }
  static uint64_t track_uuid(const Track& t) { return uint64_t(2) << 48 | t.number; }

  void describe(const Track& t, const std::string& name, const Message* counter) {
    Message d;
    d.varint(descriptor::kUuid, track_uuid(t));
    if (t.process != 0) d.varint(descriptor::kParent, process_uuid(t.process));
    d.text(descriptor::kName, name);
    if (counter != nullptr) d.message(descriptor::kCounter, *counter);
    packet_.message(packet::kDescriptor, d);
    finish();
  }
  template <typename Value>
  static void argument(Message& to, const std::string& key, Value value) {
    Message m;
    value(m);
    m.text(event::kArgumentName, key);
    to.message(event::kArguments, m);
  }
  void add(const WaveletArgs& w) {
    argument(event_, "data", [&](Message& m) { m.varint(event::kUint, w.data); });
    argument(event_, "control", [&](Message& m) { m.varint(event::kBool, w.control ? 1 : 0); });
    argument(event_, "landed", [&](Message& m) { m.varint(event::kUint, w.landed); });
    if (*w.from != 0) argument(event_, "from", [&](Message& m) { m.text(event::kString, w.from); });
    if (w.flow != 0) event_.fixed64(event::kFlow, w.flow);
  }
  void start(uint64_t type, const Track& t) {
    event_.clear();
    event_.varint(event::kType, type);
    event_.varint(event::kTrack, track_uuid(t));
  }
  void finish_event(Cycle at) {
    last_ = std::max(last_, at);
    packet_.varint(packet::kTimestamp, at);
    packet_.message(packet::kTrackEvent, event_);
    packet_.varint(packet::kFlags, packet::kNeedsState);
    finish();
  }
  // Trace is `repeated TracePacket packet = 1`.
  void finish() {
    packet_.varint(packet::kSequence, 1);
    line_.clear();
    line_.message(1, packet_);
    out_.write(line_.bytes());
    packet_.clear();
  }

  TraceFile& out_;
  TimelineHead head_;
  Message packet_, event_, line_;
  std::vector<Message> texts_;  // by number: category, name and arguments of an event
  Cycle last_ = 0;
};

}  // namespace

std::unique_ptr<TimelineWriter> make_perfetto_writer(TraceFile& out, TimelineHead head) {
  return std::make_unique<PerfettoWriter>(out, std::move(head));
}

}  // namespace cs::sim
