// Element by element in double.
#include "tools/cs-regress/golden_check.h"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <set>

namespace cs::golden {
namespace {

constexpr double kEps32 = 1.1920928955078125e-7;

struct Format {
  double largest;
  int mantissa, smallest;  // bits behind the point; exponent of the smallest subnormal
};
Format format_of(DataType dtype) {
  if (dtype == DataType::f16) return {65504.0, 10, -24};
  return {3.4028234663852886e38, 23, -149};
}

double unit_in_last_place(double value, const Format& f) {
  if (value == 0) return std::ldexp(1.0, f.smallest);
  return std::ldexp(1.0, std::max(f.smallest, std::ilogb(value) - f.mantissa));
}

double scale_of(const ops::Tensor& t, const Format& f) {
  double scale = 0;
  for (int64_t i = 0; i < t.elements(); ++i) {
    const double v = std::abs(t.get(i));
    if (v <= f.largest) scale = std::max(scale, v);
  }
  return scale;
}

std::set<graph::NodeId> leading_to(const graph::Graph& g, const std::string& output) {
  std::set<graph::NodeId> nodes;
  std::vector<graph::ValueId> open = {*g.find_value(output)};
  while (!open.empty()) {
    const graph::NodeId id = open.back().valid() ? g.value(open.back()).producer : graph::NodeId{};
    open.pop_back();
    if (!id.valid() || !nodes.insert(id).second) continue;
    open.insert(open.end(), g.node(id).inputs.begin(), g.node(id).inputs.end());
  }
  return nodes;
}

}  // namespace

std::string rule_text(Accuracy accuracy, DataType dtype) {
  const bool half = dtype == DataType::f16;
  switch (accuracy) {
    case Accuracy::elementwise:
      return half ? "2 ulp of fp16" : "4 ulp";
    case Accuracy::products:
      return half ? "k eps sum|a||b| + 1 ulp of fp16" : "k eps sum|a||b|";
    case Accuracy::norm:
      return half ? "rtol 2e-3" : "rtol 1e-5";
    case Accuracy::transformer:
      return half ? "1e-2 of scale" : "rtol 1e-4";
    case Accuracy::loss:
      return half ? "rtol 2e-3" : "rtol 1e-5 + 1e-6 of scale";
    case Accuracy::optimizer:
      return half ? "rtol 1e-6 + 1/2 ulp of fp16" : "rtol 1e-6";
  }
  return "";
}

Verdict check_output(const ops::Tensor& output, const ops::Tensor& expected, const Floor& floor,
                     Accuracy accuracy, DataType dtype, const std::vector<double>& magnitudes, double terms,
                     const std::vector<bool>& free_elements) {
  Verdict v;
  v.rule = rule_text(accuracy, dtype);
  if (output.type.shape != expected.type.shape) {
    v.ok = false;
    v.mismatch =
        "the output is " + ops::type_text(output.type) + ", expected " + ops::type_text(expected.type);
    return v;
  }
  const bool half = dtype == DataType::f16;
  const Format format = format_of(dtype);
  const double scale = scale_of(expected, format);
  const auto allowed = [&](int64_t i, double e) {
    const double ulp = unit_in_last_place(e, format);
    double own = 0;
    if (accuracy == Accuracy::elementwise) own = (half ? 2 : 4) * ulp;
    if (accuracy == Accuracy::products) {
      const double size = std::max(std::abs(e), magnitudes[size_t(i)]);
      own = terms * kEps32 * size + (half ? ulp : 0);
    }
    if (accuracy == Accuracy::norm) own = (half ? 2e-3 : 1e-5) * std::abs(e);
    if (accuracy == Accuracy::transformer) own = half ? 1e-2 * scale : 1e-4 * std::abs(e);
    if (accuracy == Accuracy::loss) own = half ? 2e-3 * std::abs(e) : 1e-5 * std::abs(e) + 1e-6 * scale;
    if (accuracy == Accuracy::optimizer)
      own = std::max(1e-6 * std::abs(e), floor.max_abs) + (half ? ulp / 2 : 0);
    return std::max({own, floor.max_abs, std::ldexp(1.0, format.smallest)});
  };
  const auto fail = [&](int64_t i, double o, double e, const std::string& why) {
    v.ok = false;
    if (v.mismatch.empty()) v.mismatch = fmt::format("element {}: {:.9g}, expected {:.9g}{}", i, o, e, why);
  };
  for (int64_t i = 0; i < expected.elements(); ++i) {
    if (!free_elements.empty() && free_elements[size_t(i)]) continue;
    const double o = output.get(i), e = expected.get(i);
    const bool expect_finite = std::isfinite(e) && std::abs(e) <= format.largest;
    if (!expect_finite || !std::isfinite(o)) {
      const double want = std::isfinite(e) && !expect_finite ? std::copysign(INFINITY, e) : e;
      const bool same = std::isnan(want) ? std::isnan(o) : o == want;
      if (!same && !(floor.nonfinite_differs && std::isfinite(o) != std::isfinite(want))) fail(i, o, e, "");
      continue;
    }
    const double difference = std::abs(o - e), tolerance = allowed(i, e);
    v.error = std::max(v.error, difference);
    v.used = std::max(v.used, difference / tolerance);
    if (difference > tolerance)
      fail(i, o, e, fmt::format(", off by {:.3g}, allowed {:.3g}", difference, tolerance));
  }
  return v;
}

std::optional<std::vector<double>> magnitudes_of(const CaseGraph& c, const std::string& output,
                                                 std::string& error) {
  const graph::Graph& g = c.graph;
  std::map<graph::ValueId, ops::Tensor> values;
  const auto absolute = [](const ops::Tensor& t) {
    if (!data_type_is_float(t.type.dtype)) return t;
    ops::Tensor out(ops::TensorType{DataType::f64, t.type.shape});
    for (int64_t i = 0; i < t.elements(); ++i) out.set(i, std::abs(t.get(i)));
    return out;
  };
  for (const NamedArray& a : c.inputs) values[*g.find_value(a.name)] = absolute(a.tensor);
  Diag diag;
  const std::set<graph::NodeId> needed = leading_to(g, output);
  for (const graph::NodeId id : g.topological()) {
    if (!needed.contains(id)) continue;
    const graph::Node& n = g.node(id);
    std::vector<const ops::Tensor*> operands;
    for (const graph::ValueId v : n.inputs) {
      if (v.valid() && g.constant_of(v) != nullptr) values.try_emplace(v, absolute(*g.constant_of(v)));
      operands.push_back(v.valid() ? &values.at(v) : nullptr);
    }
    const ops::OpDef& row = n.op == "sub"   ? *ops::find_op("add")
                            : n.op == "neg" ? *ops::find_op("abs")
                                            : g.op(id);
    Attrs attrs = n.attrs;
    if (n.op == "cast") ops::set_attr(attrs, "to", std::string("f64"));  // like everything else here
    std::vector<ops::Tensor> results;
    if (!ops::evaluate(row, attrs, operands, results, diag)) {
      error = diag.to_string();
      return std::nullopt;
    }
    for (size_t i = 0; i < n.outputs.size(); ++i) values[n.outputs[i]] = std::move(results[i]);
  }
  const ops::Tensor& out = values.at(*g.find_value(output));
  std::vector<double> magnitudes;
  for (int64_t i = 0; i < out.elements(); ++i) magnitudes.push_back(out.get(i));
  return magnitudes;
}

double terms_of(const graph::Graph& g, const std::string& output) {
  double terms = 1;
  for (const graph::NodeId id : leading_to(g, output)) {
    const ops::OpDef& row = g.op(id);
    const double elements = double(std::max<int64_t>(1, g.value(g.node(id).outputs.at(0)).type.elements()));
    if (row.kind == ops::OpKind::view || row.kind == ops::OpKind::movement) continue;
    if (row.kind == ops::OpKind::elementwise)
      terms += 1;
    else
      terms += double(g.flops(id)) / std::max(1.0, row.flops) / elements;
  }
  return terms;
}

}  // namespace cs::golden
