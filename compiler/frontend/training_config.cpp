// Both readers fill a TrainingPlan.
#include "compiler/frontend/training_config.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "compiler/frontend/batch_statistics.h"
#include "compiler/frontend/dropout.h"
#include "compiler/frontend/evaluation.h"
#include "compiler/frontend/loss_config.h"
#include "compiler/frontend/training_step.h"
#include "compiler/graph/batch.h"
#include "compiler/graph/batch_copies.h"
#include "compiler/graph/sample.h"

namespace cs::frontend {

namespace {

using graph::Graph;
using graph::ValueId;

// Values by their names; unknown ones are errors.
std::vector<ValueId> read_values(YamlMap& m, const std::string& key, const Graph& g, Diag& diag) {
  std::vector<ValueId> out;
  const YamlNode* list = m.child(key);
  if (list == nullptr || list->is_null()) return out;
  if (!list->is_sequence()) {
    diag.error(list->loc(), fmt::format("'{}' must be a list of value names", key));
    return out;
  }
  for (const YamlNode& item : list->items()) {
    const auto v = item.is_scalar() ? g.find_value(item.text()) : std::nullopt;
    if (v) {
      out.push_back(*v);
      continue;
    }
    std::vector<std::string> known;
    for (size_t i = 0; i < g.value_slots(); ++i) known.push_back(g.value({int32_t(i)}).name);
    const std::string name = item.is_scalar() ? item.text() : "(a list)", near = nearest(name, known);
    diag.error(item.loc(), fmt::format("there is no value '{}'", name),
               near.empty() ? "" : fmt::format("did you mean '{}'?", near));
  }
  return out;
}

constexpr int64_t kMostBatches = 65'536;  // whose gradients make one update

struct Recipe {
  TrainingPlan plan;
  int64_t batch = 0;
};

std::optional<Recipe> read_recipe(const YamlNode& node, const Graph& g, Diag& diag) {
  const size_t before = diag.errors();
  Recipe r;
  YamlMap m(node, "training", diag);
  if (!m.valid()) return std::nullopt;
  std::string loss;
  m.required("loss", loss);
  m.optional("batch", r.batch);
  if (m.child("batch") != nullptr && (r.batch < 1 || r.batch > 1'000'000))
    diag.error(m.child("batch")->loc(),
               fmt::format("a batch is from 1 to a million samples, got {}", r.batch));
  m.optional("accumulate", r.plan.accumulate);
  if (r.plan.accumulate < 1 || r.plan.accumulate > kMostBatches)
    diag.error(m.child("accumulate")->loc(),
               fmt::format("an update is made of 1 to {} batches, got {}", kMostBatches, r.plan.accumulate));
  m.optional("average", r.plan.average);
  r.plan.parameters = read_values(m, "parameters", g, diag);
  r.plan.outputs = read_values(m, "outputs", g, diag);
  r.plan.gradients = read_values(m, "gradients", g, diag);
  m.finish();
  if (diag.errors() != before) return std::nullopt;
  const auto v = g.find_value(loss);
  if (!v) {
    diag.error(m.child("loss")->loc(), fmt::format("there is no value '{}'", loss));
    return std::nullopt;
  }
  r.plan.loss = *v;
  if (r.plan.outputs.empty()) r.plan.outputs = {*v};
  return r;
}

bool has_optimizer(const ModelConfig& c) {
  return std::any_of(c.values().begin(), c.values().end(),
                     [](const auto& entry) { return entry.first.starts_with("optimizer."); });
}

// Training goes nowhere without a rate; other problems read_optimizer() has reported.
bool read_trainer(ModelConfig& c, TrainingPlan& plan) {
  const size_t before = c.diag().errors();
  plan.optimizer = read_optimizer(c);
  if (c.diag().errors() != before) return false;
  if (!plan.optimizer)
    c.error("optimizer", "training needs an optimizer that is built",
            "optimizer_type may be SGD, Adam, AdamW, Adagrad or RMSprop");
  else if (!plan.optimizer->learning_rate)
    c.error("optimizer.learning_rate", "is missing", "training needs it: a number or a list of schedules");
  return c.diag().errors() == before;
}

// Samples that go through the network at a time: a step may take its batch in several micro-batches.
int64_t read_batches(ModelConfig& c, TrainingPlan& plan) {
  const int64_t batch = c.extent("train_input.batch_size", 1);
  const std::string key = "train_input.micro_batch_size", micro = c.text(key, "");
  if (micro.empty() || micro == "auto" || micro == "explore" || micro == "none" || micro == "null")
    return batch;
  const int64_t samples = c.extent(key, batch);
  if (samples < 1 || batch % samples != 0) {
    c.error(key, fmt::format("{} samples cannot be taken {} at a time", batch, samples),
            "it must divide train_input.batch_size");
    return batch;
  }
  plan.accumulate = batch / samples;
  plan.average = c.text("model.loss.reduction", "mean") != "sum";
  return samples;
}

constexpr const char* kDropouts[] = {"dropout_rate",
                                     "dropout",
                                     "attention_dropout_rate",
                                     "embedding_dropout_rate",
                                     "cls_dropout_rate",
                                     "label_dropout_rate",
                                     "encoder_output_dropout_rate",
                                     "residual_dropout_rate",
                                     "relu_dropout_rate"};
constexpr std::string_view kNotBuilt[] = {"cls_dropout_rate", "label_dropout_rate",
                                          "encoder_output_dropout_rate", "relu_dropout_rate"};

// Nobody shall believe that a step does what it leaves out.
void check_dropout(ModelConfig& c, const Graph& g) {
  for (const std::string_view name : kDropouts) {
    const std::string key = "model." + std::string(name);
    const double rate = c.real(key, 0);
    if (!(rate >= 0 && rate < 1)) c.error(key, fmt::format("a rate is at least 0 and below 1, got {}", rate));
    const bool built =
        has_dropout(g) && std::find(std::begin(kNotBuilt), std::end(kNotBuilt), name) == std::end(kNotBuilt);
    if (rate > 0 && rate < 1 && !built)
      c.warning(key,
                fmt::format("dropout is not built here: steps drop nothing instead of {:g} %", 100 * rate),
                "set it to 0 to say so");
  }
}

// Copies of the network for a batch; batch_norm needs all samples in one place.
int64_t read_copies(ModelConfig& c, const Graph& g, int64_t batch) {
  const std::string key = "runconfig.batch_copies";
  const std::vector<graph::NodeId> nodes = g.nodes();
  const bool mixes = std::any_of(nodes.begin(), nodes.end(),
                                 [&](graph::NodeId id) { return g.node(id).op == "batch_norm"; });
  const int64_t copies = c.extent(key, mixes ? 1 : graph::batch_copies_for(g, batch));
  if (batch % copies == 0 && (copies == 1 || !mixes)) return copies;
  c.error(key, mixes ? "batch_norm takes the statistics of the whole batch, so there is one network"
                     : fmt::format("{} samples have no {} equal shares", batch, copies));
  return 1;
}

// Tensors of a batch, where inputs are still those of a sample.
bool make_batch_of(Graph& g, int64_t samples, Diag& diag) {
  return graph::propagate_samples(g, diag) && graph::make_batch(g, samples, diag);
}

// Weights, and other inputs, that no step may change.
void read_static_inputs(ModelConfig& c, Graph& g) {
  for (const std::string& name : c.names("runconfig.static_inputs")) {
    const auto v = g.find_value(name);
    if (v && (g.value(*v).is_input || g.value(*v).is_constant())) {
      g.value(*v).is_static = true;
      continue;
    }
    std::vector<std::string> known;
    for (size_t i = 0; i < g.value_slots(); ++i)
      if (const graph::Value& one = g.value({int32_t(i)}); one.is_input || one.is_constant()) known.push_back(one.name);
    const std::string near = nearest(name, known);
    c.error("runconfig.static_inputs", fmt::format("there is no input or weight '{}'", name),
            near.empty() ? "" : fmt::format("did you mean '{}'?", near));
  }
}

// A loss for each replica, and what comes back of them together.
bool make_replicas(Graph& g, TrainingPlan& plan, Diag& diag) {
  if (plan.parallel.replicas == 1) return true;
  g.clear_outputs();
  if (!graph::replicate(g, plan.parallel.replicas, plan.loss, plan.parameters, plan.replicas, diag)) return false;
  const std::string name = g.value(plan.loss).name;
  g.rename(plan.loss, g.fresh_name(name + "_replica0"));
  plan.loss = join_losses(g, plan.parallel, plan.replicas.results, diag);
  if (!plan.loss.valid()) return false;
  g.rename(plan.loss, name);
  plan.outputs = {plan.loss};
  return true;
}

}  // namespace

bool is_training(ModelConfig& c) {
  const std::string mode = c.text("runconfig.mode", "");
  constexpr std::array<std::string_view, 8> kModes = {"",      "train",          "eval",      "eval_all",
                                                      "infer", "train_and_eval", "inference", "eval_only"};
  if (std::find(kModes.begin(), kModes.end(), mode) == kModes.end())
    c.error("runconfig.mode", fmt::format("unknown mode '{}'", mode),
            "there are train, eval, eval_all, train_and_eval and infer");
  return mode.starts_with("train");
}

bool train_as_configured(ModelConfig& c, Graph& g, const std::vector<ValueId>& parameters, Diag& diag) {
  TrainingPlan plan;
  if (!read_trainer(c, plan)) return false;
  check_dropout(c, g);
  const int64_t all = read_batches(c, plan);
  plan.parallel = read_data_parallel(c, g, all);
  if (!diag.ok() || !graph::propagate_samples(g, diag)) return false;
  const int64_t batch = all / plan.parallel.replicas, copies = read_copies(c, g, batch);
  if (!diag.ok() || !graph::make_batch_in_copies(g, batch, copies, diag)) return false;
  use_batch_statistics(g);
  plan.evaluates = c.text("runconfig.mode", "") == "train_and_eval";
  if (plan.evaluates && has_dropout(g)) plan.trains = add_trains(g);
  if (!expand_dropout(g, c.integer("runconfig.seed", 1) << 16, plan.trains, diag)) return false;
  plan.loss = add_loss(c, g, batch, diag);
  if (!plan.loss.valid() || !diag.ok()) return false;
  plan.outputs = {plan.loss};
  if (plan.evaluates)
    for (const ValueId v : add_metrics(c, g, diag)) plan.outputs.push_back(v);
  for (ValueId v : trainable_constants(g, plan.loss))
    if (std::find(parameters.begin(), parameters.end(), v) != parameters.end()) plan.parameters.push_back(v);
  read_static_inputs(c, g);
  return diag.ok() && make_replicas(g, plan, diag) && make_training_step(g, plan, diag);
}

bool train_as_written(const std::string& path, const YamlNode& root,
                      const std::vector<std::string>& overrides, Graph& g, Diag& diag) {
  const YamlNode* section = root.find("training");
  if (section == nullptr) {
    if (const YamlNode* optimizer = root.find("optimizer")) {
      diag.error(optimizer->loc(),
                 "there is an optimizer, but no section 'training' that says what it trains",
                 "training: {loss: NAME}");
      return false;
    }
    return true;
  }
  auto recipe = read_recipe(*section, g, diag);
  if (!recipe) return false;
  auto config = ModelConfig::read(path, root, overrides, diag);
  if (!config || (has_optimizer(*config) && !read_trainer(*config, recipe->plan))) return false;
  if (recipe->batch > 0 && !make_batch_of(g, recipe->batch, diag)) return false;
  for (ValueId v : g.inputs) {
    if (g.value(v).sample_dim < 0) continue;
    diag.error(section->loc(), fmt::format("input '{}' is for one sample", g.value(v).name),
               "say how many samples a step has: training: {batch: N}");
    return false;
  }
  return make_training_step(g, recipe->plan, diag);
}

}  // namespace cs::frontend
