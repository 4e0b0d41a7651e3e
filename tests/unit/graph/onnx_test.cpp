// ONNX import: forms that differ between operator sets, symbols, what is refused and how, and whole models
// against the outputs of ONNX Runtime.
#include <gmock/gmock.h>

#include <cmath>

#include <fmt/format.h>

#include "compiler/frontend/frontend.h"
#include "runtime/host/npz.h"
#include "tests/unit/graph/interpret.h"
#include "tests/unit/graph/onnx_bytes.h"

namespace cs::frontend {
namespace {

using namespace onnx_bytes;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

graph::Graph import(const std::string& bytes, const LoadOptions& options = {}) {
  Diag diag;
  std::optional<graph::Graph> g = import_onnx(bytes, "m.onnx", options, diag);
  EXPECT_TRUE(g.has_value()) << diag.to_string();
  return g ? std::move(*g) : graph::Graph{};
}

std::string complaint(const std::string& bytes, const LoadOptions& options = {}) {
  Diag diag;
  EXPECT_FALSE(import_onnx(bytes, "m.onnx", options, diag).has_value());
  return diag.to_string();
}

const std::string kX = input("x", {"N", "4"});
const std::string kY = output("y", {"N", "4"});

TEST(Onnx, EveryUnsupportedNodeIsListedAtOnce) {
  std::string text = complaint(
      model(kX + kY + node("Bernoulli", "first", {"x"}, {"a"}) + node("Relu", "fine", {"a"}, {"b"}) +
            node("Bernoulli", "second", {"b"}, {"c"}) + node("Frobnicate", "", {"c"}, {"y"})));
  EXPECT_THAT(text, AllOf(HasSubstr("3 nodes"), HasSubstr("Bernoulli (first, second)"),
                          HasSubstr("Frobnicate_3"), HasSubstr("m.onnx")));
}

TEST(Onnx, ClipTakesItsLimitsFromAttributesOrConstantInputs) {
  std::string old =
      model(kX + kY + node("Clip", "c", {"x"}, {"y"}, attr_float("min", -1) + attr_float("max", 2)), 6);
  std::string now = model(kX + kY + weights("lo", {}, {-1}) + weights("hi", {}, {2}) +
                              node("Clip", "c", {"x", "lo", "hi"}, {"y"}),
                          13);
  for (const std::string& bytes : {old, now}) {
    graph::Graph g = import(bytes);
    graph::NodeId c = *g.find_node("c");
    EXPECT_EQ(g.node(c).inputs.size(), 1u);
    EXPECT_EQ(ops::attr_real(g.op(c), g.node(c).attrs, "min"), -1);
    EXPECT_EQ(ops::attr_real(g.op(c), g.node(c).attrs, "max"), 2);
  }
}

TEST(Onnx, SoftmaxBeforeOpset13CountsItsInputAsAMatrix) {
  std::string x = input("x", {"2", "3", "2"}), y = output("y", {"2", "3", "2"});
  graph::Graph g = import(model(x + y + node("Softmax", "s", {"x"}, {"y"}), 11));
  ops::Tensor in = ops::Tensor::from_floats({2, 3, 2}, std::vector<float>(12, 0.5F));
  // Six equal elements per row of the matrix: 1/6 each; along the last axis alone it would be 1/2.
  EXPECT_NEAR(graph::interpret(g, {{"x", in}}).at("y").get(0), 1.0 / 6, 1e-7);
  graph::Graph now = import(model(x + y + node("Softmax", "s", {"x"}, {"y"}), 13));
  EXPECT_NEAR(graph::interpret(now, {{"x", in}}).at("y").get(0), 0.5, 1e-7);
}

TEST(Onnx, VariadicOperatorsBecomeChains) {
  graph::Graph g = import(model(kX + kY + node("Mean", "m", {"x", "x", "x", "x"}, {"y"})));
  ops::Tensor in = ops::Tensor::from_floats({1, 4}, {1, 2, 3, 4});
  EXPECT_THAT(graph::interpret(g, {{"x", in}}).at("y").to_floats(), ElementsAre(1, 2, 3, 4));
}

TEST(Onnx, GeluChoosesItsFormByAttribute) {
  graph::Graph g =
      import(model(kX + kY + node("Gelu", "g", {"x"}, {"y"}, attr_text("approximate", "tanh")), 20));
  EXPECT_EQ(g.node(*g.find_node("g")).op, "gelu_tanh");
}

TEST(Onnx, ResultsThatNobodyUsesAreLeftOut) {
  std::string x = input("x", {"2", "4"});
  graph::Graph g =
      import(model(x + output("b", {"2", "2"}) + node("Split", "s", {"x"}, {"a", "b"}, attr_int("axis", 1)) +
                   node("Dropout", "d", {"a"}, {"e", "mask"}) + node("Relu", "r", {"e"}, {"f"})));
  EXPECT_EQ(g.node(*g.find_node("s")).outputs.size(), 2u);
  EXPECT_FALSE(g.find_node("d")) << "nothing uses it";
  ops::Tensor in = ops::Tensor::from_floats({2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  EXPECT_THAT(graph::interpret(g, {{"x", in}}).at("b").to_floats(), ElementsAre(3, 4, 7, 8));
  graph::Graph masked =
      import(model(x + output("mask", {"2", "4"}) + node("Dropout", "d", {"x"}, {"", "mask"})));
  EXPECT_EQ(graph::interpret(masked, {{"x", in}}).at("mask").get_int(7), 1);
}

TEST(Onnx, AnInputOrAConstantMayBeAnOutput) {
  graph::Graph g = import(model(input("x", {"1", "4"}) + output("c", {"2"}) + output("x", {"1", "4"}) +
                                weights("c", {2}, {7, 8})));
  auto out = graph::interpret(g, {{"x", ops::Tensor::from_floats({1, 4}, {1, 2, 3, 4})}});
  EXPECT_THAT(out.at("c").to_floats(), ElementsAre(7, 8));
  EXPECT_EQ(g.outputs.size(), 2u);
}

TEST(Onnx, OperandsOfOldOperatorSetsLieAtAnAxis) {
  std::string x = input("x", {"1", "2", "2"}), y = output("y", {"1", "2", "2"});
  ops::Tensor in = ops::Tensor::from_floats({1, 2, 2}, {-1, -2, -3, -4});
  graph::Graph add =
      import(model(x + y + weights("b", {2}, {10, 20}) +
                       node("Add", "a", {"x", "b"}, {"y"}, attr_int("broadcast", 1) + attr_int("axis", 1)),
                   6));
  EXPECT_THAT(graph::interpret(add, {{"x", in}}).at("y").to_floats(), ElementsAre(9, 8, 17, 16));
  graph::Graph slope =
      import(model(x + y + weights("s", {2}, {1, 2}) + node("PRelu", "p", {"x", "s"}, {"y"}), 6));
  EXPECT_THAT(graph::interpret(slope, {{"x", in}}).at("y").to_floats(), ElementsAre(-1, -2, -6, -8));
}

TEST(Onnx, ResizeOfOpset10IsUpsample) {
  std::string x = input("x", {"1", "2"}), y = output("y", {"1", "4"}), s = weights("s", {2}, {1, 2});
  ops::Tensor in = ops::Tensor::from_floats({1, 2}, {3, 4});
  graph::Graph old = import(model(x + y + s + node("Resize", "r", {"x", "s"}, {"y"}), 10));
  EXPECT_EQ(old.node(*old.find_node("r")).op, "upsample");
  graph::Graph now = import(model(x + y + s + node("Resize", "r", {"x", "", "s"}, {"y"}), 13));
  EXPECT_EQ(now.node(*now.find_node("r")).op, "resize");
  for (const graph::Graph& g : {old, now})
    EXPECT_THAT(graph::interpret(g, {{"x", in}}).at("y").to_floats(), ElementsAre(3, 3, 4, 4));
}

// The shape that a model computes for itself from a tensor's shape is known before anything runs.
TEST(Onnx, ShapesAreFoldedWhereAConstantIsNeeded) {
  graph::Graph g =
      import(model(input("x", {"2", "6"}) + output("y", {"6", "2"}) + integers("order", {1, 0}) +
                   node("Shape", "s", {"x"}, {"dims"}) + node("Gather", "g", {"dims", "order"}, {"want"}) +
                   node("Reshape", "r", {"x", "want"}, {"y"})));
  EXPECT_EQ(ops::type_text(g.value(*g.find_value("y")).type), "f32[6, 2]");
  std::string computed =
      model(input("x", {"2", "6"}) + output("y", {"2", "6"}) + node("NonZero", "n", {"x"}, {"y"}));
  EXPECT_THAT(complaint(computed), AllOf(HasSubstr("node n (NonZero)"), HasSubstr("must be a constant")));
}

TEST(Onnx, TheShapeOfReshapeMustBeConstant) {
  std::string computed =
      model(input("x", {"1", "4"}) + kY + input("s", {"2"}) + node("Reshape", "r", {"x", "s"}, {"y"}));
  EXPECT_THAT(complaint(computed), AllOf(HasSubstr("node r (Reshape)"), HasSubstr("must be a constant")));
  graph::Graph g = import(model(kX + kY + integers("s", {-1, 4}) + node("Reshape", "r", {"x", "s"}, {"y"})));
  EXPECT_EQ(ops::type_text(g.value(*g.find_value("y")).type), "f32[1, 4]");
}

TEST(Onnx, TheSampleDimensionIsTheSymbolSharedByInputsAndOutputs) {
  graph::Graph g = import(model(kX + kY + node("Relu", "r", {"x"}, {"y"})));
  EXPECT_EQ(g.value(g.inputs[0]).sample_dim, 0);
  EXPECT_EQ(g.value(g.outputs[0]).sample_dim, 0);
  EXPECT_THAT(g.value(g.inputs[0]).type.shape, ElementsAre(1, 4));
  graph::Graph fixed = import(model(kX + kY + node("Relu", "r", {"x"}, {"y"})), {{{"N", 3}}});
  EXPECT_EQ(fixed.value(fixed.inputs[0]).sample_dim, -1);
  EXPECT_THAT(fixed.value(fixed.inputs[0]).type.shape, ElementsAre(3, 4));
}

// 'N' is open, but a constant has three rows: for no other number of samples does the model mean anything. Where it
// means something for several numbers, and mixes samples, it is left to the user.
TEST(Onnx, AnOpenNumberOfSamplesThatCanOnlyBeOneIsThatOne) {
  const std::string three = model(kX + output("y", {"N", "6"}) + weights("w", {3, 2}, {1, 2, 3, 4, 5, 6}) +
                                  node("Concat", "c", {"x", "w"}, {"y"}, attr_int("axis", 1)));
  Diag diag;
  const std::optional<graph::Graph> g = import_onnx(three, "m.onnx", {}, diag);
  ASSERT_TRUE(g) << diag.to_string();
  EXPECT_EQ(diag.warnings(), 1U);
  EXPECT_THAT(diag.to_string(), HasSubstr("m.onnx: 'N' is open, but the model is for 3 samples only"));
  EXPECT_THAT(g->value(g->outputs[0]).type.shape, ElementsAre(3, 6));
  EXPECT_EQ(g->value(g->outputs[0]).sample_dim, -1);
  const std::string none = model(kX + output("y", {"N", "6"}) + weights("w", {3, 2}, {1, 2, 3, 4, 5, 6}) +
                                 node("Concat", "c", {"x", "w"}, {"y"}, attr_int("axis", 0)));
  EXPECT_THAT(complaint(none), HasSubstr("node c (Concat)"));
  const std::string two_or_more =
      model(kX + output("y", {"1", "4"}) + integers("row", {1}) + node("Gather", "g", {"x", "row"}, {"y"}));
  EXPECT_THAT(complaint(two_or_more), AllOf(HasSubstr("node g (Gather)"), HasSubstr("--dim N=")));
}

// The nodes behind one that is refused have no types that could be wrong.
TEST(Onnx, WhatIsBehindARefusedNodeIsNotReported) {
  Diag diag;
  EXPECT_FALSE(import_onnx(model(input("x", {"2", "4"}) + output("z", {"2", "6"}) +
                                     weights("w", {3, 2}, {1, 2, 3, 4, 5, 6}) +
                                     node("Concat", "c", {"x", "w"}, {"y"}, attr_int("axis", 1)) +
                                     node("Concat", "d", {"y", "x"}, {"z"}, attr_int("axis", 1))),
                           "m.onnx", {}, diag));
  EXPECT_EQ(diag.errors(), 1U) << diag.to_string();
}

// Steps first, as recurrent layers have it: samples lie along the second dimension.
TEST(Onnx, TheOnlySymbolOfAllInputsCountsSamplesWhereverItStands) {
  graph::Graph g =
      import(model(input("x", {"4", "N"}) + output("y", {"4", "out_dim"}) + node("Relu", "r", {"x"}, {"y"})));
  EXPECT_EQ(g.value(g.inputs[0]).sample_dim, 1);
  EXPECT_EQ(g.value(g.outputs[0]).sample_dim, 1);
}

TEST(Onnx, OtherSymbolsNeedAValue) {
  std::string bytes =
      model(input("x", {"N", "T"}) + output("y", {"N", "T"}) + node("Relu", "r", {"x"}, {"y"}));
  EXPECT_THAT(complaint(bytes), AllOf(HasSubstr("'T'"), HasSubstr("--dim T=N")));
  EXPECT_THAT(complaint(bytes, {{{"T", 2}, {"U", 3}}}), HasSubstr("--dim U"));
  EXPECT_THAT(import(bytes, {{{"T", 2}}}).value(*import(bytes, {{{"T", 2}}}).find_value("y")).type.shape,
              ElementsAre(1, 2));
  EXPECT_THAT(complaint(model(input("x", {"-1", "4"}) + kY + node("Relu", "r", {"x"}, {"y"}))),
              AllOf(HasSubstr("dimension 0 of input 'x' is -1"), HasSubstr("has a name")));
}

TEST(Onnx, ANewerOperatorSetThanIsKnownIsAWarning) {
  Diag diag;
  EXPECT_TRUE(import_onnx(model(kX + kY + node("Relu", "r", {"x"}, {"y"}), 99), "m.onnx", {}, diag));
  EXPECT_EQ(diag.warnings(), 1u);
  EXPECT_THAT(diag.to_string(), HasSubstr("m.onnx: operator set 99 is newer than"));
}

TEST(Onnx, DamagedFilesAreRefusedAtEveryLength) {
  std::string good = model(kX + kY + weights("w", {4, 4}, std::vector<float>(16, 1)) +
                           node("MatMul", "m", {"x", "w"}, {"y"}));
  import(good);
  for (size_t n = 0; n < good.size(); ++n) {
    Diag diag;
    std::optional<graph::Graph> g = import_onnx(good.substr(0, n), "cut.onnx", {}, diag);
    if (g) continue;  // cut between two fields of the model itself: what is left is a model
    EXPECT_THAT(diag.to_string(), HasSubstr("cut.onnx")) << n;
  }
}

TEST(Onnx, WeightsMustHaveAsManyBytesAsTheirShape) {
  std::string bad = bytes(5, tensor_body("w", {4, 4}, 1, std::string(60, '\0')));
  EXPECT_THAT(complaint(model(kX + kY + bad + node("MatMul", "m", {"x", "w"}, {"y"}))),
              AllOf(HasSubstr("'w'"), HasSubstr("64 bytes"), HasSubstr("60")));
}

// Whole models with real digits: import, then the rows' host evaluation, against ONNX Runtime's outputs.
TEST(Onnx, SampleModelsGiveTheOutputsOfOnnxRuntime) {
  for (const std::string name : {"mnist_mlp", "mnist_softmax"}) {
    const std::string dir = std::string(CS_SOURCE_DIR) + "/models/" + name + "/";
    Diag diag;
    for (int set = 0; set < 5; ++set) {
      int batch = set == 4 ? 4 : 1;
      std::optional<graph::Graph> g = load_model(dir + "model.onnx", {{{"batch_size", batch}}}, diag);
      ASSERT_TRUE(g) << diag.to_string();
      auto in = read_npz(fmt::format("{}inputs_{}.npz", dir, set), diag);
      auto want = read_npz(fmt::format("{}expected_{}.npz", dir, set), diag);
      ASSERT_TRUE(in && want) << diag.to_string();
      std::map<std::string, ops::Tensor> values;
      for (const NamedArray& a : *in) values[a.name] = a.tensor;
      auto got = graph::interpret(*g, values);
      for (const NamedArray& a : *want) {
        ASSERT_EQ(got.at(a.name).type, a.tensor.type);
        double largest = 0, worst = 0;
        for (int64_t i = 0; i < a.tensor.elements(); ++i) {
          largest = std::max(largest, std::fabs(a.tensor.get(i)));
          worst = std::max(worst, std::fabs(a.tensor.get(i) - got.at(a.name).get(i)));
        }
        EXPECT_LE(worst, 1e-5 * largest) << name << " set " << set;
      }
    }
  }
}

}  // namespace
}  // namespace cs::frontend
