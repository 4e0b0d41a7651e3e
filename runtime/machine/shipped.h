// The machine files that ship with the tools, for programs of others that use the library and have no folder
// share/wafersmith/machines beside them.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace cs {

// As configs/machines was when this was built. Nothing if there is no machine of this name.
std::optional<std::string> built_in_machine(const std::string& name);
std::vector<std::string> built_in_machine_names();

}  // namespace cs
