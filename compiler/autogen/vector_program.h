// What vector instructions compute for a slice: one node per instruction, operands before their users.
//
// Nodes are hash-consed, so that a value that two parts need exists once. `functions.h` writes exponentials
// and the like as such nodes, `vector_code.h` makes instructions of them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace cs::autogen {

enum class VectorKind : uint8_t {
  input,    // slice `index`
  scalar,   // one number for all elements: `value`
  uniform,  // one number for all elements that the program knows at run time: number `index`
  add,      // at most one of two operands is one number
  sub,
  mul,
  max,
  multiply_add,  // a + b * c, rounded once; c is one number
  negate,
  magnitude,
  copy,
  whole,  // a with its last seven bits cleared
  raise,  // a with the lower half of b added to its upper half: a 2^k if that half is 128 k
  sum,    // of all elements of a: a number with the name of `index`
  largest,
  inverse,   // about 1 / a, within 10 %, of positive numbers: kInverse minus the upper half
  negative,  // ones in every bit where the sign of a is set, else zeros
  both,      // the bits that a and b have; b may be one number
  differ,    // the bits in which a and b differ
  scaled,    // a 2^index
  mantissa,  // a's, in [1, 2), with its sign; zeros and infinities stay
  opposite,  // about 2 / a, within 12 %: kInfinity minus the upper half, which makes an infinity of a zero
             // and a zero of an infinity
  inverse_power,  // 2^(1 - k) of 2^k <= |a| < 2^(k + 1), positive; below 2^-126 an infinity, from an infinity
                  // on 0
  finite,         // a 2^index of numbers below 2; some positive number of the others
  root,           // about 1 / sqrt a, within 7 %; NaN of negative numbers if index is 1
  exponent,  // 2^23 + 128 (k + 127) of a = 2^k m with m as `middle` has it; NaN of negative numbers if index
             // is 1
  middle,    // of a in [1, 2) the same or half of it, in [0.754, 1.508); -infinity of 0, infinity of
             // itself
};

struct VectorNode {
  VectorKind kind = VectorKind::scalar;
  int a = -1, b = -1, c = -1;
  double value = 0;
  int index = -1;
  bool operator==(const VectorNode&) const = default;
};

class VectorProgram {
 public:
  static constexpr uint16_t kInverse = 0x7ef8;  // of VectorKind::inverse
  static constexpr uint16_t kInfinity = 0x7f80, kRoot = 0x5f35;
  // `middle` halves numbers whose upper half is above this; what is missing then to that of 2.
  static constexpr uint16_t kHalved = 0x3fc0, kToNextPower = 0x4000 - kHalved - 1;
  static constexpr double kExponentOfOne = 8388608 + 128 * 127;  // VectorKind::exponent of 1
  // Adding 1.5 * 2^23 to a number below 2^22 leaves no room for a fraction; taking it off again leaves the
  // whole number nearest to it.
  static constexpr double kToWhole = 12582912, kMostToWhole = 4194304;
  std::vector<VectorNode> nodes;

  const VectorNode& node(int i) const { return nodes[size_t(i)]; }
  bool is_number(int i) const;  // scalar or uniform
  bool is_leaf(int i) const { return node(i).kind == VectorKind::input || is_number(i); }

  int input(int index);
  int scalar(double value);  // rounded to f32
  int uniform(int index);
  int add(int a, int b) { return make(VectorKind::add, a, b); }
  int add(int a, double b) { return make(VectorKind::add, a, scalar(b)); }
  int sub(int a, int b) { return make(VectorKind::sub, a, b); }
  int sub(double a, int b) { return make(VectorKind::sub, scalar(a), b); }
  int mul(int a, int b) { return make(VectorKind::mul, a, b); }
  int mul(int a, double b) { return make(VectorKind::mul, a, scalar(b)); }
  int max(int a, int b) { return make(VectorKind::max, a, b); }
  int max(int a, double b) { return make(VectorKind::max, a, scalar(b)); }
  int min(int a, int b);  // -max(-a, -b)
  int negate(int a);
  int magnitude(int a) { return make(VectorKind::magnitude, a); }
  int reduce(VectorKind kind, int a, int name) { return insert({.kind = kind, .a = a, .index = name}); }
  // To the nearest whole number, ties to even; at most kMostToWhole.
  int round(int a) { return add(add(a, kToWhole), -kToWhole); }
  int copy(int a) { return make(VectorKind::copy, a); }
  // Kinds that have an index.
  int indexed(VectorKind kind, int a, int index) { return insert({.kind = kind, .a = a, .index = index}); }
  // A value that instructions on halves of words can read as their second operand.
  int in_buffer(int a) { return is_leaf(a) ? copy(a) : a; }
  int multiply_add(int a, int b, double c) { return make(VectorKind::multiply_add, a, b, scalar(c)); }
  int multiply_add(double a, int b, double c) { return multiply_add(scalar(a), b, c); }
  int make(VectorKind, int a, int b = -1, int c = -1);

  // c[0] + c[1] x + …: Horner's rule, with more than eight coefficients in blocks of three.
  int polynomial(int x, std::span<const double> c);

  // node = factor * the result: products with numbers and negations are left to the caller.
  int without_factor(int node, double& factor) const;

  // What node i computes where node `at` is v, in the arithmetic of the machine; it depends on no other
  // slice.
  float value_at(int i, int at, float v) const;

  // b + a * number becomes one instruction where the product has no other user, but where it is to be rounded
  // to a whole number: at a tie the bits that rounding the product drops decide. `keep`: nodes that are
  // wanted.
  void fuse(std::span<const int> keep);
  // Which nodes the wanted ones need, and how many operands each node is.
  std::vector<int> uses(std::span<const int> keep) const;

 private:
  int insert(const VectorNode&);
};

}  // namespace cs::autogen
