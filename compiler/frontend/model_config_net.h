// What the builders of model configurations share: nodes with inferred types, seeded weights, and the layers
// that several networks have.
#pragma once

#include <string>
#include <vector>

#include "compiler/frontend/model_config.h"

namespace cs::frontend {

using graph::ValueId;

class NetBuilder {
 public:
  explicit NetBuilder(ModelConfig&);

  ModelConfig& config;
  graph::Graph graph;
  std::vector<ValueId> parameters;  // what training changes

  // ---- tensors
  // Type of weights and activations: f32, or 16 bits with model.mixed_precision.
  DataType real() const { return real_; }
  ValueId input(const std::string& name, DataType, ops::Shape);  // first dimension: samples
  // Seeded by the name, uniform within ±bound: the same whatever else the network has. Too many weights are
  // an error.
  ValueId weight(const std::string& name, ops::Shape, double bound);
  ValueId filled(const std::string& name, ops::Shape, double value);
  ValueId filled_weight(const std::string& name, ops::Shape, double value);  // changed by training
  ValueId constant(const std::string& name, ops::Shape, const std::vector<float>&);
  const ops::Shape& shape(ValueId) const;

  // ---- nodes; `name` is the node's, and its result's
  ValueId op(const std::string& row, const std::string& name, std::vector<ValueId>, const Attrs& = {});
  ValueId add(const std::string& name, ValueId a, ValueId b) { return op("add", name, {a, b}); }
  ValueId reshape(const std::string& name, ValueId, std::vector<int64_t>);
  ValueId transpose(const std::string& name, ValueId, std::vector<int64_t>);
  ValueId linear(const std::string& name, ValueId, int64_t outputs, bool bias = true);  // over the last axis
  ValueId layer_norm(const std::string& name, ValueId, double epsilon);
  ValueId rms_norm(const std::string& name, ValueId, double epsilon);

  // ---- nonlinearities
  // The function of this name (a value of `key`); an unknown one is an error that lists all.
  ValueId nonlinearity(const std::string& key, const std::string& function, const std::string& name, ValueId);
  // x1 · f(x2) of two projections for geglu and its like; else f of one.
  bool gated(const std::string& function) const;
  // Two linear layers with the nonlinearity between them.
  ValueId feed_forward(const std::string& name, ValueId, const std::string& key, const std::string& function,
                       int64_t width, bool bias);

  // Drops elements in steps of training, at the rate of the first of these keys that is there; else the value itself.
  ValueId dropout(const std::string& name, ValueId, const std::vector<std::string>& keys);

  void set_output(ValueId, const std::string& name);

 private:
  ValueId fail(const std::string& why);
  DataType real_;
  int64_t weights_ = 0;
  uint64_t seed_;
};

// Builders, each from its own keys. They report to the config's diag; an invalid id after an error is fine.
void build_mlp(NetBuilder&);
void build_lenet(NetBuilder&);
void build_resnet(NetBuilder&);
void build_gpt(NetBuilder&);
void build_bert(NetBuilder&);
void build_t5(NetBuilder&);

}  // namespace cs::frontend
