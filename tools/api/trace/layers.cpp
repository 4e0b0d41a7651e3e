// Layers call functions; their weights begin as torch's do.
#include "tools/api/trace/layers.h"

#include <cmath>

#include "runtime/support/rng.h"
#include "tools/api/trace/functions.h"

namespace cs {

namespace {

thread_local Rng generator(0);

Weight uniform(ops::Shape shape, int64_t fan_in, const char* name) {
  ops::Tensor t(ops::TensorType{DataType::f32, std::move(shape)});
  const float bound = fan_in > 0 ? 1 / std::sqrt(float(fan_in)) : 0;
  for (int64_t i = 0; i < t.elements(); ++i) t.set(i, generator.uniform(-bound, bound));
  return Weight(std::move(t), name);
}

}  // namespace

void seed(uint64_t value) { generator = Rng(value); }

std::vector<Weight> Module::weights() const {
  std::vector<Weight> found;
  for (const auto& [name, weight] : named_weights()) found.push_back(weight);
  return found;
}

Linear::Linear(int64_t in, int64_t out, bool with_bias) : weight(uniform({out, in}, in, "weight")) {
  kind = "Linear";
  if (with_bias) bias.push_back(uniform({out}, in, "bias"));
}
Tensor Linear::operator()(const TensorArg& x) const {
  return linear(x, weight, bias.empty() ? TensorArg(std::nullopt) : TensorArg(bias.front()));
}
std::vector<std::pair<std::string, Weight>> Linear::named_weights() const {
  std::vector<std::pair<std::string, Weight>> found = {{"weight", weight}};
  for (const Weight& b : bias) found.emplace_back("bias", b);
  return found;
}

Tensor ReLU::operator()(const TensorArg& x) const { return relu(x); }
Tensor Tanh::operator()(const TensorArg& x) const { return tanh(x); }
Tensor GELU::operator()(const TensorArg& x) const { return gelu(x); }

Tensor Sequential::operator()(const TensorArg& x) const {
  if (layers_.empty()) return op("identity", {x});
  TensorArg value = x;
  for (const auto& layer : layers_) value = TensorArg((*layer)(value), x.where);
  return *value.tensor;
}
std::vector<std::pair<std::string, Weight>> Sequential::named_weights() const {
  std::vector<std::pair<std::string, Weight>> found;
  for (size_t k = 0; k < layers_.size(); ++k)
    for (const auto& [name, weight] : layers_[k]->named_weights())
      found.emplace_back(std::to_string(k) + "." + name, weight);
  return found;
}

}  // namespace cs
