// <math> against double precision, through the whole compiler: CSL text to tile code, run with the engine's
// semantics. f32 functions on dense samples, 16-bit functions on every value that the format has.
#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <limits>

#include "compiler/csl/csl.h"
#include "link_test_support.h"
#include "runtime/numerics/numerics.h"

namespace cs::csl::test {
namespace {

constexpr int kValues = 2048;
constexpr double kInf = std::numeric_limits<double>::infinity();
const double kNan = std::nan("");

// A program that applies CALL (with `v` as the value) to x[i]; both arrays of TYPE.
std::optional<Program> compile(const std::string& call, const std::string& type, Diag& diag) {
  CslOptions options;
  options.layout = "layout.csl";
  options.files["layout.csl"] =
      "const memcpy = @import_module(\"<memcpy/get_params>\", .{ .width = 1, .height = 1 });\n"
      "layout {\n  @set_rectangle(1, 1);\n"
      "  @set_tile_code(0, 0, \"pe.csl\", .{ .memcpy_params = memcpy.get_params(0) });\n"
      "  @export_name(\"run\", fn () void);\n}\n";
  options.files["pe.csl"] = fmt::format(
      "param memcpy_params: comptime_struct;\n"
      "const sys_mod = @import_module(\"<memcpy/memcpy>\", memcpy_params);\n"
      "const math = @import_module(\"<math>\");\n"
      "var x = @zeros([{0}]{2});\nvar y = @zeros([{0}]{2});\n"
      "fn bit(b: bool) {2} {{ return if (b) 1.0 else 0.0; }}\n"
      "fn run() void {{\n"
      "  for (@range(i16, {0})) |i| {{\n    const v = x[i];\n    y[i] = {1};\n  }}\n"
      "  sys_mod.unblock_cmd_stream();\n}}\n"
      "comptime {{ @export_symbol(x); @export_symbol(y); @export_symbol(run); }}\n",
      kValues, call, type);
  return compile_csl(options, machine(), diag);
}

// One compiled call, applied to many values.
class Call {
 public:
  Call(const std::string& call, const std::string& type) : bytes_(type == "f32" ? 4 : 2) {
    Diag diag;
    program_ = compile(call, type, diag);
    EXPECT_TRUE(program_) << diag.to_string();
  }
  bool good() const { return program_ && program_->tiles.size() == 1; }
  std::vector<uint32_t> operator()(const std::vector<uint32_t>& inputs) {
    std::vector<uint32_t> out;
    for (size_t from = 0; from < inputs.size(); from += kValues) {
      Runner run(program_->tiles[0]);
      const uint32_t x = run.symbol("x"), y = run.symbol("y");
      const size_t n = std::min(inputs.size() - from, size_t(kValues));
      for (size_t i = 0; i < n; ++i) run.set(x + bytes_ * uint32_t(i), inputs[from + i], int(bytes_));
      run.run(program_->tiles[0].function("run")->entry);
      for (uint32_t i = 0; i < n; ++i)
        out.push_back(bytes_ == 4 ? run.word(y + 4 * i) : run.half(y + 2 * i));
    }
    return out;
  }

 private:
  std::optional<Program> program_;
  uint32_t bytes_;
};

using Exact = double (*)(double);

struct Case {
  const char* name;
  const char* call;
  double low, high;
  Exact exact;
  double ulps;
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.call << " on [" << c.low << ", " << c.high << "]"; }
std::string case_name(const testing::TestParamInfo<Case>& info) { return info.param.name; }

// Distance in units in the last place of the exact value, with `digits` bits of mantissa and the exponent of the
// smallest normal number.
double ulp_error(double value, double exact, int digits, int min_exponent) {
  const double ulp = std::ldexp(1.0, std::max(std::ilogb(exact == 0 ? 1e-300 : exact), min_exponent) - digits);
  return std::fabs(value - exact) / ulp;
}

double sigmoid(double v) { return 1 / (1 + std::exp(-v)); }
double reciprocal(double v) { return 1 / v; }
double inverse_root(double v) { return 1 / std::sqrt(v); }
double signum(double v) { return v > 0 ? 1 : v < 0 ? -1 : v; }
double identity(double v) { return v; }

// ---- f32

class MathF32 : public testing::TestWithParam<Case> {};

TEST_P(MathF32, StaysWithinItsUlps) {
  const Case& c = GetParam();
  Call call(c.call, "f32");
  ASSERT_TRUE(call.good());
  // A ratio of more than 1000 between positive limits: as many values per octave; else evenly.
  const bool logarithmic = c.low > 0 && c.high / c.low > 1000;
  std::vector<uint32_t> inputs;
  for (int i = 0; i < kValues; ++i) {
    const double t = (i + 0.37) / kValues;
    const double v = logarithmic ? c.low * std::pow(c.high / c.low, t) : c.low + (c.high - c.low) * t;
    inputs.push_back(std::bit_cast<uint32_t>(float(v)));
  }
  const std::vector<uint32_t> out = call(inputs);
  double worst = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const float in = std::bit_cast<float>(inputs[i]), got = std::bit_cast<float>(out[i]);
    const double exact = c.exact(double(in));
    const double error = ulp_error(double(got), exact, 23, -126);
    EXPECT_LE(error, c.ulps) << c.call << " at " << fmt::format("{}: {}, exact {}", in, got, exact);
    worst = std::max(worst, error);
  }
  RecordProperty("ulps", std::to_string(worst));
}

INSTANTIATE_TEST_SUITE_P(
    Csl, MathF32,
    testing::Values(
        Case{"sqrt", "math.sqrt(v)", 1e-30, 1e30, std::sqrt, 1},
        Case{"sqrt_subnormal", "math.sqrt_f32(v)", 1e-45, 1e-39, std::sqrt, 1},
        Case{"invsqrt", "math.invsqrt(v)", 1e-30, 1e30, inverse_root, 2},
        Case{"inv", "math.inv(v)", -7, 9, reciprocal, 0.5},
        Case{"exp_small", "math.exp(v)", -1, 1, std::exp, 2}, Case{"exp", "math.exp(v)", -87, 88.7, std::exp, 2},
        Case{"exp_subnormal", "math.exp_f32(v)", -103, -87, std::exp, 1},
        Case{"log_near_one", "math.log(v)", 0.5, 2, std::log, 2},
        Case{"log", "math.log(v)", 1e-37, 1e38, std::log, 2},
        Case{"log_subnormal", "math.log_f32(v)", 1e-45, 1e-38, std::log, 2},
        Case{"sin_near_zero", "math.sin(v)", -1e-3, 1e-3, std::sin, 1},
        Case{"sin", "math.sin(v)", -7, 7, std::sin, 2}, Case{"cos", "math.cos(v)", -7, 7, std::cos, 2},
        Case{"sin_large", "math.sin(v)", 100, 51471, std::sin, 2},
        Case{"cos_large", "math.cos(v)", -51471, -100, std::cos, 2},
        Case{"sin_huge", "math.sin(v)", 3e4, 3.4e38, std::sin, 4},
        Case{"cos_huge", "math.cos(v)", 3e4, 3.4e38, std::cos, 4},
        Case{"tanh", "math.tanh(v)", -10, 10, std::tanh, 4},
        Case{"tanh_small", "math.tanh(v)", -0.7, 0.7, std::tanh, 4},
        Case{"sig", "math.sig(v)", -87, 20, sigmoid, 4},
        Case{"erf", "math.erf_f32(v)", -5, 5, std::erf, 6},
        Case{"erf_small", "math.erf_f32(v)", -1, 1, std::erf, 6},
        Case{"pow_three_halves", "math.pow(v, 1.5)", 1e-20, 1e20, [](double v) { return std::pow(v, 1.5); }, 2},
        Case{"pow_minus_three", "math.pow(v, -3.0)", 1e-9, 1e12, [](double v) { return std::pow(v, -3); }, 2},
        Case{"pow_twenty", "math.pow_f32(v, 20.0)", 0.02, 80, [](double v) { return std::pow(v, 20); }, 2},
        Case{"pow_of_ten", "math.pow_f32(10.0, v)", -37, 38, [](double v) { return std::pow(10.0, v); }, 2},
        Case{"pow_near_one", "math.pow(v, 1000.0)", 0.95, 1.05, [](double v) { return std::pow(v, 1000); }, 2},
        Case{"pow_root", "math.pow(v, 0.5)", 1e-30, 1e30, std::sqrt, 1},
        Case{"pow_odd_of_negative", "math.pow(v, 3.0)", -50, 50, [](double v) { return v * v * v; }, 2},
        Case{"floor", "math.floor(v)", -20, 20, std::floor, 0}, Case{"ceil", "math.ceil(v)", -20, 20, std::ceil, 0},
        Case{"floor_large", "math.floor_f32(v)", 1e6, 1e8, std::floor, 0},
        Case{"ceil_large", "math.ceil_f32(v)", -1e8, -1e6, std::ceil, 0},
        Case{"abs", "math.abs(v)", -5, 5, std::fabs, 0}, Case{"sign", "math.sign(v)", -5, 5, signum, 0},
        Case{"max", "math.max(v + v, 1.0)", -5, 5, [](double v) { return std::max(2 * v, 1.0); }, 0},
        Case{"min", "math.min_f32(1.0, v)", -5, 5, [](double v) { return std::min(v, 1.0); }, 0},
        Case{"fscale_up", "math.fscale(v, 200)", 1e-40, 1e-30, [](double v) { return std::ldexp(v, 200); }, 0},
        Case{"fscale_to_subnormal", "math.fscale_f32(v, -140)", 1, 4, [](double v) { return std::ldexp(v, -140); },
             0.5},
        Case{"subsat", "math.subsat(v, 1.0)", -5, 5, [](double v) { return v - 1; }, 0.5}),
    case_name);

// ---- 16 bits: every value

class MathF16 : public testing::TestWithParam<Case> {};

TEST_P(MathF16, RoundsTheExactValueOfEveryInput) {
  const Case& c = GetParam();
  Call call(c.call, "f16");
  ASSERT_TRUE(call.good());
  std::vector<uint32_t> inputs(65536);
  for (uint32_t i = 0; i < inputs.size(); ++i) inputs[i] = i;
  const std::vector<uint32_t> out = call(inputs);
  const auto value = [](uint32_t bits) { return double(numerics::half_to_float(uint16_t(bits), Fp16Format::f16)); };
  int wrong = 0;
  for (size_t i = 0; i < inputs.size() && wrong < 5; ++i) {
    const double in = value(inputs[i]), got = value(out[i]), exact = c.exact(in);
    if (!(in >= c.low && in <= c.high)) continue;
    // 65520 is the least value that rounds to infinity.
    const double rounded = std::fabs(exact) >= 65520 ? std::copysign(kInf, exact) : exact;
    const bool good = std::isnan(rounded)   ? std::isnan(got)
                      : std::isinf(rounded) ? got == rounded
                                            : std::isfinite(got) && ulp_error(got, rounded, 10, -14) <= c.ulps;
    if (good) continue;
    ++wrong;
    ADD_FAILURE() << c.call << " at " << fmt::format("{}: {}, exact {}", in, got, exact);
  }
}

// 0.5 and what the rounding to f32 adds.
constexpr double kOnce = 0.5005;

INSTANTIATE_TEST_SUITE_P(
    Csl, MathF16,
    testing::Values(
        Case{"sqrt", "math.sqrt(v)", -kInf, kInf, std::sqrt, kOnce},
        Case{"invsqrt", "math.invsqrt_f16(v)", -kInf, kInf, inverse_root, kOnce},
        Case{"inv", "math.inv(v)", -kInf, kInf, reciprocal, kOnce},
        Case{"exp", "math.exp(v)", -kInf, kInf, std::exp, kOnce},
        Case{"log", "math.log_f16(v)", -kInf, kInf, std::log, kOnce},
        Case{"sin", "math.sin(v)", -kInf, kInf, std::sin, kOnce},
        Case{"cos", "math.cos_f16(v)", -kInf, kInf, std::cos, kOnce},
        Case{"tanh", "math.tanh(v)", -kInf, kInf, std::tanh, kOnce},
        Case{"sig", "math.sig(v)", -kInf, kInf, sigmoid, kOnce},
        Case{"pow", "math.pow(v, 2.5)", -kInf, kInf, [](double v) { return std::pow(v, 2.5); }, kOnce},
        Case{"floor", "math.floor(v)", -kInf, kInf, std::floor, 0},
        Case{"ceil", "math.ceil_f16(v)", -kInf, kInf, std::ceil, 0},
        Case{"abs", "math.abs(v)", -kInf, kInf, std::fabs, 0}, Case{"sign", "math.sign(v)", -kInf, kInf, signum, 0},
        Case{"max", "math.max(v, 1.5)", -kInf, kInf, [](double v) { return std::fmax(v, 1.5); }, 0},
        Case{"min", "math.min_f16(v, 1.5)", -kInf, kInf, [](double v) { return std::fmin(v, 1.5); }, 0},
        Case{"fscale", "math.fscale(v, -3)", -kInf, kInf, [](double v) { return v / 8; }, 0.5},
        Case{"negation_twice", "-(-v)", -kInf, kInf, identity, 0},
        Case{"isNaN", "bit(math.isNaN(v))", -kInf, kInf, [](double) { return 0.0; }, 0},
        Case{"isInf", "bit(math.isInf(v))", -kInf, kInf, [](double v) { return double(std::isinf(v)); }, 0},
        Case{"isFinite", "bit(math.isFinite_f16(v))", -kInf, kInf,
             [](double v) { return double(std::isfinite(v)); }, 0},
        Case{"signbit", "bit(math.signbit(v))", -kInf, kInf, [](double v) { return double(std::signbit(v)); }, 0}),
    case_name);

// ---- the edges, from IEEE 754 and the definition of the functions

struct Edge {
  const char* call;
  double in, out;
};

TEST(MathEdges, F32SpecialValues) {
  const double kMax = double(std::numeric_limits<float>::max());
  for (const Edge& e : {
           Edge{"math.sqrt(v)", 0, 0}, Edge{"math.sqrt(v)", kInf, kInf}, Edge{"math.sqrt(v)", -1, kNan},
           Edge{"math.invsqrt(v)", 0, kInf}, Edge{"math.inv(v)", -kInf, -0.0}, Edge{"math.exp(v)", 0, 1},
           Edge{"math.exp(v)", 200, kInf}, Edge{"math.exp(v)", -200, 0}, Edge{"math.exp(v)", -kInf, 0},
           Edge{"math.exp(v)", kNan, kNan}, Edge{"math.log(v)", 1, 0}, Edge{"math.log(v)", 0, -kInf},
           Edge{"math.log(v)", -2, kNan}, Edge{"math.log(v)", kInf, kInf}, Edge{"math.log(v)", kNan, kNan},
           Edge{"math.sin(v)", -0.0, -0.0}, Edge{"math.sin(v)", kInf, kNan}, Edge{"math.cos(v)", 0, 1},
           Edge{"math.cos(v)", kNan, kNan}, Edge{"math.tanh(v)", kInf, 1}, Edge{"math.tanh(v)", -kInf, -1},
           Edge{"math.tanh(v)", kNan, kNan}, Edge{"math.sig(v)", 0, 0.5}, Edge{"math.sig(v)", -kInf, 0},
           Edge{"math.sig(v)", kInf, 1}, Edge{"math.pow(v, 0.0)", kNan, 1}, Edge{"math.pow_f32(1.0, v)", kNan, 1},
           Edge{"math.pow(v, 2.5)", -2, kNan}, Edge{"math.pow(v, -1.0)", -0.0, -kInf},
           Edge{"math.pow(v, -2.0)", -0.0, kInf}, Edge{"math.pow(v, 3.0)", -kInf, -kInf},
           Edge{"math.pow_f32(2.0, v)", kInf, kInf}, Edge{"math.pow_f32(2.0, v)", -kInf, 0},
           Edge{"math.pow_f32(-1.0, v)", kInf, 1}, Edge{"math.pow(v, 30.0)", 1e9, kInf},
           Edge{"math.pow(v, 31.0)", -1e9, -kInf}, Edge{"math.pow(v, -31.0)", 1e9, 0},
           Edge{"math.floor(v)", -0.0, -0.0}, Edge{"math.floor(v)", -kInf, -kInf}, Edge{"math.ceil(v)", -0.5, -0.0},
           Edge{"math.floor(v)", kNan, kNan}, Edge{"math.max(v, 1.0)", kNan, 1}, Edge{"math.min_f32(1.0, v)", kNan, 1},
           Edge{"math.sign(v)", kNan, kNan}, Edge{"math.fscale(v, 250)", 1e-45, std::ldexp(1, 101)},
           Edge{"math.fscale(v, 300)", 1, kInf}, Edge{"math.fscale(v, -300)", 1, 0},
           Edge{"math.subsat(v, -3.0e38)", kMax, kMax}, Edge{"math.subsat(v, 3.0e38)", -kMax, -kMax},
           Edge{"math.subsat(v, 1.0)", kInf, kInf}, Edge{"math.POSITIVE_INF(f32)", 0, kInf},
           Edge{"math.NEGATIVE_INF(f32)", 0, -kInf}, Edge{"math.NaN(f32)", 0, kNan},
           Edge{"math.NEGATIVE_INF_f32", 0, -kInf}, Edge{"math.NaN_f32", 0, kNan},
           Edge{"math.PI", 0, double(float(M_PI))},
           Edge{"math.E", 0, double(float(M_E))}, Edge{"bit(math.isNaN(v))", kNan, 1}, Edge{"bit(math.isNaN(v))", 1, 0},
           Edge{"bit(math.isInf(v))", -kInf, 1}, Edge{"bit(math.isInf_f32(v))", kMax, 0},
           Edge{"bit(math.isFinite(v))", kMax, 1}, Edge{"bit(math.isFinite(v))", kNan, 0},
           Edge{"bit(math.isSignaling(v))", kNan, 0}, Edge{"bit(math.signbit(v))", -0.0, 1},
           Edge{"bit(math.signbit(v))", kNan, 0},
       }) {
    Call call(e.call, "f32");
    ASSERT_TRUE(call.good()) << e.call;
    const double got = double(std::bit_cast<float>(call({std::bit_cast<uint32_t>(float(e.in))})[0]));
    if (std::isnan(e.out))
      EXPECT_TRUE(std::isnan(got)) << e.call << " at " << e.in << ": " << got;
    else
      EXPECT_TRUE(got == e.out && std::signbit(got) == std::signbit(e.out))
          << e.call << " at " << e.in << ": " << got << ", not " << e.out;
  }
}

// A quiet NaN has the first bit of the mantissa.
TEST(MathEdges, SignalingNaN) {
  Call single("bit(math.isSignaling(v))", "f32"), half("bit(math.isSignaling(v))", "f16");
  ASSERT_TRUE(single.good() && half.good());
  EXPECT_EQ(single({0x7f800001, 0x7fc00001, 0x7f800000, 0xffbfffff}),
            (std::vector<uint32_t>{0x3f800000, 0, 0, 0x3f800000}));
  EXPECT_EQ(half({0x7c01, 0x7e00, 0x7c00, 0xfdff}), (std::vector<uint32_t>{0x3c00, 0, 0, 0x3c00}));
}

TEST(MathEdges, F16Constants) {
  for (const auto& [call, bits] : {std::pair<const char*, uint32_t>{"math.POSITIVE_INF(f16)", 0x7c00},
                                   {"math.NEGATIVE_INF_f16", 0xfc00},
                                   {"math.NaN_f16", 0x7e00},
                                   {"math.PI", 0x4248},
                                   {"math.E", 0x4170},
                                   {"math.subsat(v, -60000.0)", 0x7bff}}) {
    Call c(call, "f16");
    ASSERT_TRUE(c.good()) << call;
    EXPECT_EQ(c({0x7bff})[0], bits) << call;
  }
}

}  // namespace
}  // namespace cs::csl::test
