// Machines from YAML and from --set.
//
// 1. `base:` names another machine whose values hold where the file is silent; without it every key is required.
// 2. A visitor over the field list (fields.h) reads each key from its section and reports unknown ones.
// 3. The result is verified against itself.
#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "runtime/machine/fields.h"
#include "runtime/machine/machine.h"
#include "runtime/machine/shipped.h"
#include "runtime/support/yaml.h"

namespace cs {
namespace {

// Reads every field of the list from nested maps.
class Reader {
 public:
  Reader(YamlMap& root, bool required, Diag& diag) : root_(root), map_(&root), required_(required), diag_(diag) {}

  template <typename T, typename... Rest>
  void operator()(const char* key, T& field, Rest&&...) {
    if (map_ == nullptr) return;
    if (required_) {
      map_->required(key, field);
    } else {
      map_->optional(key, field);
    }
  }
  template <typename Visit>
  void section(const char* key, Visit visit) {
    const YamlNode* node = root_.child(key);
    if (node == nullptr) {
      if (required_) diag_.error(root_.loc(), fmt::format("the machine needs the section '{}'", key));
      return;
    }
    YamlMap map(*node, key, diag_);
    if (!map.valid()) return;
    map_ = &map;
    visit();
    map.finish();
    map_ = &root_;
  }

 private:
  YamlMap& root_;
  YamlMap* map_;
  bool required_;
  Diag& diag_;
};

// Sets the one field whose full key is `wanted`; collects all keys for "did you mean".
class Setter {
 public:
  Setter(std::string wanted, const YamlNode& value, Diag& diag)
      : wanted_(std::move(wanted)), value_(value), diag_(diag) {}

  template <typename T, typename... Rest>
  void operator()(const char* key, T& field, Rest&&...) {
    keys.push_back(prefix_ + key);
    if (keys.back() != wanted_) return;
    found = true;
    ok = value_.read(field, wanted_, diag_);
  }
  template <typename Visit>
  void section(const char* key, Visit visit) {
    prefix_ = std::string(key) + ".";
    visit();
    prefix_.clear();
  }

  std::vector<std::string> keys;
  bool found = false, ok = false;

 private:
  std::string wanted_, prefix_;
  const YamlNode& value_;
  Diag& diag_;
};

bool read_arch(const std::string& text, SourceLoc loc, Arch& arch, Diag& diag) {
  if (text == "wse2" || text == "wse3") {
    arch = text == "wse2" ? Arch::wse2 : Arch::wse3;
    return true;
  }
  diag.error(loc, fmt::format("arch must be wse2 or wse3, got '{}'", text));
  return false;
}

void read_simd(const YamlNode& node, std::vector<std::pair<std::string, int>>& table, Diag& diag) {
  if (!node.is_map()) {
    diag.error(node.loc(), "'simd_width' must be a map from instruction to elements per cycle");
    return;
  }
  table.clear();
  for (const auto& [key, value] : node.entries()) {
    int width = 1;
    if (value.read(width, key.text(), diag)) table.emplace_back(key.text(), width);
  }
  std::sort(table.begin(), table.end());
}

// One of machine_names(): the file beside the tools, else what was built in.
std::optional<YamlDoc> parse_shipped(const std::string& name, Diag& diag) {
  const std::string path = machines_directory() + "/" + name + ".yaml";
  std::error_code ec;
  std::optional<std::string> text = built_in_machine(name);
  if (!text || std::filesystem::exists(path, ec)) return YamlDoc::parse_file(path, diag);
  return YamlDoc::parse_text(std::move(*text), name + ".yaml", diag);
}

std::optional<Machine> read_base(YamlMap& root, Diag& diag) {
  const YamlNode* node = root.child("base");
  if (node == nullptr) return Machine{};
  std::string base;
  if (!node->read(base, "base", diag)) return std::nullopt;
  const std::vector<std::string> names = machine_names();
  // Only shipped machines, and only those without a base of their own: no chains, no cycles, no foreign files.
  if (std::find(names.begin(), names.end(), base) == names.end()) {
    const std::string near = nearest(base, names);
    diag.error(node->loc(), fmt::format("no machine '{}' to build on", base),
               near.empty() ? fmt::format("there are {}", fmt::join(names, ", ")) : "did you mean '" + near + "'?");
    return std::nullopt;
  }
  Diag quiet;
  const auto doc = parse_shipped(base, quiet);
  if (!doc || doc->root().find("base") != nullptr) {
    diag.error(node->loc(), fmt::format("'{}' is itself built on another machine", base),
               "build on wse2 or wse3");
    return std::nullopt;
  }
  return load_machine(base, diag);
}

std::optional<Machine> read_machine(const YamlNode& node, Diag& diag) {
  const size_t errors = diag.errors();
  YamlMap root(node, "machine", diag);
  if (!root.valid()) return std::nullopt;
  const bool required = node.find("base") == nullptr;
  std::optional<Machine> m = read_base(root, diag);
  if (!m) return std::nullopt;
  root.required("name", m->name);
  if (const YamlNode* arch = root.child("arch"); arch != nullptr) {
    std::string text;
    if (arch->read(text, "arch", diag)) read_arch(text, arch->loc(), m->arch, diag);
  } else if (required) {
    diag.error(root.loc(), "the machine needs the key 'arch'", "arch: wse2 or arch: wse3");
  }
  Reader reader(root, required, diag);
  machine_fields::all(*m, reader);
  if (const YamlNode* simd = root.child("simd_width"); simd != nullptr) read_simd(*simd, m->simd_width, diag);
  root.finish();
  if (diag.errors() != errors || !verify_machine(*m, diag)) return std::nullopt;
  return m;
}

}  // namespace

std::optional<Machine> parse_machine(std::string text, const std::string& name, Diag& diag) {
  const auto doc = YamlDoc::parse_text(std::move(text), name, diag);
  return doc ? read_machine(doc->root(), diag) : std::nullopt;
}

std::optional<Machine> load_machine(const std::string& name_or_path, Diag& diag) {
  const bool is_path = name_or_path.find('/') != std::string::npos || name_or_path.ends_with(".yaml") ||
                       name_or_path.ends_with(".yml");
  if (!is_path) {
    const std::vector<std::string> names = machine_names();
    if (std::find(names.begin(), names.end(), name_or_path) == names.end()) {
      const std::string near = nearest(name_or_path, names);
      diag.error_at(name_or_path, "no machine of this name",
                    (near.empty() ? "" : "did you mean '" + near + "'? ") +
                        fmt::format("there are {} in {}; a path to a YAML file works too", fmt::join(names, ", "),
                                    machines_directory()));
      return std::nullopt;
    }
  }
  const auto doc = is_path ? YamlDoc::parse_file(name_or_path, diag) : parse_shipped(name_or_path, diag);
  return doc ? read_machine(doc->root(), diag) : std::nullopt;
}

bool set_machine_value(Machine& m, const std::string& key_equals_value, Diag& diag) {
  const std::string where = "--set " + key_equals_value;
  const size_t equals = key_equals_value.find('=');
  if (equals == std::string::npos) {
    diag.error_at(where, "must have the form key=value", "for example --set machine.router.hop_cycles=2");
    return false;
  }
  std::string key = key_equals_value.substr(0, equals);
  if (key.starts_with("machine.")) key.erase(0, 8);
  const auto doc = YamlDoc::parse_text(key_equals_value.substr(equals + 1), where, diag);
  if (!doc) return false;
  Machine changed = m;
  Setter setter(key, doc->root(), diag);
  machine_fields::all(changed, setter);
  if (!setter.found && key.starts_with("simd_width.")) {
    const std::string mnemonic = key.substr(11);
    int width = 0;
    setter.found = true;
    setter.ok = doc->root().read(width, key, diag);
    std::erase_if(changed.simd_width, [&](const auto& row) { return row.first == mnemonic; });
    changed.simd_width.emplace_back(mnemonic, width);
    std::sort(changed.simd_width.begin(), changed.simd_width.end());
  }
  if (!setter.found) {
    const std::string near = nearest(key, setter.keys);
    diag.error_at(where, fmt::format("unknown machine key '{}'", key),
                  near.empty() ? std::string("the keys are those of configs/machines/*.yaml, as section.key")
                               : fmt::format("did you mean '{}'?", near));
    return false;
  }
  if (!setter.ok || !verify_machine(changed, diag)) return false;
  m = std::move(changed);
  return true;
}

}  // namespace cs
