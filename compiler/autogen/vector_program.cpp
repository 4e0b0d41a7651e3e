// Building and joining of vector nodes.
#include "compiler/autogen/vector_program.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>

#include "runtime/numerics/single.h"
#include "runtime/support/diag.h"

namespace cs::autogen {

namespace {

constexpr size_t kLongPolynomial = 8;

std::optional<double> folded(VectorKind kind, float a, float b) {
  switch (kind) {
    case VectorKind::add:
      return a + b;
    case VectorKind::sub:
      return a - b;
    case VectorKind::mul:
      return a * b;
    case VectorKind::max:
      return std::max(a, b);
    case VectorKind::negate:
      return -a;
    case VectorKind::magnitude:
      return std::fabs(a);
    default:
      return std::nullopt;
  }
}

// Of the kinds that begin with the upper half of their operand.
float by_upper_half(const VectorNode& n, uint32_t word) {
  const auto upper = uint16_t(word >> 16), lower = uint16_t(word);
  const auto joined = [](uint32_t high, uint32_t low) {
    return std::bit_cast<float>((high & 0xffff) << 16 | (low & 0xffff));
  };
  const bool minus = n.index == 1 && upper >> 15 != 0;
  switch (n.kind) {
    case VectorKind::opposite:
      return joined(VectorProgram::kInfinity - upper, lower);
    case VectorKind::inverse_power:
      return joined(VectorProgram::kInfinity - (upper & 0x7f80U), 0);
    case VectorKind::finite:
      return joined((upper & 0x3fffU) + uint32_t(n.index * 128), lower);
    case VectorKind::root:
      return joined((VectorProgram::kRoot - (upper >> 1U)) | (minus ? 0xffffU : 0U), minus ? 0xffffU : 0U);
    case VectorKind::exponent:
      return joined(minus ? 0xffffU : 0x4b00U, (uint32_t(upper) + VectorProgram::kToNextPower) & 0xff80U);
    default:
      return joined(upper - ((VectorProgram::kHalved - upper) & 0x80U), lower);
  }
}

}  // namespace

bool VectorProgram::is_number(int i) const {
  return node(i).kind == VectorKind::scalar || node(i).kind == VectorKind::uniform;
}

int VectorProgram::insert(const VectorNode& n) {
  const auto same = [&](const VectorNode& o) {
    return o == n && std::signbit(o.value) == std::signbit(n.value);
  };
  auto it = std::find_if(nodes.begin(), nodes.end(), same);
  if (it != nodes.end()) return int(it - nodes.begin());
  nodes.push_back(n);
  return int(nodes.size()) - 1;
}

int VectorProgram::input(int index) { return insert({.kind = VectorKind::input, .index = index}); }
int VectorProgram::uniform(int index) { return insert({.kind = VectorKind::uniform, .index = index}); }

int VectorProgram::scalar(double value) {
  if (std::isnan(value)) {  // equal to nothing, so it would never be found again
    for (size_t i = 0; i < nodes.size(); ++i) {
      if (nodes[i].kind == VectorKind::scalar && std::isnan(nodes[i].value)) return int(i);
    }
  }
  return insert({.kind = VectorKind::scalar, .value = double(float(value))});
}

int VectorProgram::make(VectorKind kind, int a, int b, int c) {
  const bool two = b >= 0 && kind != VectorKind::multiply_add;
  const auto number = [&](int i) { return node(i).kind == VectorKind::scalar; };
  if (c < 0 && number(a) && (!two || number(b))) {
    if (auto v = folded(kind, float(node(a).value), two ? float(node(b).value) : 0)) return scalar(*v);
  }
  // Both sources of a square would be in one bank, which halves the rate (docs/timing.md §6).
  if (a == b) b = copy(a);
  return insert({.kind = kind, .a = a, .b = b, .c = c});
}

int VectorProgram::negate(int a) {
  if (node(a).kind == VectorKind::negate) return node(a).a;
  return make(VectorKind::negate, a);
}

int VectorProgram::min(int a, int b) { return negate(max(negate(a), negate(b))); }

int VectorProgram::without_factor(int i, double& factor) const {
  for (;;) {
    const VectorNode& n = node(i);
    if (n.kind == VectorKind::negate) {
      factor = -factor;
      i = n.a;
    } else if (n.kind == VectorKind::mul && node(n.b).kind == VectorKind::scalar) {
      factor *= node(n.b).value;
      i = n.a;
    } else if (n.kind == VectorKind::mul && node(n.a).kind == VectorKind::scalar) {
      factor *= node(n.a).value;
      i = n.b;
    } else {
      return i;
    }
  }
}

int VectorProgram::polynomial(int x, std::span<const double> c) {
  const size_t n = c.size();
  if (n <= kLongPolynomial) {
    int p = multiply_add(c[n - 2], x, c[n - 1]);
    for (size_t k = n - 2; k-- > 0;) p = add(mul(p, x), c[k]);
    return p;
  }
  // A product with a slice and a sum with a number are two instructions, a multiple of a slice only one.
  const int x2 = mul(x, x), x3 = mul(x2, copy(x));
  size_t k = (n - 1) / 3 * 3;
  int p = scalar(c[k]);
  const auto rest = [&](size_t from) {
    if (from + 2 < n) p = multiply_add(p, x2, c[from + 2]);
    if (from + 1 < n) p = multiply_add(p, x, c[from + 1]);
  };
  rest(k);
  while (k >= 3) {
    k -= 3;
    const bool number = is_number(p);
    p = number ? multiply_add(c[k], x3, node(p).value) : mul(p, x3);
    rest(k);
    if (!number) p = add(p, c[k]);
  }
  return p;
}

float VectorProgram::value_at(int i, int at, float v) const {
  if (i == at) return v;
  const VectorNode& n = node(i);
  const auto value = [&](int o) { return value_at(o, at, v); };
  const auto bits = [&](int o) { return std::bit_cast<uint32_t>(value(o)); };
  const auto with_upper = [](uint32_t word, uint32_t upper) {
    return std::bit_cast<float>((upper << 16) | (word & 0xffff));
  };
  switch (n.kind) {
    case VectorKind::scalar:
      return float(n.value);
    case VectorKind::multiply_add:
      return std::fma(value(n.b), value(n.c), value(n.a));
    case VectorKind::copy:
      return value(n.a);
    case VectorKind::whole:
      return std::bit_cast<float>(bits(n.a) & ~0x7fU);
    case VectorKind::raise:
      return with_upper(bits(n.a), (bits(n.a) >> 16) + (bits(n.b) & 0xffff));
    case VectorKind::inverse:
      return with_upper(bits(n.a), kInverse - (bits(n.a) >> 16));
    case VectorKind::negative:
      return std::bit_cast<float>(std::signbit(value(n.a)) ? ~0U : 0U);
    case VectorKind::scaled:
      return numerics::scale(value(n.a), n.index);
    case VectorKind::mantissa:
      return numerics::norm(value(n.a));
    case VectorKind::opposite:
    case VectorKind::inverse_power:
    case VectorKind::finite:
    case VectorKind::root:
    case VectorKind::exponent:
    case VectorKind::middle:
      return by_upper_half(n, bits(n.a));
    case VectorKind::both:
      return std::bit_cast<float>(bits(n.a) & bits(n.b));
    case VectorKind::differ:
      return std::bit_cast<float>(bits(n.a) ^ bits(n.b));
    default:
      break;
  }
  const auto result = folded(n.kind, value(n.a), n.b >= 0 ? value(n.b) : 0);
  CS_CHECK(result.has_value(), "a node of one slice");
  return numerics::canonical(float(*result));
}

std::vector<int> VectorProgram::uses(std::span<const int> keep) const {
  std::vector<int> count(nodes.size(), 0);
  for (int k : keep) ++count[size_t(k)];
  for (size_t i = nodes.size(); i-- > 0;) {
    if (count[i] == 0) continue;
    for (int o : {nodes[i].a, nodes[i].b, nodes[i].c}) {
      if (o >= 0) ++count[size_t(o)];
    }
  }
  return count;
}

void VectorProgram::fuse(std::span<const int> keep) {
  const std::vector<int> count = uses(keep);
  for (size_t i = 0; i < count.size(); ++i) {  // numbers are added behind
    const VectorNode n = nodes[i];
    if (count[i] == 0 || (n.kind != VectorKind::add && n.kind != VectorKind::sub)) continue;
    for (bool second : {true, false}) {
      const int product = second ? n.b : n.a, other = second ? n.a : n.b;
      if (node(other).kind == VectorKind::scalar && node(other).value == kToWhole) continue;
      const VectorNode p = node(product);
      if (p.kind != VectorKind::mul || count[size_t(product)] != 1 || product == other) continue;
      const bool first_number = is_number(p.a);
      if (!first_number && !is_number(p.b)) continue;
      int factor = first_number ? p.a : p.b, addend = other;
      if (n.kind == VectorKind::sub) {
        int& turned = second ? factor : addend;
        if (node(turned).kind != VectorKind::scalar) continue;
        turned = scalar(-node(turned).value);
      }
      nodes[i] = {.kind = VectorKind::multiply_add, .a = addend, .b = first_number ? p.b : p.a, .c = factor};
      break;
    }
  }
}

}  // namespace cs::autogen
