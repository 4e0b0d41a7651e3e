// Program: what the compiler made, in memory or in a folder. A value; copies share what does not change.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "wafersmith/array.h"

namespace wafersmith {

struct Rectangle {  // of PEs; x to the east, y to the south
  int x = 0, y = 0, width = 0, height = 0;
};

struct TensorInfo {  // of a model
  std::string name;
  DType dtype = DType::f32;
  std::vector<int64_t> shape;  // of one sample
  int sample_dim = -1;  // along which several samples lie; -1: none, -2: one of their own before all others
};

struct VariableInfo {  // exported by CSL
  std::string name;
  DType dtype = DType::f32;
  Rectangle rect;         // of the PEs that have it, in coordinates of the program's rectangle
  uint32_t elements = 0;  // on one PE
  bool is_mutable = true;
};

struct FunctionInfo {  // exported by CSL, launched by the host
  std::string name;
  std::vector<DType> parameters;
};

struct KernelInfo {              // of a model: one kernel on the wafer or on the host
  std::string name, op, origin;  // origin: handwritten, autogen, host
  std::string reason;            // why this origin
  Rectangle rect;                // fabric coordinates; empty for the host
  double ideal_cycles = 0, estimated_cycles = 0;
  uint32_t bytes_per_pe = 0;
};

class Program {
 public:
  // A folder that cs-compile or save() wrote. Throws Error.
  static Program load(const std::string& folder);
  void save(const std::string& folder) const;

  const std::string& name() const;
  const std::string& machine() const;  // that it is for
  Rectangle rectangle() const;         // of the program, in the fabric
  int fabric_width() const;
  int fabric_height() const;
  uint32_t bytes_per_pe() const;  // of the largest tile program

  bool is_model() const;  // Session::run() runs it; else the host copies and launches
  std::vector<TensorInfo> inputs() const;
  std::vector<TensorInfo> outputs() const;
  std::vector<KernelInfo> kernels() const;
  // compile_report.json: passes with their times, kernels, placement, estimates; "" if the folder that the
  // program was loaded from has none.
  const std::string& compile_report() const;
  std::vector<VariableInfo> variables() const;
  std::vector<FunctionInfo> functions() const;

  // For the library itself.
  struct Data;
  explicit Program(std::shared_ptr<const Data> data) : data_(std::move(data)) {}
  const std::shared_ptr<const Data>& data() const { return data_; }

 private:
  std::shared_ptr<const Data> data_;
};

}  // namespace wafersmith
