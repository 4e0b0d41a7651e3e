// ZIP by its central directory (as every unzip does it), .npy headers as the Python literal numpy writes.
#include "runtime/host/npz.h"

#include <fmt/format.h>
#include <zlib.h>

#include <bit>
#include <cstring>

#include "runtime/host/npy_header.h"
#include "runtime/support/files.h"

namespace cs {
namespace {

constexpr uint64_t kMaxArrayBytes = uint64_t(1) << 33;
constexpr uint32_t kLocalSignature = 0x04034b50, kCentralSignature = 0x02014b50, kEndSignature = 0x06054b50;

uint32_t u16_at(std::string_view b, size_t at) { return uint8_t(b[at]) | uint32_t(uint8_t(b[at + 1])) << 8; }
uint32_t u32_at(std::string_view b, size_t at) { return u16_at(b, at) | u16_at(b, at + 2) << 16; }

struct Entry {
  std::string name;
  uint32_t method = 0, crc = 0, packed = 0, size = 0, offset = 0;
};

// Raw deflate into exactly `size` bytes.
bool inflate_entry(std::string_view packed, size_t size, std::string& out) {
  z_stream z{};
  if (inflateInit2(&z, -MAX_WBITS) != Z_OK) return false;
  out.resize(size);
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  z.avail_in = uInt(packed.size());
  z.next_out = reinterpret_cast<Bytef*>(out.data());
  z.avail_out = uInt(size);
  const int end = inflate(&z, Z_FINISH);
  const bool ok = end == Z_STREAM_END && z.total_out == size;
  inflateEnd(&z);
  return ok;
}

class ZipReader {
 public:
  ZipReader(std::string_view bytes, const std::string& name, Diag& diag) : bytes_(bytes), name_(name), diag_(diag) {}

  bool entries(std::vector<Entry>& out) {
    const size_t end = find_end();
    if (end == std::string_view::npos) return fail("is no ZIP archive, or was cut off (no end record)");
    const size_t count = u16_at(bytes_, end + 10);
    size_t at = u32_at(bytes_, end + 16);
    for (size_t i = 0; i < count; ++i) {
      if (at + 46 > end || u32_at(bytes_, at) != kCentralSignature) return fail("has a damaged directory");
      Entry e;
      const size_t name_length = u16_at(bytes_, at + 28);
      if (at + 46 + name_length > end) return fail("has a damaged directory");
      e.method = u16_at(bytes_, at + 10);
      e.crc = u32_at(bytes_, at + 16);
      e.packed = u32_at(bytes_, at + 20);
      e.size = u32_at(bytes_, at + 24);
      e.offset = u32_at(bytes_, at + 42);
      e.name = bytes_.substr(at + 46, name_length);
      if (e.packed == 0xffffffff || e.size == 0xffffffff || e.offset == 0xffffffff)
        return fail("uses ZIP64 records, which are not supported");
      at += 46 + name_length + u16_at(bytes_, at + 30) + u16_at(bytes_, at + 32);
      out.push_back(std::move(e));
    }
    return true;
  }

  bool contents(const Entry& e, std::string& out) {
    const size_t at = e.offset;
    if (at + 30 > bytes_.size() || u32_at(bytes_, at) != kLocalSignature)
      return fail("has no entry where the directory says '" + e.name + "' is");
    const size_t data = at + 30 + u16_at(bytes_, at + 26) + u16_at(bytes_, at + 28);
    if (data + e.packed > bytes_.size()) return fail("ends inside '" + e.name + "'");
    const std::string_view packed = bytes_.substr(data, e.packed);
    if (e.method == 0 && e.packed == e.size) {
      out = packed;
    } else if (e.method != 8) {
      return fail(fmt::format("packs '{}' by method {}; stored and deflated entries are supported", e.name, e.method));
    } else if (e.size / 1100 > e.packed + 1 || !inflate_entry(packed, e.size, out)) {
      return fail("has damaged data in '" + e.name + "'");  // deflate cannot pack tighter than 1:1032
    }
    if (crc32(0, reinterpret_cast<const Bytef*>(out.data()), uInt(out.size())) != e.crc)
      return fail("has damaged data in '" + e.name + "' (checksum)");
    return true;
  }

 private:
  bool fail(const std::string& what) {
    diag_.error_at(name_, "the file " + what, "write it again, for example with numpy.savez");
    return false;
  }
  // The end record is the last 22 bytes plus a comment of up to 65535.
  size_t find_end() const {
    if (bytes_.size() < 22) return std::string_view::npos;
    const size_t lowest = bytes_.size() > 22 + 65535 ? bytes_.size() - 22 - 65535 : 0;
    for (size_t at = bytes_.size() - 22 + 1; at-- > lowest;)
      if (u32_at(bytes_, at) == kEndSignature) return at;
    return std::string_view::npos;
  }
  std::string_view bytes_;
  const std::string& name_;
  Diag& diag_;
};

// Reverses the bytes of every element.
void swap_elements(std::vector<uint8_t>& bytes, size_t width) {
  for (size_t at = 0; at + width <= bytes.size(); at += width)
    for (size_t k = 0; k < width / 2; ++k) std::swap(bytes[at + k], bytes[at + width - 1 - k]);
}

// Fortran order to C order.
std::vector<uint8_t> to_c_order(const std::vector<uint8_t>& in, const ops::Shape& shape, size_t width) {
  std::vector<uint8_t> out(in.size());
  const size_t count = width != 0 ? in.size() / width : 0;
  std::vector<int64_t> index(shape.size(), 0);
  for (size_t c = 0; c < count; ++c) {
    size_t fortran = 0, stride = 1;
    for (size_t d = 0; d < shape.size(); ++d) {
      fortran += size_t(index[d]) * stride;
      stride *= size_t(shape[d]);
    }
    std::memcpy(&out[c * width], &in[fortran * width], width);
    for (size_t d = shape.size(); d-- > 0;) {
      if (++index[d] < shape[d]) break;
      index[d] = 0;
    }
  }
  return out;
}

bool parse_npy(std::string_view bytes, const std::string& where, ops::Tensor& out, Diag& diag) {
  NpyHeader header;
  std::string error;
  if (!parse_npy_header(bytes, header, error)) {
    diag.error_at(where, "not a .npy array: " + error);
    return false;
  }
  out.type = {header.dtype, header.shape};
  const auto elements = ops::checked_elements(header.shape);
  const uint64_t width = uint64_t(data_type_bytes(header.dtype));
  if (!elements || uint64_t(*elements) * width > kMaxArrayBytes) {
    diag.error_at(where, "the array is larger than the 8 GiB that are supported");
    return false;
  }
  const uint64_t need = uint64_t(*elements) * width, have = bytes.size() - header.data;
  if (need != have) {
    diag.error_at(where, fmt::format("shape {} needs {} bytes of data, the file has {}", ops::type_text(out.type), need,
                                     have));
    return false;
  }
  out.bytes.assign(bytes.begin() + std::ptrdiff_t(header.data), bytes.end());
  if (header.big_endian) swap_elements(out.bytes, size_t(width));
  if (header.fortran) out.bytes = to_c_order(out.bytes, header.shape, size_t(width));
  return true;
}

void put16(std::string& s, uint32_t v) { s += char(v), s += char(v >> 8); }
void put32(std::string& s, uint32_t v) { put16(s, v), put16(s, v >> 16); }

// What local header and directory entry share, from "version needed" to "extra length".
void put_entry(std::string& s, const std::string& name, uint32_t crc, uint32_t size) {
  put16(s, 20), put16(s, 0), put16(s, 0);      // version, flags, stored
  put16(s, 0), put16(s, 0x21);                 // 1980-01-01: no times in outputs
  put32(s, crc), put32(s, size), put32(s, size);
  put16(s, uint32_t(name.size())), put16(s, 0);
}

}  // namespace

std::optional<std::vector<NamedArray>> parse_npz(std::string_view bytes, const std::string& name, Diag& diag) {
  ZipReader zip(bytes, name, diag);
  std::vector<Entry> entries;
  if (!zip.entries(entries)) return std::nullopt;
  std::vector<NamedArray> arrays;
  uint64_t total = 0;
  for (const Entry& e : entries) {
    total += e.size;
    if (total > kMaxArrayBytes) {
      diag.error_at(name, "the arrays hold more than the 8 GiB that are supported");
      return std::nullopt;
    }
    NamedArray a;
    a.name = e.name.ends_with(".npy") ? e.name.substr(0, e.name.size() - 4) : e.name;
    std::string data;
    if (!zip.contents(e, data) || !parse_npy(data, name + ": " + a.name, a.tensor, diag)) return std::nullopt;
    if (find_array(arrays, a.name) != nullptr) {
      diag.error_at(name, "array '" + a.name + "' is there twice");
      return std::nullopt;
    }
    arrays.push_back(std::move(a));
  }
  return arrays;
}

std::optional<std::vector<NamedArray>> read_npz(const std::string& path, Diag& diag) {
  const auto bytes = read_file(path, diag);
  return bytes ? parse_npz(*bytes, path, diag) : std::nullopt;
}

std::string npz_bytes(const std::vector<NamedArray>& arrays) {
  std::string out, directory;
  for (const NamedArray& a : arrays) {
    std::string npy = npy_header(a.tensor.type);
    npy.append(reinterpret_cast<const char*>(a.tensor.bytes.data()), a.tensor.bytes.size());
    const std::string file = a.name + ".npy";
    const auto crc = uint32_t(crc32(0, reinterpret_cast<const Bytef*>(npy.data()), uInt(npy.size())));
    const auto offset = uint32_t(out.size());
    put32(out, kLocalSignature);
    put_entry(out, file, crc, uint32_t(npy.size()));
    out += file + npy;
    put32(directory, kCentralSignature);
    put16(directory, 20);
    put_entry(directory, file, crc, uint32_t(npy.size()));
    put16(directory, 0), put16(directory, 0), put16(directory, 0), put32(directory, 0);
    put32(directory, offset);
    directory += file;
  }
  const auto start = uint32_t(out.size());
  out += directory;
  put32(out, kEndSignature);
  put16(out, 0), put16(out, 0);
  put16(out, uint32_t(arrays.size())), put16(out, uint32_t(arrays.size()));
  put32(out, uint32_t(directory.size())), put32(out, start), put16(out, 0);
  return out;
}

bool write_npz(const std::string& path, const std::vector<NamedArray>& arrays, Diag& diag) {
  return write_file_atomic(path, npz_bytes(arrays), diag);
}

const NamedArray* find_array(const std::vector<NamedArray>& arrays, std::string_view name) {
  for (const NamedArray& a : arrays)
    if (a.name == name) return &a;
  return nullptr;
}

std::vector<double> to_doubles(const NamedArray& a) {
  std::vector<double> out(size_t(a.tensor.elements()));
  for (size_t i = 0; i < out.size(); ++i) out[i] = a.tensor.get(int64_t(i));
  return out;
}

}  // namespace cs
