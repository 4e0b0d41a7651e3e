// Conversions of ONNX messages. Sizes are checked before anything is allocated.
#include "compiler/frontend/onnx_proto.h"

#include <cctype>
#include <climits>
#include <cstring>

#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/stubs/logging.h>

namespace cs::frontend {

namespace {

// Elements from a typed field (one entry per element).
template <typename Field>
bool from_field(const Field& field, ops::Tensor& t, bool integer) {
  if (int64_t(field.size()) != t.elements()) return false;
  for (int i = 0; i < field.size(); ++i) {
    if (integer) {
      t.set_int(i, int64_t(field.Get(i)));
    } else {
      t.set(i, double(field.Get(i)));
    }
  }
  return true;
}

// 16-bit floats in int32_data are bit patterns.
bool from_bits(const onnx::TensorProto& p, ops::Tensor& t) {
  if (int64_t(p.int32_data_size()) != t.elements()) return false;
  for (int i = 0; i < p.int32_data_size(); ++i) {
    uint16_t bits = uint16_t(p.int32_data(i));
    std::memcpy(t.bytes.data() + size_t(i) * 2, &bits, 2);
  }
  return true;
}

bool from_typed(const onnx::TensorProto& p, ops::Tensor& t) {
  switch (t.type.dtype) {
    case DataType::f32:
      return from_field(p.float_data(), t, false);
    case DataType::f64:
      return from_field(p.double_data(), t, false);
    case DataType::i64:
      return from_field(p.int64_data(), t, true);
    case DataType::u32:
    case DataType::u64:
      return from_field(p.uint64_data(), t, true);
    case DataType::f16:
    case DataType::bf16:
      return from_bits(p, t);
    default:
      return from_field(p.int32_data(), t, true);
  }
}

}  // namespace

bool parse_message(std::string_view bytes, google::protobuf::MessageLite& message) {
  if (bytes.size() > size_t(INT_MAX)) return false;
  google::protobuf::LogHandler* old = google::protobuf::SetLogHandler(nullptr);
  google::protobuf::io::CodedInputStream in(reinterpret_cast<const uint8_t*>(bytes.data()),
                                            int(bytes.size()));
  in.SetRecursionLimit(64);
  bool ok = message.ParseFromCodedStream(&in) && in.ConsumedEntireMessage();
  google::protobuf::SetLogHandler(old);
  return ok;
}

std::optional<DataType> onnx_dtype(int elem_type) {
  switch (elem_type) {
    case onnx::TensorProto::FLOAT:
      return DataType::f32;
    case onnx::TensorProto::DOUBLE:
      return DataType::f64;
    case onnx::TensorProto::FLOAT16:
      return DataType::f16;
    case onnx::TensorProto::BFLOAT16:
      return DataType::bf16;
    case onnx::TensorProto::INT8:
      return DataType::i8;
    case onnx::TensorProto::UINT8:
      return DataType::u8;
    case onnx::TensorProto::INT16:
      return DataType::i16;
    case onnx::TensorProto::UINT16:
      return DataType::u16;
    case onnx::TensorProto::INT32:
      return DataType::i32;
    case onnx::TensorProto::UINT32:
      return DataType::u32;
    case onnx::TensorProto::INT64:
      return DataType::i64;
    case onnx::TensorProto::UINT64:
      return DataType::u64;
    case onnx::TensorProto::BOOL:
      return DataType::boolean;
    default:
      return std::nullopt;
  }
}

std::string onnx_dtype_name(int elem_type) {
  return onnx::TensorProto::DataType_IsValid(elem_type)
             ? onnx::TensorProto::DataType_Name(onnx::TensorProto::DataType(elem_type))
             : fmt::format("type {}", elem_type);
}

std::optional<ops::Tensor> onnx_tensor(const onnx::TensorProto& p, std::string& error) {
  std::optional<DataType> dtype = onnx_dtype(p.data_type());
  if (!dtype) {
    error = fmt::format("tensors of {} are not supported", onnx_dtype_name(p.data_type()));
    return std::nullopt;
  }
  ops::TensorType type{*dtype, {p.dims().begin(), p.dims().end()}};
  std::optional<int64_t> n = ops::checked_elements(type.shape);
  if (!n || type.rank() > 16) {
    error = "the shape is not valid";
    return std::nullopt;
  }
  if (p.data_location() == onnx::TensorProto::EXTERNAL) {
    error = "its data lie in another file; save the model with its weights inside";
    return std::nullopt;
  }
  // Every element takes at least one byte of the file, so a small file cannot ask for much memory.
  int64_t have = p.has_raw_data() ? int64_t(p.raw_data().size()) : -1, need = type.bytes();
  int64_t typed = std::max({p.float_data_size(), p.double_data_size(), p.int32_data_size(),
                            p.int64_data_size(), p.uint64_data_size()});
  if (have >= 0 ? have != need : typed != *n) {
    error = have >= 0 ? fmt::format("{} needs {} bytes, has {}", ops::type_text(type), need, have)
                      : fmt::format("{} needs {} elements, has {}", ops::type_text(type), *n, typed);
    return std::nullopt;
  }
  ops::Tensor t(type);
  if (have >= 0) {
    if (need > 0) std::memcpy(t.bytes.data(), p.raw_data().data(), size_t(need));
  } else if (!from_typed(p, t)) {
    error = fmt::format("{} has its elements in the wrong field", ops::type_text(type));
    return std::nullopt;
  }
  if (*dtype == DataType::boolean) {
    for (uint8_t& b : t.bytes) b = b != 0;
  }
  return t;
}

std::optional<AttrValue> onnx_attr(const onnx::AttributeProto& a) {
  switch (a.type()) {
    case onnx::AttributeProto::FLOAT:
      return double(a.f());
    case onnx::AttributeProto::INT:
      return int64_t(a.i());
    case onnx::AttributeProto::STRING:
      return a.s();
    case onnx::AttributeProto::FLOATS:
      return std::vector<double>(a.floats().begin(), a.floats().end());
    case onnx::AttributeProto::INTS:
      return std::vector<int64_t>(a.ints().begin(), a.ints().end());
    case onnx::AttributeProto::STRINGS: {
      std::string words;
      for (const std::string& s : a.strings()) words += (words.empty() ? "" : " ") + s;
      return words;
    }
    default:
      return std::nullopt;
  }
}

std::string snake_case(const std::string& name) {
  std::string out;
  for (char c : name) {
    if (std::isupper(static_cast<unsigned char>(c)) && !out.empty()) out += '_';
    out += char(std::tolower(static_cast<unsigned char>(c)));
  }
  return out;
}

}  // namespace cs::frontend
