// Offsets, lines, and the units in which clients count.
#include "tools/lsp/text.h"

#include <algorithm>

namespace cs::lsp {
namespace {

// Bytes of the character that begins here; a byte that begins none counts as one character.
size_t bytes_of(std::string_view s, size_t at) {
  const auto c = static_cast<unsigned char>(s[at]);
  const size_t want = c < 0x80 ? 1 : c >= 0xF0 ? 4 : c >= 0xE0 ? 3 : c >= 0xC0 ? 2 : 1;
  size_t have = 1;
  while (have < want && at + have < s.size() && (static_cast<unsigned char>(s[at + have]) & 0xC0) == 0x80)
    ++have;
  return have;
}

uint32_t units_of(size_t bytes) { return bytes == 4 ? 2 : 1; }

}  // namespace

Text::Text(std::string text, bool utf8) : text_(std::move(text)), utf8_(utf8) { find_lines(); }

void Text::find_lines() {
  starts_.assign(1, 0);
  for (size_t i = 0; i < text_.size(); ++i)
    if (text_[i] == '\n') starts_.push_back(i + 1);
}

std::string_view Text::line(uint32_t number) const {
  if (number >= starts_.size()) return {};
  const size_t begin = starts_[number];
  const size_t end = number + 1 < starts_.size() ? starts_[number + 1] - 1 : text_.size();
  return std::string_view(text_).substr(begin, end - begin);
}

size_t Text::offset(Position p) const {
  if (p.line >= starts_.size()) return text_.size();
  const std::string_view s = line(p.line);
  if (utf8_) return starts_[p.line] + std::min<size_t>(p.character, s.size());
  size_t at = 0;
  for (uint32_t units = 0; at < s.size() && units < p.character;) {
    const size_t bytes = bytes_of(s, at);
    units += units_of(bytes);
    at += bytes;
  }
  return starts_[p.line] + at;
}

Position Text::position(size_t offset) const {
  offset = std::min(offset, text_.size());
  const auto next = std::upper_bound(starts_.begin(), starts_.end(), offset);
  const auto number = uint32_t(next - starts_.begin() - 1);
  const size_t column = offset - starts_[number];
  if (utf8_) return {number, uint32_t(column)};
  const std::string_view s = line(number);
  uint32_t units = 0;
  for (size_t at = 0; at < std::min(column, s.size());) {
    const size_t bytes = bytes_of(s, at);
    units += units_of(bytes);
    at += bytes;
  }
  return {number, units};
}

Position Text::position(uint32_t line_number, uint32_t column) const {
  if (line_number == 0) return {0, 0};
  if (line_number > starts_.size()) return position(text_.size());
  const size_t in_line = std::min<size_t>(column > 0 ? column - 1 : 0, line(line_number - 1).size());
  return position(starts_[line_number - 1] + in_line);
}

uint32_t Text::column(Position p) const {
  if (p.line >= starts_.size()) return 1;
  return uint32_t(offset(p) - starts_[p.line]) + 1;
}

void Text::replace(Range range, std::string_view by) {
  const size_t begin = offset(range.start), end = std::max(offset(range.end), begin);
  text_.replace(begin, end - begin, by);
  find_lines();
}

}  // namespace cs::lsp
