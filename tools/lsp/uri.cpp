// Percent encoding, as far as paths need it.
#include "tools/lsp/uri.h"

#include <cctype>
#include <filesystem>

namespace cs::lsp {

std::string path_of_uri(const std::string& uri) {
  constexpr const char* kScheme = "file://";
  if (!uri.starts_with(kScheme)) return uri;
  std::string rest = uri.substr(7), out;
  if (const size_t slash = rest.find('/'); slash != std::string::npos) rest.erase(0, slash);  // a host
  for (size_t i = 0; i < rest.size(); ++i) {
    const bool escape = rest[i] == '%' && i + 2 < rest.size() &&
                        std::isxdigit(static_cast<unsigned char>(rest[i + 1])) &&
                        std::isxdigit(static_cast<unsigned char>(rest[i + 2]));
    if (escape) {
      out += char(std::stoi(rest.substr(i + 1, 2), nullptr, 16));
      i += 2;
    } else {
      out += rest[i];
    }
  }
  return std::filesystem::path(out).lexically_normal().generic_string();
}

std::string uri_of_path(const std::string& path) {
  if (!path.starts_with("/")) return path;
  constexpr const char* kHex = "0123456789ABCDEF";
  std::string out = "file://";
  for (const char c : path) {
    const auto u = static_cast<unsigned char>(c);
    if (std::isalnum(u) || c == '/' || c == '-' || c == '_' || c == '.' || c == '~') {
      out += c;
    } else {
      out += '%';
      out += kHex[u >> 4];
      out += kHex[u & 15];
    }
  }
  return out;
}

}  // namespace cs::lsp
