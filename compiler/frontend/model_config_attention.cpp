// Everything that depends on positions alone is a constant.
#include "compiler/frontend/model_config_attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

namespace cs::frontend {

namespace {

using Ints = std::vector<int64_t>;

// [1, T, heads·depth] -> [1, heads, T, depth]
ValueId split_heads(NetBuilder& b, const std::string& name, ValueId v, const Attention& a) {
  const int64_t steps = b.shape(v)[1];
  return b.transpose(name + "_heads", b.reshape(name + "_split", v, {1, steps, a.heads, a.depth}),
                     {0, 2, 1, 3});
}

// The first `rotary` elements of a head are pairs (i, i + rotary/2), turned by an angle that grows with the
// position.
ValueId turned(NetBuilder& b, const std::string& name, ValueId v, const Attention& a) {
  const int64_t steps = b.shape(v)[2], half = a.rotary / 2;
  std::vector<float> cosines, sines;
  for (int64_t t = 0; t < steps; ++t)
    for (int64_t i = 0; i < half; ++i) {
      const double angle = double(t) * std::pow(10000.0, -2.0 * double(i) / double(a.rotary));
      cosines.push_back(float(std::cos(angle)));
      sines.push_back(float(std::sin(angle)));
    }
  const ValueId c = b.constant(name + "_cos", {steps, half}, cosines),
                s = b.constant(name + "_sin", {steps, half}, sines);
  const auto part = [&](const char* which, int64_t from, int64_t to) {
    return b.op("slice", name + which, {v}, {{"starts", Ints{from}}, {"ends", Ints{to}}, {"axes", Ints{3}}});
  };
  const ValueId x1 = part("_x1", 0, half), x2 = part("_x2", half, a.rotary);
  const auto product = [&](const char* which, ValueId x, ValueId f) {
    return b.op("mul", name + which, {x, f});
  };
  std::vector<ValueId> parts{
      b.op("sub", name + "_y1", {product("_x1_cos", x1, c), product("_x2_sin", x2, s)}),
      b.add(name + "_y2", product("_x2_cos", x2, c), product("_x1_sin", x1, s))};
  if (a.rotary < a.depth) parts.push_back(part("_rest", a.rotary, a.depth));
  return b.op("concat", name + "_turned", parts, {{"axis", int64_t(3)}});
}

// One for all layers.
ValueId causal_mask(NetBuilder& b, int64_t queries, int64_t keys) {
  const std::string name = fmt::format("causal_mask_{}x{}", queries, keys);
  if (const auto known = b.graph.find_value(name)) return *known;
  std::vector<float> mask(size_t(queries * keys), 0);
  for (int64_t q = 0; q < queries; ++q)
    for (int64_t k = q + 1; k < keys; ++k)
      mask[size_t(q * keys + k)] = -std::numeric_limits<float>::infinity();
  return b.constant(name, {queries, keys}, mask);
}

int64_t bucket_of(int64_t distance, int64_t buckets, int64_t max_distance, bool both_ways) {
  int64_t first = 0;
  if (both_ways) {
    buckets /= 2;
    if (distance > 0) first = buckets;
    distance = std::abs(distance);
  } else {
    distance = std::max<int64_t>(0, -distance);
  }
  const int64_t exact = std::max<int64_t>(1, buckets / 2);
  if (distance < exact) return first + std::min(distance, buckets - 1);
  const double far =
      std::log(double(distance) / double(exact)) / std::log(double(max_distance) / double(exact));
  return first + std::min(buckets - 1, exact + int64_t(far * double(buckets - exact)));
}

// The zoo's rate for everything stands in for those of parts.
const std::vector<std::string> kAttentionDropout{"model.attention_dropout_rate", "model.dropout_rate"};

}  // namespace

ValueId attention(NetBuilder& b, const std::string& name, ValueId x, ValueId source, const Attention& a) {
  const int64_t width = a.heads * a.depth, queries = b.shape(x)[1], keys = b.shape(source)[1];
  ValueId q = split_heads(b, name + "_q", b.linear(name + "_query", x, width, a.bias), a);
  ValueId k = split_heads(b, name + "_k", b.linear(name + "_key", source, width, a.bias), a);
  const ValueId v = split_heads(b, name + "_v", b.linear(name + "_value", source, width, a.bias), a);
  if (a.rotary > 0) {
    q = turned(b, name + "_q", q, a);
    k = turned(b, name + "_k", k, a);
  }
  ValueId scores = b.op("matmul", name + "_scores", {q, b.transpose(name + "_kt", k, {0, 1, 3, 2})});
  if (a.scale != 1) scores = b.op("mul", name + "_scaled", {scores, b.filled(name + "_scale", {}, a.scale)});
  if (a.score_bias.valid()) scores = b.add(name + "_biased", scores, a.score_bias);
  if (a.causal) scores = b.add(name + "_masked", scores, causal_mask(b, queries, keys));
  const ValueId weights =
      b.dropout(name + "_dropout", b.op("softmax", name + "_softmax", {scores}, {{"axis", int64_t(-1)}}),
                kAttentionDropout);
  const ValueId mixed =
      b.transpose(name + "_joined", b.op("matmul", name + "_mixed", {weights, v}), {0, 2, 1, 3});
  return b.linear(name + "_output", b.reshape(name + "_flat", mixed, {1, queries, width}), b.shape(x).back(),
                  a.bias);
}

ValueId fixed_positions(NetBuilder& b, const std::string& name, int64_t steps, int64_t width) {
  std::vector<float> values;
  for (int64_t t = 0; t < steps; ++t)
    for (int64_t i = 0; i < width; ++i) {
      const int64_t even = i - i % 2;
      const double angle = double(t) * std::pow(10000.0, -double(even) / double(width));
      values.push_back(float(i % 2 == 0 ? std::sin(angle) : std::cos(angle)));
    }
  return b.constant(name, {steps, width}, values);
}

ValueId relative_bias(NetBuilder& b, const std::string& name, int64_t heads, int64_t queries, int64_t keys,
                      int64_t buckets, int64_t max_distance, bool both_ways) {
  const ValueId table = b.weight(name + "_table", {buckets, heads}, 0.5);
  if (!table.valid()) return {};
  const ops::Tensor by_bucket = *b.graph.constant_of(table);
  std::vector<float> bias;
  for (int64_t h = 0; h < heads; ++h)
    for (int64_t q = 0; q < queries; ++q)
      for (int64_t k = 0; k < keys; ++k)
        bias.push_back(float(by_bucket.get(bucket_of(k - q, buckets, max_distance, both_ways) * heads + h)));
  return b.constant(name, {heads, queries, keys}, bias);
}

ValueId alibi_bias(NetBuilder& b, const std::string& name, int64_t heads, int64_t steps) {
  std::vector<float> bias;
  for (int64_t h = 0; h < heads; ++h) {
    const double slope = std::pow(2.0, -8.0 * double(h + 1) / double(heads));
    for (int64_t q = 0; q < steps; ++q)
      for (int64_t k = 0; k < steps; ++k) bias.push_back(float(-slope * double(std::abs(q - k))));
  }
  return b.constant(name, {heads, steps, steps}, bias);
}

}  // namespace cs::frontend
