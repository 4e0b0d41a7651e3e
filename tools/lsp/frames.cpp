// Cuts a byte stream into messages.
#include "tools/lsp/frames.h"

#include <algorithm>
#include <cctype>
#include <charconv>

namespace cs::lsp {
namespace {

// The number of Content-Length among the header's lines.
std::optional<size_t> length_of(std::string_view header) {
  while (!header.empty()) {
    const size_t end = std::min(header.find('\n'), header.size());
    std::string_view line = header.substr(0, end);
    header.remove_prefix(std::min(end + 1, header.size()));
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    std::string name(line.substr(0, colon));
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return char(std::tolower(c)); });
    if (name != "content-length") continue;
    line.remove_prefix(colon + 1);
    while (!line.empty() && line.front() == ' ') line.remove_prefix(1);
    size_t value = 0;
    const auto [rest, error] = std::from_chars(line.data(), line.data() + line.size(), value);
    if (error == std::errc{} && rest != line.data()) return value;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> FrameReader::next() {
  while (!broken_) {
    const size_t crlf = buffer_.find("\r\n\r\n"), lf = buffer_.find("\n\n");
    const size_t end = std::min(crlf, lf);
    if (end == std::string::npos) {
      broken_ = buffer_.size() > kMostHeader;
      return std::nullopt;
    }
    const size_t body = end + (end == crlf ? 4 : 2);
    const std::optional<size_t> length = length_of(std::string_view(buffer_).substr(0, end));
    if (!length) {
      buffer_.erase(0, body);
      continue;
    }
    if (*length > kMostBytes) {
      broken_ = true;
      return std::nullopt;
    }
    if (buffer_.size() - body < *length) return std::nullopt;
    std::string out = buffer_.substr(body, *length);
    buffer_.erase(0, body + *length);
    return out;
  }
  return std::nullopt;
}

std::string frame(std::string_view body) {
  return "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + std::string(body);
}

}  // namespace cs::lsp
