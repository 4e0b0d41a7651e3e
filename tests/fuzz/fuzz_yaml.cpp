// Any bytes are a document or a diagnostic; reading every node of a document terminates.
#include <cstddef>
#include <cstdint>
#include <string>

#include "runtime/support/yaml.h"

namespace {

size_t walk(const cs::YamlNode& node) {
  size_t nodes = 1;
  for (const cs::YamlNode& item : node.items()) nodes += walk(item);
  for (const auto& [key, value] : node.entries()) nodes += walk(key) + walk(value);
  return nodes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  cs::Diag diag;
  const auto doc = cs::YamlDoc::parse_text(std::string(reinterpret_cast<const char*>(data), size), "input", diag);
  if (doc && walk(doc->root()) == 0) __builtin_trap();
  if (!doc && diag.ok()) __builtin_trap();  // refused without saying why
  diag.to_string();
  return 0;
}
