// Nodes of a configuration's losses: operands in the shapes that they need, the loss, the weighted sum of
// several.
#include "compiler/frontend/loss_config.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "compiler/frontend/loss_config_read.h"

namespace cs::frontend {

namespace {

using graph::Graph;
using graph::ValueId;
using ops::Shape;
using ops::TensorType;

class Builder {
 public:
  Builder(Graph& g, const std::string& where, Diag& diag) : g_(g), where_(where), diag_(diag) {}

  // Invalid after an error.
  ValueId loss(const LossUse& use, ValueId output, const std::string& name) {
    at_ = use.at;
    what_ = use.name;
    ValueId x = real(output);
    const TensorType like = g_.value(x).type;
    if (like.shape.empty()) return fail("the output has no dimension for samples");
    if (use.kind != nullptr && use.kind->targets == Targets::labels) return labels(use, x, name);
    const bool classes = takes_classes(use);
    // Classes are the last dimension of a network's output, the second one of a loss's operand.
    const bool flat = classes && like.rank() > 2;
    std::vector<ValueId> operands;
    if (use.kind != nullptr) {
      const ops::OpDef& row = *ops::find_op(use.kind->row);
      for (size_t k = 0; k < row.operands.size(); ++k) {
        const std::string operand(row.operands[k]);
        const bool optional = k >= row.operands.size() - size_t(row.optional_operands);
        if (k == 0)
          operands.push_back(flat ? flattened(x) : x);
        else if (optional)
          operands.push_back(list(use, operand, like.shape.back()));
        else
          operands.push_back(
              further(use, operand, operand == "target" ? form_of(use) : Form::like, like, flat));
      }
    } else {
      const CustomLoss& c = *use.custom;
      for (size_t k = 0; k < c.formula.inputs.size(); ++k)
        operands.push_back(k == 0 ? (flat ? flattened(x) : x)
                                  : further(use, c.formula.inputs[k],
                                            c.facts.is_index[k] ? Form::classes : Form::like, like, flat));
    }
    return weighted(use, node(use, std::move(operands), use.factor == 1 ? name : name + "_alone"), name);
  }

  ValueId sum(ValueId a, ValueId b, const std::string& name) { return op("add", name, {a, b}); }
  ValueId scaled(ValueId v, double factor, const std::string& name) {
    if (factor == 1 || !v.valid()) return v;
    return op("mul", name, {v, constant(name + "_factor", {factor}, {})});
  }

 private:
  enum class Form : uint8_t { like, classes, rows };

  ValueId fail(const std::string& why) {
    const std::string message = fmt::format("loss {}: {}", what_, why);
    if (at_.valid())
      diag_.error(at_, message);
    else
      diag_.error_at(where_, message);
    return {};
  }

  // ---- nodes
  ValueId op(const std::string& row, const std::string& name, std::vector<ValueId> operands,
             Attrs attrs = {}) {
    graph::Node n;
    n.name = g_.fresh_name(name);
    n.op = row;
    n.inputs = std::move(operands);
    while (!n.inputs.empty() && !n.inputs.back().valid()) n.inputs.pop_back();
    n.attrs = std::move(attrs);
    n.loc = at_;
    n.where = where_ + ": " + n.name;
    const std::string result = n.name;
    const graph::NodeId id = g_.add_node(std::move(n));
    const ValueId v = g_.add_result(id, result);
    std::vector<TensorType> types;
    std::string why;
    if (!ops::infer_types(*ops::find_op(row), g_.node(id).attrs, g_.input_types(id), types, why))
      return fail(why);
    g_.value(v).type = types[0];
    g_.value(v).typed = true;
    return v;
  }
  // A node, not a weight of the graph: nobody trains it.
  ValueId constant(const std::string& name, std::vector<double> values, Shape shape) {
    return op("constant", name, {},
              {{"dtype", std::string("f32")}, {"shape", std::move(shape)}, {"value", std::move(values)}});
  }
  ValueId reshaped(ValueId v, Shape shape) {
    return op("reshape", g_.value(v).name + "_flat", {v}, {{"shape", std::move(shape)}});
  }
  ValueId real(ValueId v) {
    const DataType t = g_.value(v).type.dtype;
    if (t == DataType::f32 || t == DataType::f64) return v;
    return op("cast", g_.value(v).name + "_f32", {v}, {{"to", std::string("f32")}});
  }
  ValueId flattened(ValueId v) {
    const TensorType t = g_.value(v).type;
    return reshaped(v, {t.elements() / t.shape.back(), t.shape.back()});
  }
  ValueId weighted(const LossUse& use, ValueId v, const std::string& name) {
    return scaled(v, use.factor, name);
  }

  // ---- operands
  static bool takes_classes(const LossUse& use) {
    if (use.kind != nullptr) return use.kind->targets == Targets::classes;
    return std::find(use.custom->facts.is_index.begin(), use.custom->facts.is_index.end(), true) !=
           use.custom->facts.is_index.end();
  }
  static Form form_of(const LossUse& use) {
    if (use.kind->targets == Targets::rows) return Form::rows;
    return use.kind->targets == Targets::classes && !use.probabilities ? Form::classes : Form::like;
  }
  // An input of the program, one for all losses that name it.
  ValueId input(const std::string& name, TensorType type) {
    if (const auto known = g_.find_value(name); known && made_.contains(*known)) {
      if (g_.value(*known).type == type) return *known;
      return fail(fmt::format("it needs '{}' as {}, another loss as {}; 'target' gives it another name", name,
                              ops::type_text(type), ops::type_text(g_.value(*known).type)));
    }
    const ValueId v = g_.add_input(g_.fresh_name(name), std::move(type));
    made_.insert(v);
    return v;
  }
  ValueId further(const LossUse& use, const std::string& operand, Form form, const TensorType& like,
                  bool flat) {
    TensorType type = like;
    if (form != Form::like) type.shape.pop_back();
    if (form == Form::classes) type.dtype = DataType::i32;
    const bool target =
        operand == "target" || (use.custom != nullptr && operand == use.custom->formula.inputs[1]);
    const ValueId v = input(target && !use.target.empty() ? use.target : operand, type);
    if (!flat || !v.valid()) return v;
    if (form == Form::like) return flattened(v);
    return type.rank() > 1 ? reshaped(v, {type.elements()}) : v;
  }
  ValueId list(const LossUse& use, const std::string& operand, int64_t classes) {
    const auto found = use.lists.find(operand);
    if (found == use.lists.end()) return {};
    const auto n = int64_t(found->second.size());
    if (n != classes)
      return fail(fmt::format("{} has {} numbers, the last dimension of the output {}", operand, n, classes));
    return constant("loss_" + operand, found->second, {n});
  }
  // CTCLoss: the output is [samples, steps, classes], the loss takes steps first.
  ValueId labels(const LossUse& use, ValueId x, const std::string& name) {
    const Shape s = g_.value(x).type.shape;
    if (s.size() != 3)
      return fail(fmt::format("the output must be [samples, steps, classes], it is {}",
                              ops::type_text(g_.value(x).type)));
    const ValueId steps_first =
        op("transpose", g_.value(x).name + "_by_steps", {x}, {{"perm", std::vector<int64_t>{1, 0, 2}}});
    const int64_t most = use.labels > 0 ? use.labels : s[1];
    const auto integers = [&](const std::string& called, Shape shape) {
      return input(called, TensorType{DataType::i32, std::move(shape)});
    };
    const std::string targets = use.target.empty() ? "targets" : use.target;
    const std::vector<ValueId> operands = {steps_first, integers(targets, {s[0], most}),
                                           integers("input_lengths", {s[0]}),
                                           integers("target_lengths", {s[0]})};
    return weighted(use, node(use, operands, use.factor == 1 ? name : name + "_alone"), name);
  }

  ValueId node(const LossUse& use, std::vector<ValueId> operands, const std::string& name) {
    if (!diag_.ok()) return {};
    Attrs attrs = use.attrs;
    ops::set_attr(attrs, "reduction", use.reduction);
    ops::set_attr(attrs, ops::kUseAutogen, int64_t(use.use_autogen));
    if (use.kind != nullptr) return op(use.kind->row, name, std::move(operands), std::move(attrs));
    const CustomLoss& c = *use.custom;
    attrs = ops::custom_loss_attrs(c.formula, use.values, use.reduction, use.use_autogen);
    std::vector<const TensorType*> types;
    for (ValueId v : operands) types.push_back(v.valid() ? &g_.value(v).type : nullptr);
    std::vector<TensorType> made;
    std::string why;
    // What is wrong in the formula is said where it stands.
    if (!ops::infer_types(*ops::find_op(ops::kCustomLoss), attrs, types, made, why)) {
      formula_error(c.expr, c.name, why, diag_);
      return {};
    }
    return op(std::string(ops::kCustomLoss), name, std::move(operands), std::move(attrs));
  }

  Graph& g_;
  const std::string where_;
  Diag& diag_;
  std::set<ValueId> made_;
  SourceLoc at_;
  std::string what_;
};

// The output that a loss takes.
ValueId output_of(const LossUse& use, const std::vector<ValueId>& outputs, const Graph& g, Diag& diag) {
  if (use.output.empty()) return outputs[0];
  std::vector<std::string> names;
  for (ValueId v : outputs) {
    names.push_back(g.value(v).name);
    if (names.back() == use.output) return v;
  }
  const std::string near = nearest(use.output, names);
  diag.error(use.at,
             fmt::format("the network has no output '{}'; it has {}", use.output, fmt::join(names, ", ")),
             near.empty() ? "" : "did you mean '" + near + "'?");
  return {};
}

// Cross entropy with the zoo's keys for it. `scaling`: sum over everything divided by the batch, or mean over
// the targets that count.
LossUse cross_entropy(ModelConfig& c, int64_t batch, const std::string& scaling, const std::string& weight) {
  LossUse use;
  use.kind = find_loss_kind("CrossEntropyLoss");
  use.name = use.kind->name;
  const double smoothing = c.real("model.label_smoothing", 0);
  if (!(smoothing >= 0 && smoothing < 1)) c.error("model.label_smoothing", "must be at least 0 and below 1");
  if (smoothing != 0) use.attrs = {{"label_smoothing", smoothing}};
  if (scaling == "batch_size") {
    use.reduction = "sum";
    use.factor = 1.0 / double(batch);
  }
  if (!weight.empty()) use.factor *= c.real(weight, 1);
  return use;
}

std::string scaling_of(ModelConfig& c, const std::string& key, const std::vector<std::string>& words) {
  const std::string scaling = c.text(key, words[0]);
  if (std::find(words.begin(), words.end(), scaling) != words.end()) return scaling;
  const std::string near = nearest(scaling, words);
  c.error(key, fmt::format("unknown scaling '{}'; there are {}", scaling, fmt::join(words, ", ")),
          near.empty() ? "" : "did you mean '" + near + "'?");
  return words[0];
}

std::vector<LossUse> default_losses(ModelConfig& c, const Graph& g, const std::vector<ValueId>& outputs,
                                    int64_t batch) {
  std::vector<LossUse> uses;
  for (ValueId v : outputs) {
    const std::string& name = g.value(v).name;
    const bool masked = name == "mlm_logits", only = outputs.size() == 1;
    std::string scaling;
    if (masked)
      scaling =
          scaling_of(c, "model.mlm_loss_scaling", {"num_masked", "precomputed_num_masked", "batch_size"});
    else if (only)
      scaling = scaling_of(c, "model.loss_scaling", {"num_tokens", "batch_size"});
    LossUse use = cross_entropy(c, batch, scaling,
                                masked ? "model.mlm_loss_weight"
                                : only ? "model.loss_weight"
                                       : "");
    use.output = name;
    // "mlm_logits" and "mlm_target"
    constexpr std::string_view kLogits = "logits";
    if (name.ends_with(kLogits)) use.target = name.substr(0, name.size() - kLogits.size()) + "target";
    uses.push_back(std::move(use));
  }
  return uses;
}

ValueId build(const std::vector<LossUse>& uses, const std::string& path, Graph& g,
              const std::vector<ValueId>& outputs, Diag& diag) {
  Builder b(g, path, diag);
  ValueId total;
  for (size_t k = 0; k < uses.size(); ++k) {
    const ValueId output = output_of(uses[k], outputs, g, diag);
    if (!output.valid()) return {};
    const ValueId one = b.loss(uses[k], output, uses.size() == 1 ? "loss" : fmt::format("loss{}", k));
    if (!one.valid() || !diag.ok()) return {};
    if (const TensorType& t = g.value(one).type; t.elements() != 1) {
      const std::string message =
          fmt::format("loss {} is {}; what is trained is one number", uses[k].name, ops::type_text(t));
      diag.error(uses[k].at, message, "reduction: mean or sum");
      return {};
    }
    total = k == 0 ? one : b.sum(total, one, k + 1 == uses.size() ? "loss" : fmt::format("losses_to_{}", k));
    if (!total.valid()) return {};
  }
  return total;
}

}  // namespace

ValueId add_loss(ModelConfig& c, Graph& g, int64_t batch, Diag& diag) {
  LossesConfig config;
  if (!read_losses(c, config)) return {};
  const std::vector<ValueId> outputs = g.outputs;
  if (outputs.empty()) {
    diag.error_at(c.path(), "the network has no output for a loss");
    return {};
  }
  const std::vector<LossUse> uses = config.uses.empty() ? default_losses(c, g, outputs, batch) : config.uses;
  if (!diag.ok()) return {};
  return build(uses, c.path(), g, outputs, diag);
}

// A graph of its own shows what the rows refuse: a negative delta, a formula whose shapes do not meet.
void check_losses(ModelConfig& c) {
  LossesConfig config;
  if (!read_losses(c, config)) return;
  for (LossUse use : config.uses) {
    Graph g;
    int64_t classes = 3;
    for (const auto& [name, list] : use.lists) classes = int64_t(list.size());
    const bool steps = use.kind != nullptr && use.kind->targets == Targets::labels;
    const ValueId output =
        g.add_input("output", {DataType::f32, steps ? Shape{2, 4, classes} : Shape{2, classes}});
    use.output.clear();
    Builder(g, c.path(), c.diag()).loss(use, output, "loss");
  }
}

bool is_loss_key(const std::string& key) {
  return key == "model.loss" || key == "losses" || key == "custom_losses" || key.starts_with("model.loss.") ||
         key.starts_with("losses.") || key.starts_with("custom_losses.");
}

}  // namespace cs::frontend
