// Every kind of bad input has its named diagnostic and its exit code, and crashes nothing (the sanitizer
// builds run these tests too). Exit codes: 1 input error, 2 usage, 3 the simulated program failed, 4 results
// differ.
#include <gmock/gmock.h>

#include <cstring>

#include "runtime/host/npz.h"
#include "tests/e2e/run_tool.h"

namespace cs::e2e {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class Errors : public Scratch {
 protected:
  // A one-PE program around `body`, the code of function `run`.
  std::string one_pe(const std::string& globals, const std::string& body, const std::string& comptime = "") {
    write("pe.csl",
          "param memcpy_params: comptime_struct;\n"
          "const sys = @import_module(\"<memcpy/memcpy>\", memcpy_params);\n" +
              globals + "\nfn run() void {\n" + body + "\n}\ncomptime {\n" + comptime +
              "\n  @export_symbol(run);\n}\n");
    return write("layout.csl",
                 "const memcpy = @import_module(\"<memcpy/get_params>\", .{ .width = 1, .height = 1 });\n"
                 "layout {\n  @set_rectangle(1, 1);\n"
                 "  @set_tile_code(0, 0, \"pe.csl\", .{ .memcpy_params = memcpy.get_params(0) });\n"
                 "  @export_name(\"run\", fn()void);\n}\n");
  }
};

TEST_F(Errors, ADeadlockEndsByItselfAndNamesWhoWaits) {
  const std::string layout = one_pe(
      "var x = @zeros([4]f32);\n"
      "const q = @get_input_queue(2);\n"
      "const c = @get_color(5);\n"
      "const mem = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{4} -> x[i] });\n"
      "const in = @get_dsd(fabin_dsd, .{ .extent = 4, .fabric_color = c, .input_queue = q });\n",
      "  @fmovs(mem, in);\n  sys.unblock_cmd_stream();", "  @initialize_queue(q, .{ .color = c });");
  ASSERT_EQ(run("cs-compile", {layout, "-m", "wse2", "-o", path("p.csp")}).exit_code, 0);
  const ChildResult r = run("cs-sim", {path("p.csp"), "--launch", "run"});
  EXPECT_EQ(r.exit_code, 3) << r.err;
  EXPECT_THAT(r.err, AllOf(HasSubstr("deadlock"), HasSubstr("pe.csl:")));
}

// The layout announces `later`, which the PE's program does not have; `run` has two arguments and leaves their sum.
TEST_F(Errors, LaunchesWithArgumentsAndOfWhatIsMissing) {
  write("pe.csl",
        "param memcpy_params: comptime_struct;\n"
        "const sys = @import_module(\"<memcpy/memcpy>\", memcpy_params);\n"
        "var sum = @zeros([1]f32);\nvar p: [*]f32 = &sum;\n"
        "fn run(a: i16, b: f32) void { sum[0] = @as(f32, a) + b; sys.unblock_cmd_stream(); }\n"
        "comptime { @export_symbol(run); @export_symbol(p, \"sum\"); }\n");
  write("layout.csl",
        "const memcpy = @import_module(\"<memcpy/get_params>\", .{ .width = 1, .height = 1 });\n"
        "layout {\n  @set_rectangle(1, 1);\n"
        "  @set_tile_code(0, 0, \"pe.csl\", .{ .memcpy_params = memcpy.get_params(0) });\n"
        "  @export_name(\"run\", fn (i16, f32) void);\n  @export_name(\"later\", fn () void);\n"
        "  @export_name(\"sum\", [*]f32, true);\n}\n");
  const ChildResult c = run("cs-compile", {path("layout.csl"), "-m", "wse2", "-o", path("p.csp")});
  ASSERT_EQ(c.exit_code, 0) << c.err;
  EXPECT_THAT(c.err, HasSubstr("warning: the layout exports function 'later', which no PE program has"));
  ChildResult r = run("cs-sim", {path("p.csp"), "--launch", "run(-3, 0.5)", "--outputs", path("o.npz")});
  ASSERT_EQ(r.exit_code, 0) << r.err;
  Diag diag;
  const auto outputs = read_npz(path("o.npz"), diag);
  ASSERT_TRUE(outputs && outputs->size() == 1) << diag.to_string();
  float sum = 0;
  std::memcpy(&sum, outputs->at(0).tensor.bytes.data(), 4);
  EXPECT_EQ(sum, -2.5f);

  r = run("cs-sim", {path("p.csp"), "--launch", "later"});
  EXPECT_EQ(r.exit_code, 1);
  EXPECT_THAT(r.err, AllOf(HasSubstr("no function of this name"), HasSubstr("it exports run")));
  for (const char* bad : {"run(1", "run(one,2)", "(1,2)", "run(1,2)x", "run(99999999999,0.0)"}) {
    r = run("cs-sim", {path("p.csp"), "--launch", bad});
    EXPECT_EQ(r.exit_code, 1) << bad;
    EXPECT_THAT(r.err, HasSubstr("is no function with numbers as arguments")) << bad;
  }
}

TEST_F(Errors, AWrongKeyIsNamedWithItsPositionAndTheNearestOne) {
  std::string machine = slurp(kSource + "/configs/machines/wse2.yaml");
  const size_t at = machine.find("hop_cycles:");
  ASSERT_NE(at, std::string::npos);
  machine.replace(at, 11, "hop_cycle: ");
  const std::string file = write("typo.yaml", machine);
  const ChildResult r =
      run("cs-compile", {kSource + "/models/mnist_mlp/model.onnx", "-m", file, "-o", path("p.csp")});
  EXPECT_EQ(r.exit_code, 1);
  EXPECT_THAT(r.err, AllOf(HasSubstr("typo.yaml:"), HasSubstr("hop_cycle"), HasSubstr("did you mean"),
                           HasSubstr("hop_cycles")));
}

TEST_F(Errors, AnUnknownOperatorIsListed) {
  const std::string model = write("g.yaml",
                                  "inputs:\n  - {name: x, type: \"f32[4]\"}\noutputs: [y]\nnodes:\n"
                                  "  - {name: y, op: leeky_relu, inputs: [x]}\n");
  const ChildResult r = run("cs-compile", {model, "-m", "wse2", "-o", path("p.csp")});
  EXPECT_EQ(r.exit_code, 1);
  EXPECT_THAT(r.err, AllOf(HasSubstr("g.yaml:5"), HasSubstr("leeky_relu"), HasSubstr("leaky_relu")));
}

TEST_F(Errors, AShapeMismatchGivesBothShapes) {
  const std::string model =
      write("g.yaml",
            "inputs:\n  - {name: a, type: \"f32[4]\"}\n  - {name: b, type: \"f32[5]\"}\n"
            "outputs: [y]\nnodes:\n  - {name: y, op: add, inputs: [a, b]}\n");
  const ChildResult r = run("cs-compile", {model, "-m", "wse2", "-o", path("p.csp")});
  EXPECT_EQ(r.exit_code, 1);
  EXPECT_THAT(r.err, AllOf(HasSubstr("g.yaml:6"), HasSubstr("[4]"), HasSubstr("[5]")));
}

TEST_F(Errors, AKernelThatDoesNotFitSaysNeedHaveAndWho) {
  const std::string layout =
      one_pe("var big = @zeros([20000]f32);\nvar big_ptr: [*]f32 = &big;\n",
             "  big[0] = 1.0;\n  sys.unblock_cmd_stream();", "  @export_symbol(big_ptr, \"big\");");
  const ChildResult r = run("cs-compile", {layout, "-m", "wse2", "-o", path("p.csp")});
  EXPECT_EQ(r.exit_code, 1);
  EXPECT_THAT(r.err, AllOf(HasSubstr("49152"), HasSubstr("80000"), HasSubstr("big")));
  EXPECT_FALSE(std::filesystem::exists(path("p.csp")));
}

TEST_F(Errors, ACorruptArtefactIsRefusedWhereverItIsDamaged) {
  const std::string layout = one_pe("", "  sys.unblock_cmd_stream();");
  ASSERT_EQ(run("cs-compile", {layout, "-m", "wse2", "-o", path("p.csp")}).exit_code, 0);
  const std::string good = slurp(path("p.csp/program.fb"));
  ASSERT_GT(good.size(), 100u);
  for (const size_t keep : {size_t(0), size_t(3), good.size() / 2, good.size() - 1}) {
    std::ofstream(path("p.csp/program.fb"), std::ios::binary) << good.substr(0, keep);
    const ChildResult r = run("cs-sim", {path("p.csp"), "--launch", "run"});
    EXPECT_EQ(r.exit_code, 1) << "kept " << keep << " bytes: " << r.err;
    EXPECT_THAT(r.err, HasSubstr("program.fb"));
  }
  std::string flipped = good;
  for (size_t i = 0; i < flipped.size(); i += 7) flipped[i] = char(flipped[i] ^ 0x5a);
  std::ofstream(path("p.csp/program.fb"), std::ios::binary) << flipped;
  EXPECT_EQ(run("cs-sim", {path("p.csp"), "--launch", "run"}).exit_code, 1);
}

TEST_F(Errors, ATruncatedOnnxFileIsRefused) {
  const std::string good = slurp(kSource + "/models/mnist_mlp/model.onnx");
  ASSERT_GT(good.size(), 1000u);
  const std::string model = write("cut.onnx", good.substr(0, good.size() / 2));
  const ChildResult r = run("cs-compile", {model, "-m", "wse2", "-o", path("p.csp")});
  EXPECT_EQ(r.exit_code, 1);
  EXPECT_THAT(r.err, HasSubstr("cut.onnx"));
}

TEST_F(Errors, WrongResultsExitWithFour) {
  ASSERT_EQ(run("cs-compile", {kSource + "/models/mnist_mlp/model.onnx", "-m", "wse2", "-o", path("p.csp"),
                               "--no-baselines"})
                .exit_code,
            0);
  const std::string dir = kSource + "/models/mnist_mlp/";
  const ChildResult r =
      run("cs-sim", {path("p.csp"), "--inputs", dir + "inputs_0.npz", "--expect", dir + "expected_1.npz"});
  EXPECT_EQ(r.exit_code, 4) << r.err;
  EXPECT_THAT(r.err, HasSubstr("output"));
}

TEST_F(Errors, UsageErrorsExitWithTwo) {
  for (const char* tool : {"cs-compile", "cs-sim", "cs-objdump", "cs-regress"}) {
    EXPECT_EQ(run(tool, {"--no-such-option"}).exit_code, 2) << tool;
    EXPECT_EQ(run(tool, {"--help"}).exit_code, 0) << tool;
    EXPECT_EQ(run(tool, {"--version"}).exit_code, 0) << tool;
  }
}

TEST_F(Errors, AMissingFileIsAnInputError) {
  EXPECT_EQ(run("cs-compile", {path("none.onnx"), "-m", "wse2", "-o", path("p.csp")}).exit_code, 1);
  EXPECT_EQ(run("cs-sim", {path("none.csp")}).exit_code, 1);
  EXPECT_EQ(run("cs-objdump", {path("none.csp")}).exit_code, 1);
  EXPECT_EQ(run("cs-regress", {path("none.yaml")}).exit_code, 1);
}

}  // namespace
}  // namespace cs::e2e
