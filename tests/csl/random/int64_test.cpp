// Integers of 64 bits against those of this machine: pairs of random numbers, near powers of two and at the ends of the
// range, in every operator, comparison, shift and conversion.
#include <cmath>
#include <random>

#include "run_csl.h"

namespace cs::csl::test {
namespace {

constexpr int kPairs = 12;

const char* const kProgram = R"(
var a = @zeros([24]u32);
var b = @zeros([24]u32);
var x = @zeros([12]f32);
var signs = @zeros([240]u32);
var plain = @zeros([240]u32);
var order = @zeros([144]u16);
var floats = @zeros([24]f32);
var ints = @zeros([48]u32);
fn joined(p: [*]u32, i: u16) u64 { return @as(u64, p[2 * i + 1]) << 32 | p[2 * i]; }
fn leave(p: [*]u32, i: u16, v: u64) void {
  p[2 * i] = @as(u32, v);
  p[2 * i + 1] = @as(u32, v >> 32);
}
fn all(comptime T: type, p: [*]u32, i: u16, first: T, second: T, n: u16) void {
  leave(p, 10 * i, @bitcast(u64, first + second));
  leave(p, 10 * i + 1, @bitcast(u64, first - second));
  leave(p, 10 * i + 2, @bitcast(u64, first * second));
  leave(p, 10 * i + 3, @bitcast(u64, first / second));
  leave(p, 10 * i + 4, @bitcast(u64, first % second));
  leave(p, 10 * i + 5, @bitcast(u64, first & second));
  leave(p, 10 * i + 6, @bitcast(u64, (first | second) ^ -7));
  leave(p, 10 * i + 7, @bitcast(u64, first << n));
  leave(p, 10 * i + 8, @bitcast(u64, first >> n));
  leave(p, 10 * i + 9, @bitcast(u64, ~first));
}
fn flag(v: bool) u16 { return if (v) @as(u16, 1) else 0; }
fn main() void {
  for (@range(u16, 12)) |i| {
    const u = joined(&a, i);
    const v = joined(&b, i);
    const s = @bitcast(i64, u);
    const t = @bitcast(i64, v);
    const n = @as(u16, v) & 63;
    all(i64, &signs, i, s, t, n);
    leave(&plain, 10 * i, u / v);
    leave(&plain, 10 * i + 1, u % v);
    leave(&plain, 10 * i + 2, u >> n);
    leave(&plain, 10 * i + 3, u * v);
    order[12 * i] = flag(s < t);
    order[12 * i + 1] = flag(s <= t);
    order[12 * i + 2] = flag(s == t);
    order[12 * i + 3] = flag(s > t);
    order[12 * i + 4] = flag(u < v);
    order[12 * i + 5] = flag(u >= v);
    order[12 * i + 6] = flag(s != s);
    order[12 * i + 7] = flag(@as(bool, u));
    floats[2 * i] = @as(f32, s);
    floats[2 * i + 1] = @as(f32, u);
    leave(&ints, 2 * i, @bitcast(u64, @as(i64, x[i])));
    leave(&ints, 2 * i + 1, @as(u64, x[i]));
  }
  sys.unblock_cmd_stream();
}
comptime {
  @export_symbol(main);
  @export_symbol(a);
  @export_symbol(b);
  @export_symbol(x);
  @export_symbol(signs);
  @export_symbol(plain);
  @export_symbol(order);
  @export_symbol(floats);
  @export_symbol(ints);
}
)";

// Around a power of two, or anything.
uint64_t number(std::mt19937_64& random) {
  const uint64_t any = random();
  switch (random() % 4) {
    case 0:
      return any;
    case 1:
      return any >> random() % 64;
    case 2:
      return (uint64_t(1) << random() % 64) + any % 5 - 2;
    default:
      return 0 - (any >> random() % 64);
  }
}

// Toward zero; what does not fit is the nearest number, NaN is 0.
template <class T>
T truncated(float v) {
  const float limit = std::is_signed_v<T> ? 0x1p63f : 0x1p64f;
  if (std::isnan(v)) return 0;
  if (v >= limit) return std::numeric_limits<T>::max();
  if (v < (std::is_signed_v<T> ? -limit : 0)) return std::numeric_limits<T>::min();
  return T(v);
}

void expect_results(CslRun& run, const std::vector<uint64_t>& u, const std::vector<uint64_t>& v,
                    const std::vector<float>& x) {
  const auto at = [](const std::vector<uint32_t>& words, int i) {
    return uint64_t(words[size_t(2 * i) + 1]) << 32 | words[size_t(2 * i)];
  };
  const auto signs = run.values<uint32_t>("signs"), plain = run.values<uint32_t>("plain"),
             ints = run.values<uint32_t>("ints");
  const auto order = run.values<uint16_t>("order");
  const auto floats = run.values<float>("floats");
  for (int i = 0; i < kPairs; ++i) {
    const uint64_t a = u[size_t(i)], b = v[size_t(i)];
    const int64_t s = int64_t(a), t = int64_t(b);
    const int n = int(b & 63);
    SCOPED_TRACE(std::to_string(s) + " and " + std::to_string(t));
    const bool overflows = s == INT64_MIN && t == -1;
    const std::vector<uint64_t> want{a + b,
                                     a - b,
                                     a * b,
                                     overflows ? a : uint64_t(s / t),
                                     overflows ? 0 : uint64_t(s % t),
                                     a & b,
                                     (a | b) ^ uint64_t(-7),
                                     a << n,
                                     uint64_t(s >> n),
                                     ~a};
    for (int k = 0; k < 10; ++k) EXPECT_EQ(at(signs, 10 * i + k), want[size_t(k)]) << "operator " << k;
    const std::vector<uint64_t> of_unsigned{a / b, a % b, a >> n, a * b};
    for (int k = 0; k < 4; ++k) EXPECT_EQ(at(plain, 10 * i + k), of_unsigned[size_t(k)]) << "unsigned " << k;
    const std::vector<bool> orders{s < t, s <= t, s == t, s > t, a < b, a >= b, false, a != 0};
    for (int k = 0; k < 8; ++k) EXPECT_EQ(order[size_t(12 * i + k)], orders[size_t(k)]) << "comparison " << k;
    EXPECT_EQ(floats[size_t(2 * i)], float(s));
    EXPECT_EQ(floats[size_t(2 * i) + 1], float(a));
    EXPECT_EQ(int64_t(at(ints, 2 * i)), truncated<int64_t>(x[size_t(i)])) << x[size_t(i)];
    EXPECT_EQ(at(ints, 2 * i + 1), truncated<uint64_t>(x[size_t(i)])) << x[size_t(i)];
  }
}

TEST(Int64, IsThatOfThisMachine) {
  std::mt19937_64 random(64);
  for (int round = 0; round < 24; ++round) {
    const Machine machine = load(round % 2 ? "wse3" : "wse2");
    std::string layout = kOnePe;
    layout.insert(layout.rfind('}'), "  @export_name(\"main\", fn()void);\n");
    CslOptions options = options_for({{"layout.csl", layout}, {"pe.csl", std::string(kPrologue) + kProgram}});
    options.opt_level = round % 3;
    std::vector<uint64_t> u, v;
    std::vector<float> x;
    for (int i = 0; i < kPairs; ++i) {
      u.push_back(number(random));
      v.push_back(number(random));
      if (v.back() == 0) v.back() = 1;
      const float f = float(number(random)) * float(std::pow(2.0, int(random() % 80) - 60));
      x.push_back(i == 0 ? NAN : random() % 2 ? f : -f);
    }
    CslRun run(machine, options);
    const auto words = [](const std::vector<uint64_t>& list) {
      std::vector<uint32_t> out;
      for (uint64_t n : list) out.insert(out.end(), {uint32_t(n), uint32_t(n >> 32)});
      return out;
    };
    run.set("a", words(u));
    run.set("b", words(v));
    run.set("x", x);
    run.launch("main");
    expect_results(run, u, v, x);
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace cs::csl::test
