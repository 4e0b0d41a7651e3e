// Any text as a YAML graph: refused with a diagnostic, or read to a graph whose text reads back to itself.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "compiler/frontend/frontend.h"
#include "compiler/graph/graph_yaml.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  cs::Diag diag;
  std::string text(reinterpret_cast<const char*>(data), size);
  // A weights file would be read from the disk: not what is tested here.
  if (text.find("weights") != std::string::npos) return 0;
  const auto g = cs::frontend::import_yaml(std::move(text), "fuzz.yaml", ".", diag);
  if (g.has_value() != diag.ok()) std::abort();
  if (!g) return 0;
  const auto once = cs::graph::graph_text(*g, "fuzz.bin");
  const auto doc = cs::YamlDoc::parse_text(once.yaml, "again.yaml", diag);
  if (!doc) std::abort();
  const auto back = cs::graph::graph_from_yaml(*doc, once.weights, diag);
  if (!back || cs::graph::graph_text(*back, "fuzz.bin").yaml != once.yaml) std::abort();
  return 0;
}
