// Which way a row's gradient is found, and lists of steps differentiated backwards.
#include "runtime/ops/gradient.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "runtime/ops/gradient_steps.h"
#include "runtime/ops/rules.h"

namespace cs::ops {

bool GradientCall::wants(size_t k) const {
  return k < wanted.size() && wanted[k] && input(k) != nullptr && data_type_is_float(inputs[k]->dtype);
}

// ---- writing steps

void drop_copies(std::vector<DecompositionStep>& steps) {
  for (size_t i = 0; i < steps.size(); ++i) {
    if (steps[i].op != "identity") continue;
    const std::string from = steps[i].operands[0], to = steps[i].results[0];
    const bool own = std::any_of(steps.begin(), steps.end(), [&](const DecompositionStep& s) {
      return std::find(s.results.begin(), s.results.end(), from) != s.results.end();
    });
    // What has its name already keeps it.
    if (!own || from.starts_with('d')) continue;
    steps.erase(steps.begin() + int64_t(i--));
    for (DecompositionStep& s : steps) {
      std::replace(s.results.begin(), s.results.end(), from, to);
      std::replace(s.operands.begin(), s.operands.end(), from, to);
    }
  }
}

void drop_unused(std::vector<DecompositionStep>& steps, const std::vector<std::string>& names) {
  std::set<std::string> used(names.begin(), names.end());
  std::vector<DecompositionStep> kept;
  for (size_t i = steps.size(); i-- > 0;) {
    const bool needed = std::any_of(steps[i].results.begin(), steps[i].results.end(),
                                    [&](const std::string& r) { return used.contains(r); });
    if (!needed) continue;
    used.insert(steps[i].operands.begin(), steps[i].operands.end());
    kept.push_back(std::move(steps[i]));
  }
  std::reverse(kept.begin(), kept.end());
  steps = std::move(kept);
}

std::string GradientSteps::summed(const std::string& value, const Shape& from, const Shape& to) {
  if (from == to) return value;
  std::vector<int64_t> axes;
  const size_t more = from.size() - to.size();
  for (size_t d = 0; d < from.size(); ++d) {
    if (d < more || (to[d - more] == 1 && from[d] != 1)) axes.push_back(int64_t(d));
  }
  if (std::all_of(axes.begin(), axes.end(), [&](int64_t d) { return from[size_t(d)] == 1; }))
    return reshape(value, to);
  // Dimensions in front go with the sum, those that stand for repeated elements stay.
  const bool all_go = axes.back() < int64_t(more);
  const std::string sum = add("reduce_sum", {value}, {{"axes", axes}, {"keepdims", int64_t(!all_go)}});
  return all_go || more == 0 ? sum : reshape(sum, to);
}

void GradientSteps::give(size_t k, const std::string& value, const Shape& shape) {
  result("dx" + std::to_string(k), "identity", {summed(value, shape, in(k).shape)});
}

Attrs fill(double value, const TensorType& type) {
  return {{"shape", type.shape}, {"value", value}, {"dtype", std::string(data_type_name(type.dtype))}};
}

std::string GradientSteps::filled(double value, const TensorType& type) {
  return add("constant_of_shape", {}, fill(value, type));
}

std::string GradientSteps::zeros(const TensorType& type) { return filled(0, type); }

std::string GradientSteps::cast(const std::string& value, DataType to) {
  return add("cast", {value}, {{"to", std::string(data_type_name(to))}});
}

std::string GradientSteps::slice(const std::string& value, int64_t axis, int64_t start, int64_t end,
                                 int64_t step) {
  return add("slice", {value},
             {{"starts", Shape{start}}, {"ends", Shape{end}}, {"axes", Shape{axis}}, {"steps", Shape{step}}});
}

std::string GradientSteps::pad(const std::string& value, int rank, int64_t axis, int64_t before,
                               int64_t behind) {
  if (before == 0 && behind == 0) return value;
  Shape pads(2 * size_t(rank), 0);
  pads[size_t(axis)] = before;
  pads[size_t(axis) + size_t(rank)] = behind;
  return add("pad", {value}, {{"pads", pads}});
}

// ---- one row

bool gradient_steps(const GradientCall& c, std::vector<DecompositionStep>& steps, std::string& error) {
  steps.clear();
  bool any = false, given = false;
  for (size_t k = 0; k < c.wanted.size(); ++k) any = any || c.wants(k);
  for (size_t k = 0; k < c.outputs.size(); ++k)
    given = given || (c.gives(k) && data_type_is_float(c.outputs[k].dtype));
  if (!any || !given) return true;
  bool ok = true;
  if (c.op.gradient != nullptr) {
    ok = c.op.gradient(c, steps, error);
  } else if (!c.op.derivative.empty()) {
    ok = gradient_of_expression(c, steps, error);
  } else if (!c.op.no_gradient.empty()) {
    ok = fail(error, std::string(c.op.no_gradient));
  } else if (c.op.kind == OpKind::compound || c.op.primitives != nullptr) {
    std::vector<DecompositionStep> forward;
    std::vector<std::string> operands(c.op.operands.begin(), c.op.operands.end());
    ok = decompose(c.op, c.attrs, c.inputs, forward, error) &&
         gradient_of_steps(c, forward, operands, {c.op.results.begin(), c.op.results.end()}, false, steps,
                           error);
  } else if (c.op.kind != OpKind::source && !c.op.boolean_result) {
    ok = fail(error, "there is no rule for it");
  }
  if (!ok) {
    const std::string own = fmt::format("{} has no gradient: ", c.op.name);
    if (error.find(" has no gradient: ") == std::string::npos) error = own + error;
    return false;
  }
  std::vector<std::string> wanted;
  for (size_t k = 0; k < c.wanted.size(); ++k) {
    if (c.wants(k)) wanted.push_back("dx" + std::to_string(k));
  }
  drop_unused(steps, wanted);
  drop_copies(steps);
  return true;
}

// ---- lists of steps

namespace {

// Differentiates steps from the last to the first. Values of the forward steps keep their place in the list
// of steps that is written, behind a prefix of their own; steps that nobody needs are dropped at the end.
class Backward {
 public:
  Backward(const GradientCall& call, std::vector<DecompositionStep>& steps) : call_(call), steps_(steps) {}

  bool run(std::span<const DecompositionStep> forward, const std::vector<std::string>& operands,
           const std::vector<std::string>& results, bool again, std::string& error) {
    for (size_t k = 0; k < call_.inputs.size() && k < operands.size(); ++k) {
      if (call_.inputs[k] == nullptr) continue;
      values_[operands[k]] = {"x" + std::to_string(k), *call_.inputs[k], call_.wants(k)};
    }
    for (size_t i = 0; i < forward.size(); ++i) {
      if (!compute(forward[i], i, error)) return false;
    }
    for (size_t k = 0; k < call_.outputs.size() && k < results.size(); ++k) {
      const auto result = values_.find(results[k]);
      if (result == values_.end()) continue;
      if (call_.gives(k)) result->second.gradients.push_back("dy" + std::to_string(k));
      if (!again) result->second.name = "y" + std::to_string(k);
    }
    for (size_t i = forward.size(); i-- > 0;) {
      if (!differentiate(forward[i], error)) return false;
    }
    for (size_t k = 0; k < call_.inputs.size() && k < operands.size(); ++k) {
      if (!call_.wants(k)) continue;
      if (const std::string sum = sum_of(values_.at(operands[k])); !sum.empty())
        Steps(steps_).result("dx" + std::to_string(k), "identity", {sum});
    }
    return true;
  }

 private:
  struct Known {
    std::string name;  // in the steps that are written
    TensorType type;
    bool active = false;  // depends on an operand whose gradient is wanted
    std::vector<std::string> gradients;
  };

  bool compute(const DecompositionStep& step, size_t number, std::string& error) {
    const OpDef* row = find_op(step.op);
    CS_CHECK(row != nullptr, fmt::format("the steps of {} use unknown '{}'", call_.op.name, step.op));
    std::vector<const TensorType*> types;
    DecompositionStep again{{}, step.op, {}, step.attrs};
    bool active = false;
    for (const std::string& name : step.operands) {
      const Known* known = name.empty() ? nullptr : &values_.at(name);
      types.push_back(known == nullptr ? nullptr : &known->type);
      again.operands.push_back(known == nullptr ? "" : known->name);
      active = active || (known != nullptr && known->active);
    }
    std::vector<TensorType> made;
    if (!infer_types(*row, step.attrs, types, made, error)) return false;
    for (size_t k = 0; k < step.results.size(); ++k) {
      const std::string name = fmt::format("f{}_{}", number, k);
      again.results.push_back(name);
      values_[step.results[k]] = {name, made[k], active && data_type_is_float(made[k].dtype), {}};
    }
    steps_.push_back(std::move(again));
    return true;
  }

  // The gradient of a value that has several users is their sum; empty: zero.
  std::string sum_of(Known& v) {
    if (v.gradients.empty()) return "";
    Steps s(steps_);
    while (v.gradients.size() > 1) {
      const std::string last = v.gradients.back();
      v.gradients.pop_back();
      v.gradients.back() = s.add("add", {v.gradients.back(), last});
    }
    return v.gradients[0];
  }

  bool differentiate(const DecompositionStep& step, std::string& error) {
    std::map<std::string, std::string> names;
    std::vector<const TensorType*> inputs;
    std::vector<TensorType> outputs;
    std::vector<bool> wanted, given;
    for (size_t k = 0; k < step.operands.size(); ++k) {
      const Known* known = step.operands[k].empty() ? nullptr : &values_.at(step.operands[k]);
      inputs.push_back(known == nullptr ? nullptr : &known->type);
      wanted.push_back(known != nullptr && known->active);
      if (known != nullptr) names["x" + std::to_string(k)] = known->name;
    }
    bool any = false;
    for (size_t k = 0; k < step.results.size(); ++k) {
      Known& known = values_.at(step.results[k]);
      outputs.push_back(known.type);
      const std::string gradient = known.active ? sum_of(known) : "";
      given.push_back(!gradient.empty());
      any = any || given.back();
      names["y" + std::to_string(k)] = known.name;
      names["dy" + std::to_string(k)] = gradient;
    }
    if (!any) return true;
    std::vector<DecompositionStep> own;
    const GradientCall call{*find_op(step.op), step.attrs, inputs, outputs, wanted, given};
    if (!gradient_steps(call, own, error)) return false;
    for (DecompositionStep& s : own) {
      for (std::string& name : s.operands) {
        if (!name.empty()) name = names.at(name);
      }
      for (size_t k = 0; k < s.results.size(); ++k) {
        const std::string fresh = fmt::format("t{}{}", steps_.size(), k > 0 ? fmt::format("_{}", k) : "");
        names[s.results[k]] = fresh;
        s.results[k] = fresh;
      }
      steps_.push_back(std::move(s));
    }
    for (size_t k = 0; k < step.operands.size(); ++k) {
      const auto made = names.find("dx" + std::to_string(k));
      if (made != names.end()) values_.at(step.operands[k]).gradients.push_back(made->second);
    }
    return true;
  }

  const GradientCall& call_;
  std::vector<DecompositionStep>& steps_;
  std::map<std::string, Known> values_;
};

}  // namespace

bool gradient_of_steps(const GradientCall& c, std::span<const DecompositionStep> forward,
                       const std::vector<std::string>& operands, const std::vector<std::string>& results,
                       bool again, std::vector<DecompositionStep>& steps, std::string& error) {
  return Backward(c, steps).run(forward, operands, results, again, error);
}

}  // namespace cs::ops
