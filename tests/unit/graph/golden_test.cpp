// Host evaluation against the golden vectors: every case, as the graph that cs-regress --golden makes of it.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <set>

#include "interpret.h"
#include "tools/cs-regress/golden_check.h"
#include "tools/cs-regress/golden_losses.h"
#include "tools/cs-regress/sha256.h"

namespace cs::golden {
namespace {

std::optional<Collection> vectors(const std::string& kind = "ops") {
  Diag diag;
  auto c = read_collection(std::string(CS_SOURCE_DIR) + "/tests/golden/" + kind, diag);
  EXPECT_TRUE(c) << diag.to_string();
  return c;
}

void compare(const Case& c, const Operation& o, const CaseGraph& g, DataType dtype) {
  std::map<std::string, ops::Tensor> inputs;
  for (const NamedArray& a : g.inputs) inputs[a.name] = a.tensor;
  const auto outputs = graph::interpret(g.graph, inputs);
  for (const auto& [name, expected] : c.tensors) {
    if (expected.role != "expected") continue;
    ASSERT_TRUE(outputs.contains(name)) << c.id << " " << c.op << ": " << name;
    std::string error;
    std::vector<double> magnitudes;
    if (o.accuracy == Accuracy::products) magnitudes = magnitudes_of(g, name, error).value_or(magnitudes);
    ASSERT_EQ(error, "");
    std::vector<bool> free;
    if (o.nan_input_is_free)
      for (const double v : to_doubles({"x", c.tensors.at("x").tensor})) free.push_back(std::isnan(v));
    const Verdict v = check_output(outputs.at(name), expected.tensor, c.floors.at(name), o.accuracy, dtype,
                                   magnitudes, terms_of(g.graph, name), free);
    EXPECT_TRUE(v.ok) << c.id << " " << c.op << " " << name << ": " << v.mismatch;
  }
}

// Every case of a collection, in every type that it has; the operations that occurred.
std::set<std::string> evaluate_all(const std::string& kind, const Operation* (*find)(std::string_view)) {
  std::set<std::string> done;
  const auto collection = vectors(kind);
  if (!collection) return done;
  for (const Case& c : collection->cases) {
    const Operation* o = find(c.op);
    EXPECT_NE(o, nullptr) << c.op << " is not in the table of golden " << kind;
    for (const DataType dtype : {DataType::f32, DataType::f16}) {
      if (o == nullptr || (dtype == DataType::f16 && c.quant != "f16")) continue;
      CaseGraph g(c, dtype);
      EXPECT_TRUE(build_case(*o, g, true)) << c.id << ": " << g.error();
      if (g.error().empty()) compare(c, *o, g, dtype);
    }
    done.insert(c.op);
  }
  return done;
}

TEST(Golden, HostEvaluationAgreesWithEveryOperationAndItsGradients) {
  EXPECT_GE(evaluate_all("ops", find_operation).size(), 83u);
}

TEST(Golden, HostEvaluationAgreesWithEveryLossAndItsGradients) {
  EXPECT_GE(evaluate_all("losses", find_loss).size(), 18u);
}

TEST(Golden, AnOptionThatTheOperationDoesNotKnowIsAnError) {
  const auto collection = vectors();
  ASSERT_TRUE(collection);
  Case c = collection->cases.at(0);
  c.options["curvature"] = 2;
  CaseGraph g(c, DataType::f32);
  EXPECT_FALSE(build_case(*find_operation(c.op), g, false));
  EXPECT_NE(g.error().find("curvature"), std::string::npos) << g.error();
}

TEST(Golden, FilesAreHeldToTheirDigests) {
  // Appendix B of FIPS 180-4: one block, two blocks.
  EXPECT_EQ(sha256_text("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_text("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

TEST(Golden, TheToleranceTable) {
  const ops::Tensor one = ops::Tensor::from_floats({1}, {1.0F});
  const auto off_by = [&](double error, Accuracy a, DataType t, double magnitude = 1, double terms = 1) {
    ops::Tensor out(ops::TensorType{DataType::f64, {1}});
    out.set(0, 1.0 + error);
    return check_output(out, one, Floor{}, a, t, {magnitude}, terms, {}).ok;
  };
  const double ulp = std::ldexp(1.0, -23), half_ulp = std::ldexp(1.0, -10);
  EXPECT_TRUE(off_by(4 * ulp, Accuracy::elementwise, DataType::f32));
  EXPECT_FALSE(off_by(4.5 * ulp, Accuracy::elementwise, DataType::f32));
  EXPECT_TRUE(off_by(2 * half_ulp, Accuracy::elementwise, DataType::f16));
  EXPECT_FALSE(off_by(2.5 * half_ulp, Accuracy::elementwise, DataType::f16));
  EXPECT_TRUE(off_by(30 * ulp, Accuracy::products, DataType::f32, 4, 8));
  EXPECT_FALSE(off_by(33 * ulp, Accuracy::products, DataType::f32, 4, 8));
  EXPECT_TRUE(off_by(0.9e-5, Accuracy::norm, DataType::f32));
  EXPECT_FALSE(off_by(1.1e-5, Accuracy::norm, DataType::f32));
  EXPECT_FALSE(off_by(1.1e-4, Accuracy::transformer, DataType::f32));
  EXPECT_TRUE(off_by(1.05e-5, Accuracy::loss, DataType::f32));  // 1e-5 of the value, 1e-6 of the largest
  EXPECT_FALSE(off_by(1.15e-5, Accuracy::loss, DataType::f32));
  EXPECT_TRUE(off_by(1.9e-3, Accuracy::loss, DataType::f16));
  EXPECT_FALSE(off_by(2.1e-3, Accuracy::loss, DataType::f16));
}

TEST(Golden, InfinityAndNaNMustBeInTheirPlaces) {
  const auto agrees = [](float out, double expected, DataType t, Floor floor = {}) {
    ops::Tensor e(ops::TensorType{DataType::f64, {1}});
    e.set(0, expected);
    return check_output(ops::Tensor::from_floats({1}, {out}), e, floor, Accuracy::elementwise, t, {}, 1, {})
        .ok;
  };
  EXPECT_TRUE(agrees(INFINITY, 70000, DataType::f16));
  EXPECT_FALSE(agrees(65504, 70000, DataType::f16));
  EXPECT_FALSE(agrees(-INFINITY, INFINITY, DataType::f32));
  EXPECT_FALSE(agrees(0, NAN, DataType::f32));
  EXPECT_FALSE(agrees(NAN, 0, DataType::f32));
  EXPECT_TRUE(agrees(NAN, 0, DataType::f32, Floor{0, 0, true}));
}

}  // namespace
}  // namespace cs::golden
