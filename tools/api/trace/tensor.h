// Tensors of traced functions: handles, whose copies are the same tensor.
//
// A tensor of the host has a value. A traced one has a type alone: it stands for a value of the graph that is
// being traced, and who asks it for its value gets a StaticGraphError. Weights are tensors that optimizers
// move; a Hyper is a number that may change from step to step.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/ops/tensor.h"
#include "tools/api/trace/errors.h"

namespace cs {

namespace tracing {
struct TensorData;
}

class Tensor {
 public:
  // NOLINTNEXTLINE(google-explicit-constructor): arrays are arguments of steps as they stand
  Tensor(ops::Tensor value);
  // Of f32, in C order.
  Tensor(ops::Shape shape, const std::vector<float>& values);

  const ops::TensorType& type() const;
  const ops::Shape& shape() const { return type().shape; }
  bool is_traced() const;

  // The value; a StaticGraphError of a traced tensor, which has none.
  const ops::Tensor& value(CallSite where = CallSite::here()) const;
  std::vector<float> floats(CallSite where = CallSite::here()) const;
  // Of a tensor with one element.
  double item(CallSite where = CallSite::here()) const;
  // `if (x > 0.0)` asks for a value too; its line is the one that made the condition.
  explicit operator bool() const;

  // Makes a training step of the function that is being traced: this tensor, of one element, is its loss.
  void backward(CallSite where = CallSite::here()) const;

  const std::shared_ptr<tracing::TensorData>& data() const { return data_; }
  explicit Tensor(std::shared_ptr<tracing::TensorData> data) : data_(std::move(data)) {}

 private:
  std::shared_ptr<tracing::TensorData> data_;
};

// A parameter of a model. Where a step trains it, value() is the newest one.
class Weight : public Tensor {
 public:
  explicit Weight(ops::Tensor value, const std::string& name = "");
  explicit Weight(std::shared_ptr<tracing::TensorData> data) : Tensor(std::move(data)) {}
  const std::string& name() const;
  void set_name(const std::string& name);  // of its value in graphs
  // A new value of the same type; it goes to the wafer before the next step that trains it.
  void store(ops::Tensor value);
  // What backward() without an optimizer left behind in the last step.
  const std::optional<ops::Tensor>& gradient() const;
  bool requires_grad() const;
  void set_requires_grad(bool on);
};

// A number that is an input of each step at run time (f32): setting it changes no graph.
class Hyper : public Tensor {
 public:
  explicit Hyper(double value, const std::string& name = "hyper");
  void set(double value);  // for the steps that follow
};
inline Hyper hyper(double value, const std::string& name = "hyper") { return Hyper(value, name); }

// What functions of tensors take: a tensor, a number (in the type of the tensor beside it) or nothing, where
// an operand may be absent. It notes the line of the call.
class TensorArg {
 public:
  // NOLINTBEGIN(google-explicit-constructor): these conversions are its purpose
  TensorArg(const Tensor& t, CallSite at = CallSite::here()) : tensor(t), where(at) {}
  TensorArg(const ops::Tensor& t, CallSite at = CallSite::here()) : tensor(Tensor(t)), where(at) {}
  TensorArg(double n, CallSite at = CallSite::here()) : number(n), where(at) {}
  TensorArg(std::nullopt_t, CallSite at = CallSite::here()) : where(at) {}
  // NOLINTEND(google-explicit-constructor)

  std::optional<Tensor> tensor;
  std::optional<double> number;
  CallSite where;
};

}  // namespace cs
