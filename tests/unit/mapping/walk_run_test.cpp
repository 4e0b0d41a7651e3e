// Walks of the library (walk.csl) through the CSL compiler and the engine: transposes, slices, concats and
// max poolings on one PE, against what they mean, written out as loops here.
#include <algorithm>
#include <functional>
#include <map>

#include <gtest/gtest.h>

#include "compiler/kernels/kind.h"
#include "tests/unit/mapping/harness.h"

namespace cs {
namespace {

using graph::ValueId;
using Shape = std::vector<int64_t>;
constexpr int kSamples = 3;

int64_t elements_of(const Shape& shape) {
  int64_t product = 1;
  for (int64_t extent : shape) product *= extent;
  return product;
}

struct Case {
  const char* name;
  const char* op;
  std::vector<Shape> inputs;
  Shape result;
  std::map<std::string, std::vector<int64_t>> attrs;
  // Element of the result: operand and element, or several of operand 0 of which the largest counts.
  std::function<std::vector<std::pair<int, int64_t>>(int64_t)> from;
};

std::ostream& operator<<(std::ostream& out, const Case& c) { return out << c.name; }

std::vector<Case> cases() {
  using At = std::vector<std::pair<int, int64_t>>;
  std::vector<Case> list;
  // y[h, t, d] = x[t, h, d]: heads of an attention.
  list.push_back(
      {"heads", "transpose", {{1, 5, 3, 4}}, {1, 3, 5, 4}, {{"perm", {0, 2, 1, 3}}}, [](int64_t e) {
         const int64_t d = e % 4, t = e / 4 % 5, h = e / 20;
         return At{{0, t * 12 + h * 4 + d}};
       }});
  // Five dimensions of which two stay together: four loops.
  list.push_back(
      {"four_loops", "transpose", {{2, 3, 4, 5}}, {5, 4, 3, 2}, {{"perm", {3, 2, 1, 0}}}, [](int64_t e) {
         const int64_t a = e % 2, b = e / 2 % 3, c = e / 6 % 4, d = e / 24;
         return At{{0, a * 60 + b * 20 + c * 5 + d}};
       }});
  // Every other row, columns backwards from the sixth.
  list.push_back({"part",
                  "slice",
                  {{1, 6, 7}},
                  {1, 3, 5},
                  {{"starts", {1, 5}}, {"ends", {6, 0}}, {"axes", {1, 2}}, {"steps", {2, -1}}},
                  [](int64_t e) {
                    const int64_t j = e % 5, i = e / 5;
                    return At{{0, (1 + 2 * i) * 7 + 5 - j}};
                  }});
  list.push_back({"side_by_side",
                  "concat",
                  {{1, 3, 4}, {1, 3, 4}, {1, 3, 4}},
                  {1, 3, 12},
                  {{"axis", {2}}},
                  [](int64_t e) {
                    const int64_t j = e % 4, k = e / 4 % 3, i = e / 12;
                    return At{{int(k), i * 4 + j}};
                  }});
  list.push_back(
      {"one_behind_the_other", "concat", {{1, 2, 3}, {1, 2, 3}}, {1, 4, 3}, {{"axis", {1}}}, [](int64_t e) {
         return At{{int(e / 6), e % 6}};
       }});
  // Windows of 3 x 2 that overlap in the rows: strides 2 and 2.
  list.push_back({"windows",
                  "max_pool",
                  {{1, 2, 7, 6}},
                  {1, 2, 3, 3},
                  {{"kernel_shape", {3, 2}}, {"strides", {2, 2}}},
                  [](int64_t e) {
                    const int64_t j = e % 3, i = e / 3 % 3, c = e / 9;
                    At at;
                    for (int64_t k = 0; k < 3; ++k)
                      for (int64_t l = 0; l < 2; ++l) at.push_back({0, c * 42 + (2 * i + k) * 6 + 2 * j + l});
                    return at;
                  }});
  // The first three of ten rows: the others come and go.
  list.push_back({"beginning",
                  "slice",
                  {{1, 10, 4}},
                  {1, 3, 4},
                  {{"starts", {0}}, {"ends", {3}}, {"axes", {1}}},
                  [](int64_t e) {
                    return At{{0, e}};
                  }});
  // 25 KB: one array.
  list.push_back({"large", "transpose", {{1, 80, 80}}, {1, 80, 80}, {{"perm", {0, 2, 1}}}, [](int64_t e) {
                    return At{{0, e % 80 * 80 + e / 80}};
                  }});
  return list;
}

// What does not come in C order, or has a border, is not the library's.
TEST(WalksOfTheLibrary, LeaveWhatTheyCannotDo) {
  const auto why_not = [](const char* op, const Shape& x, const Shape& y, const char* attr,
                          std::vector<int64_t> value) {
    graph::Graph g;
    const ValueId in = g.add_input("x", {DataType::f32, x}, 0);
    test::add_op(g, "op", op, {in}, y, Origin::handwritten);
    graph::Node& node = g.node(*g.find_node("op"));
    if (std::string(op) == "max_pool") ops::set_attr(node.attrs, "kernel_shape", std::vector<int64_t>{3, 3});
    ops::set_attr(node.attrs, attr, std::move(value));
    std::string why;
    EXPECT_EQ(kernels::match_handwritten(g, *g.find_node("op"), why), nullptr);
    return why;
  };
  EXPECT_NE(why_not("max_pool", {1, 1, 6, 6}, {1, 1, 6, 6}, "pads", {1, 1, 1, 1}).find("no border"),
            std::string::npos);
  EXPECT_NE(why_not("transpose", {2, 3, 2, 3, 2}, {2, 3, 2, 3, 2}, "perm", {4, 3, 2, 1, 0})
                .find("four nested loops"),
            std::string::npos);
}

class Walks : public testing::TestWithParam<std::tuple<Case, DataType, const char*>> {};

TEST_P(Walks, MoveWhatTheOperatorSays) {
  const auto& [c, type, machine] = GetParam();
  graph::Graph g;
  g.name = "walk";
  std::vector<ValueId> operands;
  std::map<std::string, std::vector<float>> x;
  for (size_t k = 0; k < c.inputs.size(); ++k) {
    const std::string name = "x" + std::to_string(k);
    operands.push_back(g.add_input(name, {type, c.inputs[k]}, 0));
    std::vector<float>& values = x[name];
    // Whole numbers below 2048 are exact in 16 bits; in the first one the order of the largest changes.
    for (int64_t e = 0; e < kSamples * elements_of(c.inputs[k]); ++e)
      values.push_back(float((e * 37 + int64_t(k) * 501) % 1009) - 500);
  }
  const ValueId result = test::add_op(g, "op", c.op, operands, c.result, Origin::handwritten);
  g.value(result).type.dtype = type;
  g.set_output(result);
  for (const auto& [name, value] : c.attrs) {
    if (name == "axis")
      ops::set_attr(g.node(*g.find_node("op")).attrs, name, value[0]);
    else
      ops::set_attr(g.node(*g.find_node("op")).attrs, name, value);
  }
  const test::RunResult r = test::run_graph(g, test::machine(machine), {}, x, kSamples);
  ASSERT_TRUE(r.ok) << r.message;
  const std::vector<float>& y = r.outputs.at("op_out");
  const int64_t m = elements_of(c.result);
  ASSERT_EQ(int64_t(y.size()), m * kSamples);
  for (int64_t s = 0; s < kSamples; ++s) {
    for (int64_t e = 0; e < m; ++e) {
      float want = -1e30F;
      for (const auto& [k, at] : c.from(e))
        want = std::max(want, x["x" + std::to_string(k)][size_t(s * elements_of(c.inputs[size_t(k)]) + at)]);
      ASSERT_EQ(y[size_t(s * m + e)], want) << "sample " << s << ", element " << e;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Library, Walks,
                         testing::Combine(testing::ValuesIn(cases()),
                                          testing::Values(DataType::f32, DataType::f16),
                                          testing::Values("wse2", "wse3")),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param).name) +
                                  (std::get<1>(info.param) == DataType::f16 ? "_f16_" : "_f32_") +
                                  std::get<2>(info.param);
                         });

}  // namespace
}  // namespace cs
