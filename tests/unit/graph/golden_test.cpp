// Host evaluation against the golden vectors: every case whose operation has a row (or is a composition of
// rows).
//
// Tolerances (float32 data, float64 expectations): element-wise 4 ulp, softmax 1e-5, sums and products
// k * eps * sum|a||b|, bounded here by k * eps * the largest partial sum; `f32_err` of the case is the floor.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include <nlohmann/json.hpp>

#include "runtime/ops/ops.h"

namespace cs::ops {
namespace {

using Json = nlohmann::json;

std::string slurp(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream s;
  s << in.rdbuf();
  return s.str();
}

struct Golden {
  Json manifest;
  std::map<std::string, std::string> files;
};

Golden load() {
  const std::string dir = std::string(CS_SOURCE_DIR) + "/tests/golden/ops/";
  Golden g{Json::parse(slurp(dir + "manifest.json")), {}};
  EXPECT_EQ(g.manifest.at("format"), "golden-v1");
  for (const auto& [name, info] : g.manifest.at("files").items()) {
    g.files[name] = slurp(dir + name);
    EXPECT_EQ(g.files[name].size(), info.at("nbytes").get<size_t>());
  }
  return g;
}

Tensor tensor(const Golden& g, const Json& c, const std::string& name) {
  const Json& t = c.at("tensors").at(name);
  const std::map<std::string, DataType> types = {
      {"f32", DataType::f32}, {"f64", DataType::f64}, {"i64", DataType::i64}};
  Tensor out(TensorType{types.at(t.at("dtype")), t.at("shape").get<Shape>()});
  EXPECT_EQ(out.bytes.size(), t.at("nbytes").get<size_t>());
  std::memcpy(out.bytes.data(), g.files.at(c.at("file")).data() + t.at("offset").get<size_t>(),
              out.bytes.size());
  return out;
}

// How a golden operation is said in rows: a row, and how its options become attributes.
struct Translation {
  std::string op;
  std::map<std::string, std::string> options;         // golden option -> attribute
  std::vector<std::pair<std::string, double>> fixed;  // attributes with the golden default
};

const std::map<std::string, Translation>& translations() {
  static const std::map<std::string, Translation> table = {
      {"relu", {"relu", {}, {}}},
      {"relu6", {"clip", {}, {{"min", 0}, {"max", 6}}}},
      {"leaky_relu", {"leaky_relu", {{"negative_slope", "alpha"}}, {}}},
      {"elu", {"elu", {{"alpha", "alpha"}}, {}}},
      {"selu", {"selu", {}, {}}},
      {"celu", {"celu", {{"alpha", "alpha"}}, {}}},
      {"gelu", {"gelu", {}, {}}},
      {"gelu_tanh", {"gelu_tanh", {}, {}}},
      {"quick_gelu", {"swish", {}, {{"alpha", 1.702}}}},
      {"silu", {"swish", {}, {}}},
      {"mish", {"mish", {}, {}}},
      {"hardswish", {"hard_swish", {}, {}}},
      {"hardsigmoid", {"hard_sigmoid", {}, {{"alpha", 1.0 / 6}}}},
      {"hardtanh", {"clip", {{"min_val", "min"}, {"max_val", "max"}}, {{"min", -1}, {"max", 1}}}},
      {"tanh", {"tanh", {}, {}}},
      {"sigmoid", {"sigmoid", {}, {}}},
      {"logsigmoid", {"log_sigmoid", {}, {}}},
      {"softsign", {"softsign", {}, {}}},
      {"hardshrink", {"shrink", {{"lambd", "lambd"}}, {}}},
      {"exp", {"exp", {}, {}}},
      {"expm1", {"expm1", {}, {}}},
      {"erf", {"erf", {}, {}}},
      {"sin", {"sin", {}, {}}},
      {"cos", {"cos", {}, {}}},
      {"abs", {"abs", {}, {}}},
      {"neg", {"neg", {}, {}}},
      {"square", {"square", {}, {}}},
      {"sign", {"sign", {}, {}}},
      {"floor", {"floor", {}, {}}},
      {"clamp", {"clip", {{"min", "min"}, {"max", "max"}}, {{"min", -1}, {"max", 1}}}},
      {"log", {"log", {}, {}}},
      {"log1p", {"log1p", {}, {}}},
      {"sqrt", {"sqrt", {}, {}}},
      {"rsqrt", {"rsqrt", {}, {}}},
      {"reciprocal", {"reciprocal", {}, {}}},
      {"add", {"add", {}, {}}},
      {"sub", {"sub", {}, {}}},
      {"mul", {"mul", {}, {}}},
      {"div", {"div", {}, {}}},
      {"maximum", {"max", {}, {}}},
      {"minimum", {"min", {}, {}}},
      {"where", {"where", {}, {}}},
      {"softmax", {"softmax", {{"dim", "axis"}}, {}}},
      {"log_softmax", {"log_softmax", {{"dim", "axis"}}, {}}},
      {"sum", {"reduce_sum", {{"dim", "axes"}}, {{"keepdims", 0}}}},
      {"mean", {"reduce_mean", {{"dim", "axes"}}, {{"keepdims", 0}}}},
      {"amax", {"reduce_max", {{"dim", "axes"}}, {{"keepdims", 0}}}},
      {"amin", {"reduce_min", {{"dim", "axes"}}, {{"keepdims", 0}}}},
      {"prod", {"reduce_prod", {{"dim", "axes"}}, {{"keepdims", 0}}}},
      {"l2norm", {"reduce_l2", {{"dim", "axes"}}, {{"keepdims", 0}}}},
      {"matmul", {"matmul", {}, {}}},
      {"bmm", {"matmul", {}, {}}},
      {"gemv", {"matmul", {}, {}}},
      {"linear", {"gemm", {}, {{"trans_b", 1}}}},
  };
  return table;
}

void set_number(const OpDef& row, Attrs& attrs, const std::string& name, const Json& value) {
  for (const AttrDef& d : row.attrs) {
    if (d.name != name) continue;
    if (d.kind == AttrKind::real) {
      set_attr(attrs, name, value.get<double>());
    } else {
      set_attr(attrs, name, value.get<int64_t>());
    }
  }
}

// Relative tolerance and absolute tolerance in units of the largest expected value.
std::pair<double, double> tolerance(const OpDef& row, const std::vector<Tensor>& in) {
  const double eps = 1.1920929e-7;
  if (row.kind == OpKind::elementwise) return {4 * eps / 2, 0};
  if (row.kind == OpKind::compound && row.name != "reduce_l2") return {1e-5, 1e-7};
  double k = double(in[0].type.shape.empty() ? 1 : in[0].type.shape.back());
  return {eps, k * eps};
}

void compare(const Json& c, const OpDef& row, const std::vector<Tensor>& in, const Tensor& got,
             const Tensor& want) {
  ASSERT_EQ(got.type.shape, want.type.shape) << c.at("id");
  auto [relative, scaled] = tolerance(row, in);
  double largest = 0, floor = c.at("f32_err").at("output")[0].get<double>();
  for (int64_t i = 0; i < want.elements(); ++i) {
    if (std::isfinite(want.get(i))) largest = std::max(largest, std::fabs(want.get(i)));
  }
  for (int64_t i = 0; i < want.elements(); ++i) {
    double w = want.get(i), g = got.get(i);
    if (std::isnan(w)) {
      EXPECT_TRUE(std::isnan(g)) << c.at("id") << " " << row.name << " [" << i << "]";
    } else if (std::isinf(float(w))) {
      EXPECT_EQ(g, double(float(w))) << c.at("id") << " " << row.name << " [" << i << "]";
    } else {
      double allowed = std::max({std::fabs(w) * relative, largest * scaled, floor, 1e-45});
      EXPECT_LE(std::fabs(g - w), allowed) << c.at("id") << " " << row.name << " [" << i << "] want " << w;
    }
  }
}

TEST(Golden, HostEvaluationAgreesWithEveryCaseThatHasARow) {
  Golden g = load();
  std::set<std::string> done;
  for (const Json& c : g.manifest.at("cases")) {
    auto it = translations().find(c.at("op"));
    if (it == translations().end()) continue;
    const OpDef* row = find_op(it->second.op);
    ASSERT_NE(row, nullptr) << it->second.op;
    Attrs attrs;
    for (const auto& [name, value] : it->second.fixed) set_number(*row, attrs, name, value);
    for (const auto& [option, value] : c.at("options").items()) {
      auto name = it->second.options.find(option);
      if (name != it->second.options.end()) set_number(*row, attrs, name->second, value);
    }
    std::vector<Tensor> in, out;
    for (const char* name : {"cond", "x", "a", "b", "weight", "bias"}) {
      if (c.at("op") == "gemv" && std::string(name) == "x") continue;
      if (c.at("tensors").contains(name)) in.push_back(tensor(g, c, name));
    }
    if (c.at("op") == "gemv") in.push_back(tensor(g, c, "x"));
    if (row->name == "gemm" && in[0].type.rank() != 2) continue;
    Diag diag;
    ASSERT_TRUE(evaluate(*row, attrs, in, out, diag)) << c.at("id") << diag.to_string();
    compare(c, *row, in, out[0], tensor(g, c, "output"));
    done.insert(c.at("op"));
  }
  EXPECT_EQ(done.size(), translations().size()) << "an operation of the table has no case left";
}

TEST(Golden, PowTakesItsExponentAsAnOperand) {
  Golden g = load();
  int cases = 0;
  for (const Json& c : g.manifest.at("cases")) {
    if (c.at("op") != "pow") continue;
    Tensor x = tensor(g, c, "x");
    float exponent = c.at("options").value("exponent", 2.0F);
    std::vector<Tensor> out;
    Diag diag;
    ASSERT_TRUE(evaluate(*find_op("pow"), {}, {x, Tensor::from_floats({}, {exponent})}, out, diag));
    compare(c, *find_op("pow"), {x}, out[0], tensor(g, c, "output"));
    ++cases;
  }
  EXPECT_GT(cases, 0);
}

}  // namespace
}  // namespace cs::ops
