// Reading and merging of configurations, typed access, keys that are known without being used.
#include "compiler/frontend/model_config.h"

#include <algorithm>
#include <cctype>
#include <filesystem>

#include <fmt/format.h>

#include "compiler/frontend/model_config_keys.h"
#include "runtime/support/files.h"

namespace cs::frontend {

namespace {

constexpr int kDeepestInclude = 8;

std::string lower(std::string s) {
  for (char& c : s) c = char(std::tolower(static_cast<unsigned char>(c)));
  return s;
}

// Sections of the style `trainer: {init, fit, validate}` and what they are called without it.
constexpr std::pair<std::string_view, std::string_view> kTrainerSections[] = {
    {"trainer.init.model.", "model."},
    {"trainer.init.optimizer.", "optimizer."},
    {"trainer.init.precision.enabled", "model.mixed_precision"},
    {"trainer.init.precision.fp16_type", "model.fp16_type"},
    {"trainer.init.precision.loss_scaling_factor", "optimizer.loss_scaling_factor"},
    {"trainer.init.precision.initial_loss_scale", "optimizer.initial_loss_scale"},
    {"trainer.init.precision.steps_per_increase", "optimizer.steps_per_increase"},
    {"trainer.init.precision.min_loss_scale", "optimizer.min_loss_scale"},
    {"trainer.init.precision.max_loss_scale", "optimizer.max_loss_scale"},
    {"trainer.init.precision.max_gradient_norm", "optimizer.max_gradient_norm"},
    {"trainer.init.precision.max_gradient_value", "optimizer.max_gradient_value"},
    {"trainer.init.seed", "runconfig.seed"},
    {"trainer.fit.train_dataloader.", "train_input."},
    {"trainer.validate.val_dataloader.", "eval_input."},
};

}  // namespace

std::optional<ModelConfig> ModelConfig::read(const std::string& path, const YamlNode& root,
                                             const std::vector<std::string>& overrides, Diag& diag) {
  ModelConfig c(path, diag);
  if (!c.merge(path, root, 0)) return std::nullopt;
  for (const std::string& set : overrides) {
    const size_t equal = set.find('=');
    const auto value =
        YamlDoc::parse_text(set.substr(std::min(equal, set.size() - 1) + 1), "--set " + set, diag);
    if (!value) return std::nullopt;
    c.flatten(value->root(), set.substr(0, equal));
  }
  return c;
}

// The included file first: what comes later overrides.
bool ModelConfig::merge(const std::string& path, const YamlNode& root, int depth) {
  if (!root.is_map()) {
    diag_->error(root.loc(), "a model configuration is a map with the section 'model'");
    return false;
  }
  if (const YamlNode* include = root.find("include")) {
    std::string name;
    if (!include->read(name, "include", *diag_)) return false;
    if (depth >= kDeepestInclude) {
      diag_->error(include->loc(), fmt::format("more than {} files include each other", kDeepestInclude),
                   "a file must not include itself, directly or by way of others");
      return false;
    }
    const std::filesystem::path file = std::filesystem::path(path).parent_path() / name;
    const auto doc = YamlDoc::parse_file(file.string(), *diag_);
    if (!doc || !merge(file.string(), doc->root(), depth + 1)) {
      diag_->note(include->loc(), "included from here");
      return false;
    }
  }
  for (const auto& [key, value] : root.entries())
    if (key.text() != "include") flatten(value, key.text());
  return diag_->ok();
}

// YAML's merge key `<<: *base` first: what stands beside it overrides.
void ModelConfig::flatten(const YamlNode& node, const std::string& prefix) {
  if (node.is_map()) {
    if (const YamlNode* base = node.find("<<")) {
      for (const YamlNode& one : base->is_sequence() ? base->items() : std::vector<YamlNode>{*base})
        flatten(one, prefix);
    }
    for (const auto& [key, value] : node.entries())
      if (key.text() != "<<") flatten(value, prefix + "." + key.text());
  } else {
    set(prefix, node);
  }
}

void ModelConfig::set(const std::string& key, const YamlNode& value) {
  for (const auto& [nested, plain] : kTrainerSections)
    if (key.starts_with(nested) && (nested.back() == '.' || key == nested)) {
      values_[std::string(plain) + key.substr(nested.size())] = value;
      return;
    }
  values_[key] = value;
}

const YamlNode* ModelConfig::find(const std::string& key) {
  asked_.insert(key);
  const auto it = values_.find(key);
  return it == values_.end() || it->second.is_null() ? nullptr : &it->second;
}

void ModelConfig::error(const std::string& key, const std::string& message, const std::string& help) {
  if (const YamlNode* node = find(key))
    diag_->error(node->loc(), key + ": " + message, help);
  else
    diag_->error_at(path_, key + ": " + message, help);
}

void ModelConfig::warning(const std::string& key, const std::string& message, const std::string& help) {
  if (const YamlNode* node = find(key)) diag_->warning(node->loc(), key + ": " + message, help);
}

int64_t ModelConfig::integer(const std::string& key, int64_t otherwise) {
  const YamlNode* node = find(key);
  if (node != nullptr) node->read(otherwise, key, *diag_);
  return otherwise;
}

int64_t ModelConfig::extent(const std::string& key, std::optional<int64_t> otherwise) {
  if (find(key) == nullptr && !otherwise) {
    error(key, "is missing", "this kind of model needs it");
    return 1;
  }
  const int64_t n = integer(key, otherwise.value_or(1));
  if (n >= 1 && n <= 1'000'000) return n;
  error(key, fmt::format("must be from 1 to a million, got {}", n));
  return 1;
}

double ModelConfig::real(const std::string& key, double otherwise) {
  const YamlNode* node = find(key);
  if (node != nullptr) node->read(otherwise, key, *diag_);
  return otherwise;
}

// The zoo writes True and False.
bool ModelConfig::flag(const std::string& key, bool otherwise) {
  const YamlNode* node = find(key);
  if (node == nullptr) return otherwise;
  const std::string value = node->is_scalar() && !node->quoted() ? lower(node->text()) : "";
  if (value == "true" || value == "false") return value == "true";
  error(key, "must be true or false");
  return otherwise;
}

std::string ModelConfig::text(const std::string& key, const std::string& otherwise) {
  const YamlNode* node = find(key);
  std::string value = otherwise;
  if (node != nullptr) node->read(value, key, *diag_);
  return lower(value);
}

std::vector<std::string> ModelConfig::names(const std::string& key) {
  std::vector<std::string> list;
  const YamlNode* node = find(key);
  if (node != nullptr && node->is_scalar()) return {node->text()};
  if (node != nullptr) node->read(list, key, *diag_);
  return list;
}

std::vector<int64_t> ModelConfig::extents(const std::string& key, std::vector<int64_t> otherwise) {
  const YamlNode* node = find(key);
  if (node != nullptr) node->read(otherwise, key, *diag_);
  for (const int64_t n : otherwise)
    if (n < 1 || n > 1'000'000) error(key, fmt::format("must hold numbers from 1 to a million, got {}", n));
  if (!ok()) otherwise.assign(std::max<size_t>(1, otherwise.size()), 1);
  return otherwise;
}

void ModelConfig::report_unknown() {
  std::vector<std::string> known(asked_.begin(), asked_.end());
  for (std::string& k : keys_without_effect()) known.push_back(std::move(k));
  for (const auto& [nested, plain] : kTrainerSections)
    if (nested.back() != '.') known.emplace_back(nested);
  for (const auto& [key, node] : values_) {
    if (asked_.contains(key) || is_key_without_effect(key)) continue;
    const std::string close = nearest(key, known);
    diag_->error(node.loc(), "unknown key '" + key + "'",
                 close.empty() ? "" : "did you mean '" + close + "'?");
  }
}

std::string ModelConfig::print() const {
  std::string out;
  for (const auto& [key, node] : values_) {
    std::string value;
    if (node.is_sequence()) {
      for (const YamlNode& item : node.items())
        value += (value.empty() ? "" : ", ") + (item.is_scalar() ? item.text() : "...");
      value = "[" + value + "]";
    } else if (node.is_scalar()) {
      value = node.text();
    }
    const SourceLoc at = node.loc();
    out += fmt::format("{}: {}  # {}:{}\n", key, value, diag_->sources.path(at.file), at.line);
  }
  return out;
}

bool is_model_config(const YamlNode& root) {
  const auto has = [&](const char* section) { return root.find(section) != nullptr; };
  return root.is_map() && !has("nodes") && (has("model") || has("trainer") || has("include"));
}

CompileKeys compile_keys(const std::string& path, const std::vector<std::string>& overrides) {
  if (!path.ends_with(".yaml") && !path.ends_with(".yml")) return {};
  Diag ignored;
  const auto doc = YamlDoc::parse_file(path, ignored);
  if (!doc) return {};
  if (!is_model_config(doc->root())) return {graph::plan_header(*doc, ignored).policy, "", {}};
  auto config = ModelConfig::read(path, doc->root(), overrides, ignored);
  if (!config) return {};
  return {config->text("runconfig.autogen_policy", ""), config->text("runconfig.autogen_on_failure", ""),
          config->names("runconfig.rewrite")};
}

std::optional<std::string> print_config(const std::string& path, const std::vector<std::string>& overrides,
                                        Diag& diag) {
  const auto doc = YamlDoc::parse_file(path, diag);
  if (!doc) return std::nullopt;
  if (!is_model_config(doc->root())) {
    diag.error_at(path, "is not a model configuration: it has no section 'model' or 'trainer'");
    return std::nullopt;
  }
  const auto config = ModelConfig::read(path, doc->root(), overrides, diag);
  return config ? std::optional(config->print()) : std::nullopt;
}

}  // namespace cs::frontend
