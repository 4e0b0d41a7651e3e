// Chrome traces of a small run against a golden text worked out by hand, filters, budget, and files that
// appear complete.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <zlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "simulator/trace/timeline_trace.h"
#include "tests/unit/shell/samples.h"

namespace cs::sim::test {
namespace {

using nlohmann::json;

std::string read_text(const std::string& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

class TraceFiles : public testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(path_); }
  std::string trace(const Fabric& f, const TraceFilter& filter, std::optional<Cycle>* truncated = nullptr) {
    Diag diag;
    TimelineTrace sink(TimelineFormat::chrome, path_, f.p, f.machine.clock_mhz, filter, diag);
    Engine engine(f.machine, {});
    engine.set_trace(&sink);
    EXPECT_TRUE(engine.load(f.p, {}, diag));
    engine.step(1000);
    EXPECT_FALSE(std::filesystem::exists(path_)) << "it has its name only when complete";
    EXPECT_TRUE(sink.finish()) << diag.to_string();
    if (truncated != nullptr) *truncated = sink.truncated_at();
    return read_text(path_);
  }
  std::string path_ = testing::TempDir() + fmt::format("trace_{}.json", getpid());
};

// Slices of one track as "name begin+duration".
std::vector<std::string> slices(const json& trace, const std::string& track) {
  std::vector<std::string> out;
  int thread = -1;
  for (const json& e : trace.at("traceEvents"))
    if (e.at("name") == "thread_name" && e.at("args").at("name") == track) thread = e.at("tid");
  for (const json& e : trace.at("traceEvents"))
    if (e.at("ph") == "X" && e.at("tid") == thread)
      out.push_back(fmt::format("{} {}+{}", e.at("name").get<std::string>(), e.at("ts").get<int>(),
                                e.at("dur").get<int>()));
  return out;
}

TEST_F(TraceFiles, tracks_hold_what_happened_when) {
  const json t = json::parse(trace(one_hop(), {}));
  std::vector<std::string> out, in;
  for (Cycle c = kFirstCrossing; c <= kLastCrossing; ++c) {
    out.push_back(fmt::format("C1 {}+1", c));
    in.push_back(fmt::format("C1 {}+1", c + 2));  // two cycles per hop on the WSE-3
  }
  EXPECT_EQ(slices(t, "P0.0 ramp out"), out);
  EXPECT_EQ(slices(t, "P1.0 ramp in"), in);
  EXPECT_TRUE(slices(t, "P0.0 ramp in").empty());
  const auto tasks = slices(t, "P1.0 tasks");
  ASSERT_EQ(tasks.size(), 2u);
  EXPECT_THAT(tasks[0], testing::StartsWith("start 3+"));
  EXPECT_EQ(tasks[1], fmt::format("done {}+1", kDoneTask));
  EXPECT_EQ(slices(t, "P1.0 microthread 2").size(), 1u);
  EXPECT_THAT(slices(t, "P1.0 microthread 2")[0], testing::StartsWith("mov32 "));
}

TEST_F(TraceFiles, golden_text_of_the_ramp_of_one_wavelet) {
  // Cycle 22 at PE 0: the last word (17 = 0x11) leaves; nothing else of PE 0 happens then.
  const Fabric f = one_hop();
  const std::string text =
      trace(f, {.region = Rect{0, 0, 1, 1}, .begin = kLastCrossing, .end = kLastCrossing + 1});
  EXPECT_EQ(
      text,
      "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n"
      "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1,\"tid\":0,\"args\":{\"name\":\"row 0\"}},\n"
      "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":1,\"tid\":36,\"args\":{\"name\":\"P0.0 ramp out\"}},\n"
      "{\"ph\":\"X\",\"pid\":1,\"tid\":36,\"ts\":22,\"dur\":1,\"cat\":\"wavelet\",\"name\":\"C1\","
      "\"args\":{\"data\":\"00000011\",\"control\":false,\"landed\":22}},\n"
      "{\"ph\":\"s\",\"pid\":1,\"tid\":36,\"ts\":22,\"id\":8,\"cat\":\"message\",\"name\":\"message\"},\n"
      "{\"ph\":\"M\",\"name\":\"trace_end\",\"pid\":0,\"tid\":0,\"args\":{}}\n],\n"
      "\"otherData\":{\"program\":\"one_hop\",\"unit\":\"cycle\",\"clock_mhz\":" +
          fmt::format("{}", f.machine.clock_mhz) + "}}\n");
  EXPECT_EQ(text.find("P1.0"), std::string::npos);
}

TEST_F(TraceFiles, processes_are_kernels_where_there_are_some) {
  const json t = json::parse(trace(one_hop_with_kernels(), {}));
  std::vector<std::string> processes;
  for (const json& e : t.at("traceEvents"))
    if (e.at("name") == "process_name") processes.push_back(e.at("args").at("name"));
  std::sort(processes.begin(), processes.end());
  EXPECT_EQ(processes, (std::vector<std::string>{"receive (autogen)", "send (handwritten)"}));
}

TEST_F(TraceFiles, cores_of_the_host_have_tracks_of_their_own) {
  Fabric f = one_hop_with_kernels();
  HostStep relu{.op = "relu", .outputs = {"y"}};
  f.p.host->steps = {relu};
  Diag diag;
  TimelineTrace trace(TimelineFormat::chrome, path_, f.p, f.machine.clock_mhz, {.begin = 50}, diag);
  trace.host({{.sample = 0, .step = 0, .core = 1, .begin = 10, .end = 40},  // before the window
              {.sample = 1, .step = 0, .core = 1, .begin = 40, .end = 70}});
  EXPECT_EQ(trace.events(), 1u);
  ASSERT_TRUE(trace.finish()) << diag.to_string();
  const json t = json::parse(read_text(path_));
  EXPECT_EQ(slices(t, "core 1"), (std::vector<std::string>{"relu 40+30"}));
  bool process = false;
  for (const json& e : t.at("traceEvents"))
    process |= e.at("name") == "process_name" && e.at("args").at("name") == "host";
  EXPECT_TRUE(process);
}

TEST_F(TraceFiles, the_budget_ends_the_trace_and_says_where) {
  std::optional<Cycle> truncated;
  const json t = json::parse(trace(one_hop(), {.max_events = 3}, &truncated));
  ASSERT_TRUE(truncated.has_value());
  EXPECT_EQ(t.at("otherData").at("truncated_at_cycle"), *truncated);
}

TEST_F(TraceFiles, a_budget_of_bytes_does_the_same) {
  std::optional<Cycle> truncated;
  const Fabric f = one_hop();
  const json t = json::parse(trace(f, {.max_bytes = 1000}, &truncated));
  ASSERT_TRUE(truncated.has_value());
  EXPECT_EQ(t.at("otherData").at("truncated_at_cycle"), *truncated);
  // What was begun is written to its end, and the last lines.
  EXPECT_LT(std::filesystem::file_size(path_), 2000u);
}

TEST_F(TraceFiles, a_flow_leads_each_wavelet_from_pe_to_pe) {
  const json t = json::parse(trace(one_hop(), {}));
  std::map<uint64_t, std::pair<Cycle, Cycle>> ways;
  for (const json& e : t.at("traceEvents")) {
    if (e.at("ph") == "s") ways[e.at("id")].first = e.at("ts");
    if (e.at("ph") == "f") ways[e.at("id")].second = e.at("ts");
  }
  ASSERT_EQ(ways.size(), 8u);
  Cycle c = kFirstCrossing;
  for (const auto& [id, way] : ways) {
    EXPECT_EQ(way, std::pair(c, c + 2)) << id;
    ++c;
  }
}

TEST_F(TraceFiles, kinds_choose_what_is_written) {
  const json t = json::parse(trace(one_hop(), {.kinds = *trace_level_kinds("coarse")}));
  std::set<std::string> categories;
  for (const json& e : t.at("traceEvents"))
    if (e.contains("cat")) categories.insert(e.at("cat"));
  EXPECT_EQ(categories, std::set<std::string>{"task"});
  EXPECT_TRUE(slices(t, "P1.0 microthread 2").empty());
  EXPECT_EQ(slices(t, "P1.0 tasks").size(), 2u);
}

TEST_F(TraceFiles, counters_say_how_full_queues_are) {
  const Fabric f = one_hop();
  Diag diag;
  TimelineTrace sink(TimelineFormat::chrome, path_, f.p, f.machine.clock_mhz, {}, diag);
  Engine engine(f.machine, {});
  engine.set_trace(&sink);
  ASSERT_TRUE(engine.load(f.p, {}, diag));
  engine.step(10);
  sink.sample(engine);  // vector and microthread of both PEs
  engine.step(1000);
  sink.sample(engine);
  ASSERT_TRUE(sink.finish());
  std::vector<int> busy;
  uint64_t load = 0;
  const json t = json::parse(read_text(path_));
  for (const json& e : t.at("traceEvents")) {
    if (e.at("ph") != "C") continue;
    if (e.at("name") == "busy PEs") busy.push_back(e.at("args").at("PEs"));
    if (e.at("name").get<std::string>().starts_with("link load")) load = e.at("args").at("wavelets");
  }
  EXPECT_EQ(busy, (std::vector<int>{2, 0}));
  EXPECT_EQ(load, 2 * 8 * 1000 / 990u);  // 8 wavelets leave two routers within 990 cycles
}

TEST_F(TraceFiles, gz_holds_the_same_text) {
  const std::string plain = trace(one_hop(), {});
  std::filesystem::remove(path_);
  path_ += ".gz";
  trace(one_hop(), {});
  std::string unpacked(plain.size() + 100, '\0');
  gzFile file = gzopen(path_.c_str(), "rb");
  unpacked.resize(size_t(gzread(file, unpacked.data(), unsigned(unpacked.size()))));
  gzclose(file);
  EXPECT_EQ(unpacked, plain);
  EXPECT_LT(std::filesystem::file_size(path_), plain.size() / 2);
}

TEST_F(TraceFiles, a_file_that_cannot_be_written_is_reported) {
  const Fabric f = one_hop();
  Diag diag;
  EXPECT_FALSE(TimelineTrace(TimelineFormat::chrome, "/nowhere/trace.json", f.p, 850, {}, diag).ok());
  EXPECT_THAT(diag.to_string(), testing::HasSubstr("/nowhere/trace.json"));
}

TEST(TraceFilter, bytes) {
  EXPECT_EQ(parse_trace_bytes("17"), 17u);
  EXPECT_EQ(parse_trace_bytes("3K"), 3072u);
  EXPECT_EQ(parse_trace_bytes("2G"), uint64_t(2) << 30);
  for (const char* bad : {"", "K", "0", "-1", "1.5G", "1T", "99999999999G"})
    EXPECT_FALSE(parse_trace_bytes(bad)) << bad;
}

TEST(TraceFilter, regions) {
  EXPECT_EQ(parse_trace_region("1,2,3,4"), (Rect{1, 2, 3, 4}));
  for (const char* bad :
       {"", "1,2,3", "1,2,3,4,5", "1,2,0,4", "-1,2,3,4", "a,2,3,4", "1,2,3,4 ", "1,2,99999999999,4"})
    EXPECT_FALSE(parse_trace_region(bad)) << bad;
}

TEST(TraceFilter, windows) {
  TraceFilter f;
  ASSERT_TRUE(parse_trace_window("10:20", f));
  EXPECT_TRUE(f.keeps({0, 0}, 0, 10));
  EXPECT_TRUE(f.keeps({0, 0}, 19, 30));
  EXPECT_FALSE(f.keeps({0, 0}, 20, 30));
  EXPECT_FALSE(f.keeps({0, 0}, 0, 9));
  ASSERT_TRUE(parse_trace_window(":5", f));
  EXPECT_EQ(f.begin, 0u);
  ASSERT_TRUE(parse_trace_window("7:", f));
  EXPECT_EQ(f.end, kNever);
  for (const char* bad : {"", ":", "5", "5:5", "9:2", "a:b", "1:2:3"})
    EXPECT_FALSE(parse_trace_window(bad, f)) << bad;
}

}  // namespace
}  // namespace cs::sim::test
