// .npz files: ZIP archives of .npy arrays, as numpy writes them. Inputs, expected values and outputs of every tool.
//
// Reads stored and deflated entries, .npy versions 1 to 3, C and Fortran order, little- and big-endian numbers of
// types f2 f4 f8 i1 i2 i4 i8 u1 u2 u4 u8 b1. Writes stored entries of version 1.0. Hostile files are diagnostics.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/ops/tensor.h"
#include "runtime/support/diag.h"

namespace cs {

struct NamedArray {
  std::string name;
  ops::Tensor tensor;
};

// Arrays in the order of the archive.
std::optional<std::vector<NamedArray>> read_npz(const std::string& path, Diag&);
std::optional<std::vector<NamedArray>> parse_npz(std::string_view bytes, const std::string& name, Diag&);
// Written under its final name only when complete.
bool write_npz(const std::string& path, const std::vector<NamedArray>&, Diag&);
std::string npz_bytes(const std::vector<NamedArray>&);

const NamedArray* find_array(const std::vector<NamedArray>&, std::string_view name);
std::vector<double> to_doubles(const NamedArray&);

}  // namespace cs
