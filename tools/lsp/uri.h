// file:// URIs and paths. Other URIs (untitled documents) stand for themselves.
#pragma once

#include <string>

namespace cs::lsp {

std::string path_of_uri(const std::string& uri);
std::string uri_of_path(const std::string& path);

}  // namespace cs::lsp
