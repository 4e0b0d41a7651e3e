// npz: files that numpy wrote read exactly, what we write reads back, damage is a diagnostic.
#include "runtime/host/npz.h"

#include <gtest/gtest.h>

#include <cstring>

#include "runtime/host/npy_header.h"

namespace cs {
namespace {

NamedArray array(const std::string& name, ops::Shape shape, std::vector<float> values) {
  return {name, ops::Tensor::from_floats(std::move(shape), values)};
}

TEST(Npz, ReadsTheSetsThatNumpyWroteForTheSampleModel) {
  Diag diag;
  const auto inputs = read_npz(std::string(CS_SOURCE_DIR) + "/models/mnist_mlp/inputs_4.npz", diag);
  ASSERT_TRUE(inputs) << diag.to_string();
  ASSERT_EQ(inputs->size(), 1u);
  EXPECT_EQ((*inputs)[0].name, "input");
  EXPECT_EQ(ops::type_text((*inputs)[0].tensor.type), "f32[4, 1, 28, 28]");
  // Digits are scaled to 0..1 and not all zero; the fourth sample is standard normal noise.
  double largest = 0;
  for (int64_t i = 0; i < 784; ++i) largest = std::max(largest, (*inputs)[0].tensor.get(i));
  EXPECT_GT(largest, 0.9);
  EXPECT_LE(largest, 1.0);
}

TEST(Npz, WritesWhatItReadsBack) {
  const std::vector<NamedArray> in{array("a", {2, 3}, {1, 2, 3, 4, 5, 6}), array("scalar:0", {}, {7.5f}),
                                   array("empty", {0, 4}, {})};
  Diag diag;
  const auto out = parse_npz(npz_bytes(in), "memory", diag);
  ASSERT_TRUE(out) << diag.to_string();
  ASSERT_EQ(out->size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ((*out)[i].name, in[i].name);
    EXPECT_EQ((*out)[i].tensor, in[i].tensor);
  }
}

TEST(Npz, AnyTruncationIsADiagnostic) {
  const std::string good = npz_bytes({array("a", {4}, {1, 2, 3, 4})});
  for (size_t keep = 0; keep < good.size(); ++keep) {
    Diag diag;
    EXPECT_FALSE(parse_npz(good.substr(0, keep), "cut.npz", diag)) << keep;
    EXPECT_FALSE(diag.ok()) << keep;
  }
}

TEST(Npz, AFlippedBitInTheDataFailsTheChecksum) {
  std::string bytes = npz_bytes({array("a", {4}, {1, 2, 3, 4})});
  const size_t at = bytes.find("NUMPY") + 130;  // inside the elements: header is 128 bytes long
  bytes[at] = char(bytes[at] ^ 1);
  Diag diag;
  EXPECT_FALSE(parse_npz(bytes, "bad.npz", diag));
  EXPECT_NE(diag.to_string().find("checksum"), std::string::npos);
}

TEST(NpyHeader, IsPaddedToAMultipleOf64AndReadsBack) {
  for (const ops::Shape& shape : {ops::Shape{}, ops::Shape{5}, ops::Shape{1, 28, 28}}) {
    const std::string text = npy_header({DataType::f32, shape});
    EXPECT_EQ(text.size() % 64, 0u);
    NpyHeader h;
    std::string error;
    ASSERT_TRUE(parse_npy_header(text, h, error)) << error;
    EXPECT_EQ(h.shape, shape);
    EXPECT_EQ(h.data, text.size());
    EXPECT_FALSE(h.fortran);
  }
}

TEST(NpyHeader, UnknownElementTypesAreNamed) {
  std::string text = npy_header({DataType::f32, {2}});
  text.replace(text.find("<f4"), 3, "<c8");
  NpyHeader h;
  std::string error;
  EXPECT_FALSE(parse_npy_header(text, h, error));
  EXPECT_NE(error.find("<c8"), std::string::npos);
}

}  // namespace
}  // namespace cs
