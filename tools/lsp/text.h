// The text of a document and its positions. The protocol counts lines from 0 and, unless the client can do
// bytes, UTF-16 units; the compiler counts lines and bytes from 1.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cs::lsp {

struct Position {
  uint32_t line = 0, character = 0;
  bool operator==(const Position&) const = default;
};
struct Range {
  Position start, end;
};

class Text {
 public:
  explicit Text(std::string text = {}, bool utf8 = false);
  const std::string& str() const { return text_; }
  bool utf8() const { return utf8_; }
  // Positions beyond the end of a line or of the text mean that end.
  size_t offset(Position) const;
  Position position(size_t offset) const;
  Position position(uint32_t line, uint32_t column) const;  // the compiler's
  uint32_t column(Position) const;                          // the compiler's, of the same line
  void replace(Range, std::string_view by);
  Range whole() const { return {{0, 0}, position(text_.size())}; }

 private:
  void find_lines();
  std::string_view line(uint32_t number) const;

  std::string text_;
  bool utf8_ = false;
  std::vector<size_t> starts_;
};

}  // namespace cs::lsp
