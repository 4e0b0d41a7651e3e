// Results of language models.
#include "compiler/frontend/model_result.h"

#include <fmt/format.h>

namespace cs::frontend {

namespace {

constexpr const char* kKey = "runconfig.result";
using Ints = std::vector<int64_t>;

}  // namespace

ModelResult result_of(ModelConfig& c, bool decoder) {
  const std::string name = c.text(kKey, "logits"), mode = c.text("runconfig.mode", "");
  if (name == "logits") return ModelResult::logits;
  if (mode != "" && mode != "infer")
    c.error(kKey, fmt::format("'{}' is of a model that infers; mode '{}' takes the logits of all steps", name,
                              mode));
  if (name == "argmax") return ModelResult::argmax;
  if (name == "last" && decoder) return ModelResult::last;
  if (name == "masked" && !decoder) return ModelResult::masked;
  c.error(kKey, fmt::format("'{}' is no result of this model; there are logits, {} and argmax", name,
                            decoder ? "last" : "masked"));
  return ModelResult::logits;
}

void refuse_result(ModelConfig& c) {
  if (const std::string name = c.text(kKey, "logits"); name != "logits")
    c.error(kKey, fmt::format("'{}' is a result of language models", name),
            "leave it out, or set it to logits");
}

bool no_result_asked(const std::vector<std::string>& overrides, const std::string& path, Diag& diag) {
  for (const std::string& text : overrides)
    if (text.starts_with(std::string(kKey) + "=") && text != std::string(kKey) + "=logits")
      diag.error_at(path, fmt::format("'{}' is for language models of a configuration", text),
                    "outputs of other models are what the file says");
  return diag.ok();
}

ValueId steps_of_result(NetBuilder& b, ValueId v, ModelResult result) {
  const int64_t steps = b.shape(v)[1];
  if (result == ModelResult::last)
    return b.op("slice", "last_step", {v},
                {{"starts", Ints{steps - 1}}, {"ends", Ints{steps}}, {"axes", Ints{1}}});
  if (result != ModelResult::masked) return v;
  const int64_t most = b.config.extent("train_input.max_predictions_per_seq", 20);
  const ValueId at = b.input("masked_lm_positions", DataType::i32, {1, most});
  return b.op("gather_nd", "masked_steps", {v, b.reshape("masked_places", at, {1, most, 1})},
              {{"batch_dims", int64_t(1)}});
}

void set_result(NetBuilder& b, ValueId logits, const std::string& name, ModelResult result) {
  if (result != ModelResult::argmax) return b.set_output(logits, name);
  b.set_output(b.op("arg_max", "largest_logit", {logits}, {{"axis", int64_t(2)}, {"keepdims", int64_t(0)}}),
               "predictions");
}

}  // namespace cs::frontend
