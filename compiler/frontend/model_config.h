// Model configurations: YAML in the conventions of the vendor's model zoo (sections train_input, model,
// optimizer, runconfig), from which a builder makes the forward graph with seeded weights.
//
//   include: gpt3_tiny.yaml          # another configuration, beside this one; keys here override its keys
//   model:
//     nonlinearity: leaky_relu
//   runconfig:
//     autogen_policy: medium         # --autogen-policy wins
//
// model.name chooses the network: fc_mnist (mlp), lenet, resnet, gpt2 (gpt3), bert, t5 (transformer). Without
// it the keys decide, as every kind of network has some of its own. Keys of the zoo that do not change the
// forward graph (data loading, checkpoints) are accepted; keys that nobody knows are errors with the nearest
// known one. Losses are read by loss_config.h, the optimizer by optimizer_config.h. The zoo's later style,
// which nests all this below `trainer`, is read as the same keys.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "compiler/graph/graph_yaml.h"
#include "runtime/support/yaml.h"

namespace cs::frontend {

// The merged configuration: scalars and lists by their path, "model.hidden_size". Values keep the position
// they were read from.
class ModelConfig {
 public:
  // Follows `include`; `overrides` ("model.hidden_size=64") come last. All problems are in diag.
  static std::optional<ModelConfig> read(const std::string& path, const YamlNode& root,
                                         const std::vector<std::string>& overrides, Diag&);

  bool has(const std::string& key) const { return values_.contains(key); }
  // The value under a key or the default; a value of another type is an error at its position.
  int64_t integer(const std::string& key, int64_t otherwise);
  int64_t extent(const std::string& key,
                 std::optional<int64_t> otherwise = {});  // from 1 on; required without default
  double real(const std::string& key, double otherwise);
  bool flag(const std::string& key, bool otherwise);
  std::string text(const std::string& key, const std::string& otherwise);  // in lower case
  std::vector<std::string> names(const std::string& key);  // one or a list of them; without the key none
  std::vector<int64_t> extents(const std::string& key, std::vector<int64_t> otherwise);
  void error(const std::string& key, const std::string& message, const std::string& help = {});
  void warning(const std::string& key, const std::string& message, const std::string& help = {});
  const std::map<std::string, YamlNode>& values() const { return values_; }
  // An error for every key that nobody asked for and that the zoo's conventions do not know.
  void report_unknown();

  // The merged keys, one a line, each with the file and line that it comes from.
  std::string print() const;

  const std::string& path() const { return path_; }
  bool ok() const { return diag_->ok(); }
  Diag& diag() const { return *diag_; }

 private:
  ModelConfig(std::string path, Diag& diag) : path_(std::move(path)), diag_(&diag) {}
  bool merge(const std::string& path, const YamlNode& root, int depth);
  void flatten(const YamlNode& node, const std::string& prefix);
  void set(const std::string& key, const YamlNode& value);
  const YamlNode* find(const std::string& key);

  std::string path_;
  Diag* diag_;
  std::map<std::string, YamlNode> values_;
  std::set<std::string> asked_;
};

// The forward graph. Errors name the key and its position.
std::optional<graph::Graph> build_model(ModelConfig&, Diag&);

// A model file that is a configuration, not a graph.
bool is_model_config(const YamlNode& root);
// What a file asks of its compilation, in the words of the flags that win over it: keys of a configuration's
// runconfig, the policy of a plan. Empty: it does not say. What is wrong with the file is reported when the model is
// read; what is wrong with a rewrite, by who reads it.
struct CompileKeys {
  std::string autogen_policy, autogen_on_failure;
  std::vector<std::string> rewrite;  // KEY=VALUE
};
CompileKeys compile_keys(const std::string& path, const std::vector<std::string>& overrides);
// The merged keys of a configuration (ModelConfig::print).
std::optional<std::string> print_config(const std::string& path, const std::vector<std::string>& overrides,
                                        Diag&);

}  // namespace cs::frontend
