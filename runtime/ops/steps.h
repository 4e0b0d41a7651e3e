// Writing decomposition rules: steps get names of their own, so that one step's result feeds the next.
//
//   Steps s(steps);
//   std::string m = s.add("reduce_mean", {"x"}, {{"axes", axes}});
//   s.result("y", "sub", {"x", m});
#pragma once

#include <string>
#include <vector>

#include "runtime/ops/ops.h"

namespace cs::ops {

class Steps {
 public:
  explicit Steps(std::vector<DecompositionStep>& steps) : steps_(steps) {}

  // Adds a step with one result and returns its name.
  std::string add(const std::string& op, std::vector<std::string> operands, const Attrs& attrs = {});
  // Adds a step whose result is a result of the row.
  void result(const std::string& name, const std::string& op, std::vector<std::string> operands,
              const Attrs& attrs = {});
  // A scalar constant of a type.
  std::string constant(double value, DataType = DataType::f32);
  std::string constant(std::vector<double> values, const Shape&, DataType = DataType::f32);
  std::string reshape(const std::string& x, const Shape&);
  std::string transpose(const std::string& x, std::vector<int64_t> perm);

 private:
  std::vector<DecompositionStep>& steps_;
};

}  // namespace cs::ops
