// Words one by one; the last one counts.
#include "compiler/frontend/alignment_config.h"

#include <fmt/format.h>

#include "compiler/frontend/model_config.h"

namespace cs::frontend {

namespace {

constexpr const char* kAssume = "runconfig.assume_aligned_inputs";
constexpr const char* kPolicy = "runconfig.align_policy";

bool read_word(const std::string& word, graph::Alignment& a) {
  const size_t sign = word.find('=');
  const std::string value = sign == std::string::npos ? word : word.substr(sign + 1);
  const bool on = value == "on" || value == "true";
  if (!on && value != "off" && value != "false") return false;
  (sign == std::string::npos ? a.assume_inputs : a.of_input[word.substr(0, sign)]) = on;
  return true;
}

}  // namespace

bool read_alignment(const std::string& path, const std::vector<std::string>& overrides, graph::Alignment& a,
                    Diag& diag) {
  Diag ignored;  // the model itself is read apart, with its complaints
  const bool yaml = path.ends_with(".yaml") || path.ends_with(".yml");
  const auto doc = yaml ? YamlDoc::parse_file(path, ignored) : YamlDoc::parse_text("{}", path, ignored);
  auto config = doc ? ModelConfig::read(path, doc->root(), overrides, ignored) : std::nullopt;
  if (!config) return true;
  for (const std::string& word : config->names(kAssume)) {
    if (read_word(word, a)) continue;
    diag.error_at(path, fmt::format("{} takes on, off, NAME=on or NAME=off, got '{}'", kAssume, word));
    return false;
  }
  const std::string policy = config->text(kPolicy, "");
  if (policy.empty()) return true;
  a.policy = graph::align_policy_from_name(policy);
  if (!a.policy) diag.error_at(path, fmt::format("{} is never, products or always, not '{}'", kPolicy, policy));
  return a.policy.has_value();
}

}  // namespace cs::frontend
