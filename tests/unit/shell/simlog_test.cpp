// The text log of a small run, read back by regular expressions written from its grammar (docs/report.md),
// against the cycles worked out by hand in samples.h.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>

#include "simulator/trace/simlog_trace.h"
#include "tests/unit/shell/samples.h"

namespace cs::sim::test {
namespace {

// One line of the log, as far as a reader cares.
struct Read {
  std::string kind;
  Cycle cycle = 0;
  std::string pe, a, b, c;  // by kind
};

// Every kind of line; nothing for a line that is none of them.
std::optional<Read> read_line(const std::string& line) {
  static const std::vector<std::pair<std::string, std::regex>> kKinds = {
      {"size", std::regex(R"(@(\d+) (dimX=(\d+)), dimY=(\d+)())")},
      {"idle", std::regex(R"(@(\d+) (P\d+\.\d+): \[EX OP\] IDLE()()())")},
      {"work",
       std::regex(R"(@(\d+) (P\d+\.\d+): \[EX OP\] \^ 0x([0-9a-f]{4}): (T\d+(?:\.\d+)?) ([A-Z0-9]+))")},
      {"write", std::regex(R"(@(\d+) (P\d+\.\d+): Writing wavelet C(\d+) (.+) to OUT_Q\[(\d+)\])")},
      {"send", std::regex(R"(@(\d+) (P\d+\.\d+): Sending wavelet C(\d+) .+ ident:([0-9a-fA-F]{16}) )"
                          R"(on OUT_Q\[(\d+)\])")},
      {"router",
       std::regex(R"(@(\d+) (P\d+\.\d+) \(hwtile\) wavelet C\d+ ctrl=\d, idx=[0-9a-f]+, data=[0-9a-f]+ )"
                  R"(\([^)]*\([^)]*\)\), half=\d, ident=([0-9a-fA-F]+) landing=([RENWS]) )"
                  R"(departing=/([E ][N ][W ][S ][R ])/(?: to_ce_from_router)?)")},
      {"landing", std::regex(R"(@(\d+) (P\d+\.\d+) \(hwtile\) landing C(\d+) from link ([WESNR]),())")},
      {"input", std::regex(R"(@(\d+) (P\d+\.\d+): Not enough wavelets \(\d+/\d+\) for SRC\d with C(\d+), )"
                           R"(IN_Q\[(\d+)\], SIMD-(\d+))")},
      {"pipe", std::regex(R"(@(\d+) (P\d+\.\d+): Pipe: (\d+), Msg: stall: (.+)())")},
      {"output", std::regex(R"(@(\d+) (P\d+\.\d+): Backpressure on C(\d+) for OUT_Q\[(\d+)\]())")},
  };
  for (const auto& [kind, regex] : kKinds)
    if (std::smatch m; std::regex_match(line, m, regex))
      return Read{kind, Cycle(std::stoull(m[1])), m[2], m[3], m[4], m[5]};
  return std::nullopt;
}

class Simlog : public testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(path_); }
  std::vector<Read> run(const Fabric& f, const TraceFilter& filter) {
    Diag diag;
    SimlogTrace sink(path_, f.p, f.machine, filter, lines_, diag);
    Engine engine(f.machine, {});
    engine.set_trace(&sink);
    EXPECT_TRUE(engine.load(f.p, {}, diag));
    engine.step(1000);
    truncated_ = sink.truncated_at();
    EXPECT_TRUE(sink.finish()) << diag.to_string();
    std::vector<Read> out;
    std::ifstream in(path_);
    for (std::string line; std::getline(in, line);) {
      const auto read = read_line(line);
      EXPECT_TRUE(read.has_value()) << line;
      if (read) out.push_back(*read);
    }
    return out;
  }
  uint32_t lines_ = SimlogLines::kAll;
  std::string path_ = testing::TempDir() + fmt::format("sim_{}.log", getpid());
  std::optional<Cycle> truncated_;
};

std::vector<Cycle> cycles(const std::vector<Read>& log, const std::string& kind, const std::string& pe) {
  std::vector<Cycle> out;
  for (const Read& r : log)
    if (r.kind == kind && r.pe == pe) out.push_back(r.cycle);
  return out;
}

std::vector<Cycle> from_to(Cycle first, Cycle last) {
  std::vector<Cycle> out;
  for (Cycle c = first; c <= last; ++c) out.push_back(c);
  return out;
}

TEST_F(Simlog, wavelets_are_written_sent_routed_and_landed_in_the_cycles_of_the_law) {
  const auto log = run(one_hop(), {});
  ASSERT_FALSE(log.empty());
  EXPECT_EQ(log[0].kind, "size");
  EXPECT_EQ(log[0].a, "2");
  EXPECT_EQ(cycles(log, "write", "P0.0"), from_to(12, 19));    // elements
  EXPECT_EQ(cycles(log, "send", "P0.0"), from_to(15, 22));     // 1 + up_cycles later
  EXPECT_EQ(cycles(log, "router", "P0.0"), from_to(15, 22));   // departures
  EXPECT_EQ(cycles(log, "landing", "P1.0"), from_to(17, 24));  // hop_cycles later
  EXPECT_EQ(cycles(log, "router", "P1.0"), from_to(17, 24));   // to the core at once
  for (const Read& r : log) {
    if (r.kind == "write") {
      EXPECT_EQ(r.a + " " + r.c, "1 2");  // color 1, output queue 2
    }
    if (r.kind == "landing") {
      EXPECT_EQ(r.a + r.b, "1W");
    }
    if (r.kind != "router") continue;
    EXPECT_EQ(r.b, r.pe == "P0.0" ? "R" : "W");
    EXPECT_EQ(r.c, r.pe == "P0.0" ? "E    " : "    R");
  }
}

TEST_F(Simlog, a_wavelet_keeps_its_identity) {
  const auto log = run(one_hop(), {});
  std::vector<std::string> sent, left, arrived;
  for (const Read& r : log) {
    if (r.kind == "send") sent.push_back(r.b);
    if (r.kind == "router") (r.pe == "P0.0" ? left : arrived).push_back(r.a);
  }
  EXPECT_EQ(sent.size(), 8u);
  EXPECT_EQ(left, sent);
  EXPECT_EQ(arrived, sent);
  EXPECT_EQ(std::set<std::string>(sent.begin(), sent.end()).size(), 8u);
}

TEST_F(Simlog, instructions_and_waits_are_there) {
  const auto log = run(one_hop(), {});
  std::vector<std::string> sender;
  std::vector<Cycle> waits;
  for (const Read& r : log) {
    if (r.kind == "work" && r.pe == "P0.0") sender.push_back(fmt::format("{} {} {}", r.cycle, r.b, r.c));
    if (r.kind == "input") waits.push_back(r.cycle);
  }
  // Two loads at 3 and 4, issue at 8, elements from 12 on; 16-bit words from 0 on, as counted by the program
  // counter.
  ASSERT_GE(sender.size(), 4u);
  EXPECT_EQ(sender[0], "3 T8 LDDDS");
  EXPECT_EQ(sender[1], "4 T8 LDS0DS");
  EXPECT_EQ(sender[2], "8 T8 MOV32");
  EXPECT_EQ(sender[3], "12 T8 MOV32");
  EXPECT_FALSE(waits.empty());  // the receiver
  EXPECT_FALSE(cycles(log, "idle", "P0.0").empty());
}

TEST_F(Simlog, region_window_and_budget_apply) {
  for (const Read& r : run(one_hop(), {.region = Rect{1, 0, 1, 1}, .begin = 17, .end = 20})) {
    if (r.kind == "size") continue;
    EXPECT_EQ(r.pe, "P1.0");
    EXPECT_GE(r.cycle, 17u);
    EXPECT_LT(r.cycle, 20u);
  }
  EXPECT_EQ(run(one_hop(), {.max_events = 5}).size(), 6u);  // the size and five events
  EXPECT_TRUE(truncated_.has_value());
}

TEST_F(Simlog, groups_of_lines_are_those_of_the_vendors_variable) {
  EXPECT_EQ(SimlogLines::parse("landing"), SimlogLines::kLanding);
  EXPECT_EQ(SimlogLines::parse("inst_trace,router"), SimlogLines::kInstructions | SimlogLines::kRouter);
  EXPECT_FALSE(SimlogLines::parse("rooter"));
  const std::vector<std::pair<const char*, std::set<std::string>>> groups{
      {"landing", {"size", "landing"}},
      {"router", {"size", "router"}},
      {"landing,router", {"size", "landing", "router"}}};
  for (const auto& [word, expected] : groups) {
    lines_ = *SimlogLines::parse(word);
    std::set<std::string> kinds;
    for (const Read& r : run(one_hop(), {})) kinds.insert(r.kind);
    EXPECT_EQ(kinds, expected) << word;
  }
}

TEST(SortedLines, pieces_are_merged_in_order) {
  const std::string path = testing::TempDir() + fmt::format("sorted_{}", getpid());
  Diag diag;
  SortedLines lines(path, diag, 200);
  lines.head("head\n");
  std::string expected = "head\n";
  for (uint32_t i = 0; i < 100; ++i) {
    const uint32_t at = i * 37 % 100;  // each of 0 .. 99 once
    lines.add({at / 10, at % 10, 0}, fmt::format("{:02}\n", at));
    expected += fmt::format("{:02}\n", i);
  }
  EXPECT_EQ(lines.pieces(), 1u);  // 300 bytes of text
  ASSERT_TRUE(lines.finish("tail\n"));
  std::ifstream in(path);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), expected + "tail\n");
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace cs::sim::test
