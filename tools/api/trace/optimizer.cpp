// Options are read by the reader of configurations, so that both know the same keys.
#include "tools/api/trace/optimizer.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "compiler/frontend/optimizer_config.h"
#include "tools/api/trace/tracer.h"

namespace cs {

namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kRows = {
    {{"sgd_step", "SGD"}, {"adam_step", "Adam"}, {"adagrad_step", "Adagrad"}, {"rmsprop_step", "RMSprop"}}};

std::string section(const std::string& kind, const std::string& options) {
  const size_t open = options.find_first_not_of(" \n"), close = options.find_last_not_of(" \n");
  if (open == std::string::npos || options[open] != '{' || options[close] != '}')
    throw TraceError("options of an optimizer are a map: \"{learning_rate: 0.001}\", got \"" + options +
                     "\"");
  const std::string inside = options.substr(open + 1, close - open - 1);
  const auto* row = std::find_if(kRows.begin(), kRows.end(), [&](const auto& r) { return r.first == kind; });
  std::string text = "{optimizer_type: " + yaml_quote(row != kRows.end() ? std::string(row->second) : kind) +
                     (inside.find_first_not_of(" \n") == std::string::npos ? "" : ", " + inside) + "}";
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

// By the reader of configurations. What it only warns of (a key that this optimizer does not have) is a slip
// here.
void check(const std::string& recipe) {
  Diag diag;
  const auto doc = YamlDoc::parse_text("optimizer: " + recipe + "\n", "optimizer", diag);
  auto config = doc ? frontend::ModelConfig::read("optimizer", doc->root(), {}, diag) : std::nullopt;
  if (config) {
    const auto read = frontend::read_optimizer(*config);
    if (read && !read->learning_rate && diag.ok()) diag.error_at("optimizer", "learning_rate is missing");
  }
  if (diag.all().empty()) return;
  const Diagnostic& first = diag.all().front();
  throw TraceError(first.help.empty() ? first.message : first.message + "; " + first.help.text());
}

tracing::Training& training_at(const char* call, const Place& where) {
  if (tracing::Tracer* tracer = tracing::Tracer::active()) return tracer->training;
  throw StaticGraphError(
      fmt::format("optimizer.{}() belongs into a training step: a function under cs::trace", call), where);
}

}  // namespace

Optimizer::Optimizer(const std::string& kind, std::vector<Weight> weights, const std::string& options)
    : weights_(std::move(weights)), recipe_(section(kind, options)) {
  if (weights_.empty()) throw TraceError("an optimizer needs weights");
  check(recipe_);
}

void Optimizer::zero_grad(CallSite where) const { training_at("zero_grad", place_of(where)).zeroed = true; }

void Optimizer::step(CallSite where) const {
  const Place at = place_of(where);
  tracing::Training& training = training_at("step", at);
  if (!training.loss.valid()) throw StaticGraphError("optimizer.step() without a backward() before it", at);
  if (!training.recipe.empty()) throw StaticGraphError("a training step has one optimizer.step()", at);
  for (const auto& [id, weight] : tracing::Tracer::active()->weights) {
    const auto mine = [data = weight.data()](const Weight& w) { return w.data() == data; };
    if (weight.requires_grad() && std::any_of(weights_.begin(), weights_.end(), mine))
      training.parameters.push_back(id);
  }
  if (training.parameters.empty())
    throw StaticGraphError("the loss uses none of the optimizer's weights", at);
  training.recipe = recipe_;
  training.stepped = at;
}

}  // namespace cs
