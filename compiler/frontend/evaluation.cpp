// Constants of a checkpoint's names are replaced; metrics are formulas behind the scores that a loss takes.
#include "compiler/frontend/evaluation.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "compiler/frontend/loss_config.h"
#include "compiler/graph/batch.h"
#include "compiler/graph/sample.h"
#include "runtime/host/npz.h"
#include "runtime/ops/losses.h"

namespace cs::frontend {

namespace {

using graph::Graph;
using graph::NodeId;
using graph::ValueId;

constexpr const char* kCheckpoint = "runconfig.checkpoint_path";
// Of a checkpoint beside states of parameters (training_step.cpp, training_data.cpp).
constexpr const char* kOthers[] = {"iteration", "loss_scale", "good_steps"};

// Relative to the file that names it; that of --set to where the tool was called.
std::string path_from(ModelConfig& c, const YamlNode& node) {
  const std::string from = c.diag().sources.path(node.loc().file);
  const std::filesystem::path file(node.text());
  return from.starts_with("--set") ? file.string()
                                   : (std::filesystem::path(from).parent_path() / file).string();
}

bool belongs_to_training(const std::string& name, const Graph& g) {
  if (std::find(std::begin(kOthers), std::end(kOthers), name) != std::end(kOthers)) return true;
  const size_t point = name.rfind('.');
  return point != std::string::npos && g.find_value(name.substr(0, point)).has_value();
}

bool replace(Graph& g, ValueId v, const NamedArray& from, const std::string& path, Diag& diag) {
  const ops::TensorType want = g.value(v).type;
  ops::Tensor have = from.tensor;
  // numpy has no bfloat16: its bits come as u16.
  if (want.dtype == DataType::bf16 && have.type.dtype == DataType::u16) have.type.dtype = DataType::bf16;
  if (have.type.shape != want.shape || !data_type_is_float(have.type.dtype)) {
    diag.error_at(path, fmt::format("array '{}' is {}, the network's is {}", from.name,
                                    ops::type_text(from.tensor.type), ops::type_text(want)));
    return false;
  }
  ops::Tensor rounded(want);
  for (int64_t i = 0; i < rounded.elements(); ++i) rounded.set(i, have.get(i));
  g.constants[size_t(g.value(v).constant)] = std::make_shared<const ops::Tensor>(std::move(rounded));
  return true;
}

struct Scored {
  ValueId scores, targets;
  int64_t ignored;
  bool one_kernel;
};

std::vector<Scored> scored(const Graph& g) {
  std::vector<Scored> out;
  for (const NodeId id : g.nodes()) {
    const graph::Node& n = g.node(id);
    if (n.op != "cross_entropy_loss" && n.op != "nll_loss") continue;
    if (data_type_is_float(g.value(n.inputs[1]).type.dtype)) continue;  // probabilities
    out.push_back({n.inputs[0], n.inputs[1], ops::attr_int(g.op(id), n.attrs, "ignore_index"),
                   ops::asks_for_one_kernel(g.op(id), n.attrs)});
  }
  return out;
}

// "mlm_accuracy" of "mlm_target".
std::string metric_name(const Graph& g, ValueId targets, bool alone) {
  while (g.value(targets).producer.valid()) targets = g.node(g.value(targets).producer).inputs[0];
  constexpr std::string_view kTarget = "target";
  std::string name = g.value(targets).name;
  if (alone || !name.ends_with(kTarget)) return "accuracy";
  return name.substr(0, name.size() - kTarget.size()) + "accuracy";
}

constexpr const char* kAccuracy =
    "right = pick(scores, targets) >= max(scores, axis=class)\n"
    "counts = targets != ignored\n"
    "sum(select(counts, right, 0)) / max(sum(counts), 1)";

ValueId add_accuracy(Graph& g, const Scored& s, const std::string& name, Diag& diag) {
  graph::Node n;
  n.name = g.fresh_name(name);
  n.op = std::string(ops::kCustomLoss);
  n.where = "metric " + name;
  n.inputs = {s.scores, s.targets};
  n.attrs = ops::custom_loss_attrs({kAccuracy, {"scores", "targets"}, {"ignored"}}, {double(s.ignored)},
                                   "none", s.one_kernel);
  const std::string result = n.name;
  const NodeId id = g.add_node(std::move(n));
  const ValueId v = g.add_result(id, result);
  return graph::infer_node(g, id, diag) ? v : ValueId{};
}

}  // namespace

bool is_evaluation(ModelConfig& c) {
  const std::string mode = c.text("runconfig.mode", "");
  return mode == "eval" || mode == "eval_all" || mode == "eval_only";
}

bool take_checkpoint(ModelConfig& c, Graph& g, const std::vector<ValueId>& parameters, Diag& diag) {
  const auto at = c.values().find(kCheckpoint);
  const bool must = is_evaluation(c);
  if (at == c.values().end() || at->second.is_null() || !at->second.is_scalar() ||
      at->second.text().empty()) {
    if (must)
      diag.warning({}, c.path() + ": weights are the seeded ones of this configuration",
                   std::string(kCheckpoint) + " names a file of trained ones");
    return true;
  }
  const std::string path = path_from(c, at->second);
  if (!path.ends_with(".npz")) {
    const std::string why = fmt::format("'{}' is no .npz", at->second.text());
    if (must)
      c.error(kCheckpoint, why, "cs-sim --state-out writes one");
    else
      c.warning(kCheckpoint, why + " and is not read", "weights are the seeded ones");
    return !must;
  }
  const auto arrays = read_npz(path, diag);
  if (!arrays) return false;
  const size_t before = diag.errors();
  std::vector<std::string> names;
  for (size_t i = 0; i < g.value_slots(); ++i)
    if (const ValueId v{int32_t(i)}; g.constant_of(v) != nullptr) names.push_back(g.value(v).name);
  for (const NamedArray& a : *arrays) {
    const auto v = g.find_value(a.name);
    if (v && g.constant_of(*v) != nullptr) {
      replace(g, *v, a, path, diag);
    } else if (!belongs_to_training(a.name, g) &&
               !c.flag("runconfig.disable_strict_checkpoint_loading", false)) {
      const std::string near = nearest(a.name, names);
      diag.error_at(path, fmt::format("the network has no weight '{}'", a.name),
                    near.empty() ? "" : "did you mean '" + near + "'?");
    }
  }
  for (const ValueId v : parameters)
    if (find_array(*arrays, g.value(v).name) == nullptr)
      diag.error_at(path,
                    fmt::format("has no array '{}' ({})", g.value(v).name, ops::type_text(g.value(v).type)));
  return diag.errors() == before;
}

std::vector<ValueId> add_metrics(ModelConfig& c, Graph& g, Diag& diag) {
  std::vector<ValueId> out;
  if (!c.flag("model.compute_eval_metrics", true)) return out;
  const std::vector<Scored> all = scored(g);
  for (const Scored& s : all) {
    const ValueId v = add_accuracy(g, s, metric_name(g, s.targets, all.size() == 1), diag);
    if (!v.valid()) return {};
    out.push_back(v);
  }
  return out;
}

bool evaluate_as_configured(ModelConfig& c, Graph& g, Diag& diag) {
  const int64_t batch = c.extent("eval_input.batch_size", c.extent("train_input.batch_size", 1));
  if (!diag.ok() || !graph::propagate_samples(g, diag) || !graph::make_batch(g, batch, diag)) return false;
  const ValueId loss = add_loss(c, g, batch, diag);
  if (!loss.valid() || !diag.ok()) return false;
  const std::vector<ValueId> metrics = add_metrics(c, g, diag);
  if (!diag.ok()) return false;
  g.clear_outputs();
  g.set_output(loss);
  for (const ValueId v : metrics) g.set_output(v);
  // Each run is a step with values of its own.
  for (const ValueId v : g.inputs) g.value(v).sample_dim = kStackedSamples;
  g.remove_dead();
  return graph::verify(g, diag);
}

}  // namespace cs::frontend
