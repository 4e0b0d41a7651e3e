// Borrowed on the way in, moved on the way out.
#include "arrays.h"

#include <memory>
#include <optional>

#include <pybind11/stl.h>

namespace py = pybind11;

namespace wafersmith::python {
namespace {

// By numpy's kind and size of an element.
std::optional<DType> dtype_from(char kind, py::ssize_t bytes) {
  const auto sized = [&](DType one, DType two, DType four, DType eight) -> std::optional<DType> {
    return bytes == 1 ? one : bytes == 2 ? two : bytes == 4 ? four : eight;
  };
  if (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8) return std::nullopt;
  switch (kind) {
    case 'b': return DType::boolean;
    case 'i': return sized(DType::i8, DType::i16, DType::i32, DType::i64);
    case 'u': return sized(DType::u8, DType::u16, DType::u32, DType::u64);
    case 'f': return bytes == 1 ? std::optional<DType>() : sized(DType::f16, DType::f16, DType::f32, DType::f64);
    default: return std::nullopt;
  }
}

const char* numpy_name(DType type) {
  switch (type) {
    case DType::i8: return "i1";
    case DType::i16: return "i2";
    case DType::i32: return "i4";
    case DType::i64: return "i8";
    case DType::u8: return "u1";
    case DType::u16:
    case DType::bf16: return "u2";
    case DType::u32: return "u4";
    case DType::u64: return "u8";
    case DType::f16: return "f2";
    case DType::f32: return "f4";
    case DType::f64: return "f8";
    case DType::boolean: return "?";
  }
  return "u1";
}

}  // namespace

Array borrow(const std::string& name, const py::array& array) {
  const auto type = dtype_from(array.dtype().kind(), array.itemsize());
  const bool native = array.dtype().attr("isnative").cast<bool>();
  if (!type || !native || (array.flags() & py::array::c_style) == 0)
    throw py::type_error(name + ": an array of numbers in C order is needed, of this computer's byte order; got " +
                         py::str(array.dtype()).cast<std::string>());
  return {name, *type, {array.shape(), array.shape() + array.ndim()},
          Bytes::borrow(array.data(), size_t(array.nbytes()))};
}

py::array hand_over(Array&& array) {
  auto held = std::make_unique<Array>(std::move(array));
  Array& a = *held;
  const py::capsule owner(held.release(), [](void* p) { delete static_cast<Array*>(p); });
  return py::array(py::dtype(numpy_name(a.dtype)), std::vector<py::ssize_t>(a.shape.begin(), a.shape.end()),
                   a.bytes.data(), owner);
}

py::dict hand_over(std::vector<Array>&& arrays) {
  py::dict out;
  for (Array& a : arrays) {
    const std::string name = a.name;
    out[py::str(name)] = hand_over(std::move(a));
  }
  return out;
}

}  // namespace wafersmith::python
