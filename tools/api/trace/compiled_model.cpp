// A wafer takes one model; its weights are named as the model's layers lie in it.
#include "tools/api/trace/compiled_model.h"

#include <fmt/format.h>

#include "tools/api/trace/backend_state.h"

namespace cs {

CompiledModel::CompiledModel(std::shared_ptr<Module> model, Backend backend, CallSite where)
    : model_(std::move(model)), backend_(std::move(backend)) {
  kind = model_->kind;
  tracing::BackendState& state = *backend_.state();
  if (state.compiled && !state.options.reload && !state.is_host())
    throw CompileError(
        fmt::format("a second compile in one session: the backend {} has {} since {}; a wafer is "
                    "programmed once, unless the option `reload` of backend(\"{}\") allows more",
                    state.name, state.compiled->first, state.compiled->second.text(), state.name),
        place_of(where));
  state.compiled = {kind, place_of(where)};
  for (auto& [name, weight] : model_->named_weights()) weight.set_name(name);
  alone_ = std::make_shared<TracedFunction<Call>>(
      Call{model_}, TraceOptions{.name = kind, .inputs = {"input"}, .backend = backend_});
}

Tensor CompiledModel::operator()(const TensorArg& x) const {
  tracing::Tracer* tracer = tracing::Tracer::active();
  if (tracer == nullptr) {
    if (!x.tensor) throw TraceError("a model takes a tensor", place_of(x.where));
    return (*alone_)(*x.tensor);
  }
  if (tracer->backend && tracer->backend != backend_.state())
    throw CompileError("a step uses models that are compiled for two backends", place_of(x.where));
  tracer->backend = backend_.state();
  return (*model_)(x);
}

std::vector<std::pair<std::string, Weight>> CompiledModel::named_weights() const {
  return model_->named_weights();
}

}  // namespace cs
