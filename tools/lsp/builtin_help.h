// Builtins for people: how they are called. The compiler's table says which exist.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cs::lsp {

// "@get_dsd(kind: type, .{…})"; empty for what is no builtin.
std::string signature_of_builtin(std::string_view name);
// Markdown, with where it is allowed.
std::string help_of_builtin(std::string_view name);
// Fields of the structure that a builtin takes, for completion.
std::vector<std::string_view> fields_of_builtin(std::string_view name);

}  // namespace cs::lsp
