// Reads the texts of --trace-region, --trace-window, --trace-level and --trace-bytes.
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

const std::vector<std::string>& trace_kind_names() {
  static const std::vector<std::string> kNames{"tasks",    "operations", "stalls",   "wavelets",
                                               "switches", "queues",     "launches", "host"};
  return kNames;
}

const std::vector<std::string>& trace_level_names() {
  static const std::vector<std::string> kNames{"coarse", "normal", "full"};
  return kNames;
}

std::optional<uint32_t> trace_level_kinds(std::string_view level) {
  const auto bit = [](TraceKind kind) { return 1u << unsigned(kind); };
  const uint32_t coarse = bit(TraceKind::tasks) | bit(TraceKind::launches) | bit(TraceKind::host);
  if (level == "coarse") return coarse;
  if (level == "normal")
    return coarse | bit(TraceKind::operations) | bit(TraceKind::switches) | bit(TraceKind::queues);
  if (level == "full") return (1u << kTraceKinds) - 1;
  return std::nullopt;
}

std::optional<uint64_t> parse_trace_bytes(std::string_view text) {
  int shift = 0;
  if (!text.empty()) {
    const size_t unit = std::string_view("KMG").find(text.back());
    if (unit != std::string_view::npos) {
      shift = 10 * (int(unit) + 1);
      text.remove_suffix(1);
    }
  }
  uint64_t value = 0;
  if (!read_number(text, value) || value == 0 || value > UINT64_MAX >> shift) return std::nullopt;
  return value << shift;
}

}  // namespace cs::sim
