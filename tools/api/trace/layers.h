// Layers: functions of one tensor with weights. Weights begin with torch's distributions, from a generator
// that seed() sets; two programs with one seed have the same weights.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tools/api/trace/tensor.h"

namespace cs {

class Module {
 public:
  virtual ~Module() = default;
  virtual Tensor operator()(const TensorArg& x) const = 0;
  // Names as torch gives them ("0.weight"), which the weights' values have in graphs.
  virtual std::vector<std::pair<std::string, Weight>> named_weights() const { return {}; }
  // Those that require gradients or not, in the order of the layers: what an optimizer takes.
  std::vector<Weight> weights() const;
  std::string kind = "Module";  // for messages
};

// x [..., in] → x Wᵀ + b [..., out]; weights uniform within 1/√in.
class Linear : public Module {
 public:
  Linear(int64_t in, int64_t out, bool bias = true);
  Tensor operator()(const TensorArg& x) const override;
  std::vector<std::pair<std::string, Weight>> named_weights() const override;

  Weight weight;             // [out, in]
  std::vector<Weight> bias;  // [out]; empty: none
};

class ReLU : public Module {
 public:
  ReLU() { kind = "ReLU"; }
  Tensor operator()(const TensorArg& x) const override;
};
class Tanh : public Module {
 public:
  Tanh() { kind = "Tanh"; }
  Tensor operator()(const TensorArg& x) const override;
};
class GELU : public Module {
 public:
  GELU() { kind = "GELU"; }
  Tensor operator()(const TensorArg& x) const override;
};

// One layer after another. Copies share the layers' weights.
class Sequential : public Module {
 public:
  template <typename... Layers>
  explicit Sequential(Layers... layers) : layers_{std::make_shared<Layers>(std::move(layers))...} {
    kind = "Sequential";
  }
  Tensor operator()(const TensorArg& x) const override;
  std::vector<std::pair<std::string, Weight>> named_weights() const override;

 private:
  std::vector<std::shared_ptr<Module>> layers_;
};

// Of the weights that layers get from now on, in this thread.
void seed(uint64_t value);

}  // namespace cs
