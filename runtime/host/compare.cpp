// Element by element in double; the worst difference and the first one that breaks the rule are kept.
#include "runtime/host/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace cs {
namespace {

// Largest finite value of the format that computed the result.
double format_max(const std::string& dtype) {
  if (dtype == "fp16") return 65504.0;
  return 3.4028234663852886e38;  // bf16 has the exponents of fp32; its largest value is within 0.4 %
}

std::string index_text(const ops::Shape& shape, int64_t flat) {
  std::string out;
  for (size_t d = shape.size(); d-- > 0;) {
    out = fmt::format("{}{}{}", flat % shape[d], out.empty() ? "" : ", ", out);
    flat /= shape[d];
  }
  return "[" + out + "]";
}

// Special values must match in place; returns true if this element is settled (nothing finite to compare).
bool special(double out, double expected, double limit, bool& wrong) {
  if (std::isnan(expected) || std::isinf(expected)) {
    wrong = std::isnan(expected) ? !std::isnan(out) : out != expected;
    return true;
  }
  if (std::abs(expected) > limit) {
    wrong = out != std::copysign(INFINITY, expected);
    return true;
  }
  wrong = !std::isfinite(out);
  return wrong;
}

// What an output is held to: its own type if that has 16 bits, else the program's.
std::string precision_of(const ops::TensorType& output, const std::string& program) {
  if (output.dtype == DataType::f16) return "fp16";
  return output.dtype == DataType::bf16 ? "bf16" : program;
}

void compare_tensor(const NamedArray& out, const NamedArray& expected, const std::string& dtype,
                    double tolerance, CheckResult& r) {
  const bool exact = !data_type_is_float(expected.tensor.type.dtype);
  const double limit = format_max(dtype);
  const int64_t n = expected.tensor.elements();
  double scale = 0;
  for (int64_t i = 0; i < n; ++i) {
    const double e = std::abs(expected.tensor.get(i));
    if (std::isfinite(e) && e <= limit) scale = std::max(scale, e);
  }
  for (int64_t i = 0; i < n; ++i) {
    const double o = out.tensor.get(i), e = expected.tensor.get(i);
    bool wrong = false;
    if (exact) {
      wrong = out.tensor.get_int(i) != expected.tensor.get_int(i);
    } else if (!special(o, e, limit, wrong)) {
      const double difference = std::abs(o - e);
      r.max_abs = std::max(r.max_abs, difference);
      if (scale > 0) r.max_rel = std::max(r.max_rel, difference / scale);
      wrong = difference > tolerance * scale;
    }
    if (!wrong) continue;
    r.ok = false;
    if (r.mismatch.empty())
      r.mismatch = fmt::format("output '{}' at {}: {:.9g}, expected {:.9g} (largest expected {:.6g})",
                               expected.name, index_text(expected.tensor.type.shape, i), o, e, scale);
  }
}

// Equal up to dimensions of 1: [4, 10] and [4, 1, 10] hold the same elements in the same order.
bool same_extents(const ops::Shape& a, const ops::Shape& b) {
  ops::Shape x, y;
  for (const int64_t n : a)
    if (n != 1) x.push_back(n);
  for (const int64_t n : b)
    if (n != 1) y.push_back(n);
  return x == y;
}

}  // namespace

double default_tolerance(const std::string& dtype) {
  return dtype == "fp16" || dtype == "bf16" ? 2e-2 : 1e-4;
}

CheckResult compare_outputs(const std::vector<NamedArray>& outputs, const std::vector<NamedArray>& expected,
                            const std::string& dtype, double tighten) {
  CheckResult r;
  const auto tolerance_of = [&](const std::string& precision) {
    const double most = default_tolerance(precision);
    return tighten > 0 ? std::min(tighten, most) : most;
  };
  r.tolerance = tolerance_of(dtype);
  const auto fail = [&](const std::string& why) {
    r.ok = false;
    if (r.mismatch.empty()) r.mismatch = why;
  };
  for (const NamedArray& e : expected) {
    const NamedArray* o = find_array(outputs, e.name);
    if (o == nullptr) {
      fail("the program has no output '" + e.name + "'");
    } else if (!same_extents(o->tensor.type.shape, e.tensor.type.shape)) {
      fail(fmt::format("output '{}' is {}, expected {}", e.name, ops::type_text(o->tensor.type),
                       ops::type_text(e.tensor.type)));
    } else {
      ++r.tensors;
      NamedArray expected_bits = e;  // numpy has no bfloat16: its bits come as u16
      if (o->tensor.type.dtype == DataType::bf16 && e.tensor.type.dtype == DataType::u16)
        expected_bits.tensor.type.dtype = DataType::bf16;
      const std::string precision = precision_of(o->tensor.type, dtype);
      const double tolerance = tolerance_of(precision);
      r.tolerance = std::max(r.tolerance, tolerance);
      compare_tensor(*o, expected_bits, precision, tolerance, r);
    }
  }
  if (expected.empty()) fail("there is nothing to compare with");
  return r;
}

}  // namespace cs
