// ONNX import: optimizers of the domain ai.onnx.preview.training. One node of theirs updates several
// parameters,
//
//   Adam(R, T, X1, X2, G1, G2, V1, V2, H1, H2) -> X1', X2', V1', V2', H1', H2'
//
// and becomes one node of ours for each. T counts updates from 0 where our steps count from 1.
#include <algorithm>

#include <fmt/format.h>

#include "compiler/frontend/onnx_importer.h"

namespace cs::frontend {

using graph::ValueId;

namespace {

constexpr size_t kShared = 2;  // R, T

struct TrainingOp {
  std::string_view name, row;
  std::vector<std::string_view> states;
  bool counts_from_one;  // the row gets T + 1
};
const TrainingOp kOps[] = {{"Adagrad", "adagrad_step", {"sum"}, true},
                           {"Adam", "adam_step", {"exp_avg", "exp_avg_sq"}, false},
                           {"Momentum", "sgd_step", {"momentum_buffer"}, true}};

const TrainingOp* find_training(std::string_view name) {
  for (const TrainingOp& op : kOps)
    if (op.name == name) return &op;
  return nullptr;
}

// Attributes by their names in ONNX, with its defaults; what is asked for is taken out.
class Given {
 public:
  explicit Given(Attrs attrs) : attrs_(std::move(attrs)) {}
  double real(std::string_view name, std::optional<double> otherwise) {
    const auto v = take(name);
    if (v && std::holds_alternative<double>(*v)) return std::get<double>(*v);
    if (v || !otherwise) fail(fmt::format("attribute '{}' must be a number", name));
    return otherwise.value_or(0);
  }
  std::string text(std::string_view name) {
    const auto v = take(name);
    if (v && std::holds_alternative<std::string>(*v)) return std::get<std::string>(*v);
    fail(fmt::format("attribute '{}' must be a text", name));
    return "";
  }
  void fail(const std::string& why) {
    if (error.empty()) error = why;
  }
  // After all were asked for.
  bool finish() {
    if (!attrs_.empty()) fail(fmt::format("unknown attribute '{}'", attrs_.front().first));
    return error.empty();
  }
  std::string error;

 private:
  std::optional<AttrValue> take(std::string_view name) {
    for (auto it = attrs_.begin(); it != attrs_.end(); ++it) {
      if (it->first != name) continue;
      AttrValue v = std::move(it->second);
      attrs_.erase(it);
      return v;
    }
    return std::nullopt;
  }
  Attrs attrs_;
};

Attrs row_attributes(std::string_view op, Given& g) {
  Attrs attrs;
  const auto set = [&](std::string_view name, AttrValue value) {
    ops::set_attr(attrs, name, std::move(value));
  };
  set("weight_decay", g.real("norm_coefficient", op == "Momentum" ? std::nullopt : std::optional(0.0)));
  if (op == "Momentum") {
    set("momentum", g.real("alpha", {}));
    set("dampening", 1 - g.real("beta", {}));
    const std::string mode = g.text("mode");
    if (mode != "standard" && mode != "nesterov")
      g.fail("mode is '" + mode + "'; there are standard and nesterov");
    set("nesterov", int64_t(mode == "nesterov"));
    return attrs;
  }
  set("eps", g.real("epsilon", 1e-6));
  if (op == "Adagrad") {
    set("lr_decay", g.real("decay_factor", 0));
  } else {
    set("beta1", g.real("alpha", 0.9));
    set("beta2", g.real("beta", 0.999));
    set("post_decay", g.real("norm_coefficient_post", 0));
    set("correction", std::string("rate"));
  }
  return attrs;
}

}  // namespace

bool is_training_op(const onnx::NodeProto& n) {
  return n.domain() == "ai.onnx.preview.training" && find_training(n.op_type()) != nullptr;
}

// T, or T + 1 where steps count from 1, in f32.
ValueId Importer::step_of(int i, ValueId count, bool from_one) {
  const std::string name = g_.fresh_name(names_[size_t(i)] + "_step");
  const ValueId step = emit(i, name, *ops::find_op("cast"), {count}, {{"to", std::string("f32")}},
                            {g_.fresh_name(name + "_out")});
  if (!from_one || !step.valid()) return step;
  ops::Tensor one(ops::TensorType{DataType::f32, {}});
  one.set(0, 1);
  const ValueId one_id = g_.add_constant(g_.fresh_name(name + "_one"), std::move(one));
  const std::string next = g_.fresh_name(name + "_from_one");
  return emit(i, next, *ops::find_op("add"), {step, one_id}, {}, {g_.fresh_name(next + "_out")});
}

bool Importer::add_training(int i) {
  const onnx::NodeProto& n = node(i);
  const TrainingOp& op = *find_training(n.op_type());
  const ops::OpDef& row = *ops::find_op(op.row);
  std::vector<ValueId> operands;
  if (!operands_of(i, operands)) return false;
  const size_t in = 2 + op.states.size(), out = 1 + op.states.size();  // per parameter
  const size_t parameters = operands.size() < kShared ? 0 : (operands.size() - kShared) / in;
  if (parameters == 0 || operands.size() != kShared + parameters * in ||
      size_t(n.output_size()) != parameters * out)
    return bad(
        i, fmt::format(
               "{} inputs and {} results; R and T, then {} inputs and {} results per parameter are wanted",
               n.input_size(), n.output_size(), in, out));
  for (size_t k = 0; k < operands.size(); ++k)
    if (!operands[k].valid()) return bad(i, fmt::format("input {} is missing", k));
  Attrs given;
  if (!attributes_of(i, row, given)) return false;
  Given g(std::move(given));
  const Attrs attrs = row_attributes(op.name, g);
  if (!g.finish()) return bad(i, g.error);
  const ValueId step = step_of(i, operands[1], op.counts_from_one);
  for (size_t p = 0; step.valid() && p < parameters; ++p) {
    const auto of = [&](size_t group) { return operands[kShared + group * parameters + p]; };
    std::vector<ValueId> ours;
    std::vector<std::string> results = {n.output(int(p))};
    for (const std::string_view name : row.operands) {
      const auto state = std::find(op.states.begin(), op.states.end(), name);
      ours.push_back(name == "parameter"        ? of(0)
                     : name == "gradient"       ? of(1)
                     : name == "learning_rate"  ? operands[0]
                     : name == "step"           ? step
                     : state != op.states.end() ? of(2 + size_t(state - op.states.begin()))
                                                : ValueId{});
    }
    for (size_t s = 1; s < out; ++s) results.push_back(n.output(int(s * parameters + p)));
    for (const std::string& r : results)
      if (!r.empty() && !new_value(r)) return false;
    const std::string name =
        parameters == 1 ? names_[size_t(i)] : g_.fresh_name(fmt::format("{}_{}", names_[size_t(i)], p));
    if (!emit(i, name, row, std::move(ours), attrs, std::move(results)).valid()) return false;
  }
  return step.valid();
}

}  // namespace cs::frontend
