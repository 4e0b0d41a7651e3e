// The first line of a generated text is a comment that names the instance; what follows decides.
#include "compiler/mapping/share.h"

#include <fmt/format.h>

namespace cs::mapping {

namespace {

std::string without_header(const std::string& text) {
  const size_t end = text.starts_with("//") ? text.find('\n') : std::string::npos;
  return end == std::string::npos ? text : text.substr(end);
}

}  // namespace

void SharedRoles::rename_symbols(const std::string& instance, Role& role) {
  for (Buffer& b : role.buffers) {
    if (!b.symbol.starts_with(instance + "_")) continue;
    // One exported name has one type.
    const std::string name = b.symbol.substr(instance.size() + 1) + (b.type == "f32" ? "" : "_" + b.type);
    symbols_[b.symbol] = name;
    b.symbol = name;
  }
}

void SharedRoles::share_modules(const std::map<std::string, std::string>& made, std::vector<Role>& roles) {
  std::map<std::string, std::string> names;
  for (const auto& [name, text] : made) {
    const auto [known, fresh] = module_of_.emplace(without_header(text), name);
    if (fresh) modules_[name] = text;
    names[name] = known->second;
  }
  for (Role& role : roles)
    for (ModuleUse& use : role.modules)
      if (const auto it = names.find(use.file); it != names.end()) use.file = it->second;
}

std::vector<std::string> SharedRoles::add(const std::string& instance, InstanceRoles made) {
  std::vector<std::string> files;
  share_modules(made.files, made.roles);
  for (Role& role : made.roles) {
    rename_symbols(instance, role);
    const auto [known, fresh] = role_of_.emplace(without_header(role_text(role)), roles_.size());
    if (fresh) {
      roles_.push_back(std::move(role));
      also_.emplace_back();
    } else {
      Role& first = roles_[known->second];
      first.runs.insert(first.runs.end(), role.runs.begin(), role.runs.end());
      also_[known->second].push_back(instance);
    }
    files.push_back(roles_[known->second].name + ".csl");
  }
  return files;
}

std::map<std::string, std::string> SharedRoles::files() const {
  constexpr size_t kNamed = 4;
  std::map<std::string, std::string> files = modules_;
  for (size_t i = 0; i < roles_.size(); ++i) {
    Role role = roles_[i];
    std::string also;
    for (size_t k = 0; k < also_[i].size() && k < kNamed; ++k) also += (k > 0 ? ", " : "") + also_[i][k];
    if (also_[i].size() > kNamed) also += fmt::format(" and {} more", also_[i].size() - kNamed);
    if (!also.empty()) role.what += "; the same for " + also;
    files[role.name + ".csl"] = role_text(role);
  }
  return files;
}

const std::string& SharedRoles::exported(const std::string& symbol) const {
  const auto it = symbols_.find(symbol);
  return it == symbols_.end() ? symbol : it->second;
}

}  // namespace cs::mapping
