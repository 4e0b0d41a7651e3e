// A collection of golden vectors (format golden-v1): manifest.json, which names every case with its options
// and tensors, and the binary files that hold the elements. Everything that a case says is read from there.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/ops/tensor.h"
#include "runtime/support/diag.h"

#include <nlohmann/json.hpp>

namespace cs::golden {

struct Floor {  // how far a float32 library is from the exact value of one expected tensor
  double max_abs = 0, max_rel = 0;
  bool nonfinite_differs = false;  // it is not finite in exactly the same elements
};

struct CaseTensor {
  std::string role;  // input, index, grad_output, expected ...
  ops::Tensor tensor;
};

struct Case {
  std::string id, op, group, quant;  // group: of the id, "norm" of "norm/0003"
  bool edge = false;
  nlohmann::json options;
  std::map<std::string, CaseTensor> tensors;
  std::map<std::string, Floor> floors;
};

struct Collection {
  std::string kind;  // ops, losses, optim
  std::vector<Case> cases;
};

// Reports a manifest of another format, files whose size or SHA-256 differs, and cases that name what is not
// there.
std::optional<Collection> read_collection(const std::string& folder, Diag&);

}  // namespace cs::golden
