// lookup.csl through the CSL compiler and the engine: rows of a table by their numbers, negative ones from
// the end.
#include <gtest/gtest.h>

#include "tests/unit/mapping/harness.h"

namespace cs {
namespace {

using graph::ValueId;

class Lookup : public testing::TestWithParam<std::tuple<DataType, const char*>> {};

TEST_P(Lookup, GivesTheRowsOfTheNumbers) {
  const auto& [type, machine] = GetParam();
  constexpr int kRows = 12, kColumns = 5, kNumbers = 4, kSamples = 3;
  const std::vector<float> numbers = {0, 11, 3, 3, -1, -12, 7, 0, 5, 6, 2, 9};
  std::vector<float> table;  // row r, column c: 10 r + c
  for (int r = 0; r < kRows; ++r)
    for (int c = 0; c < kColumns; ++c) table.push_back(float(10 * r + c));
  graph::Graph g;
  g.name = "lookup";
  ops::Tensor words(ops::TensorType{type, {kRows, kColumns}});
  for (size_t i = 0; i < table.size(); ++i) words.set(int64_t(i), double(table[i]));
  const ValueId t = g.add_constant("t", words);
  const ValueId x = g.add_input("x", {DataType::i32, {1, kNumbers}}, 0);
  const ValueId y = test::add_op(g, "op", "gather", {t, x}, {1, kNumbers, kColumns}, Origin::handwritten);
  g.value(y).type.dtype = type;
  ops::set_attr(g.node(*g.find_node("op")).attrs, "axis", int64_t(0));
  g.set_output(y);
  const test::RunResult r = test::run_graph(g, test::machine(machine), {}, {{"x", numbers}}, kSamples);
  ASSERT_TRUE(r.ok) << r.message;
  const std::vector<float>& got = r.outputs.at("op_out");
  ASSERT_EQ(got.size(), size_t(kSamples * kNumbers * kColumns));
  for (size_t k = 0; k < numbers.size(); ++k) {
    const int row = int(numbers[k]) + (numbers[k] < 0 ? kRows : 0);
    for (int c = 0; c < kColumns; ++c)
      EXPECT_EQ(got[k * kColumns + size_t(c)], float(10 * row + c)) << k << ", " << c;
  }
}

INSTANTIATE_TEST_SUITE_P(Types, Lookup,
                         testing::Combine(testing::Values(DataType::f32, DataType::f16),
                                          testing::Values("wse2", "wse3")));

}  // namespace
}  // namespace cs
