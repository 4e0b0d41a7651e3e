// Recorded ONNX sets: what is bound before compiling, what stays an input, and what a damaged set says.
#include <gmock/gmock.h>

#include <cstring>
#include <filesystem>

#include "compiler/frontend/frontend.h"
#include "compiler/frontend/onnx_sets.h"
#include "runtime/support/files.h"
#include "tests/unit/graph/onnx_bytes.h"

namespace cs::frontend {
namespace {

using namespace onnx_bytes;
using ::testing::HasSubstr;

class OnnxSets : public ::testing::Test {
 protected:
  OnnxSets() {
    root_ = std::filesystem::path(::testing::TempDir()) /
            ::testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(root_);
    std::filesystem::create_directories(root_ / "test_data_set_0");
  }
  ~OnnxSets() override { std::filesystem::remove_all(root_); }

  void put(const std::string& file, const std::string& bytes) {
    Diag diag;
    ASSERT_TRUE(write_file_atomic((root_ / file).string(), bytes, diag)) << diag.to_string();
  }
  static std::string floats(const std::string& name, const std::vector<int64_t>& dims, int n) {
    std::vector<float> v(size_t(n), 0.5F);
    std::string raw(v.size() * 4, '\0');
    std::memcpy(raw.data(), v.data(), raw.size());
    return tensor_body(name, dims, 1, raw);
  }
  std::optional<OnnxSet> read(Diag& diag) {
    return read_onnx_set((root_ / "model.onnx").string(), (root_ / "test_data_set_0").string(), diag);
  }

  std::filesystem::path root_;
};

// Reshape needs its shape at compile time and Add does not need b: only the former is bound.
TEST_F(OnnxSets, BindsOnlyWhatTheRowTakesAsConstant) {
  const std::string shape =
      bytes(11, bytes(1, "s") + bytes(2, bytes(1, number(1, 7) + bytes(2, bytes(1, number(1, 2))))));
  put("model.onnx", model(input("a", {"2", "3"}) + shape + input("b", {"3", "2"}) + output("y", {"3", "2"}) +
                          node("Reshape", "r", {"a", "s"}, {"t"}) + node("Add", "p", {"t", "b"}, {"y"})));
  std::string raw(16, '\0');
  raw[0] = 3, raw[8] = 2;
  put("test_data_set_0/input_0.pb", floats("a", {2, 3}, 6));
  put("test_data_set_0/input_1.pb", tensor_body("s", {2}, 7, raw));
  put("test_data_set_0/input_2.pb", floats("b", {3, 2}, 6));
  put("test_data_set_0/output_0.pb", floats("y", {3, 2}, 6));
  Diag diag;
  const auto set = read(diag);
  ASSERT_TRUE(set) << diag.to_string();
  ASSERT_EQ(set->inputs.size(), 2u);
  EXPECT_EQ(set->inputs[0].first, "a");
  EXPECT_EQ(set->inputs[1].first, "b");
  ASSERT_EQ(set->outputs.size(), 1u);
  const auto graph = import_onnx(set->model, "bound", {}, diag);
  ASSERT_TRUE(graph) << diag.to_string();
  EXPECT_EQ(graph->inputs.size(), 2u);
}

// N is the first dimension of everything, so it is the samples; K is not and gets the recorded value.
TEST_F(OnnxSets, GivesSymbolsOtherThanTheSamplesTheirRecordedValue) {
  put("model.onnx",
      model(input("x", {"N", "K"}) + output("y", {"N", "K"}) + node("Relu", "r", {"x"}, {"y"})));
  put("test_data_set_0/input_0.pb", floats("", {2, 5}, 10));
  put("test_data_set_0/output_0.pb", floats("", {2, 5}, 10));
  Diag diag;
  const auto set = read(diag);
  ASSERT_TRUE(set) << diag.to_string();
  ASSERT_EQ(set->dims.size(), 1u);
  EXPECT_EQ(set->dims[0].first, "K");
  EXPECT_EQ(set->dims[0].second, 5);
  EXPECT_EQ(set->inputs[0].first, "x");  // the file has no name: its number decides
}

TEST_F(OnnxSets, SaysWhichFileIsMissingOrDamaged) {
  put("model.onnx", model(input("x", {"2"}) + output("y", {"2"}) + node("Relu", "r", {"x"}, {"y"})));
  put("test_data_set_0/input_0.pb", floats("x", {2}, 2));
  Diag missing;
  EXPECT_FALSE(read(missing));
  EXPECT_THAT(missing.to_string(), HasSubstr("output_0.pb"));
  put("test_data_set_0/output_0.pb", floats("y", {2}, 2).substr(0, 9));
  Diag damaged;
  EXPECT_FALSE(read(damaged));
  EXPECT_THAT(damaged.to_string(), HasSubstr("output_0.pb"));
}

// SequenceProto: name 1, elem_type 2 (TENSOR 1), tensor_values 3. OptionalProto: name 1, elem_type 2.
// ValueInfoProto: type 2 { sequence_type 4 | optional_type 9 { elem_type 1 { tensor_type 1 } } }
TEST_F(OnnxSets, MakesSequencesAndOptionalsOfTensors) {
  const std::string tensor = bytes(1, bytes(1, number(1, 1)));
  auto list = [&](int field, const std::string& name, int type) {
    return bytes(field, bytes(1, name) + bytes(2, bytes(type, tensor)));
  };
  put("model.onnx", model(list(11, "s", 4) + list(11, "o", 9) + input("a", {"3"}) + list(12, "y", 4) +
                              node("OptionalHasElement", "h", {"o"}, {"has"}) +
                              node("SequenceInsert", "i", {"s", "a"}, {"y"}),
                          16));
  const std::string two = bytes(3, floats("", {2}, 2)), three = bytes(3, floats("", {3}, 3));
  put("test_data_set_0/input_0.pb", bytes(1, "s") + number(2, 1) + two + three);
  put("test_data_set_0/input_1.pb", bytes(1, "o") + number(2, 0));
  put("test_data_set_0/input_2.pb", floats("a", {3}, 3));
  put("test_data_set_0/output_0.pb", bytes(1, "y") + number(2, 1) + two + three + three);
  Diag diag;
  const auto set = read(diag);
  ASSERT_TRUE(set) << diag.to_string();
  std::vector<std::string> names;
  for (const auto& [name, tensor] : set->inputs) names.push_back(name);
  EXPECT_THAT(names, ::testing::ElementsAre("s_0", "s_1", "a"));
  names.clear();
  for (const auto& [name, tensor] : set->outputs) names.push_back(name);
  EXPECT_THAT(names, ::testing::ElementsAre("y_0", "y_1", "y_2"));
  const auto graph = import_onnx(set->model, "bound", {}, diag);
  ASSERT_TRUE(graph) << diag.to_string();
  EXPECT_EQ(graph->outputs.size(), 3u);
}

}  // namespace
}  // namespace cs::frontend
