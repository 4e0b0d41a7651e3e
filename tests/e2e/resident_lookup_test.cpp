// Rows of a table that lies on the PEs of a line, by numbers from the host: values, numbers that count from
// the end or that no row has, refusals.
#include <gmock/gmock.h>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "runtime/host/npz.h"
#include "tests/e2e/resident_program.h"

namespace cs::e2e {
namespace {

using ::testing::HasSubstr;

class ResidentLookup : public ResidentProgram {
 protected:
  static std::string lookup(int pes, const std::string& table, int rows, const std::string& numbers,
                            bool half = false) {
    return row(fmt::format("p{}_{}{}", pes, rows, half ? "_half" : ""), "gather", "axis: 0",
               fmt::format("[{}, 1]", pes),
               fmt::format("{{shape: {}, constant: true}}, {{shape: {}, below: {}}}", table, numbers, rows),
               half);
  }
  void write_numbers(const std::string& name, DataType type, const std::vector<int64_t>& numbers) const {
    ops::Tensor t({type, {int64_t(numbers.size())}});
    for (size_t i = 0; i < numbers.size(); ++i) t.set_int(int64_t(i), numbers[i]);
    Diag diag;
    ASSERT_TRUE(write_npz(path(name), {{"x", t}}, diag)) << diag.to_string();
  }
  // A table of 5 x 2 whose row r is 10 r, 10 r + 1.
  std::string model(const std::string& type) const {
    return write("model.yaml",
                 "inputs:\n  - {name: x, type: \"" + type +
                     "\"}\nconstants:\n  - {name: t, type: \"f32[5, 2]\", value: [0, 1, 10, 11, 20, "
                     "21, 30, 31, 40, 41]}\nnodes:\n  - {name: y, op: gather, inputs: [t, x]}\n"
                     "outputs: [y]\n");
  }
};

// Rows that do not divide, PEs without rows, one row, one PE, numbers of any shape.
TEST_F(ResidentLookup, RowsComeInTheOrderOfTheirNumbers) {
  std::string rows;
  for (int pes = 1; pes <= 17; ++pes)
    rows += lookup(pes, fmt::format("[{}, {}]", 2 * pes + 1, pes % 2 == 0 ? 4 : 14), 2 * pes + 1, "[7]",
                   pes % 3 == 0);
  expect_values(rows);
  expect_values(lookup(1, "[9, 64]", 9, "[100]") + lookup(3, "[1, 5]", 1, "[2, 3]", true) +
                lookup(6, "[4, 1]", 4, "[1]") + lookup(2, "[10, 2, 7]", 10, "[3, 1, 2]") +
                lookup(5, "[23]", 23, "[100]") + lookup(32, "[65, 14]", 65, "[33]", true) +
                lookup(64, "[129, 64]", 129, "[12]"));
}

// 64 rows of 2,048 words are 512 KB: 8 KB on every PE.
TEST_F(ResidentLookup, ATableMayBeLargerThanAPe) { expect_values(lookup(64, "[64, 2048]", 64, "[2]")); }

TEST_F(ResidentLookup, NumbersCountFromTheEndAndNobodyHasOthers) {
  const std::vector<int64_t> numbers{-1, 4, -5, 0, 5, -6, 7, -3, 2147483647};
  const std::vector<float> first{40, 40, 0, 0, 0, 0, 0, 20, 0}, second{41, 41, 1, 1, 0, 0, 0, 21, 0};
  for (const auto& [type, text] : {std::pair{DataType::i64, "i64[9]"}, {DataType::i32, "i32[9]"}}) {
    write_numbers("in.npz", type, numbers);
    for (const std::string rect : {"1x1", "3x1", "4x1", "9x1"}) {
      for (const std::string machine : {"wse2", "wse3"}) {
        model(text);
        const ChildResult made = compile(rect, {"-m", machine, "--json"});
        ASSERT_EQ(made.exit_code, 0) << made.err;
        EXPECT_THAT(made.out, HasSubstr("\"embedding\""));
        const ChildResult done =
            run("cs-sim", {path("a.csp"), "--inputs", path("in.npz"), "--outputs", path("out.npz")});
        ASSERT_EQ(done.exit_code, 0) << done.err;
        Diag diag;
        const auto arrays = read_npz(path("out.npz"), diag);
        ASSERT_TRUE(arrays && arrays->size() == 1) << diag.to_string();
        for (size_t i = 0; i < numbers.size(); ++i) {
          EXPECT_EQ(arrays->front().tensor.get(int64_t(2 * i)), first[i]) << rect << " " << numbers[i];
          EXPECT_EQ(arrays->front().tensor.get(int64_t(2 * i) + 1), second[i]) << rect << " " << numbers[i];
        }
      }
    }
  }
  write_numbers("in.npz", DataType::i64, {0, 0, 0, 0, 0, 0, 0, 0, int64_t(1) << 32});
  model("i64[9]");
  ASSERT_EQ(compile("2x1").exit_code, 0);
  const ChildResult large = run("cs-sim", {path("a.csp"), "--inputs", path("in.npz")});
  EXPECT_NE(large.exit_code, 0);
  EXPECT_THAT(large.err, HasSubstr("element 8 is 4294967296, PEs compute integers in 32 bits"));
}

TEST_F(ResidentLookup, TheTextGivesTheSameProgram) {
  model("i64[9]");
  expect_text_gives_the_same("3x1");
}

TEST_F(ResidentLookup, WhatIsNoLookupAlongALineIsRefused) {
  model("i64[9]");
  EXPECT_THAT(why_not("3x2"), HasSubstr("has no cut for 3 x 2 PEs: its table lies on one row of PEs, W x 1"));
  const std::string constants = "constants:\n  - {name: t, type: \"f32[2, 2]\", value: [1, 2, 3, 4]}\n";
  write("model.yaml",
        "inputs:\n  - {name: x, type: \"i64[3]\"}\n" + constants +
            "nodes:\n  - {name: y, op: gather, inputs: [t, x], attrs: {axis: 1}}\noutputs: [y]\n");
  EXPECT_EQ(run("cs-compile", {path("model.yaml"), "--operands", "resident", "--rect", "2x1", "-o", path("loops.csp")})
                .exit_code,
            0)
      << "no rows of the table: loops do it";
  write("model.yaml",
        "inputs:\n  - {name: x, type: \"i64[3]\"}\n  - {name: t, type: \"f32[2, 2]\"}\n"
        "nodes:\n  - {name: y, op: gather, inputs: [t, x]}\noutputs: [y]\n");
  EXPECT_THAT(why_not("2x1"),
              HasSubstr("it takes no rows of a constant table of floats by numbers that come from the host"));
}

}  // namespace
}  // namespace cs::e2e
