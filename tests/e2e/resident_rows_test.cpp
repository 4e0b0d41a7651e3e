// Rows in pieces on the PEs of a row of the rectangle: softmax and norms whose sums and maxima are
// all-reduced. Values on any number of PEs, rows that no PE holds, policies, the way through CSL text.
#include <gmock/gmock.h>

#include <fmt/format.h>

#include "tests/e2e/resident_program.h"

namespace cs::e2e {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class ResidentRows : public ResidentProgram {
 protected:
  static std::string softmax(int w, int h, int rows, int n, bool half = false) {
    return row(fmt::format("s{}_{}_{}_{}{}", w, h, rows, n, half ? "_half" : ""), "softmax", "axis: -1",
               fmt::format("[{}, {}]", w, h), fmt::format("{{shape: [{}, {}]}}", rows, n), half);
  }
  static std::string norm(const std::string& op, int w, int h, int rows, int n) {
    const std::string constant = fmt::format(", {{shape: [{}], constant: true}}", n);
    return row(fmt::format("{}_{}_{}", op, w, n), op, "axis: -1", fmt::format("[{}, {}]", w, h),
               fmt::format("{{shape: [{}, {}]}}", rows, n) + constant + (op == "layer_norm" ? constant : ""));
  }
  std::string softmax_model(int rows, int n) const {
    return write("model.yaml",
                 fmt::format("inputs:\n  - {{name: x, type: \"f32[{}, {}]\"}}\noutputs: [y]\nnodes:\n"
                             "  - {{name: y, op: softmax, inputs: [x], attrs: {{axis: -1}}}}\n",
                             rows, n));
  }
};

// Trees of 1 to 5 rounds, chains and two phases; 64 PEs and more have no tree, whose sixth round would take
// the queue of the way back.
TEST_F(ResidentRows, AnyNumberOfPes) {
  std::string rows;
  for (int w = 2; w <= 17; ++w) rows += softmax(w, 1, 1, w * (w % 2 == 0 ? 4 : 14), w % 5 == 0);
  expect_values(rows);
  expect_values(softmax(32, 1, 1, 448) + softmax(32, 3, 7, 128) + softmax(64, 1, 1, 896) +
                softmax(128, 1, 1, 512));
}

TEST_F(ResidentRows, NormsHaveAPieceOfTheirConstants) {
  expect_values(norm("layer_norm", 4, 2, 3, 256) + norm("rms_norm", 6, 1, 1, 84) +
                norm("layer_norm", 17, 1, 1, 238));
}

// 65,536 words are 256 KB; a PE has 48.
TEST_F(ResidentRows, ARowMayBeLargerThanAPe) {
  softmax_model(1, 65536);
  const ChildResult made =
      run("cs-compile", {path("model.yaml"), "--operands", "resident", "--json", "-o", path("a.csp")});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  EXPECT_THAT(made.out, HasSubstr("dtg-rows+reduce"));
  expect_streamed_values(2);
}

TEST_F(ResidentRows, NothingIsGeneratedWherePolicySaysSo) {
  softmax_model(2, 512);
  const ChildResult generated = compile("8x2", {"--json"});
  EXPECT_THAT(generated.out, HasSubstr("dtg-rows+reduce")) << generated.err;
  const ChildResult kept = compile("8x2", {"--json", "--autogen-policy", "disabled"});
  EXPECT_EQ(kept.exit_code, 0) << kept.err;
  EXPECT_THAT(kept.out, Not(HasSubstr("dtg-rows")));
}

TEST_F(ResidentRows, TheTextGivesTheSameProgram) {
  softmax_model(3, 96);
  expect_text_gives_the_same("4x3");
}

}  // namespace
}  // namespace cs::e2e
