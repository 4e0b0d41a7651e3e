// Into a buffer of its own, so many bytes behind its first one.
#include "tools/cs-sim/moved_inputs.h"

#include <charconv>
#include <cstring>

#include <fmt/format.h>

#include "runtime/support/yaml.h"

namespace cs {

namespace {

constexpr size_t kMostOffset = 4095;

bool read_offset(const std::string& text, std::string& name, size_t& bytes) {
  const size_t sign = text.find('=');
  if (sign == std::string::npos || sign == 0) return false;
  name = text.substr(0, sign);
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data() + sign + 1, end, bytes);
  return error == std::errc() && at == end && bytes <= kMostOffset;
}

}  // namespace

std::optional<MovedInputs> move_inputs(const SimOptions& o, const std::vector<NamedArray>& arrays, Diag& diag) {
  MovedInputs out;
  out.views = views_of(arrays);
  std::vector<std::string> names;
  for (const NamedArray& a : arrays) names.push_back(a.name);
  for (const std::string& text : o.input_offsets) {
    std::string name;
    size_t bytes = 0;
    if (!read_offset(text, name, bytes)) {
      diag.error_at("--input-offset",
                    fmt::format("takes NAME=BYTES with at most {} bytes, got '{}'", kMostOffset, text));
      continue;
    }
    bool found = false;
    for (ArrayView& view : out.views) {
      if (view.name != name) continue;
      found = true;
      std::vector<uint64_t>& buffer = out.moved.emplace_back((bytes + view.bytes.size()) / 8 + 1);
      uint8_t* begin = reinterpret_cast<uint8_t*>(buffer.data()) + bytes;
      if (!view.bytes.empty()) std::memcpy(begin, view.bytes.data(), view.bytes.size());
      view.bytes = {begin, view.bytes.size()};
    }
    const std::string near = nearest(name, names);
    if (!found)
      diag.error_at("--input-offset", fmt::format("there is no input '{}'", name),
                    near.empty() ? "" : fmt::format("did you mean '{}'?", near));
  }
  return diag.ok() ? std::optional(std::move(out)) : std::nullopt;
}

}  // namespace cs
