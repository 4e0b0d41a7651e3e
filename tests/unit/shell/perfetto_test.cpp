// The protobuf form of a trace, decoded field by field: a decoder of the wire format (varint 0, 64 bits 1,
// bytes 2) and the field numbers of Perfetto's public schema (trace_packet, track_event, track_descriptor,
// interned_data).
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "simulator/trace/timeline_trace.h"
#include "tests/unit/shell/samples.h"

namespace cs::sim::test {
namespace {

struct Field {
  uint32_t number = 0, wire = 0;
  uint64_t value = 0;      // of wire types 0 and 1
  std::string_view bytes;  // of wire type 2
};

// Throws if the bytes are no message.
class Fields {
 public:
  explicit Fields(std::string_view bytes) {
    while (!bytes.empty()) {
      Field f;
      const uint64_t tag = varint(bytes);
      f.number = uint32_t(tag >> 3);
      f.wire = uint32_t(tag & 7);
      if (f.wire == 0) {
        f.value = varint(bytes);
      } else if (f.wire == 1) {
        for (size_t i = 0; i < 8; ++i) f.value |= uint64_t(uint8_t(bytes.at(i))) << (8 * i);
        bytes.remove_prefix(8);
      } else if (f.wire == 2) {
        const uint64_t length = varint(bytes);
        if (length > bytes.size()) throw std::runtime_error("length beyond the end");
        f.bytes = bytes.substr(0, length);
        bytes.remove_prefix(length);
      } else {
        throw std::runtime_error("wire type");
      }
      fields_.push_back(f);
    }
  }
  const Field* find(uint32_t number, uint32_t wire) const {
    for (const Field& f : fields_)
      if (f.number == number) {
        EXPECT_EQ(f.wire, wire) << number;
        return &f;
      }
    return nullptr;
  }
  uint64_t number(uint32_t n, uint64_t otherwise = 0) const {
    const Field* f = find(n, 0);
    return f != nullptr ? f->value : otherwise;
  }
  std::string text(uint32_t n) const {
    const Field* f = find(n, 2);
    return f != nullptr ? std::string(f->bytes) : "";
  }
  const std::vector<Field>& all() const& { return fields_; }
  std::vector<Field> all() && { return std::move(fields_); }

 private:
  static uint64_t varint(std::string_view& bytes) {
    uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      const uint8_t byte = uint8_t(bytes.at(0));
      bytes.remove_prefix(1);
      value |= uint64_t(byte & 0x7F) << shift;
      if (byte < 0x80) return value;
    }
  }
  std::vector<Field> fields_;
};

// What a reader of the trace knows at its end.
struct Decoded {
  std::map<uint64_t, std::string> processes, tracks, categories, names;
  std::map<uint64_t, uint64_t> parents;
  std::map<std::string, std::string> units;                // of counters, by track
  std::map<std::string, std::vector<std::string>> slices;  // by track: "category name begin+duration"
  std::map<std::string, std::vector<std::string>> arguments, instants;
  std::map<std::string, std::vector<std::pair<Cycle, uint64_t>>> counters;
  std::map<uint64_t, std::vector<std::string>> flows;  // "track cycle"
};

void decode_event(const Fields& e, Cycle at, Decoded& d,
                  std::map<std::string, std::pair<std::string, Cycle>>& open) {
  const std::string track = d.tracks.at(e.number(11));
  const auto name = [&] { return d.categories.at(e.number(3)) + " " + d.names.at(e.number(10)); };
  switch (e.number(9)) {
    case 1:
      ASSERT_FALSE(open.contains(track)) << track;
      open[track] = {name(), at};
      break;
    case 2:
      ASSERT_TRUE(open.contains(track)) << track;
      d.slices[track].push_back(
          fmt::format("{} {}+{}", open[track].first, open[track].second, at - open[track].second));
      open.erase(track);
      break;
    case 3:
      d.instants[track].push_back(fmt::format("{} {}", name(), at));
      break;
    case 4:
      d.counters[track].emplace_back(at, e.number(30));
      break;
    default:
      FAIL() << "type of event";
  }
  for (const Field& f : e.all()) {
    if (f.number == 47) d.flows[f.value].push_back(fmt::format("{} {}", track, at));
    if (f.number != 4) continue;
    const Fields a(f.bytes);
    d.arguments[track].push_back(
        a.find(6, 2) ? a.text(10) + "=" + a.text(6)
                     : fmt::format("{}={}", a.text(10), a.number(3, a.number(4, a.number(2)))));
  }
}

Decoded decode(const std::string& bytes) {
  Decoded d;
  std::map<std::string, std::pair<std::string, Cycle>> open;
  bool first = true;
  for (const Field& f : Fields(bytes).all()) {
    EXPECT_EQ(f.number, 1u);
    EXPECT_EQ(f.wire, 2u);
    const Fields p(f.bytes);
    EXPECT_EQ(p.number(10), 1u) << "all packets are of one sequence";
    if (first) {
      EXPECT_EQ(p.number(13), 1u) << "the first packet clears the state";
    }
    first = false;
    if (const Field* i = p.find(12, 2))
      for (const Field& entry : Fields(i->bytes).all()) {
        const Fields e(entry.bytes);
        (entry.number == 1 ? d.categories : d.names)[e.number(1)] = e.text(2);
      }
    if (const Field* t = p.find(60, 2)) {
      const Fields track(t->bytes);
      if (const Field* process = track.find(3, 2))
        d.processes[track.number(1)] = Fields(process->bytes).text(6);
      else
        d.tracks[track.number(1)] = track.text(2), d.parents[track.number(1)] = track.number(5);
      if (const Field* counter = track.find(8, 2)) d.units[track.text(2)] = Fields(counter->bytes).text(6);
    }
    if (const Field* e = p.find(11, 2)) decode_event(Fields(e->bytes), p.number(8), d, open);
  }
  EXPECT_TRUE(open.empty());
  return d;
}

class Perfetto : public testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(path_); }
  Decoded run(const Fabric& f, const TraceFilter& filter) {
    Diag diag;
    TimelineTrace sink(TimelineFormat::perfetto, path_, f.p, f.machine.clock_mhz, filter, diag);
    Engine engine(f.machine, {});
    engine.set_trace(&sink);
    EXPECT_TRUE(engine.load(f.p, {}, diag));
    engine.step(10);
    sink.sample(engine);
    engine.step(1000);
    sink.sample(engine);
    EXPECT_TRUE(sink.finish()) << diag.to_string();
    std::ifstream in(path_, std::ios::binary);
    return decode(std::string(std::istreambuf_iterator<char>(in), {}));
  }
  std::string path_ = testing::TempDir() + fmt::format("trace_{}.pftrace", getpid());
};

TEST_F(Perfetto, every_field_is_what_the_run_did) {
  const Decoded d = run(one_hop_with_kernels(), {});
  std::vector<std::string> processes, out, in;
  for (const auto& [uuid, name] : d.processes) processes.push_back(name);
  EXPECT_THAT(processes, testing::UnorderedElementsAre("send (handwritten)", "receive (autogen)", "fabric"));
  for (Cycle c = kFirstCrossing; c <= kLastCrossing; ++c) {
    out.push_back(fmt::format("wavelet C1 {}+1", c));
    in.push_back(fmt::format("wavelet C1 {}+1", c + 2));
  }
  EXPECT_EQ(d.slices.at("P0.0 ramp out"), out);
  EXPECT_EQ(d.slices.at("P1.0 ramp in"), in);
  ASSERT_EQ(d.slices.at("P1.0 tasks").size(), 2u);
  EXPECT_EQ(d.slices.at("P1.0 tasks")[1], fmt::format("task done {}+1", kDoneTask));
  // The words sent are 10 ... 17, each landed at the cycle in which it departs.
  EXPECT_THAT(d.arguments.at("P0.0 ramp out"), testing::Contains("data=17"));
  EXPECT_THAT(d.arguments.at("P1.0 ramp in"), testing::Contains("from=W"));
  ASSERT_EQ(d.flows.size(), 8u);
  Cycle c = kFirstCrossing;
  for (const auto& [id, ends] : d.flows) {
    EXPECT_EQ(ends, (std::vector{fmt::format("P0.0 ramp out {}", c), fmt::format("P1.0 ramp in {}", c + 2)}));
    ++c;
  }
  EXPECT_EQ(d.units.at("busy PEs"), "PEs");
  EXPECT_EQ(d.counters.at("busy PEs"), (std::vector<std::pair<Cycle, uint64_t>>{{10, 2}, {1000, 0}}));
  for (const auto& [uuid, parent] : d.parents)
    EXPECT_TRUE(parent == 0 || d.processes.contains(parent)) << d.tracks.at(uuid);
  EXPECT_THAT(d.arguments.at("trace"), testing::Contains("program=one_hop"));
}

TEST_F(Perfetto, the_budget_is_said) {
  const Decoded d = run(one_hop(), {.max_events = 3});
  EXPECT_THAT(d.arguments.at("trace"), testing::Contains(testing::StartsWith("truncated_at_cycle=")));
}

}  // namespace
}  // namespace cs::sim::test
