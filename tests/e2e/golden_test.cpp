// cs-regress --golden on a collection of two values: what passes, what fails and what is refused.
#include <gmock/gmock.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "tests/e2e/run_tool.h"
#include "tools/cs-regress/sha256.h"

namespace cs::e2e {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

class GoldenCollection : public Scratch {
 protected:
  // One case of x = (-2, 3): its file holds x (f32) and `expected` (f64).
  json manifest(const std::string& op, double first, double second) {
    const float x[2] = {-2, 3};
    const double expected[2] = {first, second};
    std::string bytes(32, '\0');
    std::memcpy(bytes.data(), x, 8);
    std::memcpy(bytes.data() + 16, expected, 16);
    write("one.bin", bytes);
    const json tensors = {
        {"x", {{"role", "input"}, {"dtype", "f32"}, {"shape", {2}}, {"offset", 0}, {"nbytes", 8}}},
        {"output", {{"role", "expected"}, {"dtype", "f64"}, {"shape", {2}}, {"offset", 16}, {"nbytes", 16}}}};
    const json one = {
        {"id", "one/0000"}, {"op", op},      {"file", "one.bin"},  {"options", json::object()},
        {"quant", "f32"},   {"edge", false}, {"tensors", tensors}, {"f32_err", {{"output", {0.0, 0.0}}}}};
    return {{"format", "golden-v1"},
            {"kind", "ops"},
            {"files", {{"one.bin", {{"nbytes", 32}, {"sha256", sha256_text(bytes)}}}}},
            {"cases", {one}}};
  }
  ChildResult regress(const json& m) {
    const std::string file = write("manifest.json", m.dump());
    return run("cs-regress", {"--golden", file.substr(0, file.rfind('/')), "--json", "-j", "1"});
  }
};

TEST_F(GoldenCollection, ACasePassesWithItsKernelsOrigin) {
  const ChildResult r = regress(manifest("leaky_relu", -0.02, 3));
  EXPECT_EQ(r.exit_code, 0) << r.out << r.err;
  const json row = json::parse(r.out).at("rows").at(0);
  EXPECT_EQ(row.at("name"), "one/0000/fp32");
  EXPECT_LT(row.at("error"), 2e-9);  // -0.02 in float32
  EXPECT_THAT(row.at("origins").get<std::string>(), ::testing::Not(HasSubstr("host")));
}

TEST_F(GoldenCollection, AWrongValueFailsAndIsNamed) {
  const ChildResult r = regress(manifest("leaky_relu", -0.02, 3.00001));
  EXPECT_EQ(r.exit_code, 4) << r.err;
  EXPECT_THAT(json::parse(r.out).at("rows").at(0).at("message").get<std::string>(), HasSubstr("element 1"));
}

TEST_F(GoldenCollection, AnOperationThatIsNotInTheTableFailsByItsName) {
  const ChildResult r = regress(manifest("frobnicate", 0, 3));
  EXPECT_EQ(r.exit_code, 4);
  EXPECT_THAT(r.out, HasSubstr("frobnicate"));
}

TEST_F(GoldenCollection, ALossSaysWhatItsCaseLacks) {
  json m = manifest("MSELoss", 0, 3);
  m["kind"] = "losses";
  const ChildResult r = regress(m);
  EXPECT_EQ(r.exit_code, 4);
  EXPECT_THAT(r.out, HasSubstr("the case has no tensor 'input'"));
}

TEST_F(GoldenCollection, DamagedCollectionsAreRefused) {
  json m = manifest("leaky_relu", -0.02, 3);
  m["files"]["one.bin"]["sha256"] = sha256_text("something else");
  EXPECT_THAT(regress(m).err, HasSubstr("SHA-256"));
  m = manifest("leaky_relu", -0.02, 3);
  m["format"] = "golden-v2";
  EXPECT_THAT(regress(m).err, HasSubstr("golden-v2"));
  m = manifest("leaky_relu", -0.02, 3);
  m["cases"][0]["tensors"]["x"]["offset"] = 30;
  EXPECT_THAT(regress(m).err, HasSubstr("one/0000, tensor 'x'"));
  m = manifest("leaky_relu", -0.02, 3);
  m["files"]["../one.bin"] = m["files"]["one.bin"];
  EXPECT_EQ(regress(m).exit_code, 1);
  m = manifest("leaky_relu", -0.02, 3);
  m["cases"][0].erase("quant");
  EXPECT_THAT(regress(m).err, HasSubstr("one/0000"));
}

}  // namespace
}  // namespace cs::e2e
