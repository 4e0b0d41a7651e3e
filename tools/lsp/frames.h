// The framing of the protocol: "Content-Length: N\r\n\r\n" and N bytes, again and again.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cs::lsp {

class FrameReader {
 public:
  static constexpr size_t kMostBytes = size_t(64) << 20, kMostHeader = 8192;

  void feed(std::string_view bytes) { buffer_.append(bytes); }
  // The body of the next message, if it is complete. A header without a usable length is left out up to its
  // end.
  std::optional<std::string> next();
  // The stream cannot be followed any more: a header without an end, or a message larger than any client
  // sends.
  bool broken() const { return broken_; }

 private:
  std::string buffer_;
  bool broken_ = false;
};

std::string frame(std::string_view body);

}  // namespace cs::lsp
