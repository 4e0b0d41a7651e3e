// Host streams of <memcpy> from CSL source to the engine: values, order, how much fits when nobody drains, the
// host's rate.
#include <gmock/gmock.h>

#include "run_csl.h"

namespace cs::csl::test {
namespace {

// H2D on color 4, D2H on color 5, `width` PEs in a row. Every PE adds one to `n` words.
std::map<std::string, std::string> add_one(int width, int n) {
  const std::string w = std::to_string(width);
  return {{"layout.csl", R"(
const memcpy = @import_module("<memcpy/get_params>", .{
  .width = )" + w + R"(, .height = 1, .MEMCPYH2D_1 = @as(i16, 4), .MEMCPYD2H_1 = @as(i16, 5) });
layout {
  @set_rectangle()" + w + R"(, 1);
  for (@range(i16, )" + w + R"()) |x| { @set_tile_code(x, 0, "pe.csl", .{ .memcpy_params = memcpy.get_params(x) }); }
}
)"},
          {"pe.csl", R"(
param memcpy_params;
const sys = @import_module("<memcpy/memcpy>", memcpy_params);
const n: u16 = )" + std::to_string(n) + R"(;
const from_host = @get_color(@bitcast(u16, sys.MEMCPYH2D_1));
const to_host = @get_color(@bitcast(u16, sys.MEMCPYD2H_1));
const in_queue = @get_input_queue(2);
const out_queue = @get_output_queue(3);
const in = @get_dsd(fabin_dsd, .{ .extent = n, .input_queue = in_queue });
const out = sys.get_streaming_fabout_dsd(to_host, n, out_queue);
var one: i16 = 1;
const ones = @get_dsd(mem1d_dsd, .{ .base_address = &one, .extent = n, .stride = 0 });
task start() void { @add16(out, in, ones, .{ .async = true }); }
comptime {
  const id = @get_local_task_id(8);
  @bind_local_task(start, id);
  @activate(id);
  @initialize_queue(in_queue, .{ .color = from_host });
  @initialize_queue(out_queue, .{ .color = to_host });
}
)"}};
}

std::vector<uint32_t> counting(size_t n) {
  std::vector<uint32_t> out(n);
  for (size_t i = 0; i < n; ++i) out[i] = uint32_t(i * 3);
  return out;
}

// Until nothing happens, also if something waits.
void settle(sim::Engine& e) {
  while (!e.idle() && !e.faulted()) e.step(e.next_event() + 1);
}

Rect fabric(const CslRun& run, Rect r) { return {r.x + run.program().user.x, r.y + run.program().user.y, r.w, r.h}; }

TEST(HostStream, TheProgramNamesItsStreamingColors) {
  CslRun run("wse2", add_one(1, 4));
  EXPECT_EQ(run.program().streams, (std::vector<HostStream>{{4, true}, {5, false}}));
}

// What fits between host and host while the host takes nothing. WSE-2: 2 in the ramp lane that the host feeds, 4 in
// input queue 2, 6 in output queue 3 and 2 in its ramp lane: the 14 after which the public pipeline example is known
// to stall. WSE-3: lanes of 4, queues of 4 and 8.
TEST(HostStream, ASendStallsWhenLanesAndQueuesAreFull) {
  for (const auto& [machine, fits] : {std::pair("wse2", 14u), std::pair("wse3", 20u)}) {
    CslRun run(machine, add_one(1, int(fits) + 1));
    sim::Engine& e = run.engine();
    const Rect pe = fabric(run, {0, 0, 1, 1});
    Diag diag;
    ASSERT_TRUE(e.stream_to(4, pe, counting(fits + 1), 0, diag)) << diag.to_string();
    settle(e);
    EXPECT_EQ(e.stream_words_pending(), 1u) << machine;
    EXPECT_TRUE(e.blocked());
    EXPECT_THAT(e.deadlock_report(), ::testing::HasSubstr("host stream on color 4: " + std::to_string(fits) + " of " +
                                                          std::to_string(fits + 1) + " wavelets have entered"));
    ASSERT_TRUE(e.stream_from(5, pe, fits + 1, 0, diag));
    settle(e);
    EXPECT_EQ(e.stream_words_pending(), 0u);
    std::vector<uint32_t> want = counting(fits + 1);
    for (uint32_t& v : want) ++v;
    EXPECT_EQ(e.take_streamed(5, {pe.x, pe.y}), want);
    EXPECT_FALSE(e.blocked());
  }
}

TEST(HostStream, NoMoreLeavesThanTheHostAsksFor) {
  CslRun run("wse2", add_one(1, 3));
  sim::Engine& e = run.engine();
  const Rect pe = fabric(run, {0, 0, 1, 1});
  Diag diag;
  ASSERT_TRUE(e.stream_to(4, pe, std::vector<uint32_t>{10, 20, 30}, 0, diag));
  settle(e);
  EXPECT_TRUE(e.take_streamed(5, {pe.x, pe.y}).empty());
  ASSERT_TRUE(e.stream_from(5, pe, 2, 0, diag));
  settle(e);
  EXPECT_EQ(e.take_streamed(5, {pe.x, pe.y}), (std::vector<uint32_t>{11, 21}));
  ASSERT_TRUE(e.stream_from(5, pe, 1, 0, diag));
  settle(e);
  EXPECT_EQ(e.take_streamed(5, {pe.x, pe.y}), (std::vector<uint32_t>{31}));
}

// One row has one port: one wavelet per cycle, and its three PEs take turns. Of 3 x 2 words one enters in each of the
// cycles 0 to 5; each PE gets its own.
TEST(HostStream, ThePesOfARowTakeTurnsAtTheHostRate) {
  CslRun run("wse2", add_one(3, 2));
  sim::Engine& e = run.engine();
  const Rect row = fabric(run, {0, 0, 3, 1});
  Diag diag;
  ASSERT_TRUE(e.stream_to(4, row, std::vector<uint32_t>{1, 2, 11, 12, 21, 22}, 0, diag));
  for (size_t cycle = 0; cycle < 6; ++cycle) {
    e.step(cycle + 1);
    EXPECT_EQ(e.stream_words_pending(), 5 - cycle) << "after cycle " << cycle;
  }
  ASSERT_TRUE(e.stream_from(5, row, 2, 0, diag));
  settle(e);
  for (int x = 0; x < 3; ++x)
    EXPECT_EQ(e.take_streamed(5, {row.x + x, row.y}), (std::vector<uint32_t>{10u * x + 2, 10u * x + 3}));
}

TEST(HostStream, APeWithoutTheStreamIsNamed) {
  CslRun run("wse2", add_one(1, 2));
  Diag diag;
  EXPECT_FALSE(run.engine().stream_to(5, fabric(run, {0, 0, 1, 1}), std::vector<uint32_t>{1}, 0, diag));
  EXPECT_THAT(diag.to_string(), ::testing::HasSubstr("PE (4, 1) does not stream from the host on it"));
}

TEST(HostStream, AColorStreamsInOneDirectionAndHasNoOtherRoute) {
  auto files = add_one(1, 2);
  std::string& layout = files["layout.csl"];
  layout.replace(layout.find("@as(i16, 5)"), 11, "@as(i16, 4)");
  EXPECT_THAT(errors_of(files), ::testing::HasSubstr("color 4 streams between host and PE"));
  files = add_one(1, 2);
  files["pe.csl"] += R"(
comptime { @set_local_color_config(to_host, .{ .routes = .{ .rx = .{ RAMP }, .tx = .{ EAST } } }); }
)";
  EXPECT_THAT(errors_of(files), ::testing::HasSubstr("color 5"));
}

TEST(HostStream, LeftOutNamesAreVoid) {
  CslRun run = one_pe(R"(
var absent: i16 = 0;
var ptr: [*]i16 = &flag;
var flag = @zeros([1]i16);
fn main() void {
  if (@is_same_type(@type_of(sys.MEMCPYH2D_1), void)) { flag[0] += 1; }
  if (@is_same_type(@type_of(memcpy_params.MEMCPYD2H_3), void)) { flag[0] += 2; }
  sys.unblock_cmd_stream();
}
comptime { @export_symbol(flag); }
)");
  run.launch("main");
  EXPECT_EQ(run.i16("flag"), std::vector<int16_t>{3});
}

}  // namespace
}  // namespace cs::csl::test
