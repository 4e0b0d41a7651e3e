// A case of a row of the operator table: small operands and the results, worked out by hand. check() compares
// types, sees to it that the loops stay within their buffers, and compares both ways of evaluation.
#pragma once

#include <gtest/gtest.h>

#include <cmath>

#include "runtime/ops/ops.h"

namespace cs::ops {

using Ints = std::vector<int64_t>;

inline Tensor floats(Shape shape, std::vector<float> values) {
  return Tensor::from_floats(std::move(shape), values);
}

inline Tensor ints(Shape shape, const Ints& values, DataType dtype = DataType::i64) {
  Tensor t(TensorType{dtype, std::move(shape)});
  for (size_t i = 0; i < values.size(); ++i) t.set_int(int64_t(i), values[i]);
  return t;
}

inline Tensor ramp(Shape shape, float first = 1) {
  std::vector<float> values(size_t(TensorType{DataType::f32, shape}.elements()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = first + float(i);
  return floats(std::move(shape), values);
}

struct Case {
  const char* op;
  Attrs attrs;
  std::vector<std::optional<Tensor>> operands;  // none: absent
  std::vector<Tensor> results;                  // the first so many
};

struct Ran {
  std::vector<Tensor> by_loops, by_evaluate;
  std::string text;
};

// Runs a case both ways; fails the test if a rule refuses.
inline Ran run(const Case& c) {
  Ran r;
  const OpDef& op = *find_op(c.op);
  std::vector<const TensorType*> types;
  std::vector<const Tensor*> tensors, present;
  for (const auto& t : c.operands) {
    types.push_back(t ? &t->type : nullptr);
    tensors.push_back(t ? &*t : nullptr);
    if (t) present.push_back(&*t);
  }
  std::vector<TensorType> outputs;
  std::string error;
  EXPECT_TRUE(infer_types(op, c.attrs, types, outputs, error, tensors)) << c.op << ": " << error;
  outputs.resize(std::min(outputs.size(), c.results.size()));
  if (op.reference == nullptr || op.loops != nullptr) {
    LoopProgram program;
    EXPECT_TRUE(loops_of(op, c.attrs, types, outputs, program, error, tensors)) << c.op << ": " << error;
    EXPECT_TRUE(check_loops(program, error)) << c.op << ": " << error;
    for (const TensorType& t : outputs) r.by_loops.emplace_back(t);
    EXPECT_TRUE(evaluate_loops(program, present, r.by_loops, error)) << c.op << ": " << error;
    r.text = loops_text(program);
  }
  Diag diag;
  EXPECT_TRUE(evaluate(op, c.attrs, tensors, r.by_evaluate, diag)) << diag.to_string();
  return r;
}

inline void expect_equal(const Case& c, const std::vector<Tensor>& got, const std::string& text) {
  ASSERT_GE(got.size(), c.results.size()) << c.op;
  for (size_t k = 0; k < c.results.size(); ++k) {
    ASSERT_EQ(type_text(got[k].type), type_text(c.results[k].type)) << c.op << " result " << k;
    for (int64_t i = 0; i < c.results[k].elements(); ++i)
      EXPECT_NEAR(got[k].get(i), c.results[k].get(i), 2e-6 * std::max(1.0, std::fabs(c.results[k].get(i))))
          << c.op << " result " << k << " element " << i << "\n"
          << text;
  }
}

inline void check(const std::vector<Case>& cases) {
  for (const Case& c : cases) {
    Ran r = run(c);
    if (!r.text.empty()) expect_equal(c, r.by_loops, r.text);
    expect_equal(c, r.by_evaluate, r.text);
  }
}

}  // namespace cs::ops
