// Who waits for whom, and what sets the interval, of small networks where both are known by hand.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/e2e/run_tool.h"

namespace cs::e2e {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

class Waits : public Scratch {
 protected:
  // stats.json of the program's report.
  json report(const std::string& program) {
    const ChildResult r = run("cs-sim", {path(program), "--report", path("report")});
    EXPECT_EQ(r.exit_code, 0) << r.err;
    summary_ = r.out;
    return json::parse(slurp(path("report/stats.json")), nullptr, false);
  }
  json compiled(const std::string& model, std::vector<std::string> options) {
    options.insert(options.begin(), write("model.yaml", model));
    options.insert(options.end(), {"-o", path("p.csp"), "--no-baselines", "--no-advice", "-q"});
    const ChildResult r = run("cs-compile", options);
    EXPECT_EQ(r.exit_code, 0) << r.err;
    return report("p.csp");
  }
  static double share(const json& stats, const std::string& kernel) {
    for (const json& s : stats.at("set_by").at("shares"))
      if (s.at("kernel") == kernel) return s.at("share");
    return 0;
  }
  // PE cycles that one waits for the other, of one cause or of all.
  static uint64_t waits(const json& stats, const std::string& kernel, const std::string& what_for,
                        const std::string& cause = "") {
    uint64_t sum = 0;
    for (const json& w : stats.at("waits"))
      if (w.at("kernel") == kernel && w.at("for") == what_for && (cause.empty() || w.at("cause") == cause))
        sum += w.at("cycles").get<uint64_t>();
    return sum;
  }
  // Of the 8 samples of a report the last 4 make the interval, and what the path explains is as long.
  static void expect_whole(const json& stats) {
    const json& path = stats.at("set_by");
    EXPECT_EQ(path.at("steady"), true);
    const uint64_t length = path.at("end").get<uint64_t>() - path.at("begin").get<uint64_t>();
    EXPECT_EQ(double(length), 4 * stats.at("interval_cycles").get<double>());
    uint64_t sum = path.at("ways");
    for (const json& s : path.at("shares")) sum += s.at("cycles").get<uint64_t>();
    EXPECT_EQ(sum, length);
    for (const json& k : stats.at("kernels")) {
      uint64_t waited = 0;
      for (const json& w : stats.at("waits"))
        if (w.at("kernel") == k.at("name")) waited += w.at("cycles").get<uint64_t>();
      const json& stalls = k.at("stalls");
      uint64_t not_busy = k.at("idle");
      for (const auto& [why, cycles] : stalls.items()) not_busy += cycles.get<uint64_t>();
      EXPECT_LE(waited, not_busy) << k.at("name");
    }
  }
  std::string summary_;
};

// x -> a -> m -> s, on a PE each. m multiplies 64 words by a matrix of 64 columns: 4,096 products, one a cycle. a takes
// a cycle per word, s (softmax) some 18. So whatever s and a do beside 64 and 1,200 cycles per sample is waiting for m:
// s for its results in all 8 samples, a for room in all but the first, less the few words that queues hold.
std::string chain(const std::string& more) {
  std::string ones = "0.01";
  for (int i = 1; i < 64 * 64; ++i) ones += ", 0.01";
  return "inputs:\n  - {name: x, type: \"f32[1, 64]\"}\nconstants:\n  - {name: w, type: \"f32[64, 64]\", value: [" +
         ones + "]}\nnodes:\n" + more;
}

TEST_F(Waits, ForTheSlowKernelInTheMiddle) {
  const json stats = compiled(
      chain("  - {name: a, op: relu, inputs: [x]}\n  - {name: m, op: gemm, inputs: [a, w]}\n"
            "  - {name: s, op: softmax, inputs: [m]}\noutputs: [s]\n"),
      {"--rect", "1x1", "--autogen-policy", "disabled", "--host-ops", "forbid"});
  expect_whole(stats);
  EXPECT_GE(stats.at("interval_cycles"), 4096);
  EXPECT_GE(share(stats, "m"), 0.99);
  EXPECT_THAT(stats.at("set_by").at("text").get<std::string>(), HasSubstr("the interval is set by m"));
  EXPECT_THAT(summary_, HasSubstr("critical path the interval is set by m"));
  EXPECT_GE(waits(stats, "s", "m", "input"), 8 * (4096 - 1200));
  EXPECT_GE(waits(stats, "a", "m", "output"), 6 * (4096 - 64));
  EXPECT_LE(waits(stats, "m", "a") + waits(stats, "m", "s"), 200);
  // Listening changes no cycle.
  const ChildResult quiet = run("cs-sim", {path("p.csp"), "--iterations", "8", "--json"});
  const json unheard = json::parse(quiet.out);
  EXPECT_EQ(unheard.at("sample_end"), stats.at("sample_end"));
  EXPECT_TRUE(unheard.at("set_by").is_null());
  EXPECT_TRUE(unheard.at("waits").empty());
  ASSERT_EQ(run("cs-sim", {path("p.csp"), "--report", path("deaf"), "--no-waits"}).exit_code, 0);
  EXPECT_TRUE(json::parse(slurp(path("deaf/stats.json"))).at("waits").empty());
  const json& last = stats.at("critical_path").back();
  EXPECT_EQ(last.at("kernel"), "s");
  EXPECT_EQ(last.at("sample"), 7);
  EXPECT_EQ(last.at("cause"), "input");
  EXPECT_EQ(last.at("from"), "m");
}

// Behind m sixteen kernels of some 1,150 cycles each: the last sample goes through them in 18,400 cycles, more than the
// four intervals that are measured. It does so once; what recurs is m.
TEST_F(Waits, ForTheSlowKernelOfADeepPipeline) {
  std::string nodes = "  - {name: m, op: gemm, inputs: [x, w]}\n", before = "m";
  for (int i = 0; i < 16; ++i) {
    const std::string name = "s" + std::to_string(i);
    nodes += "  - {name: " + name + ", op: softmax, inputs: [" + before + "]}\n";
    before = name;
  }
  const json stats = compiled(chain(nodes + "outputs: [" + before + "]\n"),
                              {"--rect", "1x1", "--autogen-policy", "disabled", "--host-ops", "forbid"});
  expect_whole(stats);
  EXPECT_GE(stats.at("latency_cycles").get<double>(), 4 * stats.at("interval_cycles").get<double>());
  EXPECT_GE(share(stats, "m"), 0.99);
}

// a -> m and a -> b join in s; b (softmax) is done thousands of cycles before m.
TEST_F(Waits, OfAJoinForItsLongBranch) {
  const json stats = compiled(
      chain("  - {name: a, op: softmax, inputs: [x]}\n  - {name: m, op: gemm, inputs: [a, w]}\n"
            "  - {name: b, op: softmax, inputs: [a]}\n  - {name: s, op: add, inputs: [m, b]}\noutputs: [s]\n"),
      {"--rect", "1x1"});
  expect_whole(stats);
  EXPECT_GE(share(stats, "m"), 0.99);
  EXPECT_GE(waits(stats, "s", "m", "input"), 8 * (4096 - 1200));
  EXPECT_LE(waits(stats, "s", "b"), 8 * 1200);
  // Whatever order PEs are stepped in.
  ASSERT_EQ(run("cs-sim", {path("p.csp"), "--report", path("blocks"), "--block", "1x1"}).exit_code, 0);
  const json blocks = json::parse(slurp(path("blocks/stats.json")));
  for (const char* key : {"waits", "set_by", "critical_path"}) EXPECT_EQ(blocks.at(key), stats.at(key)) << key;
  // The stream of a goes to both: what m has not taken yet holds up b.
  EXPECT_GE(waits(stats, "b", "m", "link"), 6 * (4096 - 1200));
}

// The sum is the host's, whose one core takes 100 us for it: 85,000 cycles at 850 MHz.
TEST_F(Waits, ForTheHost) {
  const json stats = compiled(
      chain("  - {name: m, op: gemm, inputs: [x, w]}\n  - {name: s, op: add, inputs: [m, x]}\noutputs: [s]\n"),
      {"--rect", "1x1", "--autogen-policy", "disabled", "--host-ops", "allow", "--set",
       "machine.host.host_cores=1", "--set", "machine.host.host_op_us=100"});
  expect_whole(stats);
  EXPECT_NEAR(stats.at("interval_cycles").get<double>(), 85'000, 200);
  EXPECT_GE(share(stats, "host add (s)"), 0.99);
  EXPECT_THAT(stats.at("set_by").at("text").get<std::string>(),
              HasSubstr("the interval is set by host add (s)"));
}

// 64 words come at 0.05 a cycle: 1,280 cycles a sample. The kernel multiplies them by two columns, which takes 128, and
// sends 2 words in 40.
TEST_F(Waits, ForAPortOfTheHost) {
  std::string ones = "1";
  for (int i = 1; i < 2 * 64; ++i) ones += ", 1";
  const json stats = compiled(
      "inputs:\n  - {name: x, type: \"f32[1, 64]\"}\nconstants:\n  - {name: w, type: \"f32[64, 2]\", value: [" +
          ones + "]}\nnodes:\n  - {name: y, op: gemm, inputs: [x, w]}\noutputs: [y]\n",
      {"--rect", "1x1", "--set", "machine.host.host_wavelets_per_cycle=0.05"});
  expect_whole(stats);
  EXPECT_EQ(stats.at("interval_cycles"), 1280);
  EXPECT_GE(share(stats, "host port in_x"), 0.95);
  EXPECT_GE(waits(stats, "y", "host port in_x", "host"), 8 * (1280 - 3 * 128));
}

// F takes 400 words from the host, sends them to A and then to J; A keeps all before it sends them on; J takes all of
// A's before those of F. Nothing holds more than some words on the way, so F stands still with its second copy until J
// takes it: F receives (400 cycles), F sends to A (400), A sends to J (400), J takes the words of F (400), and F begins
// again. So an interval of 1,600 cycles (and what starting an operation takes): F has its own 400 and the 400 in which
// it goes on as soon as J takes, A those in which it takes F's, J those in which it takes A's.
constexpr const char* kCircleLayout =
    "layout {\n"
    "  @set_rectangle(3, 1);\n"
    "  @set_tile_code(0, 0, \"f.csl\", .{});\n  @set_tile_code(1, 0, \"a.csl\", .{});\n"
    "  @set_tile_code(2, 0, \"j.csl\", .{});\n"
    "  @set_color_config(0, 0, @get_color(0), .{ .routes = .{ .rx = .{ NORTH }, .tx = .{ RAMP } } });\n"
    "  @set_color_config(0, 0, @get_color(1), .{ .routes = .{ .rx = .{ RAMP }, .tx = .{ EAST } } });\n"
    "  @set_color_config(1, 0, @get_color(1), .{ .routes = .{ .rx = .{ WEST }, .tx = .{ RAMP } } });\n"
    "  @set_color_config(0, 0, @get_color(2), .{ .routes = .{ .rx = .{ RAMP }, .tx = .{ EAST } } });\n"
    "  @set_color_config(1, 0, @get_color(2), .{ .routes = .{ .rx = .{ WEST }, .tx = .{ EAST } } });\n"
    "  @set_color_config(2, 0, @get_color(2), .{ .routes = .{ .rx = .{ WEST }, .tx = .{ RAMP } } });\n"
    "  @set_color_config(1, 0, @get_color(3), .{ .routes = .{ .rx = .{ RAMP }, .tx = .{ EAST } } });\n"
    "  @set_color_config(2, 0, @get_color(3), .{ .routes = .{ .rx = .{ WEST }, .tx = .{ RAMP } } });\n"
    "  @set_color_config(2, 0, @get_color(4), .{ .routes = .{ .rx = .{ RAMP }, .tx = .{ SOUTH } } });\n"
    "}\n";

constexpr const char* kCircleHost =
    "model: circle\npolicy: medium\ndtype: fp32\n"
    "ports:\n  - {name: in, direction: input, side: north, position: 0, color: 0}\n"
    "  - {name: out, direction: output, side: south, position: 2, color: 4}\n"
    "inputs:\n  - {name: x, type: f32, shape: [1, 400], sample_dim: -1}\n"
    "outputs:\n  - {name: \"y\", type: f32, shape: [1, 400], sample_dim: -1}\n"
    "steps:\n  - {kind: send, port: in, tensor: x}\n  - {kind: receive, port: out, tensor: \"y\"}\n"
    "kernels:\n";

// A PE's program: receives into memory and sends from it, in the order given.
std::string moves(const std::vector<std::pair<bool, int>>& steps) {
  std::string text = "const id = @get_local_task_id(24);\nvar buffer = @zeros([400]f32);\n"
                     "const memory = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{400} -> buffer[i] });\n",
              body, queues;
  for (const auto& [receives, color] : steps) {
    const std::string c = std::to_string(color), kind = receives ? "in" : "out";
    text += "const s" + c + " = @get_dsd(fab" + kind + "_dsd, .{ .extent = 400, .fabric_color = @get_color(" + c +
            "), ." + kind + "put_queue = @get_" + kind + "put_queue(" + c + ") });\n";
    body += receives ? "  @fmovs(memory, s" + c + ");\n" : "  @fmovs(s" + c + ", memory);\n";
    if (receives) queues += "  @initialize_queue(@get_input_queue(" + c + "), .{ .color = @get_color(" + c + ") });\n";
  }
  return text + "task step() void {\n  @activate(id);\n" + body + "}\ncomptime {\n" + queues +
         "  @bind_local_task(step, id);\n  @activate(id);\n}\n";
}

TEST_F(Waits, InACircle) {
  write("layout.csl", kCircleLayout);
  write("f.csl", moves({{true, 0}, {false, 1}, {false, 2}}));
  write("a.csl", moves({{true, 1}, {false, 3}}));
  write("j.csl", moves({{true, 3}, {true, 2}, {false, 4}}));
  std::string host = kCircleHost;
  for (int i = 0; i < 3; ++i)
    host += "  - {name: " + std::string(1, "FAJ"[i]) +
            ", op: move, kernel: move, origin: handwritten, reason: test, rect: [" + std::to_string(i) +
            ", 0, 1, 1], flops: 0, ideal_cycles: 400, estimated_cycles: 400, bytes_per_pe: 1600, colors: [0], " +
            "nodes: [], baseline: \"\"}\n";
  const std::string host_file = write("host.yaml", host + "ops: []\n");
  const ChildResult r = run("cs-compile", {path("layout.csl"), "--host", host_file, "-o", path("p.csp"), "-q"});
  ASSERT_EQ(r.exit_code, 0) << r.err;
  const json stats = report("p.csp");
  expect_whole(stats);
  EXPECT_NEAR(stats.at("interval_cycles").get<double>(), 1600, 80);
  EXPECT_NEAR(share(stats, "F"), 0.5, 0.04);
  EXPECT_NEAR(share(stats, "A"), 0.25, 0.03);
  EXPECT_NEAR(share(stats, "J"), 0.25, 0.03);
  const std::string text = stats.at("set_by").at("text");
  EXPECT_THAT(text, HasSubstr("F has no room until J goes on, which waits for A"));
  // F waits with its second copy while A sends; J while F receives and sends to A.
  EXPECT_NEAR(double(waits(stats, "F", "J", "output")) / 8, 400, 60);
}

}  // namespace
}  // namespace cs::e2e
