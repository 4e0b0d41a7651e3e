// Optimizers: one step of one parameter, computed in at least f32 whatever its type. With f32 parameters and
// 16-bit gradients the row is a step on master weights.
//
// What depends on the step alone is computed from scalars, so that the elements of a parameter see a few
// factors and no branch.
#include "runtime/ops/optimizers.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "runtime/ops/rows.h"
#include "runtime/ops/rules.h"
#include "runtime/ops/steps.h"

namespace cs::ops {

namespace {

constexpr size_t kFirstState =
    3;  // behind parameter, gradient and learning rate; `step` counts as one where it is

bool is_set(const OpDef& op, const Attrs& attrs, std::string_view name) {
  return attr_int(op, attrs, name) != 0;
}
bool nonzero(const OpDef& op, const Attrs& attrs, std::string_view name) {
  return attr_real(op, attrs, name) != 0;
}

// When an operand behind the learning rate is needed; without a condition it always is.
struct Need {
  std::string_view row, operand;
  bool (*when)(const OpDef&, const Attrs&) = nullptr;
  std::string_view why = {};
};
constexpr Need kNeeds[] = {
    {"sgd_step", "step",
     [](const OpDef& op, const Attrs& a) {
       return nonzero(op, a, "momentum") && nonzero(op, a, "dampening");
     },
     "dampening"},
    {"sgd_step", "momentum_buffer",
     [](const OpDef& op, const Attrs& a) { return nonzero(op, a, "momentum"); }, "momentum"},
    {"adam_step", "step",
     [](const OpDef& op, const Attrs& a) { return attr_text(op, a, "correction") != "none"; }, "correction"},
    {"adam_step", "exp_avg"},
    {"adam_step", "exp_avg_sq"},
    {"adam_step", "max_exp_avg_sq", [](const OpDef& op, const Attrs& a) { return is_set(op, a, "amsgrad"); },
     "amsgrad"},
    {"adagrad_step", "step", [](const OpDef& op, const Attrs& a) { return nonzero(op, a, "lr_decay"); },
     "lr_decay"},
    {"adagrad_step", "sum"},
    {"rmsprop_step", "square_avg"},
    {"rmsprop_step", "momentum_buffer",
     [](const OpDef& op, const Attrs& a) { return nonzero(op, a, "momentum"); }, "momentum"},
    {"rmsprop_step", "grad_avg", [](const OpDef& op, const Attrs& a) { return is_set(op, a, "centered"); },
     "centered"},
};

int operand_index(const OpDef& op, std::string_view name) {
  const auto it = std::find(op.operands.begin(), op.operands.end(), name);
  return it == op.operands.end() ? -1 : int(it - op.operands.begin());
}

// ---- types

bool check_operand(const ShapeContext& c, size_t k, std::string& error) {
  const std::string_view name = c.op.operands[k];
  const TensorType &t = *c.inputs[k], &parameter = *c.inputs[0];
  const bool scalar = name == "learning_rate" || name == "step";
  if (scalar && t.elements() != 1)
    return fail(error, fmt::format("'{}' is {}, it must be one number", name, type_text(t)));
  if (!scalar && t.shape != parameter.shape)
    return fail(error, fmt::format("'{}' is {}, the parameter {}", name, type_text(t), type_text(parameter)));
  if (!data_type_is_float(t.dtype) && name != "step")
    return fail(error, fmt::format("'{}' is {}, it must be in floating point", name, type_text(t)));
  return true;
}

bool shape_optimizer(const ShapeContext& c, std::vector<TensorType>& outputs, std::string& error) {
  for (const Need& n : kNeeds) {
    if (n.row != c.op.name || (n.when != nullptr && !n.when(c.op, c.attrs))) continue;
    if (c.input(size_t(operand_index(c.op, n.operand))) == nullptr)
      return fail(error, fmt::format("operand '{}' is missing{}{}", n.operand,
                                     n.why.empty() ? "" : "; it is needed for ", n.why));
  }
  outputs = {*c.inputs[0]};
  // Results end with the last state that is there. One that is not there in between has the parameter's type.
  for (size_t k = 0, states = 0; k < c.inputs.size(); ++k) {
    if (c.inputs[k] != nullptr && !check_operand(c, k, error)) return false;
    if (k < kFirstState || c.op.operands[k] == "step") continue;
    if (++states; c.inputs[k] == nullptr) continue;
    outputs.resize(states, *c.inputs[0]);
    outputs.push_back(*c.inputs[k]);
  }
  return true;
}

bool in_unit_interval(const ShapeContext& c, std::string_view name, std::string& error) {
  const double v = attr_real(c.op, c.attrs, name);
  return (v >= 0 && v < 1) ||
         fail(error, fmt::format("{} is {}, it must be at least 0 and below 1", name, v));
}

bool shape_adam(const ShapeContext& c, std::vector<TensorType>& outputs, std::string& error) {
  const std::string correction = attr_text(c.op, c.attrs, "correction");
  if (correction != "moments" && correction != "rate" && correction != "none")
    return fail(error, fmt::format("correction is '{}'; there are moments, rate and none", correction));
  return in_unit_interval(c, "beta1", error) && in_unit_interval(c, "beta2", error) &&
         shape_optimizer(c, outputs, error);
}

bool shape_rmsprop(const ShapeContext& c, std::vector<TensorType>& outputs, std::string& error) {
  return in_unit_interval(c, "alpha", error) && shape_optimizer(c, outputs, error);
}

// ---- steps

// Steps in the wide type: operands are converted on the way in, results on the way out.
class Update {
 public:
  Update(const ShapeContext& c, std::vector<DecompositionStep>& steps)
      : c_(c), s_(steps), wide_(c.inputs[0]->dtype == DataType::f64 ? DataType::f64 : DataType::f32) {
    parameter = operand("parameter");
    learning_rate = operand("learning_rate");
    gradient = operand("gradient");
    if (attribute("maximize") != 0) gradient = s_.add("neg", {gradient});
  }

  bool has(std::string_view name) const {
    const int k = operand_index(c_.op, name);
    return k >= 0 && c_.input(size_t(k)) != nullptr;
  }
  std::string operand(const std::string& name) {
    const TensorType& t = *c_.input(size_t(operand_index(c_.op, name)));
    const bool scalar = name == "learning_rate" || name == "step";
    const std::string x = scalar && t.rank() > 0 ? s_.reshape(name, {}) : name;
    return t.dtype == wide_ ? x : converted(x, wide_);
  }
  double attribute(std::string_view name) const {
    for (const AttrDef& a : c_.op.attrs)
      if (a.name == name && a.kind == AttrKind::integer) return double(attr_int(c_.op, c_.attrs, name));
    return attr_real(c_.op, c_.attrs, name);
  }

  std::string op(const std::string& row, const std::string& a) { return s_.add(row, {a}); }
  std::string op(const std::string& row, const std::string& a, const std::string& b) {
    return s_.add(row, {a, b});
  }
  std::string op(const std::string& row, const std::string& a, double b) { return op(row, a, number(b)); }
  std::string number(double v) { return s_.constant(v, wide_); }
  std::string times(const std::string& x, double factor) { return factor == 1 ? x : op("mul", x, factor); }
  std::string choose(const std::string& condition, const std::string& then, const std::string& otherwise) {
    return s_.add("where", {condition, then, otherwise});
  }

  // A result, and its value in the wide type for the steps behind it.
  std::string result(const std::string& name, const std::string& row, const std::string& a,
                     const std::string& b) {
    const std::string from = name.substr(std::string_view("new_").size());
    const int k = operand_index(c_.op, from);
    const TensorType& type = c_.input(size_t(k)) != nullptr ? *c_.inputs[size_t(k)] : *c_.inputs[0];
    if (type.dtype == wide_) {
      s_.result(name, row, {a, b});
      return name;
    }
    std::string value = op(row, a, b);
    s_.result(name, "cast", {value}, {{"to", std::string(data_type_name(type.dtype))}});
    return value;
  }
  // parameter = parameter - rate * direction
  void descend(const std::string& rate, const std::string& direction) {
    result("new_parameter", "sub", parameter, op("mul", direction, rate));
  }
  // Weight decay as a term of the gradient.
  void decay_gradient() {
    const double decay = attribute("weight_decay");
    if (decay != 0) gradient = op("add", gradient, times(parameter, decay));
  }
  // keep * state + (1 - keep) * x, the new state. Near 1 as state + (1 - keep) * (x - state), which takes as
  // many instructions: what is rounded before the sum is small.
  std::string average(const std::string& state, const std::string& x, double keep) {
    const std::string old = operand(state), made = "new_" + state;
    if (keep > 0.75) return result(made, "add", old, times(op("sub", x, old), 1 - keep));
    return result(made, "add", times(old, keep), times(x, 1 - keep));
  }

  std::string parameter, gradient, learning_rate;

 private:
  std::string converted(const std::string& x, DataType to) {
    return s_.add("cast", {x}, {{"to", std::string(data_type_name(to))}});
  }
  const ShapeContext& c_;
  Steps s_;
  DataType wide_;
};

// The buffer begins as zeros, so after the first step it is the gradient, which dampening must leave whole.
bool steps_sgd(const ShapeContext& c, std::vector<DecompositionStep>& steps, std::string&) {
  Update u(c, steps);
  u.decay_gradient();
  const double momentum = u.attribute("momentum"), dampening = u.attribute("dampening");
  if (!u.has("momentum_buffer")) {
    u.descend(u.learning_rate, u.gradient);
    return true;
  }
  std::string enters = u.gradient;
  if (dampening != 0 && u.has("step"))
    enters =
        u.op("mul", enters,
             u.choose(u.op("less_or_equal", u.operand("step"), 1.0), u.number(1), u.number(1 - dampening)));
  const std::string buffer =
      u.result("new_momentum_buffer", "add", u.times(u.operand("momentum_buffer"), momentum), enters);
  u.descend(u.learning_rate,
            u.attribute("nesterov") != 0 ? u.op("add", u.gradient, u.times(buffer, momentum)) : buffer);
  return true;
}

// 1 - beta^step = 2 h / (1 + h) with h = tanh(-step * log(beta) / 2). The difference itself would lose its
// digits where beta^step is near 1.
std::string bias_correction(Update& u, double beta) {
  if (beta == 0) return u.number(1);
  const std::string h = u.op("tanh", u.times(u.operand("step"), -0.5 * std::log(beta)));
  return u.op("div", u.times(h, 2), u.op("add", h, 1.0));
}

bool steps_adam(const ShapeContext& c, std::vector<DecompositionStep>& steps, std::string&) {
  Update u(c, steps);
  const double decay = u.attribute("weight_decay"), after = u.attribute("post_decay");
  if (u.attribute("decoupled") == 0) {
    u.decay_gradient();
  } else if (decay != 0) {  // parameter * (1 - learning_rate * decay)
    u.parameter = u.op("sub", u.parameter, u.op("mul", u.parameter, u.times(u.learning_rate, decay)));
  }
  const double beta1 = u.attribute("beta1"), beta2 = u.attribute("beta2");
  const std::string mean = u.average("exp_avg", u.gradient, beta1);
  std::string square = u.average("exp_avg_sq", u.op("square", u.gradient), beta2);
  if (u.has("max_exp_avg_sq"))
    square = u.result("new_max_exp_avg_sq", "max", u.operand("max_exp_avg_sq"), square);
  std::string root = u.op("sqrt", square), rate = u.learning_rate;
  const std::string correction = attr_text(c.op, c.attrs, "correction");
  if (correction != "none") {
    const std::string first = bias_correction(u, beta1), second = bias_correction(u, beta2);
    if (correction == "moments") {
      rate = u.op("div", rate, first);
      root = u.op("mul", root, u.op("rsqrt", second));
    } else {  // before the first step there is nothing to correct
      const std::string corrected = u.op("mul", rate, u.op("div", u.op("sqrt", second), first));
      rate = u.choose(u.op("greater", u.operand("step"), 0.0), corrected, rate);
    }
  }
  const std::string direction = u.op("div", mean, u.op("add", root, u.attribute("eps")));
  if (after == 0) {
    u.descend(rate, direction);
  } else {
    u.result("new_parameter", "mul", u.op("sub", u.parameter, u.op("mul", direction, rate)),
             u.number(1 - after));
  }
  return true;
}

bool steps_adagrad(const ShapeContext& c, std::vector<DecompositionStep>& steps, std::string&) {
  Update u(c, steps);
  u.decay_gradient();
  std::string rate = u.learning_rate;
  const double decay = u.attribute("lr_decay");
  if (decay != 0)
    rate = u.op("div", rate, u.op("add", u.times(u.op("sub", u.operand("step"), 1.0), decay), 1.0));
  const std::string sum = u.result("new_sum", "add", u.operand("sum"), u.op("square", u.gradient));
  u.descend(rate, u.op("div", u.gradient, u.op("add", u.op("sqrt", sum), u.attribute("eps"))));
  return true;
}

bool steps_rmsprop(const ShapeContext& c, std::vector<DecompositionStep>& steps, std::string&) {
  Update u(c, steps);
  u.decay_gradient();
  const double alpha = u.attribute("alpha"), momentum = u.attribute("momentum");
  std::string square = u.average("square_avg", u.op("square", u.gradient), alpha);
  if (u.has("grad_avg")) {
    // A variance is not negative, but its rounded difference may be.
    const std::string mean = u.average("grad_avg", u.gradient, alpha);
    square = u.op("relu", u.op("sub", square, u.op("square", mean)));
  }
  std::string direction = u.op("div", u.gradient, u.op("add", u.op("sqrt", square), u.attribute("eps")));
  if (u.has("momentum_buffer")) {
    direction =
        u.result("new_momentum_buffer", "add", u.times(u.operand("momentum_buffer"), momentum), direction);
  } else if (u.has("grad_avg")) {  // a result in between, which nobody wants
    u.result("new_momentum_buffer", "mul", direction, u.number(1));
  }
  u.descend(u.learning_rate, direction);
  return true;
}

OpDef optimizer(std::string_view name, Names scalars, Names states, AttrDefs attrs, ShapeRule shape,
                DecompositionRule steps) {
  Names operands = {"parameter", "gradient"};
  operands.insert(operands.end(), scalars.begin(), scalars.end());
  operands.insert(operands.end(), states.begin(), states.end());
  const int optional = int(operands.size() - kFirstState);
  OpDef d = by_steps(name, {}, std::move(operands), optional, std::move(attrs), shape, steps);
  d.attrs.push_back(real("weight_decay", 0));
  d.attrs.push_back(integer("maximize", 0));
  d.results = {"new_parameter"};
  return d;
}

}  // namespace

OptimizerNeeds optimizer_needs(const OpDef& op, const Attrs& attrs) {
  OptimizerNeeds needs;
  for (const Need& n : kNeeds) {
    if (n.row != op.name || (n.when != nullptr && !n.when(op, attrs))) continue;
    if (n.operand == "step")
      needs.step = true;
    else
      needs.state.emplace_back(n.operand);
  }
  return needs;
}

bool is_optimizer(const OpDef& op) {
  return std::any_of(std::begin(kNeeds), std::end(kNeeds), [&](const Need& n) { return n.row == op.name; });
}

void add_optimizers(Rows& t) {
  const Names scheduled = {"learning_rate", "step"};
  OpDef sgd = optimizer("sgd_step", scheduled, {"momentum_buffer"},
                        {real("momentum", 0), real("dampening", 0), integer("nesterov", 0)}, shape_optimizer,
                        steps_sgd);
  sgd.results.push_back("new_momentum_buffer");
  sgd.optional_results = 1;
  t.push_back(noted(sgd, "Momentum of ai.onnx.preview.training with step = T + 1"));
  OpDef adam =
      optimizer("adam_step", scheduled, {"exp_avg", "exp_avg_sq", "max_exp_avg_sq"},
                {real("beta1", 0.9), real("beta2", 0.999), real("eps", 1e-8), integer("decoupled", 0),
                 real("post_decay", 0), integer("amsgrad", 0), text("correction", "moments")},
                shape_adam, steps_adam);
  adam.results = {"new_parameter", "new_exp_avg", "new_exp_avg_sq", "new_max_exp_avg_sq"};
  adam.optional_results = 3;
  t.push_back(noted(adam, "AdamW with decoupled; Adam of ai.onnx.preview.training with correction = rate"));
  OpDef adagrad = optimizer("adagrad_step", scheduled, {"sum"}, {real("lr_decay", 0), real("eps", 1e-10)},
                            shape_optimizer, steps_adagrad);
  adagrad.results.push_back("new_sum");
  adagrad.optional_results = 1;
  t.push_back(noted(adagrad, "Adagrad of ai.onnx.preview.training with step = T + 1"));
  OpDef rmsprop =
      optimizer("rmsprop_step", {"learning_rate"}, {"square_avg", "momentum_buffer", "grad_avg"},
                {real("alpha", 0.99), real("eps", 1e-8), real("momentum", 0), integer("centered", 0)},
                shape_rmsprop, steps_rmsprop);
  rmsprop.results = {"new_parameter", "new_square_avg", "new_momentum_buffer", "new_grad_avg"};
  rmsprop.optional_results = 3;
  t.push_back(rmsprop);
}

}  // namespace cs::ops
