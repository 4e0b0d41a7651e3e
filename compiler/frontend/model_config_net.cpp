// Layers, weights and the table of nonlinearities.
#include "compiler/frontend/model_config_net.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "runtime/support/files.h"
#include "runtime/support/rng.h"

namespace cs::frontend {

namespace {

// Weights beyond this do not fit a host's memory beside what the compiler needs; a wafer holds about ten
// times less.
constexpr int64_t kMostWeights = int64_t(1) << 31;

struct Nonlinearity {
  const char* name;
  const char* row;  // null: the identity
  const char* attr = nullptr;
  double value = 0;
  bool squared = false, gated = false;
};

constexpr Nonlinearity kNonlinearities[] = {
    {"relu", "relu"},
    {"leaky_relu", "leaky_relu", "alpha", 0.01},
    {"relu6", "hard_tanh", "max", 6},
    {"silu", "swish"},
    {"swish", "swish"},
    {"gelu", "gelu"},
    {"gelu_new", "gelu_tanh"},
    {"gelu_fast", "gelu_tanh"},
    {"gelu_tanh", "gelu_tanh"},
    {"quick_gelu", "swish", "alpha", 1.702},
    {"squared_gelu", "gelu", nullptr, 0, true},
    {"squared_relu", "relu", nullptr, 0, true},
    {"tanh", "tanh"},
    {"sigmoid", "sigmoid"},
    {"mish", "mish"},
    {"hardswish", "hard_swish"},
    {"hardsigmoid", "hard_sigmoid", "alpha", 1.0 / 6},
    {"hardtanh", "hard_tanh", "max", 1},
    {"softplus", "softplus"},
    {"softsign", "softsign"},
    {"elu", "elu"},
    {"selu", "selu"},
    {"celu", "celu"},
    {"logsigmoid", "log_sigmoid"},
    {"linear", nullptr},
    {"null", nullptr},
    {"liglu", nullptr, nullptr, 0, false, true},
    {"geglu", "gelu", nullptr, 0, false, true},
    {"reglu", "relu", nullptr, 0, false, true},
    {"swiglu", "swish", nullptr, 0, false, true},
};

const Nonlinearity* find_nonlinearity(const std::string& name) {
  for (const Nonlinearity& f : kNonlinearities)
    if (name == f.name) return &f;
  return nullptr;
}

// mixed_precision with use_bfloat16 (the zoo's earlier key) or fp16_type (its later one).
DataType real_type(ModelConfig& c) {
  const bool mixed = c.flag("model.mixed_precision", false);
  const std::string type =
      c.text("model.fp16_type", c.flag("model.use_bfloat16", false) ? "bfloat16" : "float16");
  if (type == "bfloat16") return mixed ? DataType::bf16 : DataType::f32;
  if (type == "float16") return mixed ? DataType::f16 : DataType::f32;
  c.error("model.fp16_type", "unknown type '" + type + "'; there are float16 and bfloat16",
          type == "cbfloat16" ? "graphs have no cbfloat16: use bfloat16, which has the same size" : "");
  return DataType::f32;
}

}  // namespace

NetBuilder::NetBuilder(ModelConfig& c)
    : config(c), real_(real_type(c)), seed_(uint64_t(c.integer("runconfig.seed", 1))) {}

ValueId NetBuilder::fail(const std::string& why) {
  if (config.ok()) config.diag().error_at(config.path(), why);
  return {};
}

ValueId NetBuilder::input(const std::string& name, DataType type, ops::Shape shape) {
  return graph.add_input(name, ops::TensorType{type, std::move(shape)}, 0);
}

const ops::Shape& NetBuilder::shape(ValueId v) const {
  static const ops::Shape none(4, 1);
  return v.valid() ? graph.value(v).type.shape : none;
}

ValueId NetBuilder::weight(const std::string& name, ops::Shape shape, double bound) {
  if (!config.ok()) return {};
  const auto n = ops::checked_elements(shape);
  weights_ += n.value_or(kMostWeights);
  if (weights_ > kMostWeights)
    return fail(fmt::format(
        "more than {} weights, the {} million of {} among them; a smaller hidden size, vocabulary or "
        "number of layers would do",
        kMostWeights, n.value_or(0) / 1'000'000, name));
  ops::Tensor t(ops::TensorType{real_, std::move(shape)});
  Rng rng(seed_ * 0x9E3779B97F4A7C15ull ^ hash_bytes(name));
  for (int64_t i = 0; i < *n; ++i) t.set(i, rng.uniform(float(-bound), float(bound)));
  parameters.push_back(graph.add_constant(graph.fresh_name(name), std::move(t)));
  return parameters.back();
}

ValueId NetBuilder::filled_weight(const std::string& name, ops::Shape shape, double value) {
  parameters.push_back(filled(name, std::move(shape), value));
  return parameters.back();
}

ValueId NetBuilder::constant(const std::string& name, ops::Shape shape, const std::vector<float>& values) {
  ops::Tensor t(ops::TensorType{real_, std::move(shape)});
  for (size_t i = 0; i < values.size(); ++i) t.set(int64_t(i), values[i]);
  return graph.add_constant(graph.fresh_name(name), std::move(t));
}

ValueId NetBuilder::filled(const std::string& name, ops::Shape shape, double value) {
  int64_t n = 1;
  for (const int64_t e : shape) n *= e;
  return constant(name, std::move(shape), std::vector<float>(size_t(n), float(value)));
}

ValueId NetBuilder::op(const std::string& row, const std::string& name, std::vector<ValueId> operands,
                       const Attrs& attrs) {
  if (!config.ok()) return {};
  const ops::OpDef* def = ops::find_op(row);
  if (def == nullptr) return fail("this network needs the operator '" + row + "', which has no row yet");
  graph::Node node;
  node.name = graph.fresh_name(name);
  node.op = row;
  node.where = config.path() + ": " + node.name;
  node.inputs = std::move(operands);
  while (!node.inputs.empty() && !node.inputs.back().valid()) node.inputs.pop_back();
  for (const auto& [key, value] : attrs) ops::set_attr(node.attrs, key, value);
  const graph::NodeId id = graph.add_node(std::move(node));
  const ValueId result = graph.add_result(id, graph.fresh_name(graph.node(id).name + "_y"));
  std::vector<ops::TensorType> types;
  std::string why;
  if (!ops::infer_types(*def, graph.node(id).attrs, graph.input_types(id), types, why))
    return fail(name + " (" + row + "): " + why);
  graph.value(result).type = types[0];
  graph.value(result).typed = true;
  return result;
}

ValueId NetBuilder::reshape(const std::string& name, ValueId v, std::vector<int64_t> to) {
  return op("reshape", name, {v}, {{"shape", std::move(to)}});
}

ValueId NetBuilder::transpose(const std::string& name, ValueId v, std::vector<int64_t> perm) {
  return op("transpose", name, {v}, {{"perm", std::move(perm)}});
}

ValueId NetBuilder::linear(const std::string& name, ValueId v, int64_t outputs, bool bias) {
  const int64_t inputs = shape(v).back();
  const double bound = 1 / std::sqrt(double(inputs));
  const ValueId w = weight(name + "_w", {inputs, outputs}, bound);
  const ValueId b = bias ? weight(name + "_b", {outputs}, bound) : ValueId{};
  if (shape(v).size() == 2) return op("gemm", name, {v, w, b});
  const ValueId y = op("matmul", name, {v, w});
  return bias ? add(name + "_bias", y, b) : y;
}

ValueId NetBuilder::layer_norm(const std::string& name, ValueId v, double epsilon) {
  const ValueId scale = filled_weight(name + "_g", {shape(v).back()}, 1);
  return op("layer_norm", name, {v, scale, filled_weight(name + "_b", {shape(v).back()}, 0)},
            {{"epsilon", epsilon}});
}

ValueId NetBuilder::rms_norm(const std::string& name, ValueId v, double epsilon) {
  return op("rms_norm", name, {v, filled_weight(name + "_g", {shape(v).back()}, 1)}, {{"epsilon", epsilon}});
}

bool NetBuilder::gated(const std::string& function) const {
  const Nonlinearity* f = find_nonlinearity(function);
  return f != nullptr && f->gated;
}

ValueId NetBuilder::nonlinearity(const std::string& key, const std::string& function, const std::string& name,
                                 ValueId v) {
  const Nonlinearity* f = find_nonlinearity(function);
  if (f == nullptr) {
    std::string all;
    std::vector<std::string> names;
    for (const Nonlinearity& known : kNonlinearities) {
      all += fmt::format("{}{}", all.empty() ? "" : ", ", known.name);
      names.emplace_back(known.name);
    }
    const std::string close = nearest(function, names);
    if (config.ok())
      config.error(key, "unknown nonlinearity '" + function + "'; there are " + all,
                   close.empty() ? "" : "did you mean '" + close + "'?");
    return {};
  }
  if (f->row == nullptr) return v;
  Attrs attrs;
  if (f->attr != nullptr) attrs.emplace_back(f->attr, f->value);
  if (function == "relu6") attrs.emplace_back("min", 0.0);
  if (function == "hardtanh") attrs.emplace_back("min", -1.0);
  const ValueId y = op(f->row, name, {v}, attrs);
  return f->squared ? op("square", name + "_squared", {y}) : y;
}

ValueId NetBuilder::feed_forward(const std::string& name, ValueId v, const std::string& key,
                                 const std::string& function, int64_t width, bool bias) {
  const int64_t outputs = shape(v).back();
  ValueId h = linear(name + "_up", v, width, bias);
  if (gated(function)) {
    const ValueId gate = nonlinearity(key, function, name + "_act", linear(name + "_gate", v, width, bias));
    h = op("mul", name + "_gated", {h, gate});
  } else {
    h = nonlinearity(key, function, name + "_act", h);
  }
  return linear(name + "_down", h, outputs, bias);
}

ValueId NetBuilder::dropout(const std::string& name, ValueId v, const std::vector<std::string>& keys) {
  if (!config.text("runconfig.mode", "").starts_with("train")) return v;
  for (const std::string& key : keys) {
    if (!config.has(key)) continue;
    const double rate = config.real(key, 0);
    return rate > 0 && rate < 1 ? op("dropout", name, {v}, {{"ratio", rate}}) : v;
  }
  return v;
}

void NetBuilder::set_output(ValueId v, const std::string& name) {
  if (!config.ok() || !v.valid()) return;
  graph.rename(v, graph.fresh_name(name));
  graph.set_output(v);
}

}  // namespace cs::frontend
