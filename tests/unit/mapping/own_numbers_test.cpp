// PEs whose programs differ by numbers alone run one program where there would be many
// (autogen/region_own.h): where the elements are that a dropout mask is made for, and from where a result is
// sent that every PE has whole.
#include <cmath>

#include <gtest/gtest.h>

#include "tests/unit/mapping/harness.h"

namespace cs::test {
namespace {

using graph::Graph;
using graph::ValueId;

constexpr int kElements = 90, kSamples = 3;

struct Network {
  Graph g;
  std::vector<float> matrix = numbers(size_t(kElements * kElements), 5);
};

// s = x + x, and (s M) masked. Every PE needs all of s and sends its own part.
Network network() {
  Network n;
  Graph& g = n.g;
  g.name = "own";
  const ValueId x = g.add_input("x", {DataType::f32, {1, kElements}}),
                step = g.add_input("step", {DataType::f32, {1}});
  const ValueId m = g.add_constant("m", ops::Tensor::from_floats({kElements, kElements}, n.matrix));
  const auto op = [&](const char* name, const char* row, std::vector<ValueId> inputs) {
    return add_op(g, name, row, inputs, {1, kElements}, Origin::autogen, "g");
  };
  const ValueId s = op("s", "add", {x, x}), y = op("y", "matmul", {s, m}),
                mask = op("mask", "dropout_mask", {step});
  g.node(*g.find_node("mask")).attrs = {
      {"shape", std::vector<int64_t>{1, kElements}}, {"ratio", 0.5}, {"seed", int64_t(3)}};
  const ValueId z = op("z", "mul", {y, mask});
  for (const graph::NodeId id : g.nodes()) g.node(id).assignment.kernel = graph::KernelId("dtg-region");
  g.set_output(s);
  g.set_output(z);
  return n;
}

mapping::MapOptions on(int w, int h) {
  mapping::MapOptions options;
  options.force_width = w;
  options.force_height = h;
  return options;
}

int programs(const mapping::Mapped& mapped) {
  int n = 0;
  for (const auto& [file, text] : mapped.files) n += file.ends_with("_kernel.csl");
  return n;
}

class OwnNumbers : public testing::TestWithParam<std::tuple<std::pair<int, int>, const char*>> {};

TEST_P(OwnNumbers, ComputeWhatTheHostDoes) {
  const auto& [size, machine_name] = GetParam();
  const Network n = network();
  Diag diag;
  ASSERT_TRUE(graph::verify(n.g, diag)) << diag.to_string();
  const Machine m = machine(machine_name);
  const auto mapped = mapping::map_graph(n.g, m, on(size.first, size.second), diag);
  ASSERT_TRUE(mapped) << diag.to_string();
  const int pes = size.first * size.second;
  if (pes > 64)
    EXPECT_LT(programs(*mapped), 24);  // the first and the last of rows and columns pass over other words
  else
    EXPECT_EQ(programs(*mapped), pes);

  std::map<std::string, std::vector<float>> inputs{{"x", numbers(size_t(kElements * kSamples), 7)}};
  for (int k = 0; k < kSamples; ++k) inputs["step"].push_back(float(40 * k + 1));
  const RunResult got = run(*mapped, m, inputs, kSamples);
  ASSERT_TRUE(got.ok) << got.message;
  const graph::NodeId mask = *n.g.find_node("mask");
  for (size_t sample = 0; sample < size_t(kSamples); ++sample) {
    std::vector<ops::Tensor> masks;
    ASSERT_TRUE(ops::evaluate(n.g.op(mask), n.g.node(mask).attrs,
                              {ops::Tensor::from_floats({1}, {inputs.at("step")[sample]})}, masks, diag));
    for (size_t i = 0; i < size_t(kElements); ++i) {
      double sum = 0;
      for (size_t j = 0; j < size_t(kElements); ++j)
        sum += 2.0 * inputs.at("x")[sample * kElements + j] * n.matrix[j * kElements + i];
      EXPECT_EQ(got.outputs.at("s_out")[sample * kElements + i], 2 * inputs.at("x")[sample * kElements + i])
          << i;
      EXPECT_NEAR(got.outputs.at("z_out")[sample * kElements + i], sum * masks[0].get(int64_t(i)), 2e-5) << i;
    }
  }
}

// 64 programs are compiled one by one; of 90 PEs there are not so many.
INSTANTIATE_TEST_SUITE_P(Rectangles, OwnNumbers,
                         testing::Combine(testing::Values(std::pair(9, 5), std::pair(10, 9),
                                                          std::pair(90, 1)),
                                          testing::Values("wse2", "wse3")),
                         [](const auto& info) {
                           const auto& size = std::get<0>(info.param);
                           return std::to_string(size.first) + "x" + std::to_string(size.second) + "_" +
                                  std::get<1>(info.param);
                         });

}  // namespace
}  // namespace cs::test
