// Which builder a configuration goes to.
#include <algorithm>

#include <fmt/format.h>

#include "compiler/frontend/evaluation.h"
#include "compiler/frontend/loss_config.h"
#include "compiler/frontend/model_config_keys.h"
#include "compiler/frontend/model_config_net.h"
#include "compiler/frontend/model_result.h"
#include "compiler/frontend/optimizer_config.h"
#include "compiler/frontend/training_config.h"
#include "compiler/graph/sample.h"

namespace cs::frontend {

namespace {

struct Kind {
  const char* name;
  void (*build)(NetBuilder&);
  const char*
      sign;  // a key that only this kind of network has, for configurations without model.name; may be null
  bool of_language = false;
};

constexpr Kind kKinds[] = {
    {"fc_mnist", build_mlp, "model.depth"},
    {"mlp", build_mlp, nullptr},
    {"lenet", build_lenet, "model.conv_filters"},
    {"resnet", build_resnet, "model.blocks_per_stage"},
    {"t5", build_t5, "model.encoder_num_hidden_layers", true},
    {"transformer", build_t5, nullptr, true},
    {"bert", build_bert, "model.encoder_nonlinearity", true},
    {"gpt2", build_gpt, "model.num_hidden_layers", true},
    {"gpt3", build_gpt, nullptr, true},
    {"gpt", build_gpt, nullptr, true},
};

const Kind* choose(ModelConfig& c) {
  std::string all;
  for (const Kind& k : kKinds) all += fmt::format("{}{}", all.empty() ? "" : ", ", k.name);
  const std::string name = c.text("model.name", "");
  if (!name.empty()) {
    for (const Kind& k : kKinds)
      if (name == k.name) return &k;
    c.error("model.name", "unknown network '" + name + "'; there are " + all);
    return nullptr;
  }
  for (const Kind& k : kKinds)
    if (k.sign != nullptr && c.has(k.sign)) return &k;
  c.error("model.name", "is missing, and the keys of 'model' do not tell the kind of network",
          "set it to one of " + all);
  return nullptr;
}

}  // namespace

std::optional<graph::Graph> build_model(ModelConfig& c, Diag& diag) {
  const Kind* kind = choose(c);
  if (kind == nullptr) return std::nullopt;
  NetBuilder b(c);
  b.graph.name = kind->name;
  kind->build(b);
  if (!kind->of_language) refuse_result(c);
  check_run_keys(c);
  const bool evaluation = is_evaluation(c), training = is_training(c);
  if (!training && !evaluation) check_losses(c);
  const std::string policy = c.text("runconfig.autogen_policy", "default");
  if (policy != "default" && policy != "disabled" && policy != "medium" && policy != "aggressive")
    c.error("runconfig.autogen_policy",
            "unknown policy '" + policy + "'; there are disabled, default, medium and aggressive");
  if (diag.ok() && !take_checkpoint(c, b.graph, b.parameters, diag)) return std::nullopt;
  if (training && diag.ok()) {
    if (!train_as_configured(c, b.graph, b.parameters, diag)) return std::nullopt;
  } else {
    read_optimizer(c);
    if (evaluation && diag.ok() && !evaluate_as_configured(c, b.graph, diag)) return std::nullopt;
  }
  c.report_unknown();
  if (!diag.ok()) return std::nullopt;
  if (!graph::verify(b.graph, diag) || !graph::propagate_samples(b.graph, diag)) return std::nullopt;
  return std::move(b.graph);
}

}  // namespace cs::frontend
