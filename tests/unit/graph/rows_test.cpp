// Rows of the operator table on small operands: windows, normalizations, parts, indices, searches, sources.
#include <gmock/gmock.h>

#include "tests/unit/graph/row_cases.h"

namespace cs::ops {
namespace {

using ::testing::HasSubstr;

TEST(Rows, Convolutions) {
  Tensor x = ramp({1, 1, 3, 3});
  check({
      // Sums of 2 x 2 windows of 1..9.
      {"conv", {}, {x, floats({1, 1, 2, 2}, {1, 1, 1, 1})}, {floats({1, 1, 2, 2}, {12, 16, 24, 28})}},
      // Padding 1 and stride 2: windows at the corners; bias 10.
      {"conv",
       {{"pads", Ints{1, 1, 1, 1}}, {"strides", Ints{2, 2}}},
       {x, floats({1, 1, 3, 3}, {0, 0, 0, 0, 1, 0, 0, 0, 1}), floats({1}, {10})},
       {floats({1, 1, 2, 2}, {1 + 5 + 10, 3 + 10, 7 + 10, 9 + 10})}},
      // Two groups of one channel each, dilation 2: x[0] + 10 x[2], x[1] * 2 - x[3] ... of each channel.
      {"conv",
       {{"group", int64_t(2)}, {"dilations", Ints{2}}},
       {ramp({1, 2, 3}), floats({2, 1, 2}, {1, 10, 2, -1})},
       {floats({1, 2, 1}, {1 + 30, 8 - 6})}},
      // SAME_UPPER puts the odd element of padding behind: windows 1+2, 2+3, 3+0.
      {"conv",
       {{"auto_pad", std::string("SAME_UPPER")}},
       {ramp({1, 1, 3}), floats({1, 1, 2}, {1, 1})},
       {floats({1, 1, 3}, {3, 5, 3})}},
      {"conv",
       {{"auto_pad", std::string("SAME_LOWER")}},
       {ramp({1, 1, 3}), floats({1, 1, 2}, {1, 1})},
       {floats({1, 1, 3}, {1, 3, 5})}},
      // Every element spreads w over 3 places, 2 apart: 1 2 (3 + 2) 4 6.
      {"conv_transpose",
       {{"strides", Ints{2}}},
       {floats({1, 1, 2}, {1, 2}), floats({1, 1, 3}, {1, 2, 3})},
       {floats({1, 1, 5}, {1, 2, 3 + 2, 4, 6})}},
      {"conv_transpose",
       {{"strides", Ints{2}}, {"pads", Ints{1, 1}}, {"output_padding", Ints{1}}},
       {floats({1, 1, 2}, {1, 2}), floats({1, 1, 3}, {1, 2, 3})},
       {floats({1, 1, 4}, {2, 5, 4, 6})}},
  });
}

TEST(Rows, Pools) {
  Tensor x = floats({1, 1, 4}, {1, 4, 4, 2});
  Ints two{2};
  check({
      {"max_pool", {{"kernel_shape", two}}, {x}, {floats({1, 1, 3}, {4, 4, 4}), ints({1, 1, 3}, {1, 1, 2})}},
      {"max_pool",
       {{"kernel_shape", Ints{3}}, {"strides", two}, {"pads", Ints{1, 0}}},
       {x},
       {floats({1, 1, 2}, {4, 4}), ints({1, 1, 2}, {1, 1})}},
      // A last window that only ceil_mode gives: 2 alone.
      {"max_pool",
       {{"kernel_shape", Ints{2}}, {"strides", Ints{3}}, {"ceil_mode", int64_t(1)}},
       {x},
       {floats({1, 1, 2}, {4, 2})}},
      {"average_pool",
       {{"kernel_shape", two}, {"pads", Ints{1, 1}}},
       {x},
       {floats({1, 1, 5}, {1, 2.5F, 4, 3, 2})}},
      {"average_pool",
       {{"kernel_shape", two}, {"pads", Ints{1, 1}}, {"count_include_pad", int64_t(1)}},
       {x},
       {floats({1, 1, 5}, {0.5F, 2.5F, 4, 3, 1})}},
      {"lp_pool",
       {{"kernel_shape", two}, {"strides", two}},
       {floats({1, 1, 4}, {3, -4, 5, 12})},
       {floats({1, 1, 2}, {5, 13})}},
      {"global_average_pool", {}, {ramp({1, 2, 2, 1})}, {floats({1, 2, 1, 1}, {1.5F, 3.5F})}},
      {"global_max_pool", {}, {ramp({1, 2, 2, 1})}, {floats({1, 2, 1, 1}, {2, 4})}},
      {"global_lp_pool", {}, {floats({1, 1, 2}, {3, 4})}, {floats({1, 1, 1}, {5})}},
      {"max_unpool",
       {{"kernel_shape", two}, {"strides", two}},
       {floats({1, 1, 2}, {7, 8}), ints({1, 1, 2}, {1, 2})},
       {floats({1, 1, 4}, {0, 7, 8, 0})}},
      // Indices count the elements of 1 x 4; the result is wider.
      {"max_unpool",
       {{"kernel_shape", Ints{1, 2}}, {"strides", Ints{1, 2}}, {"output_shape", Ints{1, 1, 2, 5}}},
       {floats({1, 1, 2, 2}, {1, 2, 3, 4}), ints({1, 1, 2, 2}, {1, 2, 4, 7})},
       {floats({1, 1, 2, 5}, {0, 1, 2, 0, 0, 3, 0, 0, 4, 0})}},
  });
}

TEST(Rows, Normalizations) {
  Tensor x = floats({1, 2, 2}, {1, 3, 10, 30}), one = floats({2}, {1, 1}), zero = floats({2}, {0, 0});
  const double none = 0;
  check({
      // (x - mean) * 2 + 5 for the first channel, (x - mean) / 2 for the second.
      {"batch_norm",
       {{"epsilon", none}},
       {x, floats({2}, {2, 1}), floats({2}, {5, 0}), floats({2}, {1, 10}), floats({2}, {1, 4})},
       {floats({1, 2, 2}, {5, 9, 0, 10})}},
      // Batch means 2 and 20, variances 1 and 100; the running ones keep a quarter.
      {"batch_norm",
       {{"epsilon", none}, {"training_mode", int64_t(1)}, {"momentum", 0.25}},
       {x, one, zero, floats({2}, {6, 0}), floats({2}, {1, 4})},
       {floats({1, 2, 2}, {-1, 1, -1, 1}), floats({2}, {3, 15}), floats({2}, {1, 76})}},
      // The variance of a sample of two is twice as large: 2 and 200.
      {"batch_norm",
       {{"epsilon", none}, {"training_mode", int64_t(1)}, {"momentum", 0.25}, {"unbiased", int64_t(1)}},
       {x, one, zero, floats({2}, {6, 0}), floats({2}, {1, 4})},
       {floats({1, 2, 2}, {-1, 1, -1, 1}), floats({2}, {3, 15}), floats({2}, {1.75, 151})}},
      {"instance_norm",
       {{"epsilon", none}},
       {x, floats({2}, {1, 3}), floats({2}, {0, 1})},
       {floats({1, 2, 2}, {-1, 1, -2, 4})}},
      {"layer_norm",
       {{"epsilon", none}},
       {x, floats({2}, {1, 2})},
       {floats({1, 2, 2}, {-1, 2, -1, 2}), floats({1, 2, 1}, {2, 20}), floats({1, 2, 1}, {1, 0.1F})}},
      {"rms_norm",
       {{"epsilon", none}},
       {floats({1, 2}, {1, 7}), floats({2}, {5, 10})},
       {floats({1, 2}, {1, 14})}},
      // Two groups of one channel: factors per channel and per group are the same.
      {"group_norm",
       {{"epsilon", none}, {"num_groups", int64_t(2)}},
       {x, floats({2}, {1, 3}), floats({2}, {0, 1})},
       {floats({1, 2, 2}, {-1, 1, -2, 4})}},
      {"mean_variance_norm", {{"axes", Ints{2}}}, {x}, {floats({1, 2, 2}, {-1, 1, -1, 1})}},
      {"lp_norm", {}, {floats({2, 2}, {3, 4, 0, 0})}, {floats({2, 2}, {0.6F, 0.8F, 0, 0})}},
      {"is_not_zero", {}, {floats({4}, {0, -0.0F, 0.3F, -2})}, {ints({4}, {0, 0, 1, 1}, DataType::boolean)}},
      {"one_if_zero", {}, {floats({3}, {0, -2, 1e-30F})}, {floats({3}, {1, -2, 1e-30F})}},
      // Windows of 3 channels: 1 + 4, 1 + 4 + 9, 4 + 9; x / (1 + sum).
      {"lrn",
       {{"alpha", 3.0}, {"beta", 1.0}, {"size", int64_t(3)}},
       {floats({1, 3, 1}, {1, 2, 3})},
       {floats({1, 3, 1}, {1 / 6.0F, 2 / 15.0F, 3 / 14.0F})}},
  });
}

TEST(Rows, PartsAndRepetitions) {
  Tensor x = ramp({2, 3});
  check({
      {"slice",
       {{"starts", Ints{-1, 0}}, {"ends", Ints{-100, 9}}, {"steps", Ints{-1, 2}}},
       {x},
       {floats({2, 2}, {4, 6, 1, 3})}},
      {"slice", {{"starts", Ints{2}}, {"ends", Ints{1}}, {"axes", Ints{1}}}, {x}, {floats({2, 0}, {})}},
      {"split",
       {{"axis", int64_t(1)}, {"split", Ints{1, 2}}},
       {x},
       {floats({2, 1}, {1, 4}), floats({2, 2}, {2, 3, 5, 6})}},
      {"split",
       {{"axis", int64_t(1)}, {"num_outputs", int64_t(2)}},
       {x},
       {floats({2, 2}, {1, 2, 4, 5}), floats({2, 1}, {3, 6})}},
      {"tile", {{"repeats", Ints{2, 2}}}, {ramp({1, 2})}, {floats({2, 4}, {1, 2, 1, 2, 1, 2, 1, 2})}},
      {"expand", {{"shape", Ints{2, 1, 2}}}, {ramp({1, 2})}, {floats({2, 1, 2}, {1, 2, 1, 2})}},
      {"trilu",
       {{"upper", int64_t(0)}, {"k", int64_t(-1)}},
       {ramp({3, 2})},
       {floats({3, 2}, {0, 0, 3, 0, 5, 6})}},
      {"trilu", {{"k", int64_t(1)}}, {x}, {floats({2, 3}, {0, 2, 3, 0, 0, 6})}},
      {"depth_to_space",
       {{"blocksize", int64_t(2)}},
       {ramp({1, 4, 1, 2})},
       {floats({1, 1, 2, 4}, {1, 3, 2, 4, 5, 7, 6, 8})}},
      {"space_to_depth",
       {{"blocksize", int64_t(2)}},
       {floats({1, 1, 2, 4}, {1, 3, 2, 4, 5, 7, 6, 8})},
       {ramp({1, 4, 1, 2})}},
      {"reverse_sequence", {}, {ramp({3, 2}), ints({2}, {3, 2})}, {floats({3, 2}, {5, 4, 3, 2, 1, 6})}},
  });
}

TEST(Rows, Pads) {
  Tensor x = ramp({3});
  auto pad = [](const char* mode, Ints pads) {
    return Attrs{{"mode", std::string(mode)}, {"pads", std::move(pads)}};
  };
  check({
      {"pad", pad("constant", {1, 2}), {x, floats({}, {9})}, {floats({6}, {9, 1, 2, 3, 9, 9})}},
      {"pad", pad("constant", {-1, 1}), {x}, {floats({3}, {2, 3, 0})}},
      {"pad", pad("edge", {2, 1}), {x}, {floats({6}, {1, 1, 1, 2, 3, 3})}},
      {"pad", pad("reflect", {2, 1}), {x}, {floats({6}, {3, 2, 1, 2, 3, 2})}},
      // Wider than the operand: reflected again at the new borders.
      {"pad", pad("reflect", {0, 5}), {x}, {floats({8}, {1, 2, 3, 2, 1, 2, 3, 2})}},
      {"pad", pad("wrap", {2, 2}), {x}, {floats({7}, {2, 3, 1, 2, 3, 1, 2})}},
      {"pad", pad("reflect", {1, 1, 0, 0}), {ramp({2, 2})}, {floats({3, 3}, {4, 3, 4, 2, 1, 2, 4, 3, 4})}},
  });
}

TEST(Rows, GathersAndScatters) {
  Tensor x = ramp({3, 2});
  check({
      {"gather", {}, {x, ints({2}, {2, -3})}, {floats({2, 2}, {5, 6, 1, 2})}},
      {"gather", {{"axis", int64_t(1)}}, {x, ints({1, 1}, {1})}, {floats({3, 1, 1}, {2, 4, 6})}},
      {"gather_elements", {{"axis", int64_t(0)}}, {x, ints({1, 2}, {2, -2})}, {floats({1, 2}, {5, 4})}},
      {"gather_nd", {}, {x, ints({2, 2}, {0, 1, -1, 0})}, {floats({2}, {2, 5})}},
      {"gather_nd", {{"batch_dims", int64_t(1)}}, {x, ints({3, 1}, {1, 0, -1})}, {floats({3}, {2, 3, 6})}},
      {"scatter_elements",
       {},
       {x, ints({1, 2}, {2, 0}), floats({1, 2}, {50, 60})},
       {floats({3, 2}, {1, 60, 3, 4, 50, 6})}},
      {"scatter_elements",
       {{"reduction", std::string("add")}, {"axis", int64_t(1)}},
       {ramp({1, 2}), ints({1, 2}, {1, 1}), floats({1, 2}, {10, 20})},
       {floats({1, 2}, {1, 32})}},
      {"scatter_nd",
       {},
       {x, ints({1, 1}, {-2}), floats({1, 2}, {7, 8})},
       {floats({3, 2}, {1, 2, 7, 8, 5, 6})}},
      {"scatter_nd",
       {{"reduction", std::string("max")}},
       {x, ints({2, 2}, {0, 0, 2, 1}), floats({2}, {9, 1})},
       {floats({3, 2}, {9, 2, 3, 4, 5, 6})}},
  });
}

TEST(Rows, Searches) {
  Tensor x = floats({2, 3}, {1, 5, 5, -2, -7, -2});
  check({
      {"arg_max", {{"axis", int64_t(1)}}, {x}, {ints({2, 1}, {1, 0})}},
      {"arg_max",
       {{"axis", int64_t(1)}, {"select_last_index", int64_t(1)}, {"keepdims", int64_t(0)}},
       {x},
       {ints({2}, {2, 2})}},
      {"arg_min", {}, {x}, {ints({1, 3}, {1, 1, 1})}},
      {"hardmax", {}, {x}, {floats({2, 3}, {0, 1, 0, 1, 0, 0})}},
      {"top_k", {{"k", int64_t(2)}}, {x}, {floats({2, 2}, {5, 5, -2, -2}), ints({2, 2}, {1, 2, 0, 2})}},
      {"top_k",
       {{"k", int64_t(1)}, {"largest", int64_t(0)}, {"axis", int64_t(0)}},
       {x},
       {floats({1, 3}, {-2, -7, -2}), ints({1, 3}, {1, 1, 1})}},
      {"one_hot",
       {{"depth", int64_t(3)}},
       {ints({2}, {-1, 0}), floats({2}, {2, 7})},
       {floats({2, 3}, {2, 2, 7, 7, 2, 2})}},
      {"one_hot",
       {{"depth", int64_t(2)}, {"axis", int64_t(0)}},
       {ints({2}, {1, 5}), floats({2}, {0, 1})},
       {floats({2, 2}, {0, 0, 1, 0})}},
      {"cum_sum", {{"axis", int64_t(1)}}, {ramp({2, 3})}, {floats({2, 3}, {1, 3, 6, 4, 9, 15})}},
      {"cum_sum",
       {{"axis", int64_t(0)}, {"exclusive", int64_t(1)}, {"reverse", int64_t(1)}},
       {ramp({3})},
       {floats({3}, {5, 3, 0})}},
  });
}

TEST(Rows, SourcesAndDataDependentShapes) {
  Tensor x = floats({2, 2}, {0, 3, 4, 0});
  check({
      {"constant",
       {{"value", std::vector<double>{1, 1, 2}}, {"shape", Ints{3}}, {"dtype", std::string("i32")}},
       {},
       {ints({3}, {1, 1, 2}, DataType::i32)}},
      {"constant_of_shape", {{"shape", Ints{2}}, {"value", 4.0}}, {}, {floats({2}, {4, 4})}},
      {"eye_like", {{"k", int64_t(-1)}}, {ramp({3, 2})}, {floats({3, 2}, {0, 0, 1, 0, 0, 1})}},
      {"shape", {{"start", int64_t(-2)}}, {ramp({3, 4, 5})}, {ints({2}, {4, 5})}},
      {"size", {}, {ramp({3, 4})}, {ints({}, {12})}},
      {"range", {}, {floats({}, {5}), floats({}, {0}), floats({}, {-2})}, {floats({3}, {5, 3, 1})}},
      {"non_zero", {}, {x}, {ints({2, 2}, {0, 1, 1, 0})}},
      {"compress",
       {{"axis", int64_t(1)}},
       {x, ints({2}, {0, 1}, DataType::boolean)},
       {floats({2, 1}, {3, 0})}},
      {"compress", {}, {x, ints({3}, {0, 1, 1}, DataType::boolean)}, {floats({2}, {3, 4})}},
      {"unique",
       {},
       {floats({4}, {2, 1, 1, 3})},
       {floats({3}, {1, 2, 3}), ints({3}, {1, 0, 3}), ints({4}, {1, 0, 0, 2}), ints({3}, {2, 1, 1})}},
      {"unique",
       {{"sorted", int64_t(0)}, {"axis", int64_t(0)}},
       {floats({3, 1}, {2, 1, 2})},
       {floats({2, 1}, {2, 1}), ints({2}, {0, 1}), ints({3}, {0, 1, 0}), ints({2}, {2, 1})}},
  });
}

// A compound's loops are those of its steps: softmax, whose reshape costs nothing.
TEST(Rows, CompoundsHaveLoops) {
  check({
      {"softmax", {}, {floats({1, 2}, {0, 0})}, {floats({1, 2}, {0.5F, 0.5F})}},
      {"reduce_l2", {{"axes", Ints{0}}}, {floats({2}, {3, 4})}, {floats({1}, {5})}},
      // log(e^100 + 3 e^100), whose terms alone overflow.
      {"reduce_log_sum_exp",
       {{"keepdims", int64_t(0)}},
       {floats({2}, {100, 100 + std::log(3.0F)})},
       {floats({}, {100 + std::log(4.0F)})}},
  });
  Ran r = run({"group_norm",
               {{"num_groups", int64_t(1)}},
               {ramp({1, 2, 2}), floats({2}, {1, 1}), floats({2}, {0, 0})},
               {ramp({1, 2, 2})}});
  // Copies only where there is something to compute: no statement that moves one buffer into another.
  EXPECT_EQ(r.text.find("= x0[2*i + j]\n"), std::string::npos) << r.text;
}

// Halves go to the even neighbour; what does not fit is held; the zero point is added after rounding.
TEST(Rows, Quantisations) {
  const Tensor scale = floats({}, {0.5F}), zero = ints({}, {3}, DataType::u8);
  const Tensor scales = floats({2}, {1, 2}), zeros = ints({2}, {0, -1}, DataType::i8);
  const Attrs rows = {{"axis", int64_t(0)}};
  check({
      {"quantize_linear",
       {},
       {floats({5}, {0.25F, 0.75F, -1, -9, 200}), scale, zero},
       {ints({5}, {3, 5, 1, 0, 255}, DataType::u8)}},
      {"quantize_linear",
       rows,
       {floats({2, 2}, {2.5F, -200, 3, 300}), scales, zeros},
       {ints({2, 2}, {2, -128, 1, 127}, DataType::i8)}},
      {"dequantize_linear",
       {},
       {ints({3}, {0, 3, 255}, DataType::u8), scale, zero},
       {floats({3}, {-1.5F, 0, 126})}},
      {"dequantize_linear",
       rows,
       {ints({2, 1}, {-128, 127}, DataType::i8), scales, zeros},
       {floats({2, 1}, {-128, 256})}},
      {"quantize_dequantize",
       {},
       {floats({3}, {0.6F, -9, 200}), scale, zero},
       {floats({3}, {0.5F, -1.5F, 126})}},
  });
}

TEST(Rows, ProductsOfQuantisedOperands) {
  const Tensor a = ints({1, 2}, {3, 250}, DataType::u8), b = ints({2, 1}, {-2, 4}, DataType::i8),
               three = ints({}, {3}, DataType::u8), one = ints({}, {1}, DataType::i8);
  const Tensor half = floats({}, {0.5F}), two = floats({}, {2});
  check({
      {"matmul_integer", {}, {a, b}, {ints({1, 1}, {-6 + 1000}, DataType::i32)}},
      {"matmul_integer", {}, {a, b, three, one}, {ints({1, 1}, {247 * 3}, DataType::i32)}},
      {"conv_integer",
       {},
       {ints({1, 1, 3}, {1, 2, 3}, DataType::u8), ints({1, 1, 2}, {2, 5}, DataType::u8),
        ints({}, {1}, DataType::u8)},
       {ints({1, 1, 2}, {5, 2 + 10}, DataType::i32)}},
      // 0.5 * 2 * 247 * 3 = 741, over 2, and the zero point 3: held at 255.
      {"qlinear_matmul", {}, {a, half, three, b, two, one, two, three}, {ints({1, 1}, {255}, DataType::u8)}},
      // (1.5, 126) * 4 + 4 over 2, and the zero point 3: 5 + 3, and 257, which is held.
      {"qlinear_conv",
       {},
       {ints({1, 1, 2}, {6, 255}, DataType::u8), half, three, ints({1, 1, 1}, {3}, DataType::i8), two, one,
        two, three, ints({1}, {4}, DataType::i32)},
       {ints({1, 1, 2}, {8, 255}, DataType::u8)}},
      // From -1 to 254: one step is 1, and 0 is 1.
      {"dynamic_quantize_linear",
       {},
       {floats({3}, {-1, 2.5F, 254})},
       {ints({3}, {0, 3, 255}, DataType::u8), floats({}, {1}), ints({}, {1}, DataType::u8)}},
  });
}

TEST(Rows, RefusalsSayWhatDoesNotFit) {
  auto complaint = [](const char* name, const Attrs& attrs, const std::vector<TensorType>& operands) {
    std::vector<const TensorType*> types;
    for (const TensorType& t : operands) types.push_back(&t);
    std::vector<TensorType> outputs;
    std::string error;
    EXPECT_FALSE(infer_types(*find_op(name), attrs, types, outputs, error)) << name;
    return error;
  };
  TensorType image{DataType::f32, {1, 3, 4, 4}}, matrix{DataType::f32, {2, 3}}, index{DataType::i64, {2}};
  EXPECT_THAT(complaint("conv", {}, {image, {DataType::f32, {2, 4, 3, 3}}}), HasSubstr("3 channels"));
  EXPECT_THAT(complaint("max_pool", {{"kernel_shape", Ints{9, 9}}}, {image}), HasSubstr("9"));
  EXPECT_THAT(complaint("split", {{"split", Ints{1, 1}}, {"axis", int64_t(1)}}, {matrix}),
              HasSubstr("add up to 3"));
  EXPECT_THAT(complaint("gather", {}, {matrix, matrix}), HasSubstr("i32 or i64"));
  EXPECT_THAT(complaint("top_k", {{"k", int64_t(4)}}, {matrix}), HasSubstr("3 elements"));
  EXPECT_THAT(complaint("non_zero", {}, {matrix}), HasSubstr("must be a constant"));
  EXPECT_THAT(complaint("einsum", {{"equation", std::string("ij,jk->ik")}}, {matrix}), HasSubstr("2 terms"));
  EXPECT_THAT(complaint("rnn", {{"activations", std::string("Wiggle")}},
                        {{DataType::f32, {1, 1, 1}}, {DataType::f32, {1, 1, 1}}, {DataType::f32, {1, 1, 1}}}),
              HasSubstr("'Wiggle'"));
  EXPECT_THAT(complaint("layer_norm", {}, {matrix, {DataType::f32, {2}}}), HasSubstr("does not broadcast"));
}

TEST(Rows, IndicesAreCheckedWhileRunning) {
  Diag diag;
  std::vector<Tensor> out;
  EXPECT_FALSE(evaluate(*find_op("gather"), {}, {ramp({3}), ints({1}, {3})}, out, diag));
  EXPECT_THAT(diag.to_string(),
              HasSubstr("index 3 (element 0 of 'indices') is out of range: axis 0 of f32[3] has extent 3"));
  EXPECT_FALSE(evaluate(*find_op("scatter_nd"), {}, {ramp({2, 2}), ints({1, 2}, {1, -3}), floats({1}, {0})},
                        out, diag));
  EXPECT_THAT(diag.to_string(), HasSubstr("index -3 (element 1 of 'indices') is out of range: axis 1"));
}

}  // namespace
}  // namespace cs::ops
