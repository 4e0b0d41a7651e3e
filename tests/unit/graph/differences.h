// Gradients of a row against central differences of its own evaluation, in float64.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "runtime/ops/gradient.h"
#include "tests/unit/graph/row_cases.h"

namespace cs::ops {

using Operands = std::vector<std::optional<Tensor>>;

// Floating point as f64. Elements move a little, each by another amount, so that none are equal and none lies
// at a corner.
inline Operands in_f64(const Operands& operands, double moved) {
  Operands out;
  int64_t n = 0;
  for (const auto& t : operands) {
    out.push_back(t);
    if (!t || !data_type_is_float(t->type.dtype)) continue;
    Tensor wide(TensorType{DataType::f64, t->type.shape});
    for (int64_t i = 0; i < wide.elements(); ++i, ++n)
      wide.set(i, t->get(i) + moved * (0.3 + 0.618034 * double(n) - std::floor(0.618034 * double(n))));
    out.back() = std::move(wide);
  }
  return out;
}

inline std::vector<const Tensor*> pointers(const Operands& operands) {
  std::vector<const Tensor*> out;
  for (const auto& t : operands) out.push_back(t ? &*t : nullptr);
  return out;
}

inline std::vector<Tensor> results_of(const OpDef& op, const Attrs& attrs, const Operands& operands) {
  std::vector<Tensor> results;
  Diag diag;
  EXPECT_TRUE(evaluate(op, attrs, pointers(operands), results, diag)) << diag.to_string();
  return results;
}

// Gradients that come from above: numbers without a pattern.
inline std::vector<std::optional<Tensor>> upstream_of(const std::vector<Tensor>& results) {
  std::vector<std::optional<Tensor>> up;
  for (const Tensor& t : results) {
    up.emplace_back();
    if (!data_type_is_float(t.type.dtype)) continue;
    up.back() = Tensor(t.type);
    for (int64_t i = 0; i < t.elements(); ++i)
      up.back()->set(i, std::sin(1.7 * double(i) + double(up.size())));
  }
  return up;
}

inline double weighted(const std::vector<Tensor>& results, const std::vector<std::optional<Tensor>>& up) {
  double sum = 0;
  for (size_t k = 0; k < results.size(); ++k) {
    for (int64_t i = 0; up[k] && i < results[k].elements(); ++i) sum += results[k].get(i) * up[k]->get(i);
  }
  return sum;
}

// Runs steps; names are the positional ones of gradient.h.
inline std::map<std::string, Tensor> run_steps(const std::vector<DecompositionStep>& steps,
                                               std::map<std::string, Tensor> values) {
  Diag diag;
  for (const DecompositionStep& s : steps) {
    std::vector<const Tensor*> operands;
    for (const std::string& name : s.operands) operands.push_back(name.empty() ? nullptr : &values.at(name));
    std::vector<Tensor> made;
    EXPECT_TRUE(evaluate(*find_op(s.op), s.attrs, operands, made, diag)) << s.op << ": " << diag.to_string();
    for (size_t k = 0; k < s.results.size(); ++k) values[s.results[k]] = made.at(k);
  }
  return values;
}

struct Differentiated {
  bool ok = false;
  std::string error;
  std::vector<DecompositionStep> steps;
  std::map<std::string, Tensor> values;
};

inline Differentiated differentiate(const OpDef& op, const Attrs& attrs, const Operands& operands,
                                    const std::vector<Tensor>& results,
                                    const std::vector<std::optional<Tensor>>& up) {
  Differentiated d;
  std::vector<const TensorType*> inputs;
  std::vector<TensorType> outputs;
  GradientCall call{op, attrs, {}, {}, {}, {}};
  std::map<std::string, Tensor> values;
  for (size_t k = 0; k < operands.size(); ++k) {
    inputs.push_back(operands[k] ? &operands[k]->type : nullptr);
    call.wanted.push_back(operands[k].has_value());
    if (operands[k]) values["x" + std::to_string(k)] = *operands[k];
  }
  for (size_t k = 0; k < results.size(); ++k) {
    outputs.push_back(results[k].type);
    call.given.push_back(up[k].has_value());
    values["y" + std::to_string(k)] = results[k];
    if (up[k]) values["dy" + std::to_string(k)] = *up[k];
  }
  call.inputs = inputs;
  call.outputs = outputs;
  d.ok = gradient_steps(call, d.steps, d.error);
  if (d.ok) d.values = run_steps(d.steps, values);
  return d;
}

// How many elements were compared.
inline int check_gradient(const OpDef& op, const Attrs& attrs, const Operands& given, double moved = 0.05) {
  Operands operands = in_f64(given, moved);
  const std::vector<Tensor> results = results_of(op, attrs, operands);
  const auto up = upstream_of(results);
  const Differentiated d = differentiate(op, attrs, operands, results, up);
  EXPECT_TRUE(d.ok) << op.name << ": " << d.error;
  int compared = 0;
  for (size_t k = 0; d.ok && k < operands.size(); ++k) {
    if (!operands[k] || !data_type_is_float(operands[k]->type.dtype)) continue;
    const auto made = d.values.find("dx" + std::to_string(k));
    EXPECT_TRUE(made == d.values.end() || made->second.type == operands[k]->type) << op.name;
    for (int64_t i = 0; i < operands[k]->elements(); ++i, ++compared) {
      const double h = 1e-5, x = operands[k]->get(i);
      operands[k]->set(i, x + h);
      const double above = weighted(results_of(op, attrs, operands), up);
      operands[k]->set(i, x - h);
      const double below = weighted(results_of(op, attrs, operands), up);
      operands[k]->set(i, x);
      const double want = (above - below) / (2 * h), got = made == d.values.end() ? 0 : made->second.get(i);
      EXPECT_NEAR(got, want, 2e-6 * std::max(1.0, std::fabs(want)))
          << op.name << " operand " << k << " element " << i << " at " << x;
    }
  }
  return compared;
}

// A row to be differentiated, and where.
struct Sample {
  const char* op;
  Attrs attrs;
  Operands operands;
};

// Elements without a pattern, in steps too large for two to change places when they are moved a little, and
// none where a loss has a corner.
inline Tensor mixed(Shape shape, double scale = 1, double shift = 0) {
  Tensor t(TensorType{DataType::f32, std::move(shape)});
  for (int64_t i = 0; i < t.elements(); ++i)
    t.set(i, shift + scale * 1.3 * std::sin(2.1 * double(i) + 0.4 * double(t.elements())));
  return t;
}

}  // namespace cs::ops
