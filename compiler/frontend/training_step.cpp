// In the order of the picture: states for parameters, gradients, scaling and clipping, one optimizer row per
// parameter.
#include "compiler/frontend/training_step.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "compiler/frontend/batch_statistics.h"
#include "compiler/frontend/training_values.h"
#include "compiler/graph/expand.h"
#include "compiler/graph/gradients.h"
#include "runtime/ops/gradient_scaling.h"
#include "runtime/ops/optimizers.h"

namespace cs::frontend {

namespace {

using graph::Graph;
using graph::NodeId;
using graph::ValueId;

ValueId add_scalar(Graph& g, const std::string& name, HostScalar scalar) {
  scalar.input = g.fresh_name(name);
  const ValueId v = g.add_input(scalar.input, {DataType::f32, {}});
  g.scalars.push_back(std::move(scalar));
  return v;
}

class Builder {
 public:
  Builder(Graph& g, const TrainingPlan& plan, Diag& diag) : g_(g), plan_(plan), diag_(diag) {}

  bool run() {
    if (!check_loss()) return false;
    if (plan_.optimizer && !(take_parameters() && take_statistics())) return false;
    if (!differentiate()) return false;
    if (plan_.optimizer && !(add_optimizer() && end_states())) return false;
    g_.remove_dead();
    return graph::verify(g_, diag_);
  }

 private:
  struct Parameter {
    ValueId master;    // the state, in f32 at least
    ValueId used;      // what the network computes with: itself, or rounded to 16 bits
    ValueId gradient;  // of `used`
    std::string name;
  };
  // A state whose next value is not known yet.
  struct Begun {
    std::string name, purpose;
    ValueId input, next;
    ops::Tensor initial;
  };

  // Of every replica's loss in what the replica has of a parameter, where there are several.
  bool differentiate() {
    std::vector<ValueId> wanted = plan_.gradients, gradients;
    const size_t asked = wanted.size(), replicas = plan_.replicas.results.size();
    const ValueId above = upstream();
    std::vector<std::pair<ValueId, ValueId>> from;
    for (const ValueId loss : plan_.replicas.results) from.emplace_back(loss, above);
    if (replicas == 0) from.emplace_back(plan_.loss, above);
    for (size_t k = 0; k < parameters_.size(); ++k) {
      if (replicas == 0) wanted.push_back(parameters_[k].used);
      for (size_t r = 0; r < replicas; ++r) wanted.push_back(plan_.replicas.roots[k][r]);
    }
    if (!graph::add_gradients(g_, from, wanted, gradients, diag_)) return false;
    set_outputs(std::span(gradients).first(asked));
    gradients.erase(gradients.begin(), gradients.begin() + std::ptrdiff_t(asked));
    if (replicas > 0 && !reduce(gradients)) return false;
    for (size_t k = 0; k < parameters_.size(); ++k) parameters_[k].gradient = gradients[k];
    return true;
  }

  bool reduce(std::vector<ValueId>& gradients) {
    std::vector<ReplicatedGradient> of;
    const size_t replicas = plan_.replicas.results.size();
    for (size_t k = 0; k < parameters_.size(); ++k) {
      const auto first = gradients.begin() + std::ptrdiff_t(k * replicas);
      of.push_back({parameters_[k].name, "", {first, first + std::ptrdiff_t(replicas)}});
    }
    return reduce_gradients(g_, plan_.parallel, of, gradients, diag_);
  }

  bool check_loss() {
    const graph::Value& loss = g_.value(plan_.loss);
    if (loss.type.elements() == 1 && data_type_is_float(loss.type.dtype)) return true;
    diag_.error_at(loss.name,
                   fmt::format("a loss is one number in floating point, '{}' is {}", loss.name,
                               ops::type_text(loss.type)),
                   "reduction mean or sum makes one number of it");
    return false;
  }

  bool take_parameters() {
    const std::vector<ValueId> chosen =
        plan_.parameters.empty() ? trainable_constants(g_, plan_.loss) : plan_.parameters;
    if (chosen.empty()) {
      diag_.error_at(g_.value(plan_.loss).name,
                     "the loss depends on no weights, so there is nothing to train");
      return false;
    }
    for (ValueId v : chosen) {
      const auto constant = g_.shared_constant_of(v);
      const std::string name = g_.value(v).name;
      if (constant == nullptr || !data_type_is_float(constant->type.dtype)) {
        diag_.error_at(name,
                       fmt::format("'{}' is no constant in floating point and cannot be trained", name));
        return false;
      }
      const DataType type = constant->type.dtype, kept = wide(type);
      g_.rename(v, g_.fresh_name(name + ".initial"));
      const ValueId master = begin_state(name, "weights", in_type(*constant, kept));
      g_.value(master).is_static = g_.value(v).is_static;
      const ValueId used = kept == type ? master : cast(master, type, name);
      if (!used.valid()) return false;
      g_.replace_uses(v, used);
      if (kept != type) g_.set_input_of(g_.value(used).producer, 0, master);
      parameters_.push_back({master, used, {}, name});
    }
    return true;
  }

  // They go on with every batch, also with those that make one update together.
  bool take_statistics() {
    std::vector<RunningStatistic> statistics;
    if (!running_statistics(g_, statistics, diag_)) return false;
    for (const RunningStatistic& s : statistics) {
      const auto constant = g_.shared_constant_of(s.before);
      const std::string name = g_.value(s.before).name;
      const DataType type = constant->type.dtype, kept = wide(type);
      g_.rename(s.before, g_.fresh_name(name + ".initial"));
      const ValueId state = begin_state(name, "statistics", in_type(*constant, kept));
      g_.value(state).is_static = g_.value(s.before).is_static;
      const ValueId used = cast(state, type, name), next = cast(s.next, kept, name + ".next");
      if (!used.valid() || !next.valid()) return false;
      g_.replace_uses(s.before, used);
      statistics_.emplace_back(state, next);
    }
    return true;
  }

  ValueId begin_state(const std::string& name, const std::string& purpose, ops::Tensor initial) {
    const ValueId input = g_.add_input(g_.fresh_name(name), initial.type);
    states_.push_back({name, purpose, input, {}, std::move(initial)});
    return input;
  }
  void go_on(ValueId input, ValueId next) {
    std::find_if(states_.begin(), states_.end(), [&](const Begun& s) { return s.input == input; })->next =
        next;
  }

  // The gradient of the loss itself: 1, or the scale that keeps small gradients above the smallest number.
  ValueId upstream() {
    const ops::TensorType type = g_.value(plan_.loss).type;
    const LossScaling scaling = plan_.optimizer ? plan_.optimizer->loss_scaling : LossScaling{};
    if (scaling.dynamic) {
      scale_ = begin_state("loss_scale", "loss scale", number(scaling.factor));
      good_steps_ = begin_state("good_steps", "loss scale", number(0));
      const ValueId narrow = cast(scale_, type.dtype, "loss_scale");
      return type.shape.empty() || !narrow.valid() ? narrow : reshape(narrow, type.shape);
    }
    ops::Tensor one(type);
    one.set(0, scaling.factor);
    if (scaling.factor != 1) scale_ = g_.add_constant(g_.fresh_name("loss_scale"), number(scaling.factor));
    return g_.add_constant(g_.fresh_name("loss_gradient"), std::move(one));
  }

  ValueId cast(ValueId v, DataType to, const std::string& of) { return cast_value(g_, v, to, of, diag_); }
  ValueId reshape(ValueId v, const ops::Shape& shape) { return reshape_value(g_, v, shape, diag_); }

  void set_outputs(std::span<const ValueId> gradients) {
    g_.clear_outputs();
    for (ValueId v : plan_.outputs)
      if (!g_.value(v).is_output) g_.set_output(v);
    for (size_t k = 0; k < gradients.size(); ++k)
      set_named_output(gradients[k], "gradient." + g_.value(plan_.gradients[k]).name);
  }

  // A value of this name: the value itself where it may be called so, else a copy.
  ValueId set_named_output(ValueId v, const std::string& name) {
    const graph::Value& value = g_.value(v);
    if (value.is_output || value.is_input || value.is_constant()) {
      graph::Node n;
      n.name = g_.fresh_name(name + "_copy");  // `name` itself is to be free for the value
      n.op = "identity";
      n.where = "training";
      n.inputs = {v};
      const NodeId id = g_.add_node(std::move(n));
      v = g_.add_result(id, g_.fresh_name(g_.node(id).name + "_y"));
      graph::infer_node(g_, id, diag_);
    }
    g_.rename(v, g_.fresh_name(name));
    g_.set_output(v);
    return v;
  }

  // ---- between gradients and optimizer, and the optimizer: steps over several values by their names

  bool add_optimizer() {
    std::vector<ops::DecompositionStep> steps;
    ops::Steps s(steps);
    std::map<std::string, ValueId> values;
    std::vector<std::string> gradients;
    std::string scale, overflow;
    if (scale_.valid()) values[scale = "scale"] = scale_;
    for (size_t k = 0; k < parameters_.size(); ++k) {
      const Parameter& p = parameters_[k];
      values[fmt::format("g{}", k)] = p.gradient;
      values[fmt::format("p{}", k)] = p.master;
      std::string g = fmt::format("g{}", k);
      const DataType type = g_.value(p.gradient).type.dtype;
      if (!scale.empty())
        g = s.add("unscale", {g, scale});
      else if (wide(type) != type)
        g = s.add("cast", {g}, {{"to", std::string(data_type_name(wide(type)))}});
      gradients.push_back(std::move(g));
    }
    std::vector<std::pair<ValueId, std::string>> next;  // of states
    if (plan_.accumulate > 1) add_up(s, gradients, values, next);
    const OptimizerConfig& c = *plan_.optimizer;
    if (c.loss_scaling.dynamic) overflow = ops::any_not_finite(s, gradients);
    if (c.max_gradient_value > 0) gradients = ops::clip_by_value(s, gradients, c.max_gradient_value);
    if (c.max_gradient_norm > 0) gradients = ops::clip_by_global_norm(s, gradients, c.max_gradient_norm);
    add_rows(s, steps, gradients, overflow, values, next);
    if (c.loss_scaling.dynamic) add_scale_step(steps, overflow, values, next);
    if (plan_.accumulate > 1) {
      for (auto& [state, value] : next)
        if (!sums_.contains(state)) value = s.add("where", {last_, value, name_of(values, state)});
    }
    for (const auto& [state, value] : statistics_) {
      values[g_.value(state).name] = state;
      values[g_.value(value).name] = value;
      next.emplace_back(state, g_.value(value).name);
    }
    if (plan_.evaluates) keep_where_nothing_is_trained(s, values, next);
    graph::Node like;
    like.name = "optimizer";
    like.op = row_of(c).name;
    like.where = "training: the optimizer";
    if (!graph::add_steps(g_, like, steps, values, diag_)) return false;
    for (const auto& [state, value] : next) go_on(state, values.at(value));
    return true;
  }

  // Gradients become those of all batches so far; behind the last one the next sum begins.
  void add_up(ops::Steps& s, std::vector<std::string>& gradients, std::map<std::string, ValueId>& values,
              std::vector<std::pair<ValueId, std::string>>& next) {
    values["last"] = scalar_input("last_of_step", {}, true);
    last_ = s.add("is_not_zero", {"last"});
    for (size_t k = 0; k < gradients.size(); ++k) {
      const Parameter& p = parameters_[k];
      const DataType type = g_.value(p.master).type.dtype;
      const ValueId sum =
          begin_state(p.name + ".gradient_sum", "gradients", ops::Tensor(g_.value(p.master).type));
      const std::string name = fmt::format("p{}.gradient_sum", k);
      values[name] = sum;
      sums_.insert(sum);
      const std::string total = s.add("add", {name, gradients[k]});
      next.emplace_back(sum, s.add("where", {last_, s.constant(0, type), total}));
      gradients[k] =
          plan_.average ? s.add("mul", {total, s.constant(1.0 / double(plan_.accumulate), type)}) : total;
    }
  }

  // In steps of evaluation all states stay as they are.
  void keep_where_nothing_is_trained(ops::Steps& s, std::map<std::string, ValueId>& values,
                                     std::vector<std::pair<ValueId, std::string>>& next) {
    values["trains"] = plan_.trains.valid() ? plan_.trains : add_trains(g_);
    const std::string trains = s.add("is_not_zero", {"trains"});
    for (auto& [state, value] : next) value = s.add("where", {trains, value, name_of(values, state)});
  }

  ValueId scalar_input(const std::string& name, std::optional<LearningRate> rate, bool last = false) {
    return add_scalar(g_, name, {"", std::move(rate), plan_.accumulate, last});
  }

  // new_parameter, new_STATE... = row(parameter, gradient, learning_rate, [step,] STATE...)
  void add_rows(ops::Steps& s, std::vector<ops::DecompositionStep>& steps,
                const std::vector<std::string>& gradients, const std::string& overflow,
                std::map<std::string, ValueId>& values, std::vector<std::pair<ValueId, std::string>>& next) {
    const OptimizerRow row = row_of(*plan_.optimizer);
    const ops::OpDef& def = *ops::find_op(row.name);
    const ops::OptimizerNeeds needs = ops::optimizer_needs(def, row.attrs);
    values["learning_rate"] = scalar_input("learning_rate", plan_.optimizer->learning_rate);
    if (needs.step) values["step"] = scalar_input("step", {});
    for (size_t k = 0; k < parameters_.size(); ++k) {
      const Parameter& p = parameters_[k];
      const auto operand_name = [&](std::string_view o) -> std::string {
        if (o == "parameter") return fmt::format("p{}", k);
        if (o == "gradient") return gradients[k];
        if (o == "learning_rate") return "learning_rate";
        if (o == "step") return needs.step ? "step" : "";
        const bool is_needed = std::find(needs.state.begin(), needs.state.end(), o) != needs.state.end();
        return is_needed ? fmt::format("p{}.{}", k, o) : "";
      };
      ops::DecompositionStep step;
      step.op = row.name;
      step.attrs = row.attrs;
      for (std::string_view o : def.operands) step.operands.push_back(operand_name(o));
      while (!step.operands.empty() && step.operands.back().empty()) step.operands.pop_back();
      for (std::string_view r : def.results) step.results.push_back(fmt::format("p{}.{}", k, r));
      std::vector<std::pair<ValueId, std::string>> made = {
          {p.master, fmt::format("p{}.{}", k, def.results[0])}};
      for (const std::string& state : needs.state) {
        ops::Tensor initial(g_.value(p.master).type);
        for (int64_t i = 0; i < initial.elements(); ++i) initial.set(i, row.initial_state);
        const ValueId v = begin_state(fmt::format("{}.{}", p.name, state), "optimizer", std::move(initial));
        values[fmt::format("p{}.{}", k, state)] = v;
        made.emplace_back(v, fmt::format("p{}.new_{}", k, state));
      }
      drop_absent_results(step, needs);
      steps.push_back(std::move(step));
      for (auto& [state, value] : made) {
        const std::string old = state == p.master ? fmt::format("p{}", k) : name_of(values, state);
        next.emplace_back(state, overflow.empty() ? value : ops::keep_if(s, overflow, old, value));
      }
    }
  }

  static std::string name_of(const std::map<std::string, ValueId>& values, ValueId v) {
    return std::find_if(values.begin(), values.end(), [&](const auto& e) { return e.second == v; })->first;
  }

  // Results of states that these options do without.
  static void drop_absent_results(ops::DecompositionStep& step, const ops::OptimizerNeeds& needs) {
    while (step.results.size() > 1) {
      const std::string& last = step.results.back();
      const std::string state = last.substr(last.find(".new_") + 5);
      if (std::find(needs.state.begin(), needs.state.end(), state) != needs.state.end()) break;
      step.results.pop_back();
    }
  }

  void add_scale_step(std::vector<ops::DecompositionStep>& steps, const std::string& overflow,
                      std::map<std::string, ValueId>& values,
                      std::vector<std::pair<ValueId, std::string>>& next) {
    const LossScaling& c = plan_.optimizer->loss_scaling;
    values["good_steps"] = good_steps_;
    ops::DecompositionStep step;
    step.op = "loss_scale_step";
    step.operands = {"scale", "good_steps", overflow};
    step.results = {"new_scale", "new_good_steps"};
    ops::set_attr(step.attrs, "interval", c.steps_per_increase);
    ops::set_attr(step.attrs, "min_scale", c.min);
    ops::set_attr(step.attrs, "max_scale", c.max);
    steps.push_back(std::move(step));
    next.emplace_back(scale_, "new_scale");
    next.emplace_back(good_steps_, "new_good_steps");
  }

  bool end_states() {
    for (Begun& s : states_) {
      const ValueId output = set_named_output(s.next, s.name + ".next");
      g_.states.push_back({s.name, s.purpose, g_.value(s.input).name, g_.value(output).name,
                           std::make_shared<const ops::Tensor>(std::move(s.initial))});
    }
    return diag_.ok();
  }

  Graph& g_;
  const TrainingPlan& plan_;
  Diag& diag_;
  std::vector<Parameter> parameters_;
  std::vector<Begun> states_;
  std::vector<std::pair<ValueId, ValueId>> statistics_;  // states and what they become
  ValueId scale_, good_steps_;
  std::set<ValueId> sums_;  // states of gradients that add up
  std::string last_;        // the step's name of whether this is the last of the batches that make an update
};

}  // namespace

ValueId add_trains(Graph& g) { return add_scalar(g, "trains", {"", {}, 0, true}); }

bool make_training_step(Graph& g, const TrainingPlan& plan, Diag& diag) {
  return Builder(g, plan, diag).run();
}

}  // namespace cs::frontend
