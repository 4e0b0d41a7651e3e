// One row per golden operation. Operands of the operation are inputs at run time; weights, biases and tables
// constants.
#include "tools/cs-regress/golden_ops.h"

#include <cmath>
#include <limits>
#include <span>

namespace cs::golden {
namespace {

using G = CaseGraph;
using Ints = std::vector<int64_t>;

// ---- pieces

ValueId x(G& g) { return g.input("x"); }
ValueId gate(G& g, const char* row) { return g.op("mul", {g.input("a"), g.op(row, {g.input("b")})}); }

template <int N>
struct RowName {
  char text[N]{};
  constexpr RowName(const char (&s)[N]) {
    for (int i = 0; i < N; ++i) text[i] = s[i];
  }
};
template <RowName row>
ValueId pair_of(G& g) {
  return g.op(row.text, {g.input("a"), g.input("b")});
}
template <RowName row>
ValueId along_axis(G& g) {
  g.ignore("note");
  return g.op(row.text, {x(g)}, {{"axis", g.integer("dim", -1)}});
}
template <RowName row>
ValueId reduced(G& g) {
  return g.op(row.text, {x(g)}, {{"axes", Ints{g.integer("dim", -1)}}, {"keepdims", int64_t(0)}});
}

ValueId mean_over(G& g, ValueId v, const Ints& axes, bool keep = true) {
  return g.op("reduce_mean", {v}, {{"axes", axes}, {"keepdims", int64_t(keep)}});
}
ValueId reshaped(G& g, ValueId v, Ints shape) { return g.op("reshape", {v}, {{"shape", std::move(shape)}}); }
ValueId permuted(G& g, ValueId v, Ints perm) { return g.op("transpose", {v}, {{"perm", std::move(perm)}}); }

// x / sqrt(mean(x²) + eps) of a value with mean 0.
ValueId scaled_to_unit(G& g, ValueId centred, const Ints& axes, double eps) {
  const ValueId variance = mean_over(g, g.op("square", {centred}), axes);
  return g.op("div", {centred, g.op("sqrt", {g.op("add", {variance, g.number(eps)})})});
}
ValueId normalised(G& g, ValueId v, const Ints& axes, double eps) {
  return scaled_to_unit(g, g.op("sub", {v, mean_over(g, v, axes)}), axes, eps);
}
// v · weight + bias, both one value per channel of NCHW.
ValueId per_channel(G& g, ValueId v) {
  for (const auto& [name, row] : {std::pair{"weight", "mul"}, std::pair{"bias", "add"}})
    if (g.has(name)) v = g.op(row, {v, reshaped(g, g.parameter(name), {-1, 1, 1})});
  return v;
}
ValueId affine(G& g, ValueId v, ValueId weight, ValueId bias) {
  if (weight.valid()) v = g.op("mul", {v, weight});
  return bias.valid() ? g.op("add", {v, bias}) : v;
}
ValueId linear(G& g, ValueId v, ValueId weight, ValueId bias) {
  if (g.rank(v) == 2) return g.op("gemm", {v, weight, bias}, {{"trans_b", int64_t(1)}});
  const ValueId y = g.op("matmul", {v, permuted(g, weight, {1, 0})});
  return bias.valid() ? g.op("add", {y, bias}) : y;
}

// softmax(q·kᵀ·scale [+ mask])·v on (B, H, T, D).
ValueId attention(G& g, ValueId q, ValueId k, ValueId v, double scale, bool causal) {
  ValueId scores = g.op("matmul", {q, permuted(g, k, {0, 1, 3, 2})});
  scores = g.op("mul", {scores, g.number(scale)});
  if (causal) {
    const int64_t rows = g.extent(q, 2), columns = g.extent(k, 2);
    std::vector<double> mask(size_t(rows * columns), 0);
    for (int64_t t = 0; t < rows; ++t)
      for (int64_t s = t + 1; s < columns; ++s)
        mask[size_t(t * columns + s)] = -std::numeric_limits<double>::infinity();
    scores = g.op("add", {scores, g.constant({rows, columns}, mask)});
  }
  return g.op("matmul", {g.op("softmax", {scores}, {{"axis", int64_t(-1)}}), v});
}

Attrs window(G& g) {
  const int64_t kernel = g.integer("kernel", 2), stride = g.integer("stride", kernel),
                pad = g.integer("padding", 0);
  return {{"kernel_shape", Ints{kernel, kernel}},
          {"strides", Ints{stride, stride}},
          {"pads", Ints{pad, pad, pad, pad}}};
}

// ---- operations that are more than one node

ValueId softplus(G& g) {
  const double beta = g.real("beta", 1), threshold = g.real("threshold", 20);
  const ValueId scaled = beta == 1 ? x(g) : g.op("mul", {x(g), g.number(beta)});
  ValueId soft = g.op("softplus", {scaled});
  if (beta != 1) soft = g.op("div", {soft, g.number(beta)});
  return g.op("where", {g.op("greater", {scaled, g.number(threshold)}), x(g), soft});
}

ValueId threshold(G& g) {
  const ValueId below =
      g.op("less_or_equal", {x(g), g.number(g.real("threshold", 0))});  // false for NaN, which stays
  return g.op("where", {below, g.number(g.real("value", 0)), x(g)});
}

ValueId clip(G& g, const char* row, const char* low, const char* high) {
  return g.op(row, {x(g)}, {{"min", g.real(low, -1)}, {"max", g.real(high, 1)}});
}

ValueId variance(G& g) {
  if (g.flag("unbiased", false)) g.fail("variance divided by n - 1 is not part of the format");
  const Ints axes{g.integer("dim", -1)};
  const ValueId centred = g.op("sub", {x(g), mean_over(g, x(g), axes)});
  return mean_over(g, g.op("square", {centred}), axes, false);
}

ValueId layer_norm(G& g) {
  const int64_t axes = g.integer("axes", 1);
  Ints last;
  for (int64_t a = axes; a >= 1; --a) last.push_back(-a);
  const ValueId y = normalised(g, x(g), last, g.real("eps", 1e-5));
  if (!g.flag("affine", true)) return y;
  return affine(g, y, g.optional_parameter("weight"), g.optional_parameter("bias"));
}

ValueId rms_norm(G& g) {
  return affine(g, scaled_to_unit(g, x(g), {-1}, g.real("eps", 1e-5)), g.optional_parameter("weight"), {});
}

ValueId batch_norm_eval(G& g) {
  const auto channel = [&](const char* name) { return reshaped(g, g.parameter(name), {-1, 1, 1}); };
  const ValueId deviation = g.op("sqrt", {g.op("add", {channel("var"), g.number(g.real("eps", 1e-5))})});
  return per_channel(g, g.op("div", {g.op("sub", {x(g), channel("mean")}), deviation}));
}

ValueId group_norm(G& g) {
  const int64_t n = g.extent(x(g), 0), c = g.extent(x(g), 1), h = g.extent(x(g), 2), w = g.extent(x(g), 3);
  const int64_t groups = g.integer("groups", 1);
  const ValueId split = reshaped(g, x(g), {n, groups, -1});
  return per_channel(g, reshaped(g, normalised(g, split, {-1}, g.real("eps", 1e-5)), {n, c, h, w}));
}

ValueId average_pool(G& g) {
  Attrs attrs = window(g);
  attrs.push_back({"count_include_pad", int64_t(g.flag("count_include_pad", true))});
  return g.op("average_pool", {x(g)}, attrs);
}

ValueId conv(G& g) {
  const int64_t stride = g.integer("stride", 1), pad = g.integer("padding", 0),
                dilation = g.integer("dilation", 1);
  const ValueId w = g.parameter("weight");
  return g.op("conv", {x(g), w, g.optional_parameter("bias")},
              {{"kernel_shape", Ints{g.extent(w, 2), g.extent(w, 3)}},
               {"strides", Ints{stride, stride}},
               {"pads", Ints{pad, pad, pad, pad}},
               {"dilations", Ints{dilation, dilation}},
               {"group", g.integer("groups", 1)}});
}

ValueId golden_attention(G& g) {
  const ValueId q = g.input("q");
  const double scale = g.real("scale", 1 / std::sqrt(double(g.extent(q, 3))));
  return attention(g, q, g.input("k"), g.input("v"), scale, g.flag("causal", false));
}

// [x1·cos - x2·sin, x2·cos + x1·sin], angle = t · base^(-2i/D), x1 and x2 the halves of the last axis.
ValueId rope(G& g) {
  const int64_t steps = g.extent(x(g), 1), d = g.extent(x(g), 3), half = d / 2;
  const double base = g.real("base", 10000);
  std::vector<double> cosines, sines;
  for (int64_t t = 0; t < steps; ++t)
    for (int64_t i = 0; i < half; ++i) {
      const double angle = double(t) * std::pow(base, -2.0 * double(i) / double(d));
      cosines.push_back(std::cos(angle));
      sines.push_back(std::sin(angle));
    }
  // Angles are f32 whatever the data is: rounded to 16 bits they would turn by other angles.
  const ValueId c = g.wide_constant({steps, 1, half}, cosines), s = g.wide_constant({steps, 1, half}, sines);
  const auto part = [&](int64_t from, int64_t to) {
    const ValueId half_of_x = g.op("slice", {x(g)}, {{"starts", Ints{from}}, {"ends", Ints{to}}, {"axes", Ints{3}}});
    return g.cast(half_of_x, g.wide());
  };
  const ValueId x1 = part(0, half), x2 = part(half, d);
  const ValueId y1 = g.op("sub", {g.op("mul", {x1, c}), g.op("mul", {x2, s})});
  const ValueId y2 = g.op("add", {g.op("mul", {x2, c}), g.op("mul", {x1, s})});
  return g.cast(g.op("concat", {y1, y2}, {{"axis", int64_t(3)}}), g.dtype());
}

ValueId gpt2_block(G& g) {
  const int64_t batch = g.extent(x(g), 0), steps = g.extent(x(g), 1), width = g.extent(x(g), 2);
  const int64_t heads = g.integer("heads", 1), depth = width / std::max<int64_t>(1, heads);
  const double eps = g.real("eps", 1e-5);
  const bool causal = g.flag("causal", true);
  if (!g.flag("pre_ln", true)) g.fail("a block that normalises after its parts is not part of the format");
  const std::string act = g.text("act", "gelu");
  if (act != "gelu" && act != "leaky_relu") g.fail("activation '" + act + "' is not part of the format");
  const auto norm = [&](ValueId v, const char* w, const char* b) {
    return affine(g, normalised(g, v, {-1}, eps), g.parameter(w), g.parameter(b));
  };
  const ValueId h = norm(x(g), "ln1_w", "ln1_b");
  const auto head = [&](int64_t part) {
    const ValueId p = linear(g, h, g.parameter_rows("wqkv", part, 3), g.parameter_rows("bqkv", part, 3));
    return permuted(g, reshaped(g, p, {batch, steps, heads, depth}), {0, 2, 1, 3});
  };
  const ValueId mixed = attention(g, head(0), head(1), head(2), 1 / std::sqrt(double(depth)), causal);
  const ValueId joined = reshaped(g, permuted(g, mixed, {0, 2, 1, 3}), {batch, steps, width});
  const ValueId middle = g.op("add", {x(g), linear(g, joined, g.parameter("wo"), g.parameter("bo"))});
  const ValueId up = linear(g, norm(middle, "ln2_w", "ln2_b"), g.parameter("w1"), g.parameter("b1"));
  const ValueId active = act == "gelu" ? g.op("gelu", {up}) : g.op("leaky_relu", {up}, {{"alpha", 0.01}});
  return g.op("add", {middle, linear(g, active, g.parameter("w2"), g.parameter("b2"))});
}

constexpr Accuracy kElement = Accuracy::elementwise, kProducts = Accuracy::products, kNorm = Accuracy::norm;

// clang-format off
constexpr Operation kTable[] = {
    {"relu", kElement, nullptr, "relu"},
    {"relu6", kElement, [](G& g) { return g.op("hard_tanh", {x(g)}, {{"min", 0.0}, {"max", 6.0}}); }},
    {"leaky_relu", kElement,
     [](G& g) { return g.op("leaky_relu", {x(g)}, {{"alpha", g.real("negative_slope", 0.01)}}); }},
    {"elu", kElement, [](G& g) { return g.op("elu", {x(g)}, {{"alpha", g.real("alpha", 1)}}); }},
    {"selu", kElement, nullptr, "selu"},
    {"celu", kElement, [](G& g) { return g.op("celu", {x(g)}, {{"alpha", g.real("alpha", 1)}}); }},
    {"gelu", kElement, nullptr, "gelu"},
    {"gelu_tanh", kElement, nullptr, "gelu_tanh"},
    {"quick_gelu", kElement, [](G& g) { return g.op("swish", {x(g)}, {{"alpha", 1.702}}); }},
    {"squared_gelu", kElement, [](G& g) { return g.op("square", {g.op("gelu", {x(g)})}); }},
    {"squared_relu", kElement, [](G& g) { return g.op("square", {g.op("relu", {x(g)})}); }},
    {"silu", kElement, nullptr, "swish"},
    {"mish", kElement, nullptr, "mish"},
    {"hardswish", kElement, nullptr, "hard_swish"},
    {"hardsigmoid", kElement, [](G& g) { return g.op("hard_sigmoid", {x(g)}, {{"alpha", 1.0 / 6}}); }},
    {"hardtanh", kElement, [](G& g) { return clip(g, "hard_tanh", "min_val", "max_val"); }},
    {"tanh", kElement, nullptr, "tanh"},
    {"sigmoid", kElement, nullptr, "sigmoid"},
    {"logsigmoid", kElement, nullptr, "log_sigmoid"},
    {"softplus", kElement, softplus},
    {"softsign", kElement, nullptr, "softsign"},
    {"tanhshrink", kElement, nullptr, "tanh_shrink"},
    {"hardshrink", kElement, [](G& g) { return g.op("shrink", {x(g)}, {{"lambd", g.real("lambd", 0.5)}}); }},
    {"softshrink", kElement, [](G& g) {
       const double lambd = g.real("lambd", 0.5);
       return g.op("shrink", {x(g)}, {{"lambd", lambd}, {"bias", lambd}});
     }, {}, true},
    {"threshold", kElement, threshold},
    {"exp", kElement, nullptr, "exp"},
    {"expm1", kElement, nullptr, "expm1"},
    {"erf", kElement, nullptr, "erf"},
    {"sin", kElement, nullptr, "sin"},
    {"cos", kElement, nullptr, "cos"},
    {"abs", kElement, nullptr, "abs"},
    {"neg", kElement, nullptr, "neg"},
    {"square", kElement, nullptr, "square"},
    {"sign", kElement, nullptr, "sign"},
    {"floor", kElement, nullptr, "floor"},
    {"clamp", kElement, [](G& g) { return clip(g, "clip", "min", "max"); }},
    {"pow", kElement, [](G& g) { return g.op("pow", {x(g), g.number(g.real("exponent", 2))}); }},
    {"log", kElement, nullptr, "log"},
    {"log1p", kElement, nullptr, "log1p"},
    {"sqrt", kElement, nullptr, "sqrt"},
    {"rsqrt", kElement, nullptr, "rsqrt"},
    {"reciprocal", kElement, nullptr, "reciprocal"},
    {"add", kElement, pair_of<"add">},
    {"sub", kElement, pair_of<"sub">},
    {"mul", kElement, pair_of<"mul">},
    {"div", kElement, pair_of<"div">},
    {"maximum", kElement, pair_of<"max">},
    {"minimum", kElement, pair_of<"min">},
    {"liglu", kElement, pair_of<"mul">},
    {"geglu", kElement, [](G& g) { return gate(g, "gelu"); }},
    {"reglu", kElement, [](G& g) { return gate(g, "relu"); }},
    {"swiglu", kElement, [](G& g) { return gate(g, "swish"); }},
    {"where", kElement, [](G& g) { return g.op("where", {g.condition("cond"), g.input("a"), g.input("b")}); }},
    {"softmax", kNorm, along_axis<"softmax">},
    {"log_softmax", kNorm, along_axis<"log_softmax">},
    {"softmin", kNorm, [](G& g) {
       g.ignore("note");
       return g.op("softmax", {g.op("neg", {x(g)})}, {{"axis", g.integer("dim", -1)}});
     }},
    {"logsumexp", kNorm, reduced<"reduce_log_sum_exp">},
    {"sum", kProducts, reduced<"reduce_sum">},
    {"mean", kProducts, reduced<"reduce_mean">},
    {"amax", kProducts, reduced<"reduce_max">},
    {"amin", kProducts, reduced<"reduce_min">},
    {"prod", kProducts, reduced<"reduce_prod">},
    {"l2norm", kProducts, reduced<"reduce_l2">},
    {"cumsum", kProducts, along_axis<"cum_sum">},
    {"var", kProducts, variance},
    {"layer_norm", kNorm, layer_norm},
    {"rms_norm", kNorm, rms_norm},
    {"batch_norm_train", kNorm,
     [](G& g) { return per_channel(g, normalised(g, x(g), {0, 2, 3}, g.real("eps", 1e-5))); }},
    {"batch_norm_eval", kNorm, batch_norm_eval},
    {"group_norm", kNorm, group_norm},
    {"instance_norm", kNorm,
     [](G& g) { return per_channel(g, normalised(g, x(g), {2, 3}, g.real("eps", 1e-5))); }},
    {"max_pool2d", kProducts, [](G& g) { return g.op("max_pool", {x(g)}, window(g)); }},
    {"avg_pool2d", kProducts, average_pool},
    {"global_avg_pool2d", kProducts, [](G& g) { return mean_over(g, x(g), {2, 3}, false); }},
    {"conv2d", kProducts, conv},
    {"matmul", kProducts, pair_of<"matmul">},
    {"bmm", kProducts, pair_of<"matmul">},
    {"gemv", kProducts, [](G& g) { return g.op("matmul", {g.input("a"), x(g)}); }},
    {"linear", kProducts,
     [](G& g) { return linear(g, x(g), g.parameter("weight"), g.optional_parameter("bias")); }},
    {"attention", Accuracy::transformer, golden_attention},
    {"rope_neox", kProducts, rope},
    {"embedding", kElement,
     [](G& g) { return g.op("gather", {g.parameter("table"), g.input("ids")}, {{"axis", int64_t(0)}}); }},
    {"gpt2_block", Accuracy::transformer, gpt2_block},
};
// clang-format on

}  // namespace

const Operation* find_operation(std::string_view name) {
  for (const Operation& o : kTable)
    if (o.name == name) return &o;
  return nullptr;
}

bool build_case(const Operation& operation, CaseGraph& g, bool wide_between) {
  const auto build = [&] {
    return operation.build != nullptr ? operation.build(g) : g.op(std::string(operation.row), {g.input("x")});
  };
  const DataType own = g.dtype();
  if (own == g.wide()) {
    const ValueId result = build();
    return g.finish(result, result);
  }
  const ValueId narrow = wide_between ? ValueId{} : build();
  g.widen();
  const ValueId wide = build();
  return g.finish(wide_between ? g.cast(wide, own) : narrow, wide);
}

}  // namespace cs::golden
