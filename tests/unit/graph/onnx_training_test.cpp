// ONNX import: optimizers of ai.onnx.preview.training, which update several parameters per node.
#include <gmock/gmock.h>

#include "compiler/frontend/frontend.h"
#include "tests/unit/graph/interpret.h"
#include "tests/unit/graph/onnx_bytes.h"

namespace cs::frontend {
namespace {

using namespace onnx_bytes;
using ::testing::HasSubstr;

const std::string kDomain = bytes(7, "ai.onnx.preview.training");

// A model that uses no operator of the default domain does not name its version.
std::string training_model(const std::string& graph) {
  return number(1, 8) + bytes(7, graph + bytes(2, "test")) +
         bytes(8, bytes(1, "ai.onnx.preview.training") + number(2, 1));
}

std::string interface(const std::vector<std::string>& in, const std::vector<std::string>& out) {
  std::string s;
  for (const std::string& name : in) s += name.size() == 1 ? input(name, {}) : input(name, {"1"});
  for (const std::string& name : out) s += output(name, {"1"});
  return s;
}

using Numbers = std::map<std::string, float>;

// Inputs with names of one letter are scalars.
Numbers run(const std::string& model, const Numbers& inputs) {
  Diag diag;
  const auto g = import_onnx(model, "m.onnx", {}, diag);
  EXPECT_TRUE(g) << diag.to_string();
  Numbers out;
  if (!g) return out;
  std::map<std::string, ops::Tensor> values;
  for (const auto& [name, v] : inputs)
    values[name] = ops::Tensor::from_floats(name.size() == 1 ? ops::Shape{} : ops::Shape{1}, {v});
  for (const auto& [name, t] : graph::interpret(*g, values)) out[name] = float(t.get(0));
  return out;
}

std::string complaint(const std::string& model) {
  Diag diag;
  EXPECT_FALSE(import_onnx(model, "m.onnx", {}, diag));
  return diag.to_string();
}

const std::vector<std::string> kTwo = {"R", "T", "x1", "x2", "g1", "g2", "v1", "v2"},
                               kTwoNew = {"y1", "y2", "w1", "w2"};

std::string momentum(const std::string& attrs) {
  return training_model(interface(kTwo, kTwoNew) + node("Momentum", "m", kTwo, kTwoNew, kDomain + attrs));
}
const std::string kMomentum = attr_float("alpha", 0.5F) + attr_float("beta", 0.25F) +
                              attr_float("norm_coefficient", 0) + attr_text("mode", "standard");

TEST(OnnxTraining, MomentumUpdatesEveryParameterOfItsNode) {
  Numbers in{{"R", 0.1F}, {"T", 0}, {"x1", 1}, {"x2", 2}, {"g1", 2}, {"g2", 1}, {"v1", 4}, {"v2", 2}};
  // Of the first gradient all counts: 0.5 * 4 + 2 = 4 and 0.5 * 2 + 1 = 2.
  Numbers out = run(momentum(kMomentum), in);
  EXPECT_FLOAT_EQ(out["w1"], 4);
  EXPECT_FLOAT_EQ(out["w2"], 2);
  EXPECT_FLOAT_EQ(out["y1"], 0.6F);
  EXPECT_FLOAT_EQ(out["y2"], 1.8F);
  // Later a quarter: 2 + 0.25 * 2.
  in["T"] = 1;
  out = run(momentum(kMomentum), in);
  EXPECT_FLOAT_EQ(out["w1"], 2.5F);
  EXPECT_FLOAT_EQ(out["y1"], 0.75F);
}

TEST(OnnxTraining, AdagradCountsFromZero) {
  const std::vector<std::string> in = {"R", "T", "x1", "g1", "h1"}, out = {"y1", "k1"};
  const std::string model = training_model(
      interface(in, out) +
      node("Adagrad", "a", in, out, kDomain + attr_float("epsilon", 1) + attr_float("decay_factor", 0.25F)));
  // 0.1 / (1 + 4 * 0.25) * 2 / (sqrt(5 + 4) + 1) = 0.025
  Numbers got = run(model, {{"R", 0.1F}, {"T", 4}, {"x1", 1}, {"g1", 2}, {"h1", 5}});
  EXPECT_FLOAT_EQ(got["y1"], 0.975F);
  EXPECT_FLOAT_EQ(got["k1"], 9);
}

TEST(OnnxTraining, AdamAddsItsEpsilonBeforeTheCorrection) {
  const std::vector<std::string> in = {"R", "T", "x1", "g1", "v1", "h1"}, out = {"y1", "w1", "k1"};
  const std::string model =
      training_model(interface(in, out) + node("Adam", "a", in, out,
                                               kDomain + attr_float("alpha", 0.5F) +
                                                   attr_float("beta", 0.75F) + attr_float("epsilon", 0.5F)));
  Numbers values{{"R", 0.1F}, {"T", 0}, {"x1", 1}, {"g1", 2}, {"v1", 1}, {"h1", 4}};
  // 1.5 / (2 + 0.5) = 0.6, uncorrected before the first update; with T = 1 the rate is 0.1 * sqrt(0.25) /
  // 0.5.
  Numbers got = run(model, values);
  EXPECT_FLOAT_EQ(got["w1"], 1.5F);
  EXPECT_FLOAT_EQ(got["k1"], 4);
  EXPECT_FLOAT_EQ(got["y1"], 0.94F);
  values["T"] = 1;
  EXPECT_FLOAT_EQ(run(model, values)["y1"], 0.94F);
  values["T"] = 2;  // 0.1 * sqrt(0.4375) / 0.75 * 0.6
  EXPECT_FLOAT_EQ(run(model, values)["y1"], 1 - 0.06F * 0.66143783F / 0.75F);
}

TEST(OnnxTraining, WhatIsWrongIsSaid) {
  EXPECT_THAT(complaint(momentum(attr_float("alpha", 0.5F))), HasSubstr("must be a"));
  EXPECT_THAT(complaint(momentum(kMomentum + attr_float("warmth", 1))),
              HasSubstr("unknown attribute 'warmth'"));
  EXPECT_THAT(complaint(training_model(interface(kTwo, kTwoNew) + node("Adam", "a", kTwo, kTwoNew, kDomain))),
              HasSubstr("4 inputs and 3 results per parameter"));
  // The default domain has no such operator.
  EXPECT_THAT(complaint(model(interface(kTwo, kTwoNew) + node("Momentum", "m", kTwo, kTwoNew, kMomentum))),
              HasSubstr("not supported"));
}

}  // namespace
}  // namespace cs::frontend
