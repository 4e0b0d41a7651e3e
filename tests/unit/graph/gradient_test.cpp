// Gradients of every row of the operator table against central differences, and what is known by hand.
#include <gmock/gmock.h>

#include <set>

#include "tests/unit/graph/differences.h"

namespace cs::ops {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kOne = 1;

Tensor positive(Shape shape) { return mixed(std::move(shape), 0.3, 1.1); }

std::vector<Sample> samples() {
  const Tensor x = mixed({2, 3, 4}), image = mixed({2, 4, 5, 6}), line = mixed({1, 2, 7});
  const std::string add = "add", none = "none";
  std::vector<Sample> all = {
      {"gemm", {}, {mixed({2, 3}), mixed({3, 4}), mixed({4})}},
      {"gemm", {{"trans_a", kOne}, {"alpha", 0.5}}, {mixed({3, 2}), mixed({3, 4})}},
      {"gemm", {{"beta", 2.0}, {"trans_b", kOne}}, {mixed({2, 3}), mixed({4, 3}), mixed({2, 1})}},
      {"gemm", {{"trans_a", kOne}, {"trans_b", kOne}}, {mixed({3, 2}), mixed({4, 3}), mixed({})}},
      {"matmul", {}, {mixed({2, 3}), mixed({3, 4})}},
      {"matmul", {}, {mixed({3}), mixed({3})}},
      {"matmul", {}, {mixed({3}), mixed({2, 3, 4})}},
      {"matmul", {}, {mixed({2, 2, 3}), mixed({3})}},
      {"matmul", {}, {mixed({2, 2, 3}), mixed({3, 2})}},
      {"matmul", {}, {mixed({2, 1, 2, 3}), mixed({3, 3, 2})}},
      {"einsum", {{"equation", std::string("bij,bjk->bik")}}, {mixed({2, 2, 3}), mixed({2, 3, 2})}},
      {"einsum", {{"equation", std::string("ij,j")}}, {mixed({2, 3}), mixed({3})}},
      {"einsum", {{"equation", std::string("...i,ij->...j")}}, {mixed({2, 2, 3}), mixed({3, 2})}},
      {"einsum", {{"equation", std::string("ij->i")}}, {mixed({2, 3})}},
      {"einsum", {{"equation", std::string("a,b,c->ca")}}, {mixed({2}), mixed({3}), mixed({2})}},
      {"conv", {}, {image, mixed({3, 4, 2, 3}), mixed({3})}},
      {"conv",
       {{"group", int64_t(2)}, {"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 0, 1}}},
       {image, mixed({6, 2, 3, 2}), mixed({6})}},
      {"conv", {{"dilations", Ints{2}}, {"strides", Ints{3}}}, {line, mixed({2, 2, 2})}},
      {"conv",
       {{"group", int64_t(4)}, {"auto_pad", std::string("SAME_UPPER")}},
       {image, mixed({4, 1, 3, 3})}},
      {"conv_transpose", {}, {mixed({2, 2, 3, 2}), mixed({2, 3, 2, 3}), mixed({3})}},
      {"conv_transpose",
       {{"group", int64_t(2)}, {"strides", Ints{2}}, {"pads", Ints{1, 0}}, {"output_padding", Ints{1}}},
       {mixed({1, 4, 3}), mixed({4, 2, 3})}},
      {"reduce_sum", {{"axes", Ints{1}}}, {x}},
      {"reduce_sum", {{"keepdims", int64_t(0)}}, {x}},
      {"reduce_sum", {{"noop_with_empty_axes", kOne}}, {x}},
      {"reduce_mean", {{"axes", Ints{0, -1}}, {"keepdims", int64_t(0)}}, {x}},
      {"reduce_max", {{"axes", Ints{-1}}}, {x}},
      {"reduce_min", {{"axes", Ints{1}}, {"keepdims", int64_t(0)}}, {x}},
      {"reduce_prod", {{"axes", Ints{2}}}, {x}},
      {"reduce_l1", {{"axes", Ints{1}}}, {x}},
      {"reduce_l2", {{"axes", Ints{1}}, {"keepdims", int64_t(0)}}, {x}},
      {"reduce_sum_square", {{"axes", Ints{0}}}, {x}},
      {"reduce_log_sum", {{"axes", Ints{1}}}, {positive({2, 3})}},
      {"reduce_log_sum_exp", {{"axes", Ints{1, 2}}, {"keepdims", int64_t(0)}}, {x}},
      {"softmax", {{"axis", kOne}}, {x}},
      {"log_softmax", {}, {x}},
      {"hardmax", {}, {x}},
      {"attention", {{"scale", 0.5}}, {x, x, x}},
      {"cum_sum", {{"axis", kOne}}, {x}},
      {"cum_sum", {{"axis", int64_t(2)}, {"exclusive", kOne}, {"reverse", kOne}}, {x}},
      {"max_pool",
       {{"kernel_shape", Ints{2, 3}}, {"strides", Ints{1, 2}}, {"pads", Ints{1, 1, 0, 1}}},
       {image}},
      {"max_pool", {{"kernel_shape", Ints{2}}, {"storage_order", kOne}}, {line}},
      {"max_pool", {{"kernel_shape", Ints{5, 5}}, {"pads", Ints{2, 2, 2, 2}}}, {image}},
      {"average_pool", {{"kernel_shape", Ints{2, 3}}, {"strides", Ints{2, 2}}}, {image}},
      {"average_pool", {{"kernel_shape", Ints{3}}, {"pads", Ints{1, 1}}, {"strides", Ints{2}}}, {line}},
      {"average_pool",
       {{"kernel_shape", Ints{3}},
        {"pads", Ints{1, 2}},
        {"strides", Ints{2}},
        {"ceil_mode", kOne},
        {"count_include_pad", kOne}},
       {line}},
      {"lp_pool", {{"kernel_shape", Ints{2}}}, {line}},
      {"lp_pool", {{"kernel_shape", Ints{2}}, {"p", int64_t(3)}, {"strides", Ints{2}}}, {line}},
      {"lp_pool", {{"kernel_shape", Ints{3}}, {"p", kOne}, {"pads", Ints{1, 1}}}, {line}},
      {"global_average_pool", {}, {image}},
      {"global_max_pool", {}, {image}},
      {"global_lp_pool", {}, {positive({1, 2, 3})}},
      {"max_unpool",
       {{"kernel_shape", Ints{2}}, {"strides", Ints{2}}},
       {floats({1, 1, 2}, {7, 8}), ints({1, 1, 2}, {1, 2})}},
      {"batch_norm", {}, {image, mixed({4}), mixed({4}), mixed({4}), positive({4})}},
      {"batch_norm", {{"training_mode", kOne}}, {image, mixed({4}), mixed({4}), mixed({4}), positive({4})}},
      {"instance_norm", {}, {image, mixed({4}), mixed({4})}},
      {"group_norm", {{"num_groups", int64_t(2)}}, {image, mixed({4}), mixed({4})}},
      {"layer_norm", {}, {x, mixed({4}), mixed({4})}},
      {"layer_norm", {{"axis", kOne}}, {x, mixed({3, 4})}},
      {"rms_norm", {}, {x, mixed({4})}},
      {"mean_variance_norm", {}, {image}},
      {"lp_norm", {{"p", kOne}}, {x}},
      {"lp_norm", {{"axis", kOne}}, {x}},
      {"lrn", {{"size", int64_t(3)}, {"alpha", 0.4}}, {image}},
      {"lrn", {{"size", int64_t(2)}, {"alpha", 0.4}, {"beta", 0.5}}, {mixed({2, 3})}},
      {"identity", {}, {x}},
      {"dropout", {}, {x}},
      {"reshape", {{"shape", Ints{4, -1}}}, {x}},
      {"flatten", {}, {x}},
      {"squeeze", {{"axes", Ints{0}}}, {line}},
      {"unsqueeze", {{"axes", Ints{1}}}, {x}},
      {"transpose", {{"perm", Ints{1, 2, 0}}}, {x}},
      {"concat", {{"axis", kOne}}, {x, mixed({2, 1, 4}), mixed({2, 2, 4})}},
      {"split", {{"axis", kOne}, {"split", Ints{1, 2}}}, {x}},
      {"slice", {{"starts", Ints{1}}, {"ends", Ints{3}}, {"axes", Ints{2}}}, {x}},
      {"slice",
       {{"starts", Ints{0, -1}}, {"ends", Ints{6, -7}}, {"axes", Ints{1, 3}}, {"steps", Ints{3, -2}}},
       {image}},
      {"pad", {{"pads", Ints{0, 1, 0, 0, 0, 2}}, {"value", 3.0}}, {x}},
      {"pad", {{"pads", Ints{1, -1, 0, 2}}, {"axes", Ints{1, 2}}}, {x, mixed({})}},
      {"pad", {{"pads", Ints{0, 1, 2, 0, 1, 1}}, {"mode", std::string("reflect")}}, {x}},
      {"pad", {{"pads", Ints{0, 1, 2, 0, 1, 1}}, {"mode", std::string("edge")}}, {x}},
      {"tile", {{"repeats", Ints{2, 1, 3}}}, {x}},
      {"expand", {{"shape", Ints{2, 2, 3, 4}}}, {mixed({3, 1})}},
      {"trilu", {{"upper", int64_t(0)}}, {x}},
      {"depth_to_space", {{"blocksize", int64_t(2)}}, {image}},
      {"depth_to_space", {{"blocksize", int64_t(2)}, {"mode", std::string("CRD")}}, {image}},
      {"space_to_depth", {{"blocksize", int64_t(2)}}, {mixed({1, 2, 4, 2})}},
      {"reverse_sequence", {}, {x, ints({3}, {1, 2, 2})}},
      {"gather", {}, {x, ints({2, 2}, {1, 0, 1, 1})}},
      {"gather", {{"axis", int64_t(2)}}, {x, ints({3}, {-1, 0, 3})}},
      {"gather", {{"axis", kOne}}, {x, ints({}, {2})}},
      {"gather_elements", {{"axis", kOne}}, {mixed({2, 3}), ints({2, 2}, {0, 0, 2, 1})}},
      {"gather_nd", {}, {x, ints({3, 2}, {0, 1, 1, 2, 0, 1})}},
      {"gather_nd", {{"batch_dims", kOne}}, {x, ints({2, 2, 1}, {0, 1, 2, 2})}},
      {"scatter_elements", {{"axis", kOne}}, {mixed({2, 3}), ints({2, 1}, {2, 0}), mixed({2, 1})}},
      {"scatter_elements", {{"reduction", add}}, {mixed({2, 3}), ints({2, 1}, {1, 1}), mixed({2, 1})}},
      {"scatter_nd", {{"reduction", none}}, {x, ints({2, 2}, {0, 1, 1, 2}), mixed({2, 4})}},
      {"scatter_nd", {{"reduction", add}}, {x, ints({2, 1}, {1, 1}), mixed({2, 3, 4})}},
      {"arg_max", {}, {x}},
      {"arg_min", {}, {x}},
      {"top_k", {{"k", int64_t(2)}}, {x}},
      {"top_k", {{"k", kOne}, {"axis", kOne}, {"largest", int64_t(0)}}, {x}},
      {"one_hot", {{"depth", int64_t(3)}}, {ints({2}, {0, 2}), mixed({2})}},
      {"resize", {{"scales", std::vector<double>{1, 1, 2, 1.5}}}, {mixed({1, 1, 2, 4})}},
      {"resize", {{"sizes", Ints{1, 1, 5, 3}}, {"mode", std::string("linear")}}, {mixed({1, 1, 3, 4})}},
      {"resize", {{"sizes", Ints{1, 1, 5, 4}}, {"mode", std::string("cubic")}}, {mixed({1, 1, 4, 4})}},
      {"upsample", {{"scales", std::vector<double>{1, 1, 2}}}, {line}},
      {"dequantize_linear",
       {},
       {ints({2, 3}, {1, 2, 3, 4, 5, 6}, DataType::i8), mixed({3}), ints({3}, {0, 1, 2}, DataType::i8)}},
      {"quantize_linear", {}, {x, positive({})}},
      {"quantize_dequantize", {}, {x, positive({}), ints({}, {0}, DataType::i8)}},
      {"dynamic_quantize_linear", {}, {mixed({2, 3})}},
      {"rnn", {}, {mixed({3, 2, 2}), mixed({1, 2, 2}), mixed({1, 2, 2})}},
      {"rnn",
       {{"direction", std::string("bidirectional")}},
       {mixed({2, 1, 2}), mixed({2, 2, 2}), mixed({2, 2, 2}), mixed({2, 4}), std::nullopt, mixed({2, 1, 2})}},
      {"gru", {}, {mixed({2, 2, 2}), mixed({1, 6, 2}), mixed({1, 6, 2}), mixed({1, 12})}},
      {"gru",
       {{"linear_before_reset", kOne}, {"direction", std::string("reverse")}},
       {mixed({2, 2, 2}), mixed({1, 6, 2}), mixed({1, 6, 2}), mixed({1, 12})}},
      {"lstm",
       {},
       {mixed({2, 2, 3}), mixed({1, 8, 3}), mixed({1, 8, 2}), mixed({1, 16}), std::nullopt, mixed({1, 2, 2}),
        mixed({1, 2, 2})}},
      {"softmax_cross_entropy",
       {{"ignore_index", kOne}},
       {mixed({3, 4}), ints({3}, {3, 1, 0}), positive({4})}},
      {"binary_cross_entropy", {}, {mixed({2, 3}, 0.3, 0.5), mixed({3}, 0.3, 0.45)}},
      {"cast", {{"to", std::string("f64")}}, {x}},
      {"pow", {}, {positive({2, 3}), mixed({3})}},
      {"clip", {{"min", -0.4}, {"max", 0.7}}, {x}},
      {"where", {}, {ints({3}, {1, 0, 1}, DataType::boolean), mixed({2, 1}), mixed({3})}},
  };
  return all;
}

// Elementwise rows of whose operands nothing need be known but where the result is finite.
void elementwise_sample(const OpDef& d) {
  for (const auto& [scale, shift] : {std::pair{1.0, 0.0}, std::pair{0.4, 0.5}, std::pair{0.4, 2.0}}) {
    Operands operands = {mixed({2, 3}, scale, shift)};
    if (d.operands.size() > 1) operands.push_back(mixed({3}, scale, shift + 0.1));
    bool finite = true;
    const Operands wide = in_f64(operands, 0.01);
    for (const Tensor& t : results_of(d, {}, wide)) {
      for (int64_t i = 0; i < t.elements(); ++i) finite = finite && std::isfinite(t.get(i));
    }
    if (!finite) continue;
    EXPECT_GT(check_gradient(d, {}, operands, 0.01), 0) << d.name;
    return;
  }
  FAIL() << d.name << " is finite on none of the samples";
}

TEST(Gradients, EveryRowAgreesWithCentralDifferencesOrSaysWhyItHasNone) {
  std::map<std::string_view, std::vector<Sample>> by_row;
  for (Sample& s : samples()) by_row[s.op].push_back(std::move(s));
  int compared = 0;
  for (const OpDef& d : op_table()) {
    const auto own = by_row.find(d.name);
    // Without operands of floating point, or with results that have none, there is nothing to differentiate.
    // Losses have a test of their own (losses_gradient_test.cpp).
    if (d.kind == OpKind::source || d.boolean_result || !d.no_gradient.empty() || d.loss) continue;
    if (own == by_row.end() && d.kind == OpKind::elementwise) {
      EXPECT_FALSE(d.derivative.empty() && d.gradient == nullptr) << d.name;
      elementwise_sample(d);
      continue;
    }
    EXPECT_TRUE(own != by_row.end()) << d.name
                                     << " has neither a sample here nor a reason why it has no gradient";
    for (const Sample& s : own == by_row.end() ? std::vector<Sample>{} : own->second)
      compared += check_gradient(d, s.attrs, s.operands);
  }
  EXPECT_GT(compared, 2000);
}

TEST(Gradients, RowsWithoutOneSayWhy) {
  const OpDef& det = *find_op("det");
  const Operands x = in_f64({mixed({2, 2})}, 0);
  const auto results = results_of(det, {}, x);
  const Differentiated d = differentiate(det, {}, x, results, upstream_of(results));
  EXPECT_FALSE(d.ok);
  EXPECT_THAT(d.error, HasSubstr("det has no gradient"));
  EXPECT_THAT(d.error, HasSubstr("inverse"));
}

// dy = 1 everywhere.
std::vector<double> with_ones(const char* op, const Attrs& attrs, const Operands& operands,
                              size_t operand = 0) {
  const Operands wide = in_f64(operands, 0);
  const auto results = results_of(*find_op(op), attrs, wide);
  auto up = upstream_of(results);
  for (auto& t : up) {
    for (int64_t i = 0; t && i < t->elements(); ++i) t->set(i, 1);
  }
  const Differentiated d = differentiate(*find_op(op), attrs, wide, results, up);
  EXPECT_TRUE(d.ok) << d.error;
  std::vector<double> out;
  const auto made = d.values.find("dx" + std::to_string(operand));
  for (int64_t i = 0; made != d.values.end() && i < made->second.elements(); ++i)
    out.push_back(made->second.get(i));
  return out;
}

TEST(Gradients, AtCornersByHand) {
  using ::testing::DoubleEq, ::testing::ElementsAre;
  // Halves where both are the largest.
  EXPECT_THAT(with_ones("max", {}, {floats({3}, {1, 2, 3}), floats({3}, {2, 2, 2})}), ElementsAre(0, 0.5, 1));
  EXPECT_THAT(with_ones("max", {}, {floats({3}, {1, 2, 3}), floats({3}, {2, 2, 2})}, 1),
              ElementsAre(1, 0.5, 0));
  EXPECT_THAT(with_ones("reduce_max", {}, {floats({4}, {1, 5, 5, 2})}), ElementsAre(0, 0.5, 0.5, 0));
  EXPECT_THAT(with_ones("abs", {}, {floats({3}, {-1, 0, 1})}), ElementsAre(-1, 0, 1));
  // A clip passes at its limits, as an activation it does not.
  const Attrs limits = {{"max", 1.0}, {"min", -1.0}};
  EXPECT_THAT(with_ones("clip", limits, {floats({4}, {-2, -1, 1, 2})}), ElementsAre(0, 1, 1, 0));
  EXPECT_THAT(with_ones("hard_tanh", limits, {floats({4}, {-1, 0, 0.5, 1})}), ElementsAre(0, 1, 1, 0));
  // 2 * 0 * 3 and 0 * 0: the product of the others.
  EXPECT_THAT(with_ones("reduce_prod", {{"axes", Ints{1}}}, {floats({2, 3}, {2, 0, 3, 0, 0, 4})}),
              ElementsAre(0, 6, 0, 0, 0, 0));
  // The norm of nothing has no direction.
  EXPECT_THAT(with_ones("reduce_l2", {{"axes", Ints{1}}}, {floats({2, 2}, {3, 4, 0, 0})}),
              ElementsAre(DoubleEq(3.0 / 5), DoubleEq(4.0 / 5), 0, 0));
  // The first of equal elements; the window of 3 elements that starts at each of the first two.
  EXPECT_THAT(with_ones("max_pool", {{"kernel_shape", Ints{3}}}, {floats({1, 1, 4}, {1, 7, 7, 2})}),
              ElementsAre(0, 2, 0, 0));
  // In a window of many elements too.
  std::vector<float> many(18, 0), taken(18, 0);
  many[3] = many[8] = many[17] = 5;
  taken[3] = 2;
  EXPECT_THAT(with_ones("max_pool", {{"kernel_shape", Ints{17}}}, {floats({1, 1, 18}, many)}),
              ::testing::ElementsAreArray(taken));
  // Id 1 twice.
  EXPECT_THAT(with_ones("gather", {}, {floats({3, 1}, {1, 2, 3}), ints({3}, {1, 0, 1})}),
              ElementsAre(1, 2, 0));
  // x^0 is 1 everywhere, also at 0.
  EXPECT_THAT(with_ones("pow", {}, {floats({2}, {0, 2}), floats({2}, {0, 3})}), ElementsAre(0, 12));
}

// The row that a loss would have, made of a compound that is there: y = log_softmax(x) along the rows.
TEST(Gradients, AGradientRowIsTheBackwardPassOfACompound) {
  const OpDef& base = *find_op("layer_norm");
  const OpDef row = gradient_row(base);
  EXPECT_EQ(row.name, "layer_norm_gradient");
  EXPECT_EQ(row.operands.size(), 6u);
  EXPECT_EQ(row.operands[3], "d_y");
  EXPECT_EQ(row.results[1], "d_scale");
  const Operands x = in_f64({mixed({2, 4}), mixed({4}), std::nullopt}, 0);
  const auto results = results_of(base, {}, x);
  auto up = upstream_of(results);
  up[1].reset();
  up[2].reset();
  const Differentiated want = differentiate(base, {}, {x[0], x[1]}, results, up);
  ASSERT_TRUE(want.ok) << want.error;
  Operands operands = x;
  operands.push_back(up[0]);
  const auto got = results_of(row, {}, operands);
  ASSERT_EQ(got.size(), 3u);
  for (size_t k = 0; k < 2; ++k) {
    const Tensor& expected = want.values.at("dx" + std::to_string(k));
    ASSERT_EQ(got[k].type, expected.type);
    for (int64_t i = 0; i < expected.elements(); ++i) EXPECT_NEAR(got[k].get(i), expected.get(i), 1e-12);
  }
  // Its loops, of which a kernel is made, give the same.
  std::vector<const TensorType*> types;
  std::vector<const Tensor*> present;
  for (const auto& t : operands) {
    types.push_back(t ? &t->type : nullptr);
    if (t) present.push_back(&*t);
  }
  LoopProgram program;
  std::vector<TensorType> outputs = {got[0].type, got[1].type};
  std::vector<Tensor> by_loops = {Tensor(outputs[0]), Tensor(outputs[1])};
  std::string why;
  ASSERT_TRUE(loops_of(row, {}, types, outputs, program, why)) << why;
  ASSERT_TRUE(check_loops(program, why)) << why;
  ASSERT_TRUE(evaluate_loops(program, present, by_loops, why)) << why;
  for (size_t k = 0; k < 2; ++k) {
    for (int64_t i = 0; i < got[k].elements(); ++i) EXPECT_NEAR(by_loops[k].get(i), got[k].get(i), 1e-12);
  }
  // Only what is wanted is computed.
  std::vector<DecompositionStep> both, one;
  std::string error;
  ASSERT_TRUE(decompose(row, {}, types, both, error)) << error;
  ASSERT_TRUE(decompose(row, {{"wanted", Ints{1}}}, types, one, error)) << error;
  EXPECT_LT(one.size(), both.size());
  for (const DecompositionStep& s : one) EXPECT_NE(s.results[0], "d_x");
}

}  // namespace
}  // namespace cs::ops
