// The header of a .npy array: magic, version, and a Python dictionary with descr, fortran_order and shape.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "runtime/ops/tensor.h"

namespace cs {

struct NpyHeader {
  DataType dtype{};
  ops::Shape shape;
  bool fortran = false, big_endian = false;
  size_t data = 0;   // offset of the first element
};

// False with the reason for anything that numpy would not have written (or of a type we do not have).
bool parse_npy_header(std::string_view bytes, NpyHeader& out, std::string& error);
// Version 1.0, little-endian, C order, padded to a multiple of 64 bytes.
std::string npy_header(const ops::TensorType&);

}  // namespace cs
