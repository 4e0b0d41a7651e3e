// Machines out of the text that the build puts into the library (tools/cmake/embed.cmake).
#include "runtime/machine/shipped.h"

#include <filesystem>
#include <string_view>
#include <utility>

namespace cs {

const std::vector<std::pair<std::string_view, std::string_view>>& embedded_machine_yaml_files();

std::optional<std::string> built_in_machine(const std::string& name) {
  for (const auto& [file, text] : embedded_machine_yaml_files())
    if (file == name + ".yaml") return std::string(text);
  return std::nullopt;
}

std::vector<std::string> built_in_machine_names() {
  std::vector<std::string> names;
  for (const auto& [file, text] : embedded_machine_yaml_files())
    names.push_back(std::filesystem::path(file).stem().string());
  return names;
}

}  // namespace cs
