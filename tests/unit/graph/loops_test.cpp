// Loop programs against the reference implementations, and hand-written ones against hand calculations.
#include <gtest/gtest.h>

#include "runtime/ops/ops.h"

namespace cs::ops {
namespace {

Tensor ramp(Shape shape, float first, float step) {
  std::vector<float> v(size_t(TensorType{DataType::f32, shape}.elements()));
  for (size_t i = 0; i < v.size(); ++i) v[i] = first + step * float(i % 7) - 0.25F * float(i);
  return Tensor::from_floats(std::move(shape), v);
}

// The row's loops and its reference agree on these operands.
void expect_same(std::string_view name, const Attrs& attrs, const std::vector<Tensor>& operands) {
  const OpDef& op = *find_op(name);
  ASSERT_NE(op.loops, nullptr) << name;
  std::vector<const TensorType*> types;
  std::vector<const Tensor*> tensors;
  for (const Tensor& t : operands) {
    types.push_back(&t.type);
    tensors.push_back(&t);
  }
  std::vector<TensorType> outputs;
  std::string error;
  ASSERT_TRUE(infer_types(op, attrs, types, outputs, error)) << error;
  LoopProgram program;
  ASSERT_TRUE(loops_of(op, attrs, types, outputs, program, error)) << error;
  std::vector<Tensor> results, expected;
  for (const TensorType& t : outputs) results.emplace_back(t);
  ASSERT_TRUE(evaluate_loops(program, tensors, results, error)) << error << "\n" << loops_text(program);
  Diag diag;
  ASSERT_TRUE(evaluate(op, attrs, operands, expected, diag));
  for (int64_t i = 0; i < results[0].elements(); ++i) {
    EXPECT_NEAR(results[0].get(i), expected[0].get(i), 1e-5) << name << " element " << i;
  }
}

TEST(Loops, AgreeWithReferences) {
  Tensor a = ramp({3, 4}, 1, 2), b = ramp({4, 5}, -2, 1), c = ramp({5}, 0, 1), t = ramp({2, 3, 4}, 1, 0.5F);
  expect_same("matmul", {}, {a, b});
  expect_same("matmul", {}, {t, b});
  expect_same("matmul", {}, {ramp({4}, 1, 1), b});
  expect_same("matmul", {}, {t, ramp({4}, 1, 1)});
  expect_same("gemm", {{"alpha", 0.5}, {"beta", 2.0}}, {a, b, c});
  expect_same("gemm", {{"trans_a", int64_t(1)}, {"trans_b", int64_t(1)}},
              {ramp({4, 3}, 1, 1), ramp({5, 4}, 1, 2)});
  for (const char* op : {"reduce_sum", "reduce_max", "reduce_min", "reduce_mean", "reduce_prod"}) {
    expect_same(op, {{"axes", std::vector<int64_t>{1}}}, {t});
    expect_same(op, {{"axes", std::vector<int64_t>{0, -1}}, {"keepdims", int64_t(0)}}, {t});
  }
  expect_same("transpose", {{"perm", std::vector<int64_t>{2, 0, 1}}}, {t});
  expect_same("concat", {{"axis", int64_t(1)}}, {t, ramp({2, 2, 4}, 9, 1)});
}

TEST(Loops, RecurrenceAndIndex) {
  // s[i] = s[i - 1] + x[idx[i]]: idx = {2, 0, -1}, x = {1, 10, 100}: 100, 101, 201.
  LoopProgram p;
  TensorType x{DataType::f32, {3}}, idx{DataType::i64, {3}};
  const TensorType* operands[] = {&x, &idx};
  TensorType y{DataType::f32, {3}};
  LoopBuilder b(p, operands, std::span(&y, 1));
  LoopAccess index = b.operand(1).sliced(0, 0, 1).access();
  index.strides = {};
  LoopAccess from = index;
  from.buffer = 0;
  from.index = 0;
  from.index_stride = 1;
  from.index_extent = 3;
  LoopAccess out = index;
  out.buffer = 2;
  b.statement({}, out, {index, from}, "x1");
  b.begin_block(2);
  index.step = 1;
  index.offset = 1;
  LoopAccess next = out;
  next.offset = 1;
  next.step = 1;
  LoopAccess before = out;
  before.step = 1;
  b.statement({}, next, {index, from, before}, "x1 + x2");
  Tensor tx = Tensor::from_floats({3}, {1, 10, 100}), ti(idx);
  for (int64_t i = 0; i < 3; ++i) ti.set_int(i, std::array<int64_t, 3>{2, 0, -1}[size_t(i)]);
  const Tensor* tensors[] = {&tx, &ti};
  std::vector<Tensor> results(1, Tensor(y));
  std::string error;
  ASSERT_TRUE(evaluate_loops(p, tensors, results, error)) << error << loops_text(p);
  EXPECT_EQ(results[0].to_floats(), (std::vector<float>{100, 101, 201}));
  ti.set_int(1, 3);
  EXPECT_FALSE(evaluate_loops(p, tensors, results, error));
  EXPECT_EQ(error, "index 3 is out of range, there are 3 values");
}

TEST(Loops, RefusesWhatLeavesABuffer) {
  LoopProgram p;
  TensorType y{DataType::f32, {4}};
  LoopBuilder b(p, {}, std::span(&y, 1));
  b.statement({5}, b.result().access(), {}, "1");
  std::string error;
  EXPECT_FALSE(check_loops(p, error));
  EXPECT_EQ(error, "i<5: y[i] = 1: 'y' has 4 elements, 0 to 4 are accessed");
}

}  // namespace
}  // namespace cs::ops
