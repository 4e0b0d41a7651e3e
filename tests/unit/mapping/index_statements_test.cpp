// Comparisons with every place of an axis go, and the values stay: those of rows whose index no place has
// too.
#include "compiler/autogen/index_statements.h"

#include <cmath>

#include <gmock/gmock.h>

namespace cs::autogen {
namespace {

using ops::BufferKind;
using ops::Combine;
using ops::Expr;
using ops::ExprKind;
using ops::LoopProgram;
using ops::LoopStatement;
using ops::Tensor;
using ops::TensorType;

constexpr int64_t kRows = 5, kClasses = 4;
enum Buffer { kX, kIndex, kY, kMask, kChosen };

Expr equal() {
  Expr e;
  e.root = e.make(ExprKind::eq, e.input(0), e.input(1));
  return e;
}
// Load 1 where load 0 holds; elsewhere a number, or load 2.
Expr chosen(bool other) {
  Expr e;
  const int condition = e.input(0), here = e.input(1);
  e.root = e.make(ExprKind::select, condition, here, other ? e.input(2) : e.constant(0));
  return e;
}
Expr same() {
  Expr e;
  e.root = e.input(0);
  return e;
}

ops::LoopAccess at(int buffer, std::vector<int64_t> strides) {
  ops::LoopAccess a;
  a.buffer = buffer;
  a.strides = std::move(strides);
  return a;
}

// mask[i, j] = index[i] == j + first
LoopProgram program(int64_t first, const TensorType& result) {
  LoopProgram p;
  const ops::Shape all = {kRows, kClasses};
  p.buffers = {{"x", BufferKind::operand, {DataType::f32, all}},
               {"index", BufferKind::operand, {DataType::i32, {kRows}}},
               {"y", BufferKind::result, result},
               {"mask", BufferKind::temporary, {DataType::boolean, all}},
               {"chosen", BufferKind::temporary, {DataType::f32, all}}};
  ops::LoopAccess count = at(ops::kCounter, {0, 1});
  count.offset = first;
  p.blocks = {{1, {{all, at(kMask, {kClasses, 1}), {at(kIndex, {1, 0}), count}, equal(), Combine::assign}}}};
  return p;
}

std::vector<double> values(const LoopProgram& p) {
  std::string error;
  EXPECT_TRUE(ops::check_loops(p, error)) << error << ops::loops_text(p);
  Tensor x(p.buffers[kX].type), index(p.buffers[kIndex].type);
  for (int64_t i = 0; i < x.elements(); ++i) x.set(i, i == 6 ? INFINITY : 0.5 + double(i));
  const std::vector<int> rows = {2, -100, 3, 9, 0};
  for (size_t i = 0; i < rows.size(); ++i) index.set(int64_t(i), rows[i]);
  const Tensor* in[] = {&x, &index};
  Tensor out[] = {Tensor(p.buffers[kY].type)};
  EXPECT_TRUE(ops::evaluate_loops(p, in, out, error)) << error;
  std::vector<double> list;
  for (int64_t i = 0; i < out[0].elements(); ++i) list.push_back(out[0].get(i));
  return list;
}

size_t statements_over_all(const LoopProgram& p) {
  size_t n = 0;
  for (const LoopStatement& s : p.blocks.front().statements) n += s.extents.size() == 2 ? 1 : 0;
  return n;
}

TEST(IndexStatements, ASumOfWhatIsChosenReadsOneElement) {
  LoopProgram p = program(0, {DataType::f32, {kRows}});
  const ops::Shape all = {kRows, kClasses};
  std::vector<LoopStatement>& list = p.blocks.front().statements;
  list.push_back(
      {{kRows * kClasses}, at(kChosen, {1}), {at(kMask, {1}), at(kX, {1})}, chosen(false), Combine::assign});
  Expr zero;
  zero.root = zero.constant(0);
  list.push_back({{kRows}, at(kY, {1}), {}, zero, Combine::assign});
  list.push_back({all, at(kY, {1, 0}), {at(kChosen, {kClasses, 1})}, same(), Combine::add});
  const std::vector<double> before = values(p);
  EXPECT_THAT(before, ::testing::ElementsAre(2.5, 0, 11.5, 0, 16.5));
  use_indices(p);
  EXPECT_EQ(statements_over_all(p), 0U) << ops::loops_text(p);
  EXPECT_EQ(values(p), before) << ops::loops_text(p);
}

TEST(IndexStatements, WhatIsChosenAmongOthersIsPutRight) {
  for (const int64_t first : {0, 2}) {
    LoopProgram p = program(first, {DataType::f32, {kRows, kClasses}});
    Expr e = chosen(true);
    const int other = e.make(ExprKind::mul, e.input(1), e.constant(3));
    e.root = e.make(ExprKind::select, e.input(0), other, e.input(1));
    p.blocks.front().statements.push_back({{kRows, kClasses},
                                           at(kY, {kClasses, 1}),
                                           {at(kMask, {kClasses, 1}), at(kX, {kClasses, 1})},
                                           ops::prune(e),
                                           Combine::assign});
    const std::vector<double> before = values(p);
    use_indices(p);
    EXPECT_EQ(statements_over_all(p), 1U) << ops::loops_text(p);
    EXPECT_EQ(values(p), before) << ops::loops_text(p);
  }
}

// Someone reads the truth values elsewhere: all stays as it is.
TEST(IndexStatements, AComparisonThatIsSummedStays) {
  LoopProgram p = program(0, {DataType::f32, {kRows}});
  Expr zero;
  zero.root = zero.constant(0);
  std::vector<LoopStatement>& list = p.blocks.front().statements;
  list.push_back({{kRows}, at(kY, {1}), {}, zero, Combine::assign});
  list.push_back({{kRows, kClasses}, at(kY, {1, 0}), {at(kMask, {kClasses, 1})}, same(), Combine::add});
  const LoopProgram before = p;
  use_indices(p);
  EXPECT_EQ(p, before);
}

}  // namespace
}  // namespace cs::autogen
