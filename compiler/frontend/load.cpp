// Which reader a file goes to, and the YAML reader with its weights file.
#include <filesystem>

#include <fmt/format.h>

#include "compiler/frontend/alignment_config.h"
#include "compiler/frontend/frontend.h"
#include "compiler/frontend/model_config.h"
#include "compiler/frontend/model_result.h"
#include "compiler/frontend/training_config.h"
#include "compiler/graph/sample.h"
#include "compiler/graph/static_inputs.h"
#include "runtime/support/files.h"

namespace cs::frontend {

namespace {

// The weights file must be beside the model: a graph from somewhere else must not read anywhere else.
std::optional<std::vector<uint8_t>> read_weights(const YamlDoc& doc, const std::string& folder, Diag& diag) {
  const YamlNode* node = doc.root().is_map() ? doc.root().find("weights") : nullptr;
  if (node == nullptr || !node->is_scalar()) return std::vector<uint8_t>{};
  std::filesystem::path file(node->text());
  if (file.has_parent_path() || file.empty()) {
    diag.error(node->loc(), "'weights' must name a file in the folder of the model");
    return std::nullopt;
  }
  std::optional<std::string> bytes = read_file((std::filesystem::path(folder) / file).string(), diag);
  if (!bytes) return std::nullopt;
  return std::vector<uint8_t>(bytes->begin(), bytes->end());
}

constexpr const char* kAllowMutatedStaticInputs = "runconfig.allow_mutated_static_inputs";

// Of a graph's text: what it says itself, and the command line above it.
bool may_write_static_inputs(const std::string& path, const YamlNode& root, const std::vector<std::string>& overrides,
                             Diag& diag) {
  bool allowed = false;
  if (const YamlNode* replay = root.find("replay")) {
    YamlMap m(*replay, "replay", diag);
    if (!m.valid()) return false;
    m.optional("allow_mutated_static_inputs", allowed);
    m.finish();
  }
  if (overrides.empty()) return allowed;
  auto config = ModelConfig::read(path, root, overrides, diag);
  return config ? config->flag(kAllowMutatedStaticInputs, allowed) : allowed;
}

}  // namespace

std::optional<graph::Graph> import_yaml(std::string text, const std::string& name, const std::string& folder,
                                        Diag& diag, const LoadOptions& options) {
  std::optional<YamlDoc> doc = YamlDoc::parse_text(std::move(text), name, diag);
  if (!doc) return std::nullopt;
  const YamlNode& root = doc->root();
  if (is_model_config(root)) {
    auto config = ModelConfig::read(name, root, options.config, diag);
    if (!config) return std::nullopt;
    const bool allowed = config->flag(kAllowMutatedStaticInputs, false);
    std::optional<graph::Graph> g = build_model(*config, diag);
    return g && graph::check_static_inputs(*g, allowed, diag) ? std::move(g) : std::nullopt;
  }
  std::optional<std::vector<uint8_t>> weights = read_weights(*doc, folder, diag);
  if (!weights || !no_result_asked(options.config, name, diag)) return std::nullopt;
  std::optional<graph::Graph> g = graph::graph_from_yaml(*doc, *weights, diag, options.dims);
  if (!g || !graph::verify(*g, diag) || !train_as_written(name, root, options.config, *g, diag) ||
      !graph::propagate_samples(*g, diag) ||
      !graph::check_static_inputs(*g, may_write_static_inputs(name, root, options.config, diag), diag) || !diag.ok())
    return std::nullopt;
  return g;
}

std::optional<graph::Graph> load_model(const std::string& path, const LoadOptions& options, Diag& diag) {
  std::filesystem::path file(path);
  std::optional<std::string> bytes = read_file(path, diag, uint64_t(1) << 31);
  if (!bytes) return std::nullopt;
  std::optional<graph::Graph> g;
  if (file.extension() == ".onnx") {
    if (no_result_asked(options.config, path, diag)) g = import_onnx(*bytes, path, options, diag);
  } else if (file.extension() == ".yaml" || file.extension() == ".yml") {
    g = import_yaml(std::move(*bytes), path, file.parent_path().string(), diag, options);
  } else {
    diag.error_at(path, fmt::format("'{}' is not the extension of a model", file.extension().string()),
                  "models are .onnx or .yaml");
  }
  graph::Alignment alignment;
  if (!g || !read_alignment(path, options.config, alignment, diag) || !graph::apply_alignment(*g, alignment, diag))
    return std::nullopt;
  return g;
}

std::vector<std::string> taken_control(const std::string& path, const LoadOptions& options) {
  const std::string extension = std::filesystem::path(path).extension().string();
  if (extension != ".yaml" && extension != ".yml") return {};
  Diag ignored;  // load_model has reported it
  const std::optional<YamlDoc> doc = YamlDoc::parse_file(path, ignored);
  const YamlNode* nodes = doc && doc->root().is_map() ? doc->root().find("nodes") : nullptr;
  if (nodes == nullptr) return {};
  graph::Control control(doc->root(), options.dims, ignored);
  control.resolve(*nodes);
  return control.taken();
}

graph::PlanHeader plan_header(const std::string& path, Diag& diag) {
  const std::string extension = std::filesystem::path(path).extension().string();
  if (extension != ".yaml" && extension != ".yml") return {};
  Diag ignored;  // the model itself is read apart, with its complaints
  const std::optional<YamlDoc> doc = YamlDoc::parse_file(path, ignored);
  if (!doc || is_model_config(doc->root())) return {};
  return graph::plan_header(*doc, diag);
}

}  // namespace cs::frontend
