// DSDs in memory and DSR configuration words: encode, decode, print, parse. The layout is the comment in
// dsd.h.
//
// The configuration word uses all 32 bits, so every word decodes to one configuration and back:
//   bit 0 async, 1 save_address, 2 single_step, 3-8 activate + 1, 10-16 unblock + 1, 17-20 and 9 microthread
//   + 1, 21-22 priority, 23-24 on_control, 25-31 on_control_task + 1
#include "runtime/isa/dsd.h"

#include <charconv>

#include <fmt/format.h>

#include "runtime/support/diag.h"

namespace cs::isa {
namespace {

// A field of low bits in one place and one more bit in another, so that older words keep their meaning.
struct SplitField {
  int shift, bits, high;
};
constexpr SplitField kDsdMicrothread{6, 3, 12}, kConfigMicrothread{17, 4, 9};

constexpr uint32_t mask(int bits) { return (1u << bits) - 1; }

uint32_t field(int value, int shift, int bits) { return (uint32_t(value) & mask(bits)) << shift; }
int bits_at(uint32_t word, int shift, int bits) { return int(word >> shift & mask(bits)); }

uint32_t field(int value, SplitField f) {
  return field(value, f.shift, f.bits) | field(value >> f.bits, f.high, 1);
}
int bits_at(uint32_t word, SplitField f) {
  return bits_at(word, f.shift, f.bits) | bits_at(word, f.high, 1) << f.bits;
}

void encode_fabric(const Dsd& d, std::span<uint16_t> words) {
  words[1] = uint16_t(field(int(d.simd), 0, 2) | field(d.control_transform, 2, 1) | field(d.priority, 3, 2) |
                      field(d.microthread >= 0, 5, 1) |
                      field(d.microthread >= 0 ? d.microthread : 0, kDsdMicrothread) |
                      field(d.indexed, 9, 1) | field(d.zero, 10, 2));
  words[2] = d.extent[0];
}

void decode_fabric(std::span<const uint16_t> words, Dsd& d) {
  d.simd = SimdMode(bits_at(words[1], 0, 2));
  d.control_transform = bits_at(words[1], 2, 1);
  d.priority = uint8_t(bits_at(words[1], 3, 2));
  d.microthread = bits_at(words[1], 5, 1) ? int8_t(bits_at(words[1], kDsdMicrothread)) : int8_t(-1);
  d.extent[0] = words[2];
  d.indexed = bits_at(words[1], 9, 1);
  d.zero = uint8_t(bits_at(words[1], 10, 2));
}

constexpr std::string_view kOnControl[] = {"none", "terminate", "activate", "unblock"};

std::optional<int> number(std::string_view text, int low, int high) {
  int value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < low || value > high)
    return std::nullopt;
  return value;
}

// One word of a printed configuration. False when it is not understood.
bool parse_word(std::string_view word, DsrConfig& c) {
  if (word == "async") return c.async = true;
  if (word == "save_address") return c.save_address = true;
  if (word == "single_step") return c.single_step = true;
  const size_t equals = word.find('=');
  if (equals == std::string_view::npos) return false;
  const std::string_view key = word.substr(0, equals), value = word.substr(equals + 1);
  if (key == "on_control") {
    for (int i = 1; i < 4; ++i)
      if (value == kOnControl[i]) {
        c.on_control = DsrConfig::OnControl(i);
        return true;
      }
    return false;
  }
  const bool task = key == "activate" || key == "unblock" || key == "on_control_task";
  if (!task && key != "ut" && key != "priority") return false;
  const auto n = number(value, 0, key == "activate" ? 62 : task ? 126 : key == "ut" ? 30 : 3);
  if (!n) return false;
  if (key == "activate") c.activate = int8_t(*n);
  if (key == "unblock") c.unblock = int8_t(*n);
  if (key == "on_control_task") c.on_control_task = int8_t(*n);
  if (key == "ut") c.microthread = int8_t(*n);
  if (key == "priority") c.priority = uint8_t(*n);
  return true;
}

}  // namespace

uint32_t Dsd::elements() const {
  if (kind != DsdKind::mem4d) return extent[0];
  uint64_t product = 1;
  for (uint16_t e : extent) product = std::min<uint64_t>(product * e, UINT32_MAX);
  return uint32_t(product);
}

void encode(const Dsd& d, std::span<uint16_t> words) {
  CS_CHECK(words.size() >= size_t(d.bytes()) / 2, "room for the descriptor");
  const bool has_color = d.is_fabric() && d.color != kQueueColor;
  for (uint16_t& w : words) w = 0;
  words[0] = uint16_t(field(int(d.kind), 0, 4) | field(d.in_memory() && d.indexed, 4, 1));
  switch (d.kind) {
    case DsdKind::none:
      break;
    case DsdKind::mem1d:
      words[1] = d.base;
      words[2] = d.extent[0];
      words[3] = uint16_t(d.stride[0]);
      break;
    case DsdKind::mem4d:
      words[1] = d.base;
      for (size_t i = 0; i < 4; ++i) words[2 + i] = d.extent[i], words[6 + i] = uint16_t(d.stride[i]);
      break;
    case DsdKind::fabin:
    case DsdKind::fabout:
      words[0] = uint16_t(words[0] | field(d.queue, 4, 4) | field(d.color, 8, 5) | field(d.control, 13, 1) |
                          field(d.advance_switch, 14, 1) | field(has_color, 15, 1));
      encode_fabric(d, words);
      break;
    case DsdKind::fifo:
      words[0] = uint16_t(words[0] | field(d.queue, 4, 4));
      words[2] = d.extent[0];
      break;
    case DsdKind::circbuf:
      words[1] = d.base;
      words[2] = d.extent[0];
      words[3] = uint16_t(d.stride[0]);
      words[4] = uint16_t(d.end - d.first);
      break;
  }
}

Dsd decode(std::span<const uint16_t> words) {
  Dsd d;
  if (words.empty() || bits_at(words[0], 0, 4) > int(DsdKind::circbuf)) return d;
  d.kind = DsdKind(bits_at(words[0], 0, 4));
  if (words.size() < size_t(d.bytes()) / 2) return Dsd{};
  d.indexed = d.in_memory() && bits_at(words[0], 4, 1);
  switch (d.kind) {
    case DsdKind::none:
      break;
    case DsdKind::mem1d:
      d.base = words[1];
      d.extent[0] = words[2];
      d.stride[0] = int16_t(words[3]);
      break;
    case DsdKind::mem4d:
      d.base = words[1];
      for (size_t i = 0; i < 4; ++i) d.extent[i] = words[2 + i], d.stride[i] = int16_t(words[6 + i]);
      break;
    case DsdKind::fabin:
    case DsdKind::fabout:
      d.queue = uint8_t(bits_at(words[0], 4, 4));
      d.color = bits_at(words[0], 15, 1) ? uint8_t(bits_at(words[0], 8, 5)) : uint8_t(kQueueColor);
      d.control = bits_at(words[0], 13, 1);
      d.advance_switch = bits_at(words[0], 14, 1);
      decode_fabric(words, d);
      break;
    case DsdKind::fifo:
      d.queue = uint8_t(bits_at(words[0], 4, 4));
      d.extent[0] = words[2];
      break;
    case DsdKind::circbuf:
      d.base = words[1];
      d.extent[0] = words[2];
      d.stride[0] = int16_t(words[3]);
      d.first = words[1];
      d.end = uint32_t(words[1]) + words[4];
      break;
  }
  return d;
}

int32_t encode(const DsrConfig& c) {
  return int32_t(field(c.async, 0, 1) | field(c.save_address, 1, 1) | field(c.single_step, 2, 1) |
                 field(c.activate + 1, 3, 6) | field(c.unblock + 1, 10, 7) |
                 field(c.microthread + 1, kConfigMicrothread) | field(c.priority, 21, 2) |
                 field(int(c.on_control), 23, 2) | field(c.on_control_task + 1, 25, 7));
}

DsrConfig decode_config(int32_t value) {
  const uint32_t word = uint32_t(value);
  DsrConfig c;
  c.async = bits_at(word, 0, 1);
  c.save_address = bits_at(word, 1, 1);
  c.single_step = bits_at(word, 2, 1);
  c.activate = int8_t(bits_at(word, 3, 6) - 1);
  c.unblock = int8_t(bits_at(word, 10, 7) - 1);
  c.microthread = int8_t(bits_at(word, kConfigMicrothread) - 1);
  c.priority = uint8_t(bits_at(word, 21, 2));
  c.on_control = DsrConfig::OnControl(bits_at(word, 23, 2));
  c.on_control_task = int8_t(bits_at(word, 25, 7) - 1);
  return c;
}

std::string print(const DsrConfig& c) {
  std::string text;
  auto add = [&](const std::string& word) { text += (text.empty() ? "" : " ") + word; };
  if (c.async) add("async");
  if (c.save_address) add("save_address");
  if (c.single_step) add("single_step");
  if (c.activate >= 0) add(fmt::format("activate={}", c.activate));
  if (c.unblock >= 0) add(fmt::format("unblock={}", c.unblock));
  if (c.microthread >= 0) add(fmt::format("ut={}", c.microthread));
  if (c.priority) add(fmt::format("priority={}", c.priority));
  if (c.on_control != DsrConfig::OnControl::none)
    add(fmt::format("on_control={}", kOnControl[int(c.on_control)]));
  if (c.on_control_task >= 0) add(fmt::format("on_control_task={}", c.on_control_task));
  return text;
}

std::optional<DsrConfig> parse_config(std::string_view text) {
  DsrConfig c;
  while (!text.empty()) {
    const size_t space = std::min(text.find(' '), text.size());
    if (space > 0 && !parse_word(text.substr(0, space), c)) return std::nullopt;
    text.remove_prefix(std::min(space + 1, text.size()));
  }
  return c;
}

}  // namespace cs::isa
