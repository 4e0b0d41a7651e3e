// Products on operands that lie on the PEs, as a user compiles and runs them: of matrices, by shifts, and of
// a matrix and a vector.
#include <gmock/gmock.h>

#include <fmt/format.h>

#include <filesystem>

#include "tests/e2e/resident_program.h"
#include "tests/e2e/some_are_enough.h"

namespace cs::e2e {
namespace {

using ::testing::HasSubstr;

class ResidentProduct : public ResidentProgram {};

// Neither extents nor tiles divide; on one PE, where the tiles of W have an odd number of columns, and with
// an activation. The second operand is constant, or comes from the host as well.
TEST_F(ResidentProduct, ProductsOnSquares) {
  const std::string matrices = "{shape: [10, 17]}, {shape: [17, 9], constant: true}";
  expect_values(row("gemm", "gemm", "", "[3, 3]", matrices + ", {shape: [9], constant: true}") +
                row("matmul", "matmul", "", "[4, 4]", matrices) +
                row("one", "matmul", "", "[1, 1]", matrices) +
                row("operands", "matmul", "", "[3, 3]", "{shape: [10, 17]}, {shape: [17, 9]}") +
                row("nine", "matmul", "", "[9, 9]", "{shape: [20, 31]}, {shape: [31, 26]}") +
                row("vectors", "gemm", "trans_b: 1", "[2, 2]",
                    "{shape: [1, 12]}, {shape: [7, 12], constant: true}, {shape: [7], constant: true}"));
  write("model.yaml",
        "inputs:\n  - {name: x, type: \"f32[2, 3]\"}\n"
        "constants:\n  - {name: w, type: \"f32[3, 2]\", value: [1, 2, -3, 4, 5, -6]}\n"
        "  - {name: b, type: \"f32[2]\", value: [0.5, -0.5]}\n"
        "nodes:\n  - {name: h, op: gemm, inputs: [x, w, b]}\n  - {name: y, op: relu, inputs: [h]}\n"
        "outputs: [y]\n");
  const ChildResult made = compile("2x2", {"--json"});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  EXPECT_THAT(made.out, HasSubstr("\"shift_gemm+dtg-elementwise\""));
}

// Every side of the rings that fold differently, with tiles of one element, some and many; what lies in the
// last tiles is beyond the matrices.
TEST_F(ResidentProduct, ProductsByShiftsOnEverySide) {
  const int tiles[] = {1, 4, 14};
  std::string rows;
  for (int side : {2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 32, 64}) {
    if (kSomeAreEnough && side > 9) break;
    const int tile = side > 17 ? 1 : side == 5 ? 4 : tiles[side % 3], n = side * tile;
    rows += row(fmt::format("p{}", side), "matmul", "", fmt::format("[{0}, {0}]", side),
                fmt::format("{{shape: [{}, {}]}}, {{shape: [{}, {}]{}}}", n, n + 1 - tile, n + 1 - tile, n,
                            side % 2 == 0 ? ", constant: true" : ""),
                side % 5 == 0, tile < 14);
  }
  expect_values(rows);
}

// Weights lie where they were after every launch, also where an odd number of tiles has passed a PE.
TEST_F(ResidentProduct, ConstantTilesStayFromSampleToSample) {
  for (const std::string side : {"2x2", "3x3"}) {
    write("model.yaml",
          "inputs:\n  - {name: x, type: \"f32[3, 3]\"}\n"
          "constants:\n  - {name: w, type: \"f32[3, 3]\", value: [1, 2, -3, 4, 5, -6, 0.5, 7, -8]}\n"
          "nodes:\n  - {name: y, op: matmul, inputs: [x, w]}\noutputs: [y]\n");
    ASSERT_EQ(compile(side).exit_code, 0);
    expect_streamed_values(3);
  }
}

// On any rectangle: the matrix or the vector or both come from the host, as the graph has them or transposed;
// partial sums go along rows of PEs or along columns.
TEST_F(ResidentProduct, AMatrixTimesAVector) {
  const std::string fixed = ", constant: true}";
  for (const bool half : {false, true})
    expect_values(
        row("row", "matmul", "", "[3, 2]", "{shape: [1, 17]}, {shape: [17, 9]}", half) +
        row("row_weights", "gemm", "alpha: 0.5, beta: 2", "[2, 4]",
            "{shape: [1, 17]}, {shape: [17, 9]" + fixed + ", {shape: [9]" + fixed, half) +
        row("row_turned", "gemm", "trans_b: 1", "[4, 1]", "{shape: [1, 17]}, {shape: [9, 17]}", half) +
        row("constant_row", "matmul", "", "[1, 5]", "{shape: [1, 17]" + fixed + ", {shape: [17, 9]}", half) +
        row("column", "matmul", "", "[2, 3]", "{shape: [9, 17]}, {shape: [17, 1]}", half) +
        row("column_turned", "gemm", "trans_a: 1", "[3, 3]",
            "{shape: [17, 9]}, {shape: [17, 1]}, {shape: [9, 1]" + fixed, half) +
        row("vectors", "matmul", "", "[8, 1]", "{shape: [1, 100]}, {shape: [100, 1]}", half) +
        row("one_pe", "gemm", "", "[1, 1]", "{shape: [1, 8]}, {shape: [8, 5]}, {shape: [1]" + fixed, half));
}

TEST_F(ResidentProduct, SumsOfAMatrixTimesAVectorMeetOnEverySide) {
  const int tiles[] = {1, 4, 14};
  std::string rows;
  for (int side : {2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 32, 64}) {
    if (kSomeAreEnough && side > 9) break;
    const int n = side * tiles[side % 3], m = 3 * tiles[(side + 1) % 3] - 1;
    const bool down = side % 2 == 0;
    rows += row(fmt::format("p{}", side), "matmul", "",
                down ? fmt::format("[2, {}]", side) : fmt::format("[{}, 3]", side),
                down ? fmt::format("{{shape: [1, {0}]}}, {{shape: [{0}, {1}]}}", n, m)
                     : fmt::format("{{shape: [{1}, {0}]}}, {{shape: [{0}, 1]}}", n, m));
  }
  expect_values(rows);
}

// What the host's text says of tiles and windows is what the program has.
TEST_F(ResidentProduct, TheTextKnowsOrdersAndRows) {
  const auto same_program = [&](const std::string& types, const std::string& rect, const std::string& said) {
    write("model.yaml", "inputs:\n" + types +
                            "nodes:\n  - {name: h, op: matmul, inputs: [x, w]}\n"
                            "  - {name: y, op: relu, inputs: [h]}\noutputs: [y]\n");
    EXPECT_THAT(expect_text_gives_the_same(rect), HasSubstr(said));
  };
  const std::string x = "  - {name: x, type: ", w = "  - {name: w, type: ";
  same_program(x + "\"f32[5, 7]\"}\n" + w + "\"f32[7, 3]\"}\n", "3x3", "order: skewed_columns}");
  same_program(x + "\"f32[1, 7]\"}\n" + w + "\"f32[7, 3]\"}\n", "2x3", "row_step: 3, by_rows: true}");
}

}  // namespace
}  // namespace cs::e2e
