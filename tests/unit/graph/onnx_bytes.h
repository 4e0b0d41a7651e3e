// Writes ONNX files for tests, independently of the protobuf classes that the importer uses: field numbers
// and wire types by hand, from the public schema.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace cs::onnx_bytes {

inline std::string varint(uint64_t v) {
  std::string s;
  for (; v >= 0x80; v >>= 7) s += char((v & 0x7f) | 0x80);
  return s + char(v);
}
inline std::string number(int field, int64_t v) { return varint(uint64_t(field) << 3) + varint(uint64_t(v)); }
inline std::string bytes(int field, const std::string& body) {
  return varint(uint64_t(field) << 3 | 2) + varint(body.size()) + body;
}

// AttributeProto: name 1, f 2, i 3, s 4, ints 8, type 20 (FLOAT 1, INT 2, STRING 3, INTS 7)
inline std::string attr_int(const std::string& name, int64_t v) {
  return bytes(5, bytes(1, name) + number(3, v) + number(20, 2));
}
inline std::string attr_text(const std::string& name, const std::string& v) {
  return bytes(5, bytes(1, name) + bytes(4, v) + number(20, 3));
}
inline std::string attr_float(const std::string& name, float v) {
  std::string raw(4, '\0');
  std::memcpy(raw.data(), &v, 4);
  return bytes(5, bytes(1, name) + varint(2 << 3 | 5) + raw + number(20, 1));
}

// NodeProto: input 1, output 2, name 3, op_type 4, attribute 5
inline std::string node(const std::string& op, const std::string& name, const std::vector<std::string>& in,
                        const std::vector<std::string>& out, const std::string& attrs = "") {
  std::string s;
  for (const std::string& i : in) s += bytes(1, i);
  for (const std::string& o : out) s += bytes(2, o);
  return bytes(1, s + bytes(3, name) + bytes(4, op) + attrs);
}

// TensorProto: dims 1, data_type 2, name 8, raw_data 9
inline std::string tensor_body(const std::string& name, const std::vector<int64_t>& dims, int type,
                               const std::string& raw) {
  std::string s;
  for (int64_t d : dims) s += number(1, d);
  return s + number(2, type) + bytes(8, name) + bytes(9, raw);
}
inline std::string weights(const std::string& name, const std::vector<int64_t>& dims,
                           const std::vector<float>& v) {
  std::string raw(v.size() * 4, '\0');
  std::memcpy(raw.data(), v.data(), raw.size());
  return bytes(5, tensor_body(name, dims, 1, raw));
}
inline std::string integers(const std::string& name, const std::vector<int64_t>& v) {
  std::string raw(v.size() * 8, '\0');
  std::memcpy(raw.data(), v.data(), raw.size());
  return bytes(5, tensor_body(name, {int64_t(v.size())}, 7, raw));
}

// ValueInfoProto: name 1, type 2 { tensor_type 1 { elem_type 1, shape 2 { dim 1 { value 1 | param 2 } } } }
inline std::string value(int field, const std::string& name, const std::vector<std::string>& dims) {
  std::string shape;
  for (const std::string& d : dims) {
    bool digits = d.find_first_not_of("-0123456789") == std::string::npos;
    shape += bytes(1, digits ? number(1, std::stoll(d)) : bytes(2, d));
  }
  return bytes(field, bytes(1, name) + bytes(2, bytes(1, number(1, 1) + bytes(2, shape))));
}
inline std::string input(const std::string& name, const std::vector<std::string>& dims) {
  return value(11, name, dims);
}
inline std::string output(const std::string& name, const std::vector<std::string>& dims) {
  return value(12, name, dims);
}

// ModelProto: ir_version 1, graph 7, opset_import 8 { domain 1, version 2 }; GraphProto: name 2
inline std::string model(const std::string& graph, int64_t opset = 13) {
  return number(1, 8) + bytes(7, graph + bytes(2, "test")) + bytes(8, number(2, opset));
}

}  // namespace cs::onnx_bytes
