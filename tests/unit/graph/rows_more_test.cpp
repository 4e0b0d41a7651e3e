// Rows of the operator table on small operands: recurrences, resizes, sums over labels, remainders.
#include "tests/unit/graph/row_cases.h"

namespace cs::ops {
namespace {

TEST(Rows, RecurrencesOfOneUnit) {
  Attrs relu{{"activations", std::string("Relu")}};
  Tensor x = floats({2, 1, 1}, {1, 2}), w = floats({1, 1, 1}, {3}), r = floats({1, 1, 1}, {2});
  // Sequences of 2 and 1 steps: the second stops at h = 3, its y of step 1 is 0.
  Tensor two = floats({2, 2, 1}, {1, 1, 2, 2});
  Attrs affine{{"activations", std::string("Affine Affine Affine")}};
  check({
      // h = 3, then 3 * 2 + 2 * 3 = 12.
      {"rnn", relu, {x, w, r}, {floats({2, 1, 1, 1}, {3, 12}), floats({1, 1, 1}, {12})}},
      // Backwards: 6, then 3 + 12.
      {"rnn",
       {{"activations", std::string("Relu")}, {"direction", std::string("reverse")}},
       {x, w, r},
       {floats({2, 1, 1, 1}, {15, 6}), floats({1, 1, 1}, {15})}},
      {"rnn",
       relu,
       {two, w, r, std::nullopt, ints({2}, {2, 1}, DataType::i32)},
       {floats({2, 1, 2, 1}, {3, 3, 12, 0}), floats({1, 2, 1}, {12, 3})}},
      // Batch first, initial state 1 and bias 1: 3 + 2 + 1 = 6, then 6 + 12 + 1.
      {"rnn",
       {{"activations", std::string("Relu")}, {"layout", int64_t(1)}},
       {floats({1, 2, 1}, {1, 2}), w, r, floats({1, 2}, {1, 0}), std::nullopt, floats({1, 1, 1}, {1})},
       {floats({1, 2, 1, 1}, {6, 19}), floats({1, 1, 1}, {19})}},
      // Identity activations: z = x, r = 2 x, h~ = 3 x + r h: with x = 1: (1 - 1) h~ + 1 * 5 = 5.
      {"gru",
       {{"activations", std::string("Affine Affine")}},
       {floats({1, 1, 1}, {1}), floats({1, 3, 1}, {1, 2, 3}), floats({1, 3, 1}, {0, 0, 1}), std::nullopt,
        std::nullopt, floats({1, 1, 1}, {5})},
       {floats({1, 1, 1, 1}, {5})}},
      // z = 0: h~ = 3 + r h, r = 2, h = 5: 13; the late reset adds its bias 1 before r: 3 + 2 * (5 + 1).
      {"gru",
       {{"activations", std::string("Affine Affine")}, {"linear_before_reset", int64_t(1)}},
       {floats({1, 1, 1}, {1}), floats({1, 3, 1}, {0, 2, 3}), floats({1, 3, 1}, {0, 0, 1}),
        floats({1, 6}, {0, 0, 0, 0, 0, 1}), std::nullopt, floats({1, 1, 1}, {5})},
       {floats({1, 1, 1, 1}, {15})}},
      // i = 1, o = 2, f = 3, c~ = 4, c = 3 * 10 + 1 * 4 = 34, h = 2 * 34.
      {"lstm",
       affine,
       {floats({1, 1, 1}, {1}), floats({1, 4, 1}, {1, 2, 3, 4}), floats({1, 4, 1}, {0, 0, 0, 0}),
        std::nullopt, std::nullopt, std::nullopt, floats({1, 1, 1}, {10})},
       {floats({1, 1, 1, 1}, {68}), floats({1, 1, 1}, {68}), floats({1, 1, 1}, {34})}},
      // Peepholes: i = 1 + 10, f = 3 + 20, c = 230 + 44 = 274, o = 2 + 2 * 274 = 550.
      {"lstm",
       affine,
       {floats({1, 1, 1}, {1}), floats({1, 4, 1}, {1, 2, 3, 4}), floats({1, 4, 1}, {0, 0, 0, 0}),
        std::nullopt, std::nullopt, std::nullopt, floats({1, 1, 1}, {10}), floats({1, 3}, {1, 2, 2})},
       {floats({1, 1, 1, 1}, {550 * 274}), floats({1, 1, 1}, {550 * 274}), floats({1, 1, 1}, {274})}},
  });
}

TEST(Rows, Resizes) {
  std::vector<double> twice{2}, half{0.5};
  auto resize = [](const char* mode, std::vector<double> scales, const char* coordinates) {
    return Attrs{{"coordinate_transformation_mode", std::string(coordinates)},
                 {"mode", std::string(mode)},
                 {"scales", std::move(scales)}};
  };
  check({
      {"upsample", {{"scales", twice}}, {ramp({2})}, {floats({4}, {1, 1, 2, 2})}},
      {"resize", resize("linear", twice, "half_pixel"), {floats({2}, {0, 4})}, {floats({4}, {0, 1, 3, 4})}},
      {"resize",
       resize("linear", twice, "align_corners"),
       {floats({2}, {0, 3})},
       {floats({4}, {0, 1, 2, 3})}},
      {"resize", resize("linear", half, "half_pixel"), {ramp({4})}, {floats({2}, {1.5F, 3.5F})}},
      // Cubic weights at 1/2 with a = -0.75: -3/32, 19/32, 19/32, -3/32.
      {"resize",
       resize("cubic", half, "half_pixel"),
       {floats({4}, {32, 64, 0, 0})},
       {floats({2}, {(64 * 19 + 32 * (19 - 3)) / 32.0F, -3 * 64 / 32.0F})}},
      {"resize",
       {{"sizes", Ints{3}}, {"coordinate_transformation_mode", std::string("asymmetric")}},
       {ramp({2})},
       {floats({3}, {1, 2, 2})}},
      // The region runs beyond the end: what lies there is the extrapolation value.
      {"resize",
       {{"coordinate_transformation_mode", std::string("tf_crop_and_resize")},
        {"extrapolation_value", -1.0},
        {"mode", std::string("linear")},
        {"roi", std::vector<double>{0, 2}},
        {"sizes", Ints{3}}},
       {floats({3}, {1, 2, 3})},
       {floats({3}, {1, 3, -1})}},
  });
}

TEST(Rows, EinsteinSumsAndDeterminants) {
  auto einsum = [](const char* equation) { return Attrs{{"equation", std::string(equation)}}; };
  check({
      {"einsum", einsum("ij,jk->ki"), {ramp({2, 2}), floats({2, 1}, {1, 10})}, {floats({1, 2}, {21, 43})}},
      {"einsum", einsum("ii->i"), {ramp({2, 2})}, {floats({2}, {1, 4})}},
      {"einsum", einsum("...i,...i"), {ramp({2, 2}), ramp({2, 2})}, {floats({2}, {5, 25})}},
      {"einsum", einsum("i,j,k->"), {ramp({2}), ramp({2}), ramp({2})}, {floats({}, {27})}},
      // The pivot of the first column is in the last row.
      {"det", {}, {floats({3, 3}, {0, 2, 1, 1, 0, 3, 2, 1, 1})}, {floats({}, {11})}},
      {"det", {}, {floats({2, 2, 2}, {1, 2, 3, 4, 1, 2, 2, 4})}, {floats({2}, {-2, 0})}},
  });
}

TEST(Rows, RemaindersShiftsAndInverseFunctions) {
  Tensor a = floats({4}, {5, -5, 5, -5}), b = floats({4}, {3, 3, -3, -3});
  const float pi = 3.14159265F;
  check({
      {"mod", {}, {a, b}, {floats({4}, {2, 1, -1, -2})}},
      {"fmod", {}, {a, b}, {floats({4}, {2, -2, 2, -2})}},
      {"shift_left", {}, {ints({2}, {3, 5}), ints({2}, {1, 2})}, {ints({2}, {6, 20})}},
      {"shift_right", {}, {ints({2}, {7, 20}), ints({2}, {1, 2})}, {ints({2}, {3, 5})}},
      {"pow", {}, {ints({2}, {2, 3}), floats({2}, {3, 2})}, {ints({2}, {8, 9})}},
      {"atan",
       {},
       {floats({5}, {0, 1, -1, 1e30F, std::tan(1.3F)})},
       {floats({5}, {0, pi / 4, -pi / 4, pi / 2, 1.3F})}},
      {"asin", {}, {floats({4}, {0, 1, -1, 0.5F})}, {floats({4}, {0, pi / 2, -pi / 2, pi / 6})}},
      {"acos", {}, {floats({4}, {0, 1, -1, 0.5F})}, {floats({4}, {pi / 2, 0, pi, pi / 3})}},
      {"dropout", {}, {ramp({2})}, {ramp({2}), ints({2}, {1, 1}, DataType::boolean)}},
  });
}

}  // namespace
}  // namespace cs::ops
