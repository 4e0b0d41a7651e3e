// A tiny reader of the dictionary literal: keys in any order, quotes of either kind, a tuple of integers.
#include "runtime/host/npy_header.h"

#include <fmt/format.h>

#include <cctype>

namespace cs {
namespace {

struct DescrRow {
  char kind;
  int bytes;
  DataType dtype;
};
constexpr DescrRow kDescr[] = {
    {'f', 2, DataType::f16}, {'f', 4, DataType::f32}, {'f', 8, DataType::f64}, {'i', 1, DataType::i8},
    {'i', 2, DataType::i16}, {'i', 4, DataType::i32}, {'i', 8, DataType::i64}, {'u', 1, DataType::u8},
    {'u', 2, DataType::u16}, {'u', 4, DataType::u32}, {'u', 8, DataType::u64}, {'b', 1, DataType::boolean},
};

class Literal {
 public:
  explicit Literal(std::string_view text) : text_(text) {}
  bool accept(char c) {
    skip();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  bool string(std::string& out) {
    skip();
    if (at_ >= text_.size() || (text_[at_] != '\'' && text_[at_] != '"')) return false;
    const size_t end = text_.find(text_[at_], at_ + 1);
    if (end == std::string_view::npos) return false;
    out = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return true;
  }
  bool word(std::string& out) {
    skip();
    out.clear();
    while (at_ < text_.size() && std::isalpha(uint8_t(text_[at_])) != 0) out += text_[at_++];
    return !out.empty();
  }
  bool integer(int64_t& out) {
    skip();
    const size_t start = at_;
    out = 0;
    while (at_ < text_.size() && std::isdigit(uint8_t(text_[at_])) != 0 && at_ - start < 16)
      out = out * 10 + (text_[at_++] - '0');
    return at_ > start;
  }

 private:
  void skip() {
    while (at_ < text_.size() && std::isspace(uint8_t(text_[at_])) != 0) ++at_;
  }
  std::string_view text_;
  size_t at_ = 0;
};

bool parse_descr(const std::string& descr, NpyHeader& out, std::string& error) {
  if (descr.size() == 3)
    for (const DescrRow& row : kDescr)
      if (descr[1] == row.kind && descr[2] - '0' == row.bytes &&
          std::string("<>|=").find(descr[0]) != std::string::npos) {
        out.dtype = row.dtype;
        out.big_endian = descr[0] == '>';
        return true;
      }
  error = fmt::format("element type '{}' is not supported; f2 f4 f8 i1 i2 i4 i8 u1 u2 u4 u8 b1 are", descr);
  return false;
}

bool parse_shape(Literal& in, ops::Shape& shape) {
  if (!in.accept('(')) return false;
  while (!in.accept(')')) {
    int64_t n = 0;
    if (!in.integer(n) || shape.size() >= 32) return false;
    shape.push_back(n);
    if (!in.accept(',')) return in.accept(')');
  }
  return true;
}

bool parse_dictionary(std::string_view text, NpyHeader& out, std::string& error) {
  Literal in(text);
  std::string descr, word, key;
  bool has_shape = false, ok = in.accept('{');
  while (ok && !in.accept('}')) {
    ok = in.string(key) && in.accept(':');
    if (ok && key == "descr") {
      ok = in.string(descr);
    } else if (ok && key == "fortran_order") {
      ok = in.word(word);
    } else if (ok && key == "shape") {
      ok = has_shape = parse_shape(in, out.shape);
    } else {
      ok = false;
    }
    if (ok && !in.accept(',')) {
      ok = in.accept('}');
      break;
    }
  }
  if (!ok || descr.empty() || !has_shape || (word != "True" && word != "False")) {
    error = "damaged header";
    return false;
  }
  out.fortran = word == "True";
  return parse_descr(descr, out, error);
}

}  // namespace

bool parse_npy_header(std::string_view bytes, NpyHeader& out, std::string& error) {
  if (bytes.size() < 10 || bytes.substr(0, 6) != "\x93NUMPY") {
    error = "it does not begin with the .npy magic";
    return false;
  }
  const int version = uint8_t(bytes[6]);
  const size_t prefix = version == 1 ? 10 : 12;
  if (version < 1 || version > 3 || bytes.size() < prefix) {
    error = fmt::format("version {} is unknown", version);
    return false;
  }
  size_t length = uint8_t(bytes[8]) | size_t(uint8_t(bytes[9])) << 8;
  if (version > 1) length |= size_t(uint8_t(bytes[10])) << 16 | size_t(uint8_t(bytes[11])) << 24;
  if (length > bytes.size() - prefix) {
    error = "the file ends inside its header";
    return false;
  }
  out.data = prefix + length;
  return parse_dictionary(bytes.substr(prefix, length), out, error);
}

std::string npy_header(const ops::TensorType& type) {
  char kind = 'f';
  for (const DescrRow& row : kDescr)
    if (row.dtype == type.dtype) kind = row.kind;
  std::string shape;
  for (const int64_t n : type.shape) shape += fmt::format("{}, ", n);
  if (type.shape.size() > 1) shape.resize(shape.size() - 2);
  if (type.shape.size() == 1) shape.resize(shape.size() - 1);  // "(4,)"
  const int bytes = data_type_bytes(type.dtype);
  std::string text = fmt::format("{{'descr': '{}{}{}', 'fortran_order': False, 'shape': ({}), }}",
                                 bytes == 1 ? '|' : '<', kind, bytes, shape);
  while ((10 + text.size() + 1) % 64 != 0) text += ' ';
  text += '\n';
  std::string out("\x93NUMPY\x01\x00", 8);
  out += char(text.size());
  out += char(text.size() >> 8);
  return out + text;
}

}  // namespace cs
