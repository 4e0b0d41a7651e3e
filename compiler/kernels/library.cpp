// See library.h.
#include "compiler/kernels/library.h"

#include <algorithm>
#include <filesystem>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "compiler/kernels/kernels.h"
#include "runtime/machine/field_value.h"
#include "runtime/support/files.h"
#include "runtime/support/yaml.h"

namespace cs {
const std::vector<std::pair<std::string_view, std::string_view>>& embedded_kernel_csl_files();
}

namespace cs::kernels {

namespace {

namespace fs = std::filesystem;

constexpr const char* kManifest = "library.yaml";

Library compiled_in() {
  Library l;
  std::string manifest;
  for (const auto& [name, text] : embedded_kernel_csl_files()) {
    if (name == kManifest)
      manifest = text;
    else
      l.files.emplace(name, text);
  }
  Diag diag;
  const bool good = parse_library(manifest, kManifest, l, diag);
  CS_CHECK(good, "the library that is compiled in says what it can");
  return l;
}

Library& in_use() {
  static Library l = compiled_in();
  return l;
}

bool read_capabilities(const YamlNode& node, Library& l, Diag& diag) {
  if (!node.is_map()) {
    diag.error(node.loc(), "'capabilities' must be a map of kernels");
    return false;
  }
  for (const auto& [kernel, list] : node.entries()) {
    if (find_row(kernel.text()) == nullptr) {
      diag.error(kernel.loc(), fmt::format("there is no kernel '{}'", kernel.text()), "--list-kernels lists them");
      continue;
    }
    std::vector<std::string> names;
    if (!list.read(names, kernel.text(), diag)) continue;
    for (const std::string& name : names) {
      if (!capability_names().contains(name))
        diag.error(list.loc(), fmt::format("there is no capability '{}'", name),
                   fmt::format("they are {}", fmt::join(capability_names(), ", ")));
      l.capabilities[kernel.text()].insert(name);
    }
  }
  return diag.ok();
}

// {summa: {router.switch_positions: 3}}
bool read_needs(const YamlNode& node, Library& l, Diag& diag) {
  if (!node.is_map()) {
    diag.error(node.loc(), "'needs' must be a map of kernels");
    return false;
  }
  for (const auto& [kernel, list] : node.entries()) {
    if (find_row(kernel.text()) == nullptr || !list.is_map()) {
      diag.error(kernel.loc(), fmt::format("'{}' must be a kernel with a map of machine keys", kernel.text()),
                 "--list-kernels lists them");
      continue;
    }
    for (const auto& [key, value] : list.entries()) {
      MachineNeed need{key.text(), 1};
      if (!value.read(need.least, need.key, diag)) continue;
      if (field_value(Machine{}, need.key))
        l.needs[kernel.text()].push_back(std::move(need));
      else
        diag.error(key.loc(), fmt::format("machines have no '{}'", need.key), "--list-machine lists all keys");
    }
  }
  return diag.ok();
}

}  // namespace

bool Library::can(std::string_view kernel, std::string_view capability) const {
  const auto of = capabilities.find(kernel);
  return of != capabilities.end() && of->second.contains(std::string(capability));
}

std::string Library::lacks(std::string_view kernel, std::string_view capability) const {
  if (can(kernel, capability)) return {};
  return fmt::format("the library (version {}) has no {} with '{}'", version, kernel, capability);
}

std::string Library::lacking(std::string_view kernel, const Machine& machine) const {
  const auto list = needs.find(kernel);
  if (list == needs.end()) return {};
  for (const MachineNeed& need : list->second) {
    const double has = field_value(machine, need.key).value_or(0);
    if (has < double(need.least))
      return fmt::format("{} needs {} {}, the machine has {}", kernel, need.key, need.least, has);
  }
  return {};
}

const std::set<std::string, std::less<>>& capability_names() {
  static const std::set<std::string, std::less<>> names{"half", "bytes", "epilogue"};
  return names;
}

const Library& library() { return in_use(); }

bool parse_library(std::string text, const std::string& name, Library& l, Diag& diag) {
  const std::optional<YamlDoc> doc = YamlDoc::parse_text(std::move(text), name, diag);
  if (!doc) return false;
  YamlMap m(doc->root(), "kernel library", diag);
  if (!m.valid()) return false;
  m.required("version", l.version);
  if (const YamlNode* node = m.child("capabilities")) read_capabilities(*node, l, diag);
  if (const YamlNode* node = m.child("needs")) read_needs(*node, l, diag);
  m.finish();
  if (diag.ok() && l.version < 1) diag.error(m.loc(), fmt::format("'version' is {}, versions begin with 1", l.version));
  return diag.ok();
}

bool use_library(const std::string& folder, Diag& diag) {
  Library l = compiled_in();
  l.folder = folder;
  l.capabilities.clear();
  l.needs.clear();
  const std::optional<std::string> manifest = read_file((fs::path(folder) / kManifest).string(), diag);
  if (!manifest || !parse_library(*manifest, (fs::path(folder) / kManifest).string(), l, diag)) return false;
  std::vector<std::string> names;
  for (const fs::directory_entry& e : fs::directory_iterator(folder))
    if (e.path().extension() == ".csl") names.push_back(e.path().filename().string());
  std::ranges::sort(names);
  for (const std::string& name : names) {
    const auto ours = l.files.find(name);
    if (ours == l.files.end()) {
      diag.error_at((fs::path(folder) / name).string(), "the library has no such file, so nothing would use it",
                    "name it as the kernel whose place it takes");
      continue;
    }
    if (const auto text = read_file((fs::path(folder) / name).string(), diag)) ours->second = *text;
  }
  if (diag.ok()) in_use() = std::move(l);
  return diag.ok();
}

}  // namespace cs::kernels
