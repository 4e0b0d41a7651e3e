// Host evaluation against the golden vectors: every case, as the graph that cs-regress --golden makes of it.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <cmath>
#include <fstream>
#include <set>

#include "interpret.h"
#include "tools/cs-regress/golden_check.h"
#include "tools/cs-regress/sha256.h"

namespace cs::golden {
namespace {

std::optional<Collection> vectors() {
  Diag diag;
  auto c = read_collection(std::string(CS_SOURCE_DIR) + "/tests/golden/ops", diag);
  EXPECT_TRUE(c) << diag.to_string();
  return c;
}

bool build(const Operation& o, CaseGraph& g) {
  return g.finish(o.build != nullptr ? o.build(g) : g.op(std::string(o.row), {g.input("x")}));
}

void compare(const Case& c, const Operation& o, const CaseGraph& g) {
  std::map<std::string, ops::Tensor> inputs;
  for (const NamedArray& a : g.inputs) inputs[a.name] = a.tensor;
  const ops::Tensor out = graph::interpret(g.graph, inputs).at("output");
  std::string error;
  std::vector<double> magnitudes;
  if (o.accuracy == Accuracy::products) magnitudes = magnitudes_of(g, error).value_or(magnitudes);
  ASSERT_EQ(error, "");
  std::vector<bool> free;
  if (o.nan_input_is_free)
    for (const double v : to_doubles({"x", c.tensors.at("x").tensor})) free.push_back(std::isnan(v));
  const Verdict v = check_output(out, c.tensors.at("output").tensor, c.floors.at("output"), o.accuracy,
                                 DataType::f32, magnitudes, terms_of(g.graph), free);
  EXPECT_TRUE(v.ok) << c.id << " " << c.op << ": " << v.mismatch;
}

TEST(Golden, HostEvaluationAgreesWithEveryCaseThatHasRows) {
  const auto collection = vectors();
  ASSERT_TRUE(collection);
  std::set<std::string> done, without_row;
  for (const Case& c : collection->cases) {
    const Operation* o = find_operation(c.op);
    ASSERT_NE(o, nullptr) << c.op << " is not in the table of golden operations";
    CaseGraph g(c, DataType::f32);
    if (!build(*o, g)) {
      EXPECT_NE(g.error().find("the operator table has no row"), std::string::npos)
          << c.id << ": " << g.error();
      without_row.insert(c.op);
      continue;
    }
    compare(c, *o, g);
    done.insert(c.op);
  }
  EXPECT_GE(done.size(), 83u);
  EXPECT_TRUE(without_row.empty()) << fmt::format("{} operations have no row", without_row.size());
}

TEST(Golden, AnOptionThatTheOperationDoesNotKnowIsAnError) {
  const auto collection = vectors();
  ASSERT_TRUE(collection);
  Case c = collection->cases.at(0);
  c.options["curvature"] = 2;
  CaseGraph g(c, DataType::f32);
  EXPECT_FALSE(build(*find_operation(c.op), g));
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
