// What compiled programs compute: vector operations, tasks, neighbours, modules; expected values as plain arithmetic.
#include "run_csl.h"

namespace cs::csl::test {
namespace {

using F = std::vector<float>;
using I = std::vector<int16_t>;

TEST(SemaVector, VectorOperations) {
  CslRun run = one_pe(R"(
var a = [4]f32 {1, 2, 3, 4};
var b = [4]f32 {10, 20, 30, 40};
var c = @zeros([4]f32);
var sum: f32 = 0.0;
var top: f32 = 0.0;
var words = [4]i16 {1, 2, 3, 4};
const a_dsd = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{4} -> a[i] });
const back = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{4} -> b[3 - i] });
const c_dsd = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{4} -> c[i] });
const w_dsd = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{4} -> words[i] });
fn main() void {
  @fadds(c_dsd, a_dsd, back);                  // 41 32 23 14
  @fmuls(c_dsd, c_dsd, 2.0);                   // 82 64 46 28
  @fmacs(c_dsd, c_dsd, a_dsd, -10.0);          // 72 44 16 -12
  @fadds(&sum, 0.5, c_dsd);                    // 120.5
  @fmaxs(c_dsd, c_dsd, 0.0);                   // -12 -> 0
  @add16(w_dsd, w_dsd, 100);
  const half = @set_dsd_length(w_dsd, 2);
  @mov16(half, -1);
  top = sum;
  sys.unblock_cmd_stream();
}
comptime { @export_symbol(c); @export_symbol(top); @export_symbol(words); }
)");
  run.launch("main");
  EXPECT_EQ(run.f32("c"), (F{72, 44, 16, 0}));
  EXPECT_EQ(run.f32("top"), F{120.5f});
  EXPECT_EQ(run.i16("words"), (I{-1, -1, 103, 104}));
}

TEST(SemaVector, FourDimensionalDsd) {
  // Transposes a 2 x 3 matrix: reads a[j, i] for i in 0 … 2, j in 0 … 1.
  CslRun run = one_pe(R"(
var a = [2, 3]i16 { 1, 2, 3, 4, 5, 6 };
var t = @zeros([3, 2]i16);
const from = @get_dsd(mem4d_dsd, .{ .tensor_access = |i, j|{3, 2} -> a[j, i] });
const to = @get_dsd(mem1d_dsd, .{ .base_address = &t, .extent = 6 });
fn main() void {
  @mov16(to, from);
  sys.unblock_cmd_stream();
}
comptime { @export_symbol(t); }
)");
  run.launch("main");
  EXPECT_EQ(run.i16("t"), (I{1, 4, 2, 5, 3, 6}));
}

TEST(SemaVector, LocalTasksAndArguments) {
  // add(3, 4.5) starts a task that adds once more.
  std::string layout = kOnePe;
  layout.insert(layout.rfind('}'), "  @export_name(\"add\", fn(i16, f32)void);\n");
  CslRun run("wse2", {{"layout.csl", layout}, {"pe.csl", std::string(kPrologue) + R"(
const again: local_task_id = @get_local_task_id(8);
var total: f32 = 1.0;
var last: f32 = 0.0;
fn add(n: i16, v: f32) void {
  last = @as(f32, n) * v;
  total += last;
  @activate(again);
}
task more() void {
  total += last;
  sys.unblock_cmd_stream();
}
comptime {
  @bind_local_task(more, again);
  @export_symbol(add);
  @export_symbol(total);
}
)"}});
  uint32_t bits = 0;
  const float v = 4.5f;
  std::memcpy(&bits, &v, sizeof bits);
  run.launch("add", {3, bits});
  EXPECT_EQ(run.f32("total"), F{28.0f});  // 1 + 13.5 + 13.5
}

TEST(SemaVector, NeighboursOverAColor) {
  // PE 0 sends four words east; PE 1 adds them to its own; a data task counts single words on another color.
  const std::map<std::string, std::string> files{{"layout.csl", R"(
const memcpy = @import_module("<memcpy/get_params>", .{ .width = 2, .height = 1 });
const data: color = @get_color(2);
const single: color = @get_color(3);
layout {
  @set_rectangle(2, 1);
  for (@range(i16, 2)) |x| {
    const common = .{ .memcpy_params = memcpy.get_params(x), .data = data, .single = single };
    @set_tile_code(x, 0, "pe.csl", @concat_structs(common, .{ .sender = x == 0 }));
  }
  const east = .{ .rx = .{RAMP}, .tx = .{EAST} };
  const west = .{ .rx = .{WEST}, .tx = .{RAMP} };
  @set_color_config(0, 0, data, .{ .routes = east });
  @set_color_config(1, 0, data, .{ .routes = west });
  @set_color_config(0, 0, single, .{ .routes = east });
  @set_color_config(1, 0, single, .{ .routes = west });
  @export_name("main", fn()void);
}
)"},
                                                 {"pe.csl", std::string(kPrologue) + R"(
param data: color;
param single: color;
param sender: bool;
const iq = @get_input_queue(2);
const oq = @get_output_queue(2);
const single_iq = @get_input_queue(3);
const single_oq = @get_output_queue(3);
const done: local_task_id = @get_local_task_id(9);
const single_id = if (@is_arch("wse3")) @get_data_task_id(single_iq) else @get_data_task_id(single);
var v = [4]f32 {1, 2, 3, 4};
var count: i16 = 0;
const v_dsd = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{4} -> v[i] });
const in_dsd = @get_dsd(fabin_dsd, .{ .fabric_color = data, .extent = 4, .input_queue = iq });
const out_dsd = @get_dsd(fabout_dsd, .{ .fabric_color = data, .extent = 4, .output_queue = oq });
const one_dsd = @get_dsd(fabout_dsd, .{ .fabric_color = single, .extent = 1, .output_queue = single_oq });
task finish() void { sys.unblock_cmd_stream(); }
task receive(word: u32) void {
  count += @as(i16, word);
}
fn main() void {
  if (sender) {
    @mov32(one_dsd, 7);
    @mov32(one_dsd, 30);
    @fmovs(out_dsd, v_dsd, .{ .async = true, .activate = done });
  } else {
    @fadds(v_dsd, v_dsd, in_dsd, .{ .async = true, .activate = finish });
  }
}
comptime {
  @bind_local_task(finish, done);
  if (!sender) { @bind_data_task(receive, single_id); }
  if (@is_arch("wse3")) {
    if (sender) {
      @initialize_queue(oq, .{ .color = data });
      @initialize_queue(single_oq, .{ .color = single });
    } else {
      @initialize_queue(iq, .{ .color = data });
      @initialize_queue(single_iq, .{ .color = single });
    }
  }
  @export_symbol(main);
  @export_symbol(v);
  @export_symbol(count);
}
)"}};
  for (const char* machine : {"wse2", "wse3"}) {
    CslRun run(machine, files);
    run.launch("main");
    EXPECT_EQ(run.f32("v", {1, 0}), (F{2, 4, 6, 8})) << machine;
    EXPECT_EQ(run.i16("count", {1, 0}), I{37}) << machine;
    EXPECT_EQ(run.program().tiles.size(), 2u);
  }
}

TEST(SemaVector, ModulesAndComptime) {
  std::string layout = kOnePe;
  layout.insert(layout.rfind('}'), "  @export_name(\"main\", fn()void);\n");
  CslRun run("wse2", {{"layout.csl", layout},
                      {"scale.csl", R"(
param factor: i16;
param table_size: u16 = 4;
var calls: i16 = 0;
fn table() [table_size]i16 {
  var result = @zeros([table_size]i16);
  var i: u16 = 0;
  while (i < table_size) : (i += 1) { result[i] = factor * @as(i16, i * i); }
  return result;
}
fn apply(x: i16) i16 {
  calls += 1;
  return x * factor;
}
)"},
                      {"pe.csl", std::string(kPrologue) + R"(
const twice = @import_module("scale.csl", .{ .factor = 2 });
const thrice = @import_module("scale.csl", .{ .factor = 3 });
const squares = twice.table();
var out = @zeros([5]i16);
fn main() void {
  var i: u16 = 3;
  out[0] = squares[i];          // 2 * 9
  out[1] = twice.apply(5);
  out[2] = thrice.apply(5);
  out[3] = thrice.apply(1) + thrice.apply(2);
  out[4] = twice.calls * 10 + thrice.calls;   // 1 and 3: instances have their own variables
  sys.unblock_cmd_stream();
}
comptime {
  @comptime_assert(squares[2] == 8, "table");
  @export_symbol(main);
  @export_symbol(out);
}
)"}});
  run.launch("main");
  EXPECT_EQ(run.i16("out"), (I{18, 10, 15, 9, 13}));
}

TEST(SemaVector, MapBuiltin) {
  CslRun run = one_pe(R"(
var a = [3]f32 {1, 2, 3};
var out = @zeros([3]f32);
var sum: i32 = 0;
const b = [3]i32 {10, 20, 30};
const a_dsd = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{3} -> a[i] });
const out_dsd = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{3} -> out[i] });
const b_dsd = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{3} -> b[i] });
fn poly(v: f32, c: f32) f32 { return v * v + c; }
fn add(v: i32, so_far: *i32) i32 { return so_far.* + v; }
fn main() void {
  @map(poly, a_dsd, 0.5, out_dsd);     // 1.5 4.5 9.5
  @map(add, b_dsd, &sum, &sum);
  sys.unblock_cmd_stream();
}
comptime { @export_symbol(out); @export_symbol(sum); }
)");
  run.launch("main");
  EXPECT_EQ(run.f32("out"), (F{1.5f, 4.5f, 9.5f}));
  EXPECT_EQ(run.i32("sum"), (std::vector<int32_t>{60}));
}

TEST(SemaVector, ExplicitDsrs) {
  CslRun run = one_pe(R"(
var a = [4]f32 {1, 2, 3, 4};
const d = @get_dsr(dsr_dest, 3);
const s = @get_dsr(dsr_src1, 3);
const a_dsd = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{2} -> a[i] });
const high = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{2} -> a[i + 2] });
fn main() void {
  @load_to_dsr(d, a_dsd);
  @load_to_dsr(s, high);
  @mov32(d, s);
  sys.unblock_cmd_stream();
}
comptime { @export_symbol(a); }
)");
  run.launch("main");
  EXPECT_EQ(run.f32("a"), (F{3, 4, 3, 4}));
}

// docs/timing.md §6: a synchronous operation over n elements in memory takes n + 6 cycles with three DSR
// loads. Two programs that differ only in n differ by the difference of n.
TEST(SemaVector, VectorOperationTakesItsElements) {
  const auto cycles = [](int n) {
    CslRun run = one_pe("const n: u16 = " + std::to_string(n) + R"(;
var a = @zeros([600]f32);
var b = @zeros([600]f32);
const a_dsd = @get_dsd(mem1d_dsd, .{ .base_address = &a, .extent = n });
const b_dsd = @get_dsd(mem1d_dsd, .{ .base_address = &b, .extent = n, .offset = 1 });
fn main() void {
  @fmacs(a_dsd, a_dsd, b_dsd, 2.0);
  sys.unblock_cmd_stream();
}
)");
    return run.launch("main");
  };
  EXPECT_EQ(cycles(500) - cycles(100), 400u);
}

}  // namespace
}  // namespace cs::csl::test
