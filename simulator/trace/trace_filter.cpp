// Reads the texts of --trace-region and --trace-window.
#include "simulator/trace/trace_filter.h"

#include <array>
#include <charconv>

namespace cs::sim {
namespace {

template <typename T>
bool read_number(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

std::optional<Rect> parse_trace_region(std::string_view text) {
  std::array<int, 4> v{};
  for (size_t i = 0; i < v.size(); ++i) {
    const size_t comma = text.find(',');
    if ((comma == std::string_view::npos) != (i + 1 == v.size())) return std::nullopt;
    if (!read_number(text.substr(0, comma), v[i])) return std::nullopt;
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
  }
  if (v[0] < 0 || v[1] < 0 || v[2] < 1 || v[3] < 1 || v[2] > (1 << 20) || v[3] > (1 << 20))
    return std::nullopt;
  return Rect{v[0], v[1], v[2], v[3]};
}

bool parse_trace_window(std::string_view text, TraceFilter& filter) {
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos || text.size() == 1) return false;
  Cycle begin = 0, end = kNever;
  if (colon > 0 && !read_number(text.substr(0, colon), begin)) return false;
  if (colon + 1 < text.size() && !read_number(text.substr(colon + 1), end)) return false;
  if (begin >= end) return false;
  filter.begin = begin;
  filter.end = end;
  return true;
}

}  // namespace cs::sim
