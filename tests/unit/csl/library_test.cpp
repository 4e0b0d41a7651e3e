// <math> against double precision, through the whole compiler: CSL text to tile code, run with the engine's
// semantics.
#include <fmt/format.h>

#include <bit>
#include <limits>
#include <cmath>

#include "compiler/csl/csl.h"
#include "link_test_support.h"

namespace cs::csl::test {
namespace {

constexpr int kValues = 64;

// A program that applies CALL (with `v` as the value) to x[i].
std::optional<Program> compile(const std::string& call, Diag& diag) {
  CslOptions options;
  options.layout = "layout.csl";
  options.files["layout.csl"] =
      "const memcpy = @import_module(\"<memcpy/get_params>\", .{ .width = 1, .height = 1 });\n"
      "layout {\n  @set_rectangle(1, 1);\n"
      "  @set_tile_code(0, 0, \"pe.csl\", .{ .memcpy_params = memcpy.get_params(0) });\n"
      "  @export_name(\"x\", [*]f32, true);\n  @export_name(\"y\", [*]f32, true);\n  @export_name(\"run\", "
      "fn () void);\n}\n";
  options.files["pe.csl"] = fmt::format(
      "param memcpy_params: comptime_struct;\n"
      "const sys_mod = @import_module(\"<memcpy/memcpy>\", memcpy_params);\n"
      "const math = @import_module(\"<math>\");\n"
      "var x = @zeros([{0}]f32);\nvar y = @zeros([{0}]f32);\n"
      "var x_ptr: [*]f32 = &x;\nvar y_ptr: [*]f32 = &y;\n"
      "fn run() void {{\n"
      "  for (@range(i16, {0})) |i| {{\n    const v = x[i];\n    y[i] = {1};\n  }}\n"
      "  sys_mod.unblock_cmd_stream();\n}}\n"
      "comptime {{ @export_symbol(x_ptr, \"x\"); @export_symbol(y_ptr, \"y\"); @export_symbol(run); }}\n",
      kValues, call);
  return compile_csl(options, machine(), diag);
}

struct Case {
  const char* call;
  double low, high;
  double (*exact)(double);
  double ulps;
};

// Distance in units in the last place of the exact value (those of the smallest normal number below it).
double ulp_error(float value, double exact) {
  double ulp = std::ldexp(1.0, std::max(std::ilogb(exact == 0 ? 1e-300 : exact), -126) - 23);
  return std::fabs(double(value) - exact) / ulp;
}

class Library : public testing::TestWithParam<Case> {};

TEST_P(Library, AgreesWithDoublePrecision) {
  const Case& c = GetParam();
  Diag diag;
  std::optional<Program> program = compile(c.call, diag);
  ASSERT_TRUE(program) << diag.to_string();
  ASSERT_EQ(program->tiles.size(), 1u);
  Runner run(program->tiles[0]);
  uint32_t x = run.symbol("x"), y = run.symbol("y");
  std::vector<float> inputs;
  for (int i = 0; i < kValues; ++i) {
    inputs.push_back(float(c.low + (c.high - c.low) * (i + 0.37) / kValues));
    run.set(x + 4 * uint32_t(i), std::bit_cast<uint32_t>(inputs.back()), 4);
  }
  run.run(program->tiles[0].function("run")->entry);
  double worst = 0;
  for (int i = 0; i < kValues; ++i) {
    float got = std::bit_cast<float>(run.word(y + 4 * uint32_t(i)));
    double exact = c.exact(double(inputs[size_t(i)]));
    double error = ulp_error(got, exact);
    EXPECT_LE(error, c.ulps) << c.call << " at " << inputs[size_t(i)] << ": " << got << ", exact " << exact;
    worst = std::max(worst, error);
  }
  RecordProperty("ulps", std::to_string(worst));
}

double sigmoid(double v) { return 1 / (1 + std::exp(-v)); }
double power(double v) { return std::pow(v, 1.5); }
double cube(double v) { return std::pow(v, -3); }
double reciprocal(double v) { return 1 / v; }
double inverse_root(double v) { return 1 / std::sqrt(v); }
double twice_at_least_one(double v) { return std::max(2 * v, 1.0); }
double signum(double v) { return v > 0 ? 1 : v < 0 ? -1 : 0; }

INSTANTIATE_TEST_SUITE_P(
    Math, Library,
    testing::Values(
        Case{"math.sqrt(v)", 0, 1e6, std::sqrt, 1}, Case{"math.sqrt_f32(v)", 0, 1e-39, std::sqrt, 1},
        Case{"math.invsqrt(v)", 1e-3, 1e3, inverse_root, 2}, Case{"math.inv(v)", -7, 9, reciprocal, 0.5},
        Case{"math.exp(v)", -20, 20, std::exp, 2}, Case{"math.exp(v)", -87, 88, std::exp, 2},
        Case{"math.log(v)", 1e-3, 3, std::log, 2}, Case{"math.log(v)", 1, 1e30, std::log, 2},
        Case{"math.sin(v)", -3, 3, std::sin, 2}, Case{"math.cos(v)", -1.5, 1.5, std::cos, 2},
        Case{"math.sin(v)", 10, 40, std::sin, 4}, Case{"math.tanh(v)", -10, 10, std::tanh, 4},
        Case{"math.tanh(v)", -0.7, 0.7, std::tanh, 4}, Case{"math.sig(v)", -20, 20, sigmoid, 4},
        Case{"math.pow(v, -3.0)", 0.5, 9, cube, 4}, Case{"math.pow(v, 1.5)", 0.1, 10, power, 4},
        Case{"math.erf_f32(v)", -5, 5, std::erf, 6}, Case{"math.erf_f32(v)", -1, 1, std::erf, 6},
        Case{"math.floor(v)", -20, 20, std::floor, 0}, Case{"math.ceil(v)", -20, 20, std::ceil, 0},
        Case{"math.abs(v)", -5, 5, std::fabs, 0}, Case{"math.sign(v)", -5, 5, signum, 0},
        Case{"math.max(v + v, 1.0)", -5, 5, twice_at_least_one, 0}));

// Values at the edges, from IEEE 754 and the definition of the functions.
TEST(LibraryEdges, SpecialValues) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  struct Edge {
    const char* call;
    float in, out;
  };
  for (const Edge& e :
       {Edge{"math.sqrt(v)", 0, 0}, Edge{"math.sqrt(v)", kInf, kInf},
        Edge{"math.sqrt(v)", 1e-45f, std::sqrt(1e-45f)}, Edge{"math.exp(v)", 0, 1},
        Edge{"math.exp(v)", 200, kInf}, Edge{"math.exp(v)", -200, 0}, Edge{"math.log(v)", 1, 0},
        Edge{"math.log(v)", 0, -kInf}, Edge{"math.tanh(v)", kInf, 1}, Edge{"math.pow(v, 0.0)", 5, 1},
        Edge{"math.sig(v)", 0, 0.5f}}) {
    Diag diag;
    std::optional<Program> program = compile(e.call, diag);
    ASSERT_TRUE(program) << diag.to_string();
    Runner run(program->tiles[0]);
    run.set(run.symbol("x"), std::bit_cast<uint32_t>(e.in), 4);
    run.run(program->tiles[0].function("run")->entry);
    EXPECT_EQ(std::bit_cast<float>(run.word(run.symbol("y"))), e.out) << e.call << " at " << e.in;
  }
}

TEST(LibraryEdges, UnknownLibraryAndFile) {
  CslOptions options;
  options.layout = "layout.csl";
  options.files["layout.csl"] = "const a = @import_module(\"<maths>\");\nlayout { @set_rectangle(1, 1); }\n";
  Diag diag;
  EXPECT_FALSE(compile_csl(options, machine(), diag));
  EXPECT_NE(diag.to_string().find("layout.csl:1:26: error: there is no library <maths>"), std::string::npos)
      << diag.to_string();
  EXPECT_NE(diag.to_string().find("<math>"), std::string::npos);
  Diag missing;
  options.layout = "nowhere.csl";
  EXPECT_FALSE(compile_csl(options, machine(), missing));
  EXPECT_NE(missing.to_string().find("cannot read 'nowhere.csl'"), std::string::npos) << missing.to_string();
}

}  // namespace
}  // namespace cs::csl::test
