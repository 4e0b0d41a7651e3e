// How a program is compiled, as its own scripts say.
#pragma once

#include <map>
#include <string>

namespace cs::lsp {

struct Command {
  std::string machine;                        // of --arch
  std::map<std::string, std::string> params;  // of --params
};

// The first cslc command that names this layout in a *.sh file beside it or in the folder above.
Command find_command(const std::string& layout);

}  // namespace cs::lsp
