// Reading is strict; expanding is a cross product in the order of the file.
#include "tools/cs-sweep/sweep.h"

#include <fmt/format.h>

#include <filesystem>
#include <set>

#include "runtime/machine/machine.h"
#include "runtime/support/yaml.h"

namespace cs::sweep {
namespace {

using Setting = std::vector<std::pair<std::string, std::string>>;

// A value as it stands behind --set: a list that is a value itself keeps its brackets.
bool read_value(const YamlNode& node, const std::string& what, std::string& out, Diag& diag) {
  if (!node.is_sequence()) return node.read(out, what, diag);
  std::vector<std::string> items;
  if (!node.read(items, what, diag)) return false;
  out = fmt::format("[{}]", fmt::join(items, ", "));
  return true;
}

bool read_values(const YamlNode& node, const std::string& what, std::vector<std::string>& out, Diag& diag) {
  out.clear();
  if (!node.is_sequence()) return read_value(node, what, out.emplace_back(), diag);
  for (const YamlNode& item : node.items())
    if (!read_value(item, what, out.emplace_back(), diag)) return false;
  return true;
}

bool read_axes(const YamlNode& node, const std::string& what, std::vector<Axis>& out, Diag& diag) {
  if (!node.is_map()) {
    diag.error(node.loc(), fmt::format("'{}' must be a map of names to values", what));
    return false;
  }
  for (const auto& [key, value] : node.entries())
    if (!read_values(value, key.text(), out.emplace_back(Axis{key.text(), {}}).values, diag)) return false;
  return true;
}

bool read_program(const YamlNode& node, const std::filesystem::path& folder, ProgramRow& row, Diag& diag) {
  YamlMap map(node, "program", diag);
  if (!map.valid()) return false;
  bool ok = map.required("program", row.program);
  ok = map.optional("name", row.name) && map.optional("inputs", row.inputs) &&
       map.optional("check", row.check) && ok;
  ok = map.optional("launch", row.launch) && map.optional("fabric", row.fabric) && ok;
  if (const YamlNode* params = map.child("params")) ok = read_axes(*params, "params", row.params, diag) && ok;
  map.finish();
  for (std::string* path : {&row.program, &row.inputs, &row.check})
    if (!path->empty()) *path = (folder / *path).lexically_normal().string();
  return ok;
}

void check_machines(const Sweep& s, Diag& diag) {
  for (const std::string& name : s.machines) {
    const auto machine = load_machine(name, diag);
    if (!machine) return;
    for (const Axis& axis : s.set)
      for (const std::string& value : axis.values) {
        Machine changed = *machine;
        set_machine_value(changed, axis.name + "=" + value, diag);
      }
  }
}

// Calls visit(setting) for every combination; the last axis changes fastest.
template <typename Visit>
void combine(const std::vector<Axis>& axes, Setting& setting, const Visit& visit) {
  if (setting.size() == axes.size()) return visit(setting);
  const Axis& axis = axes[setting.size()];
  for (const std::string& value : axis.values) {
    setting.emplace_back(axis.name, value);
    combine(axes, setting, visit);
    setting.pop_back();
  }
}

}  // namespace

std::vector<std::string> split_values(const std::string& text) {
  std::vector<std::string> out(1);
  int depth = 0;
  for (const char c : text) {
    depth += c == '[' ? 1 : c == ']' ? -1 : 0;
    if (c == ',' && depth == 0)
      out.emplace_back();
    else
      out.back() += c;
  }
  return out;
}

bool add_axis(Sweep& s, const std::string& text, Diag& diag) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
    diag.error_at("--set " + text, "must have the form machine.KEY=A,B,C",
                  "for example --set machine.router.hop_cycles=1,2,4");
    return false;
  }
  std::string key = text.substr(0, equals);
  if (key.starts_with("machine.")) key.erase(0, 8);
  s.set.push_back({key, split_values(text.substr(equals + 1))});
  return true;
}

std::optional<Sweep> read_sweep(const std::string& path, Diag& diag) {
  const auto doc = YamlDoc::parse_file(path, diag);
  if (!doc) return std::nullopt;
  YamlMap map(doc->root(), "sweep", diag);
  if (!map.valid()) return std::nullopt;
  Sweep s;
  if (const YamlNode* n = map.child("machine")) read_values(*n, "machine", s.machines, diag);
  if (const YamlNode* n = map.child("policy")) read_values(*n, "policy", s.policies, diag);
  if (const YamlNode* n = map.child("set")) read_axes(*n, "set", s.set, diag);
  map.optional("iterations", s.iterations);
  const YamlNode* programs = map.child("programs");
  map.finish();
  if (programs == nullptr || !programs->is_sequence()) {
    diag.error(doc->root().loc(), "a sweep needs a list 'programs'", "programs: [{program: model.onnx}]");
    return std::nullopt;
  }
  const auto folder = std::filesystem::path(path).parent_path();
  for (const YamlNode& node : programs->items()) read_program(node, folder, s.programs.emplace_back(), diag);
  if (!diag.ok()) return std::nullopt;
  return s;
}

bool finish_sweep(Sweep& s, Diag& diag) {
  if (s.machines.empty()) s.machines = {"wse2"};
  if (s.policies.empty()) s.policies = {"medium"};
  if (s.programs.empty())
    diag.error_at("sweep", "there is no program", "name one in the file or with --program");
  std::set<std::string> names;
  for (ProgramRow& row : s.programs) {
    if (row.name.empty()) row.name = std::filesystem::path(row.program).stem().string();
    if (!std::filesystem::exists(row.program)) diag.error_at(row.program, "no such file");
    if (!names.insert(row.name).second)
      diag.error_at(row.program, fmt::format("another program is called '{}' too", row.name),
                    "give it a name");
  }
  std::set<std::string> keys;
  for (Axis& axis : s.set) {
    if (axis.name.starts_with("machine.")) axis.name.erase(0, 8);
    if (!keys.insert(axis.name).second) diag.error_at(axis.name, "is swept twice");
  }
  if (s.iterations < 0) diag.error_at("iterations", fmt::format("is {}, must be 1 or more", s.iterations));
  check_machines(s, diag);
  return diag.ok();
}

std::vector<Point> points_of(const Sweep& s) {
  std::vector<Point> out;
  for (const ProgramRow& row : s.programs) {
    const auto policies = row.is_layout() ? std::vector<std::string>{""} : s.policies;
    Setting params, set;
    combine(row.params, params, [&](const Setting& p) {
      for (const std::string& machine : s.machines)
        combine(s.set, set, [&](const Setting& values) {
          for (const std::string& policy : policies)
            out.push_back({&row, machine, policy, values, p, s.iterations});
        });
    });
  }
  return out;
}

}  // namespace cs::sweep
