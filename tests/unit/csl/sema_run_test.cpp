// What compiled programs compute: language features on one PE, run on the engine. Expected values are worked
// out in the comments or are plain arithmetic.
#include "run_csl.h"

namespace cs::csl::test {
namespace {

using F = std::vector<float>;
using I = std::vector<int16_t>;

TEST(SemaRun, GemvWithLoops) {
  // A = 0 … 11 as 3 x 4, x = 1, b = 2: row sums 6, 22, 38, plus 2.
  CslRun run = one_pe(R"(
const M: i16 = 3;
const N: i16 = 4;
var A: [M*N]f32;
var x: [N]f32;
var b: [M]f32;
var y: [M]f32;
fn main() void {
  for (@range(i16, M*N)) |i| { A[i] = @as(f32, i); }
  for (@range(i16, N)) |j| { x[j] = 1.0; }
  var i: i16 = 0;
  while (i < M) : (i += 1) { b[i] = 2.0; }
  for (@range(i16, M)) |r| {
    var sum: f32 = 0.0;
    for (@range(i16, N)) |c| { sum += A[r*N + c] * x[c]; }
    y[r] = sum + b[r];
  }
  sys.unblock_cmd_stream();
}
comptime { @export_symbol(y); }
)");
  run.launch("main");
  EXPECT_EQ(run.f32("y"), (F{8, 24, 40}));
}

TEST(SemaRun, GemvWithDsds) {
  // The same by columns: y += A[:, j] * x[j] over DSDs that move.
  CslRun run = one_pe(R"(
const M: u16 = 3;
const N: u16 = 4;
var A = [M*N]f32 {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
var x = @constants([N]f32, 1.0);
var b = [M]f32 {2, 2, 2};
var y = @zeros([M]f32);
var A_dsd = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{M} -> A[i*N] });
const b_dsd = @get_dsd(mem1d_dsd, .{ .base_address = &b, .extent = M });
const y_dsd = @get_dsd(mem1d_dsd, .{ .base_address = &y, .extent = M });
fn main() void {
  for (@range(u16, N)) |j| {
    @fmacs(y_dsd, y_dsd, A_dsd, x[j]);
    A_dsd = @increment_dsd_offset(A_dsd, 1, f32);
  }
  @fadds(y_dsd, y_dsd, b_dsd);
  sys.unblock_cmd_stream();
}
comptime { @export_symbol(y); }
)");
  run.launch("main");
  EXPECT_EQ(run.f32("y"), (F{8, 24, 40}));
}

TEST(SemaRun, IntegerOperators) {
  CslRun run = one_pe(R"(
var in = [2]i16 {-7, 3};
var out = @zeros([16]i16);
var unsigned_in: u16 = 50000;
fn main() void {
  const a = in[0];
  const b = in[1];
  out[0] = a + b;            // -4
  out[1] = a - b;            // -10
  out[2] = a * b;            // -21
  out[3] = a / b;            // -2, toward zero
  out[4] = a % b;            // -1, sign of a
  out[5] = a / 4;            // -1 by shifts
  out[6] = a % 4;            // -3 by shifts
  out[7] = a & 0xf;          // 9
  out[8] = a | 1;            // -7
  out[9] = a ^ b;            // -6
  out[10] = a >> 1;          // -4, arithmetic
  out[11] = b << 3;          // 24
  out[12] = -a;              // 7
  out[13] = ~b;              // -4
  out[14] = @as(i16, unsigned_in / 1000);   // 50
  out[15] = if (a < b and !(b == 4)) 1 else 0;
  sys.unblock_cmd_stream();
}
comptime { @export_symbol(out); }
)");
  run.launch("main");
  EXPECT_EQ(run.i16("out"), (I{-4, -10, -21, -2, -1, -1, -3, 9, -7, -6, -4, 24, 7, -4, 50, 1}));
}

TEST(SemaRun, WideIntegersAndConversions) {
  CslRun run = one_pe(R"(
var n: i32 = 100000;
var h: i16 = -3;
var f: f32 = -2.75;
var out = @zeros([8]i32);
fn main() void {
  out[0] = n * 3 + @as(i32, h);            // 299997
  out[1] = n / 7;                          // 14285
  out[2] = @as(i32, f);                    // -2, toward zero
  out[3] = @bitcast(i32, f);               // 0xC0300000
  out[4] = @as(i32, @as(u16, 65535)) + h;  // 65532: the sum is 32 bits wide
  out[5] = @as(i32, @as(f32, n) * 0.5);    // 50000
  out[6] = if (f < 0.0) 1 else 2;
  out[7] = n >> 4;                         // 6250
  sys.unblock_cmd_stream();
}
comptime { @export_symbol(out); }
)");
  run.launch("main");
  EXPECT_EQ(run.i32("out"),
            (std::vector<int32_t>{299997, 14285, -2, int32_t(0xC0300000), 65532, 50000, 1, 6250}));
}

TEST(SemaRun, ControlFlow) {
  CslRun run = one_pe(R"(
var out = @zeros([8]i16);
var limit: i16 = 10;
fn classify(n: i16) i16 {
  if (n < 0) { return -1; }
  if (n == 0) { return 0; }
  var steps: i16 = 0;
  var v = n;
  while (v != 1) {
    if ((v & 1) == 0) { v = v / 2; } else { v = 3 * v + 1; }
    steps += 1;
  }
  return steps;
}
fn main() void {
  out[0] = classify(limit - 3);     // Collatz steps of 7: 16
  out[1] = classify(limit - 20);    // -1
  var sum: i16 = 0;
  for (@range(i16, 0, limit, 2)) |i| {
    if (i == 4) { continue; }
    if (i == 8) { break; }
    sum += i;                       // 0 + 2 + 6
  }
  out[2] = sum;
  var count: i16 = 0;
  outer: while (true) {
    var k: i16 = 0;
    while (k < 5) : (k += 1) {
      count += 1;
      if (count == 7) { break :outer; }
    }
  }
  out[3] = count;                   // 7
  out[4] = switch (limit) { 1 => 5, 2...11 => 6, else => 7 };
  const label: i16 = blk: {
    if (limit > 5) { break :blk 21; }
    break :blk 22;
  };
  out[5] = label;
  switch (limit) { 10 => { out[6] = 1; }, else => { out[6] = 2; } }
  for ([3]i16 {4, 5, 6}) |v, i| { out[7] += v * @as(i16, i); }   // 5 + 12
  sys.unblock_cmd_stream();
}
comptime { @export_symbol(out); }
)");
  run.launch("main");
  EXPECT_EQ(run.i16("out"), (I{16, -1, 8, 7, 6, 21, 1, 17}));
}

// A return or break that an earlier jump can skip is not the only one.
TEST(SemaRun, ReturnsBehindJumps) {
  CslRun run = one_pe(R"(
var v: i16 = 3;
var out = @zeros([4]i16);
inline fn first_above(limit: i16) i16 {
  inline for (@range(i16, 5)) |i| {
    if (i * v < limit) { continue; }
    return i;
  }
  return -1;
}
inline fn block(n: i16) i16 {
  blk: {
    if (n == 3) { break :blk; }
    return 10;
  }
  return 20;
}
fn main() void {
  out[0] = first_above(7);      // 3 * 3 = 9 is the first multiple from 7 on
  out[1] = first_above(100);    // none
  out[2] = block(v);
  out[3] = block(v + 1);
  sys.unblock_cmd_stream();
}
comptime { @export_symbol(out); }
)");
  run.launch("main");
  EXPECT_EQ(run.i16("out"), (I{3, -1, 20, 10}));
}

TEST(SemaRun, PointersStructsEnums) {
  CslRun run = one_pe(R"(
const Point = struct { x: i16, y: i16 };
const Mode = enum(u16) { slow, fast = 5 };
var p = Point { .x = 3, .y = 4 };
var grid = @zeros([2, 3]i16);
var mode: Mode = Mode.slow;
var out = @zeros([8]i16);
fn bump(v: *i16, by: i16) void { v.* += by; v.* += by; v.* += by; v.* -= by; }
fn sum3(a: *[3]i16) i16 { return a.*[0] + a[1] + (a.*)[2]; }
fn swapped(q: Point) Point { return .{ .x = q.y, .y = q.x }; }
fn main() void {
  bump(&p.x, 10);                     // 23
  out[0] = p.x;
  var data = [3]i16 {1, 2, 3};
  data[1] += 5;
  out[1] = sum3(&data);               // 11
  var k: i16 = 1;
  grid[k, k + 1] = 9;
  out[2] = grid[1, 2];
  const q = swapped(p);
  out[3] = q.x * 100 + q.y;           // 4 * 100 + 23
  if (mode == Mode.slow) { mode = .fast; }
  out[4] = @as(i16, mode);            // 5
  var local: i16 = 2;
  bump(&local, 1);                    // 4
  out[5] = local;
  const many: [*]i16 = &data;
  out[6] = many[2];
  p = .{ .x = 1, .y = 2 };
  out[7] = p.x + p.y;
  sys.unblock_cmd_stream();
}
comptime { @export_symbol(out); }
)");
  run.launch("main");
  EXPECT_EQ(run.i16("out"), (I{23, 11, 9, 423, 5, 4, 3, 3}));
}

// What @comptime_print prints goes to standard error, once per evaluation, arguments separated by a space.
TEST(CslRun, ComptimePrint) {
  testing::internal::CaptureStderr();
  const CslRun run = one_pe(R"(
fn main() void { sys.unblock_cmd_stream(); }
comptime {
  for (@range(i16, 2)) |i| { @comptime_print("row", i, 1 << 40); }
}
)");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "row 0 1099511627776\nrow 1 1099511627776\n");
}

}  // namespace
}  // namespace cs::csl::test
