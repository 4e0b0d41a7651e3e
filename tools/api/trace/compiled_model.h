// cs::compile: a model and the wafer that it is for.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tools/api/trace/layers.h"
#include "tools/api/trace/step.h"

namespace cs {

// The model, to be called in traced functions, which then run on its backend; called outside of them it is a
// step of its own.
class CompiledModel : public Module {
 public:
  CompiledModel(std::shared_ptr<Module> model, Backend backend, CallSite where);
  Tensor operator()(const TensorArg& x) const override;
  std::vector<std::pair<std::string, Weight>> named_weights() const override;

 private:
  struct Call {
    std::shared_ptr<Module> model;
    Tensor operator()(const Tensor& x) const { return (*model)(x); }
  };
  std::shared_ptr<Module> model_;
  Backend backend_;
  std::shared_ptr<TracedFunction<Call>> alone_;
};

// A backend takes one model, as a wafer is programmed once; with `reload` any number. The model's weights get
// their names. Copies of the model share its weights.
template <typename Model>
CompiledModel compile(Model model, const Backend& backend, CallSite where = CallSite::here()) {
  return CompiledModel(std::make_shared<Model>(std::move(model)), backend, where);
}

}  // namespace cs
