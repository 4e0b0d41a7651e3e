// Generated kernels of whole rows through the CSL compiler and the engine, against the definitions of their
// operators in double precision: compounds that were decomposed, and primitives that nobody wrote as one
// operator.
#include <cmath>

#include <gtest/gtest.h>

#include "compiler/passes/passes.h"
#include "tests/unit/mapping/harness.h"

namespace cs {
namespace {

using graph::ValueId;

constexpr int kSamples = 3, kRows = 5;

class RowGroups : public testing::TestWithParam<std::tuple<const char*, int, int, const char*>> {
 protected:
  std::string op() const { return std::get<0>(GetParam()); }
  int n() const { return std::get<1>(GetParam()); }
  ops::Shape shape() const { return {1, kRows, n()}; }
  ops::Shape per_row() const { return {1, kRows, 1}; }

  ValueId add(graph::Graph& g, const std::string& op, const std::vector<ValueId>& in, ops::Shape result) {
    const ValueId v = test::add_op(g, g.fresh_name(op), op, in, std::move(result), Origin::autogen);
    g.node(g.value(v).producer).assignment = {};
    return v;
  }

  graph::Graph make() {
    graph::Graph g;
    g.name = "rows";
    const ValueId x = g.add_input("x", {DataType::f32, shape()}, 0);
    if (op() == "min_max") {  // (x - min x) / (max x - min x)
      std::vector<ValueId> ends;
      for (const char* reduction : {"reduce_min", "reduce_max"}) {
        ends.push_back(add(g, reduction, {x}, per_row()));
        ops::set_attr(g.node(g.value(ends.back()).producer).attrs, "axes", std::vector<int64_t>{2});
      }
      const ValueId width = add(g, "sub", {ends[1], ends[0]}, per_row());
      g.set_output(add(g, "div", {add(g, "sub", {x, ends[0]}, shape()), width}, shape()));
      return g;
    }
    std::vector<ValueId> operands = {x};
    const bool norm = op() == "layer_norm" || op() == "rms_norm";
    if (norm) operands.push_back(g.add_constant("scale", ops::Tensor::from_floats({n()}, scale_)));
    if (op() == "layer_norm")
      operands.push_back(g.add_constant("bias", ops::Tensor::from_floats({n()}, bias_)));
    const ValueId y = add(g, op(), operands, shape());
    Attrs& attrs = g.node(g.value(y).producer).attrs;
    if (norm) ops::set_attr(attrs, "epsilon", 1e-3);
    if (op() == "mean_variance_norm") ops::set_attr(attrs, "axes", std::vector<int64_t>{2});
    g.set_output(y);
    return g;
  }

  // One row by the operator's definition.
  std::vector<double> expected(const float* x) const {
    const int count = n();
    double most = x[0], least = x[0], sum = 0, mean = 0, squares = 0, variance = 0;
    for (int i = 0; i < count; ++i) {
      most = std::max(most, double(x[i]));
      least = std::min(least, double(x[i]));
      mean += x[i] / double(count);
      squares += double(x[i]) * x[i];
    }
    for (int i = 0; i < count; ++i) {
      sum += std::exp(x[i] - most);
      variance += (x[i] - mean) * (x[i] - mean) / count;
    }
    std::vector<double> y;
    for (int i = 0; i < count; ++i) {
      const double scale = scale_[size_t(i)], bias = bias_[size_t(i)];
      y.push_back(op() == "softmax"              ? std::exp(x[i] - most) / sum
                  : op() == "log_softmax"        ? x[i] - most - std::log(sum)
                  : op() == "layer_norm"         ? (x[i] - mean) / std::sqrt(variance + 1e-3) * scale + bias
                  : op() == "rms_norm"           ? x[i] / std::sqrt(squares / count + 1e-3) * scale
                  : op() == "mean_variance_norm" ? (x[i] - mean) / (std::sqrt(variance) + 1e-9)
                  : op() == "lp_norm"            ? x[i] / std::sqrt(squares)
                                                 : (x[i] - least) / (most - least));
    }
    return y;
  }

  std::vector<float> scale_ = test::numbers(size_t(n()), 3), bias_ = test::numbers(size_t(n()), 4);
};

TEST_P(RowGroups, AreOneKernelAndWhatTheirDefinitionSays) {
  Diag diag;
  const Machine machine = test::machine(std::get<3>(GetParam()));
  graph::Graph g = make();
  passes::PassContext context{machine, passes::Policy::aggressive, {}, diag, {}};
  ASSERT_TRUE(passes::decompose_compounds(g, context) && passes::choose_origins(g, context) &&
              passes::fuse_rows(g, context))
      << diag.to_string();
  mapping::MapOptions options;
  options.force_width = std::get<2>(GetParam());
  options.force_height = 1;
  const std::optional<mapping::Mapped> mapped = mapping::map_graph(g, machine, options, diag);
  ASSERT_TRUE(mapped) << diag.to_string();
  for (const KernelRow& row : mapped->host.kernels) {
    EXPECT_TRUE(row.nodes.empty() || row.kernel == "dtg-rows") << row.name << " is " << row.kernel;
  }
  std::vector<float> x = test::numbers(size_t(kSamples * kRows * n()), 2);
  for (size_t i = 0; i < x.size(); ++i) x[i] *= float(1 + i % 40);  // differences up to about 80
  const test::RunResult r = test::run(*mapped, machine, {{"x", x}}, kSamples);
  ASSERT_TRUE(r.ok) << r.message;
  const std::vector<float>& y = r.outputs.begin()->second;
  ASSERT_EQ(y.size(), x.size());
  for (size_t row = 0; row < x.size(); row += size_t(n())) {
    const std::vector<double> want = expected(&x[row]);
    for (int i = 0; i < n(); ++i)
      EXPECT_NEAR(y[row + size_t(i)], want[size_t(i)], 3e-6 + 3e-7 * std::fabs(want[size_t(i)]))
          << row << " + " << i;
  }
}

// Lengths that four, three and neither divide: the accumulators of a row's sum differ.
INSTANTIATE_TEST_SUITE_P(Operators, RowGroups,
                         testing::Combine(testing::Values("softmax", "log_softmax", "layer_norm", "rms_norm",
                                                          "mean_variance_norm", "lp_norm", "min_max"),
                                          testing::Values(7, 9, 32), testing::Values(1, 3, 5),
                                          testing::Values("wse2", "wse3")),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param)) + "_" +
                                  std::to_string(std::get<1>(info.param)) + "_on_" +
                                  std::to_string(std::get<2>(info.param)) + "_" + std::get<3>(info.param);
                         });

}  // namespace
}  // namespace cs
