// Which temporaries go, and that the values stay.
#include "compiler/autogen/join_statements.h"

#include <gmock/gmock.h>

namespace cs::autogen {
namespace {

using ops::LoopBuilder;
using ops::LoopProgram;
using ops::LoopView;
using ops::Tensor;
using ops::TensorType;

constexpr int64_t kLength = 6;
const TensorType kVector{DataType::f32, {kLength}};

class JoinStatements : public ::testing::Test {
 protected:
  JoinStatements() : builder_(program_, operands_, results_) {}

  LoopView x(int k) const { return builder_.operand(k); }
  LoopView temporary(DataType type = DataType::f32, const ops::Shape& shape = {kLength}) {
    return builder_.temporary("t", type, shape);
  }
  // Joins, and expects the values of before; how many statements and temporaries are left.
  std::pair<size_t, size_t> left() {
    const std::vector<double> before = values();
    join_statements(program_);
    std::string error;
    EXPECT_TRUE(ops::check_loops(program_, error)) << error << ops::loops_text(program_);
    EXPECT_EQ(values(), before) << ops::loops_text(program_);
    size_t statements = 0;
    for (const ops::LoopBlock& b : program_.blocks) statements += b.statements.size();
    return {statements, program_.buffers.size() - 4};
  }

  std::vector<double> values() const {
    Tensor a(kVector), b(kVector);
    for (int64_t i = 0; i < kLength; ++i) {
      a.set(i, double(i) + 0.5);
      b.set(i, 3.0 - double(i));
    }
    const Tensor* in[] = {&a, &b};
    Tensor out[] = {Tensor(kVector), Tensor(kVector)};
    std::string error;
    EXPECT_TRUE(ops::evaluate_loops(program_, in, out, error)) << error;
    std::vector<double> all;
    for (const Tensor& t : out)
      for (int64_t i = 0; i < kLength; ++i) all.push_back(t.get(i));
    return all;
  }

  LoopProgram program_;
  const std::vector<const TensorType*> operands_ = {&kVector, &kVector};
  const std::vector<TensorType> results_ = {kVector, kVector};
  LoopBuilder builder_;
};

TEST_F(JoinStatements, AChainBecomesOneExpression) {
  const LoopView a = temporary(), b = temporary(), half = temporary(DataType::f32, {});
  builder_.fill(half, 0.5);
  builder_.elementwise(a, {x(0), x(1)}, "x0 * x1");
  builder_.elementwise(b, {a, x(0)}, "x0 - x1");
  builder_.elementwise(builder_.result(0), {b, half}, "x0 * x1");
  builder_.elementwise(builder_.result(1), {x(1), half}, "x0 + x1");
  EXPECT_EQ(left(), std::pair(size_t(2), size_t(0)));
}

TEST_F(JoinStatements, WhatTwoReadIsMadeOnce) {
  const LoopView a = temporary();
  builder_.elementwise(a, {x(0), x(1)}, "x0 * x1");
  builder_.elementwise(builder_.result(0), {a}, "exp(x0)");
  builder_.elementwise(builder_.result(1), {a, x(0)}, "x0 - x1");
  EXPECT_EQ(left(), std::pair(size_t(3), size_t(1)));
}

TEST_F(JoinStatements, SumsOtherElementsAndIntegersStay) {
  const LoopView sum = temporary(DataType::f32, {}), turned = temporary(), whole = temporary(DataType::i32);
  builder_.fill(sum, 0);
  builder_.statement({kLength}, sum.broadcast_to({kLength}).access(), {x(0).access()}, "x0",
                     ops::Combine::add);
  builder_.elementwise(turned, {x(0), x(1)}, "x0 * x1");
  builder_.elementwise(builder_.result(0), {turned.reversed(0), sum}, "x0 + x1");
  builder_.elementwise(whole, {x(1)}, "x0");
  builder_.elementwise(builder_.result(1), {whole, x(0)}, "x0 * x1");
  EXPECT_EQ(left(), std::pair(size_t(6), size_t(3)));
}

TEST_F(JoinStatements, WhatChangesInBetweenIsReadBefore) {
  const LoopView a = temporary(), kept = temporary();
  builder_.elementwise(kept, {x(0)}, "x0");
  builder_.elementwise(a, {kept, x(1)}, "x0 * x1");
  builder_.statement({kLength}, kept.access(), {x(1).access()}, "x0", ops::Combine::add);
  builder_.elementwise(builder_.result(0), {a}, "exp(x0)");
  builder_.elementwise(builder_.result(1), {kept}, "x0");
  EXPECT_EQ(left(), std::pair(size_t(5), size_t(2)));
}

}  // namespace
}  // namespace cs::autogen
