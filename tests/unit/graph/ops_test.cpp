// The operator table and expressions: rows consistent with each other, values and shapes by hand calculation.
#include <gmock/gmock.h>

#include <cmath>
#include <set>

#include "runtime/ops/ops.h"
#include "runtime/ops/whole_batch.h"

namespace cs::ops {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Expr parse(std::string_view text, std::vector<std::string_view> operands,
           std::vector<std::string_view> attrs = {}) {
  std::string error;
  std::optional<Expr> e = parse_expr(text, operands, attrs, error);
  EXPECT_TRUE(e.has_value()) << text << ": " << error;
  return e.value_or(Expr{});
}

double value(const Expr& e, std::vector<double> operands) {
  std::vector<double> scratch;
  return expr_value<double>(e, operands, scratch);
}

TEST(Expression, PrecedenceAndAssociativityAreThoseOfArithmetic) {
  EXPECT_EQ(value(parse("1 - 2 - 3", {}), {}), -4);
  EXPECT_EQ(value(parse("2 + 3 * 4", {}), {}), 14);
  EXPECT_EQ(value(parse("-x * 3 + 8 / 2 / 2", {"x"}), {5}), -13);
  EXPECT_EQ(value(parse("select(x >= 0, x, 0.25 * x)", {"x"}), {-8}), -2);
  EXPECT_EQ(value(parse("(x > 0) - (x < 0)", {"x"}), {-3}), -1);
}

TEST(Expression, EqualSubexpressionsExistOnce) {
  // exp(x), exp(x) * exp(x): input, exp, mul.
  EXPECT_EQ(parse("exp(x) * exp(x)", {"x"}).nodes.size(), 3u);
}

TEST(Expression, ConstantsAreFoldedAndDropped) {
  Expr e = parse("x * (2 + 3) / 1", {"x"});
  EXPECT_EQ(expr_text(e, std::vector<std::string>{"x"}), "x * 5");
  EXPECT_EQ(e.nodes.size(), 3u);
}

TEST(Expression, TextReadsBackToTheSameExpression) {
  const std::vector<std::string> names = {"a", "b"};
  for (const char* text : {"a - (b - 1)", "a / (b * 2)", "-(a + b)", "select(a < b, a, -b)",
                           "max(a, 0) + min(b, -1)", "(a > 0) - (a < 0)", "2 - -a"}) {
    Expr e = parse(text, {"a", "b"});
    EXPECT_EQ(parse(expr_text(e, names), {"a", "b"}), e) << text << " became " << expr_text(e, names);
  }
}

TEST(Expression, ErrorsNameTheColumn) {
  std::string error;
  const std::vector<std::string_view> x = {"x"};
  EXPECT_FALSE(parse_expr("x + ", x, {}, error));
  EXPECT_THAT(error, HasSubstr("column 5"));
  EXPECT_FALSE(parse_expr("x + z", x, {}, error));
  EXPECT_THAT(error, HasSubstr("'z'"));
  EXPECT_FALSE(parse_expr("max(x)", x, {}, error));
  EXPECT_FALSE(parse_expr("x)", x, {}, error));
  EXPECT_FALSE(parse_expr(std::string(5000, '('), x, {}, error));
}

TEST(Expression, SubstitutionComposesAChain) {
  Expr relu = parse("max(x, 0)", {"x"}), add = parse("a + b", {"a", "b"});
  Expr in0;
  in0.root = in0.input(0);
  Expr in1;
  in1.root = in1.input(1);
  Expr sum = substitute(add, std::vector<Expr>{in0, in1});
  Expr both = substitute(relu, std::vector<Expr>{sum});
  EXPECT_EQ(value(both, {2, -5}), 0);
  EXPECT_EQ(value(both, {2, 5}), 7);
  EXPECT_EQ(both.inputs(), 2);
}

TEST(OperatorTable, EveryRowIsComplete) {
  std::set<std::string_view> names;
  for (const OpDef& d : op_table()) {
    EXPECT_TRUE(names.insert(d.name).second) << d.name;
    EXPECT_EQ(find_op(d.name), &d);
    EXPECT_NE(d.shape, nullptr) << d.name;
    // Steps beside a text are made of the text, a formula.
    int ways = int(!d.expression.empty()) + int(!d.decomposition.empty() || d.steps != nullptr) +
               int(d.loops != nullptr);
    // A result whose shape depends on values has no loops: such an operator is for constants.
    // whole_batch is the operator that its attribute names.
    bool values_only = ways == 0 && d.reference != nullptr && !d.constant_operands.empty();
    values_only = values_only || d.name == kWholeBatch;
    EXPECT_TRUE(ways == 1 || values_only) << d.name << " must say exactly once what it computes";
    EXPECT_EQ(d.kind == OpKind::elementwise, !d.expression.empty()) << d.name;
    EXPECT_EQ(d.kind == OpKind::compound, !d.decomposition.empty() || d.steps != nullptr) << d.name;
    EXPECT_TRUE(d.kind != OpKind::compound || d.primitives == nullptr) << d.name;
    EXPECT_LE(size_t(d.optional_results), d.results.size()) << d.name;
    if (d.decomposition.empty() || d.steps != nullptr) continue;
    std::vector<DecompositionStep> steps;
    std::string error;
    ASSERT_TRUE(decompose(d, {}, {}, steps, error)) << error;
    for (const DecompositionStep& s : steps) EXPECT_NE(find_op(s.op), nullptr) << d.name << ": " << s.op;
    EXPECT_THAT(steps.back().results, ElementsAre(d.results[0])) << d.name;
  }
}

// A derivative is checked against the central difference of the row's own expression.
TEST(OperatorTable, DerivativesAgreeWithDifferences) {
  int checked = 0;
  for (const OpDef& d : op_table()) {
    if (d.expression.empty() || d.derivative.empty()) continue;
    std::vector<std::string_view> attrs, operands = d.operands;
    for (const AttrDef& a : d.attrs) attrs.push_back(a.name);
    operands.push_back("y");
    Attrs bound = with_defaults(d, {});
    Expr f = bind_attrs(op_expression(d), bound);
    std::string_view text = d.derivative;
    for (size_t k = 0; k < d.operands.size(); ++k) {
      std::string_view part = text.substr(0, text.find(';'));
      text.remove_prefix(std::min(part.size() + 1, text.size()));
      Expr df = bind_attrs(parse(part, operands, attrs), bound);
      for (double x : {1.3, 2.6}) {
        std::vector<double> at(d.operands.size(), 0.7);
        at[k] = x;
        std::vector<double> up = at, down = at;
        const double h = 1e-5;
        up[k] += h;
        down[k] -= h;
        if (!std::isfinite(value(f, up))) continue;  // outside the domain (atanh)
        double want = (value(f, up) - value(f, down)) / (2 * h);
        at.push_back(value(f, at));
        EXPECT_NEAR(value(df, at), want, 1e-6 * std::max(1.0, std::fabs(want)))
            << d.name << " operand " << k << " at " << x;
        ++checked;
      }
    }
  }
  EXPECT_GT(checked, 60);
}

TEST(Shapes, BroadcastingFollowsTheTrailingDimensions) {
  EXPECT_THAT(*broadcast({2, 1, 4}, {3, 1}), ElementsAre(2, 3, 4));
  EXPECT_FALSE(broadcast({2, 3}, {4}));
}

TEST(Shapes, ErrorsCarryBothShapes) {
  TensorType a{DataType::f32, {4}}, b{DataType::f32, {5}};
  const TensorType* in[] = {&a, &b};
  std::vector<TensorType> out;
  std::string error;
  EXPECT_FALSE(infer_types(*find_op("add"), {}, in, out, error));
  EXPECT_THAT(error, HasSubstr("[4]"));
  EXPECT_THAT(error, HasSubstr("[5]"));
}

TEST(Shapes, ReshapeCopiesAndInfersDimensions) {
  TensorType x{DataType::f32, {1, 1, 28, 28}};
  const TensorType* in[] = {&x};
  std::vector<TensorType> out;
  std::string error;
  Attrs attrs;
  set_attr(attrs, "shape", std::vector<int64_t>{0, -1});
  ASSERT_TRUE(infer_types(*find_op("reshape"), attrs, in, out, error)) << error;
  EXPECT_EQ(type_text(out[0]), "f32[1, 784]");
  set_attr(attrs, "shape", std::vector<int64_t>{5, -1});
  EXPECT_FALSE(infer_types(*find_op("reshape"), attrs, in, out, error));
  EXPECT_THAT(error, HasSubstr("784"));
}

TEST(Evaluate, GemmWithTransposedFactorsAndScaledBias) {
  // a' = [[1, 3], [2, 4]] (a transposed), b = [[1], [1]]: product [4, 6]; alpha 2 and beta 10 with bias 0.5:
  // 13, 17.
  Attrs attrs;
  set_attr(attrs, "trans_a", int64_t(1));
  set_attr(attrs, "alpha", 2.0);
  set_attr(attrs, "beta", 10.0);
  std::vector<Tensor> out;
  Diag diag;
  ASSERT_TRUE(evaluate(*find_op("gemm"), attrs,
                       {Tensor::from_floats({2, 2}, {1, 2, 3, 4}), Tensor::from_floats({2, 1}, {1, 1}),
                        Tensor::from_floats({1}, {0.5F})},
                       out, diag))
      << diag.to_string();
  EXPECT_THAT(out[0].to_floats(), ElementsAre(13, 17));
}

TEST(Evaluate, TransposeAndConcatMoveElements) {
  Tensor x = Tensor::from_floats({2, 3}, {1, 2, 3, 4, 5, 6});
  std::vector<Tensor> out;
  Diag diag;
  ASSERT_TRUE(evaluate(*find_op("transpose"), {}, {x}, out, diag));
  EXPECT_THAT(out[0].to_floats(), ElementsAre(1, 4, 2, 5, 3, 6));
  Attrs axis;
  set_attr(axis, "axis", int64_t(1));
  ASSERT_TRUE(evaluate(*find_op("concat"), axis, {x, x}, out, diag));
  EXPECT_THAT(out[0].to_floats(), ElementsAre(1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6));
}

// By its definition: y[i1, i2, i0] = x[i0, i1, i2]; more than a tile each way, and of every width of an element.
TEST(Evaluate, TransposesLargerThanATileAndOfAllWidths) {
  for (DataType type : {DataType::u8, DataType::f16, DataType::f32, DataType::i64}) {
    constexpr int64_t kA = 70, kB = 3, kC = 67;
    Tensor x(TensorType{type, {kA, kB, kC}});
    for (int64_t i = 0; i < x.elements(); ++i) x.set(i, double(i % 251));
    Attrs attrs;
    set_attr(attrs, "perm", std::vector<int64_t>{1, 2, 0});
    std::vector<Tensor> out;
    Diag diag;
    ASSERT_TRUE(evaluate(*find_op("transpose"), attrs, {x}, out, diag));
    ASSERT_EQ(out[0].type.shape, (Shape{kB, kC, kA}));
    for (int64_t a = 0; a < kA; ++a)
      for (int64_t b = 0; b < kB; ++b)
        for (int64_t c = 0; c < kC; ++c)
          ASSERT_EQ(out[0].get((b * kC + c) * kA + a), double(((a * kB + b) * kC + c) % 251)) << a << b << c;
  }
}

TEST(Evaluate, IntegersAreExactAndDivisionTruncates) {
  Tensor a(TensorType{DataType::i64, {2}}), b(TensorType{DataType::i64, {}}),
      big(TensorType{DataType::i32, {1}});
  a.set_int(0, -7);
  a.set_int(1, 7);
  b.set_int(0, 2);
  std::vector<Tensor> out;
  Diag diag;
  ASSERT_TRUE(evaluate(*find_op("div"), {}, {a, b}, out, diag));
  EXPECT_EQ(out[0].get_int(0), -3);
  EXPECT_EQ(out[0].get_int(1), 3);
}

TEST(Evaluate, SixteenBitFloatsRoundToNearestEven) {
  // 1 + 2^-11 lies halfway between two halves; the even one is 1. 1 + 3 * 2^-11 goes up to 1 + 2^-9.
  Tensor h(TensorType{DataType::f16, {2}});
  h.set(0, 1 + std::ldexp(1, -11));
  h.set(1, 1 + 3 * std::ldexp(1, -11));
  EXPECT_EQ(h.get(0), 1);
  EXPECT_EQ(h.get(1), 1 + std::ldexp(1, -9));
}

}  // namespace
}  // namespace cs::ops
