// Arrays between the library's users and runtime/host; the element types are the same, in the same order.
#include "wafersmith/array.h"

#include "wafersmith/internal.h"
#include "wafersmith/version.h"

#include "runtime/support/files.h"

namespace wafersmith {

static_assert(size_t(DType::boolean) == size_t(cs::DataType::boolean) &&
              size_t(DType::f32) == size_t(cs::DataType::f32) &&
              size_t(DType::i64) == size_t(cs::DataType::i64));

size_t bytes_of(DType t) { return size_t(cs::data_type_bytes(cs::DataType(t))); }
const char* name_of(DType t) { return cs::data_type_name(cs::DataType(t)).data(); }

const char* version() { return WAFERSMITH_VERSION; }

std::vector<Message> messages_of(const cs::Diag& diag) {
  std::vector<Message> out;
  for (const cs::Diagnostic& d : diag.all()) {
    const bool placed = d.loc.valid();
    out.push_back({Message::Kind(d.severity), placed ? diag.sources.path(d.loc.file) : d.where,
                   placed ? d.loc.line : 0, placed ? d.loc.column : 0, d.message, d.help});
  }
  return out;
}

void refuse(const cs::Diag& diag) { throw Error(diag.to_string(), messages_of(diag)); }

cs::ArrayView view_of(const Array& a) {
  cs::Diag diag;
  const auto elements = cs::ops::checked_elements(a.shape);
  if (!elements || a.bytes.size() != size_t(*elements) * bytes_of(a.dtype)) {
    diag.error_at(a.name, "an array of " + std::to_string(a.bytes.size()) +
                              " bytes does not have the shape and type " +
                              cs::ops::type_text({cs::DataType(a.dtype), a.shape}));
    refuse(diag);
  }
  return {a.name,
          {cs::DataType(a.dtype), a.shape},
          {reinterpret_cast<const uint8_t*>(a.bytes.data()), a.bytes.size()}};
}

cs::NamedArray to_named(const Array& a) {
  const cs::ArrayView view = view_of(a);
  cs::ops::Tensor tensor(view.type);
  if (!view.bytes.empty()) std::memcpy(tensor.bytes.data(), view.bytes.data(), view.bytes.size());
  return {a.name, std::move(tensor)};
}

Array from_named(cs::NamedArray&& a) {
  return {std::move(a.name), DType(a.tensor.type.dtype), std::move(a.tensor.type.shape),
          Bytes::take(std::move(a.tensor.bytes))};
}

std::vector<Array> read_npz(const std::string& path) {
  cs::Diag diag;
  auto arrays = cs::read_npz(path, diag);
  if (!arrays) refuse(diag);
  std::vector<Array> out;
  for (cs::NamedArray& a : *arrays) out.push_back(from_named(std::move(a)));
  return out;
}

void write_npz(const std::string& path, const std::vector<Array>& arrays) {
  std::vector<cs::NamedArray> list;
  for (const Array& a : arrays) list.push_back(to_named(a));
  cs::Diag diag;
  if (!cs::write_npz(path, list, diag)) refuse(diag);
}

const Array& find(const std::vector<Array>& arrays, const std::string& name) {
  std::string names;
  for (const Array& a : arrays) {
    if (a.name == name) return a;
    names += (names.empty() ? "" : ", ") + a.name;
  }
  throw Error("there is no array '" + name + "'; there are: " + names);
}

}  // namespace wafersmith
