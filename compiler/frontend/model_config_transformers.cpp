// Transformers: GPT-like decoder, BERT-like encoder, T5-like encoder and decoder.
#include <cmath>

#include <fmt/format.h>

#include "compiler/frontend/model_config_attention.h"
#include "compiler/frontend/model_result.h"

namespace cs::frontend {

namespace {

using Ints = std::vector<int64_t>;

// What GPT and BERT configurations have in common.
struct Shape {
  int64_t steps, vocabulary, hidden, layers, heads, filter;
  double epsilon;
  bool attention_bias, ffn_bias, rms;
  std::string nonlinearity_key, nonlinearity, positions;
};

Shape shape_of(ModelConfig& c, const std::string& nonlinearity_key, const std::string& positions) {
  Shape s;
  s.hidden = c.extent("model.hidden_size");
  s.steps = c.extent("train_input.max_sequence_length", c.extent("model.max_position_embeddings", 1024));
  s.vocabulary = c.extent("model.vocab_size");
  s.layers = c.extent("model.num_hidden_layers");
  s.heads = c.extent("model.num_heads");
  s.filter = c.extent("model.filter_size", 4 * s.hidden);
  s.epsilon = c.real("model.layer_norm_epsilon", 1e-5);
  s.attention_bias = c.flag("model.use_projection_bias_in_attention", true);
  s.ffn_bias = c.flag("model.use_ffn_bias", true) && c.flag("model.use_ffn_bias_in_attention", true);
  s.rms = c.flag("model.use_rms_norm", false);
  s.nonlinearity_key = nonlinearity_key;
  s.nonlinearity = c.text(nonlinearity_key, "gelu");
  s.positions = c.text("model.position_embedding_type", positions);
  if (s.hidden % s.heads != 0)
    c.error("model.num_heads", fmt::format("{} heads do not divide hidden_size {}", s.heads, s.hidden));
  if (c.has("model.max_position_embeddings") && s.steps > c.extent("model.max_position_embeddings"))
    c.error("train_input.max_sequence_length", "is more than model.max_position_embeddings");
  return s;
}

// The zoo's rate for everything stands in for those of parts.
ValueId dropped(NetBuilder& b, const std::string& name, ValueId v,
                const std::string& key = "residual_dropout_rate") {
  return b.dropout(name + "_dropout", v, {"model." + key, "model.dropout_rate"});
}

ValueId norm(NetBuilder& b, const std::string& name, ValueId v, const Shape& s) {
  return s.rms ? b.rms_norm(name, v, s.epsilon) : b.layer_norm(name, v, s.epsilon);
}

ValueId rows_of(NetBuilder& b, const std::string& name, ValueId table, ValueId ids) {
  return b.op("gather", name, {table, ids}, {{"axis", int64_t(0)}});
}

// Scores of scaled_dot_product are divided by √depth, those of dot_product are not.
double score_scale(ModelConfig& c, int64_t depth, const std::string& otherwise) {
  const std::string type = c.text("model.attention_type", otherwise);
  if (type == "scaled_dot_product") return 1 / std::sqrt(double(depth));
  if (type != "dot_product")
    c.error("model.attention_type",
            "unknown type '" + type + "'; there are scaled_dot_product and dot_product");
  return 1;
}

// Adds what a position does to the embedding, and sets what it does to the scores.
ValueId with_positions(NetBuilder& b, ValueId v, const Shape& s, Attention& a) {
  ModelConfig& c = b.config;
  if (s.positions == "learned")
    return b.add("embedding", v, b.weight("position_embedding", {s.steps, s.hidden}, 0.02));
  if (s.positions == "fixed")
    return b.add("embedding", v, fixed_positions(b, "positions", s.steps, s.hidden));
  if (s.positions == "rotary") {
    a.rotary = c.extent("model.rotary_dim", a.depth);
    if (a.rotary % 2 != 0 || a.rotary > a.depth)
      c.error("model.rotary_dim", fmt::format("must be even and at most {}, the depth of a head", a.depth));
  } else if (s.positions == "alibi") {
    a.score_bias = alibi_bias(b, "alibi", s.heads, s.steps);
  } else if (s.positions == "relative") {
    a.score_bias = relative_bias(b, "relative_bias", s.heads, s.steps, s.steps,
                                 c.extent("model.num_relative_attention_buckets", 32), 128, !a.causal);
  } else {
    c.error("model.position_embedding_type",
            "unknown type '" + s.positions + "'; there are learned, fixed, rotary, relative and alibi");
  }
  return v;
}

Attention attention_of(ModelConfig& c, const Shape& s, bool causal) {
  Attention a;
  a.heads = s.heads;
  a.depth = std::max<int64_t>(1, s.hidden / s.heads);
  a.bias = s.attention_bias;
  a.causal = causal;
  a.scale = score_scale(c, a.depth, "scaled_dot_product");
  return a;
}

ValueId logits(NetBuilder& b, ValueId v, ValueId table, const std::string& name, bool shared, bool bias) {
  const int64_t vocabulary = b.shape(table)[0];
  if (!shared) return b.linear(name, v, vocabulary, bias);
  const ValueId y = b.op("matmul", name, {v, b.transpose(name + "_table", table, {1, 0})});
  return bias ? b.add(name + "_bias", y, b.weight(name + "_b", {vocabulary}, 0.02)) : y;
}

}  // namespace

void build_gpt(NetBuilder& b) {
  ModelConfig& c = b.config;
  const Shape s = shape_of(c, "model.nonlinearity", "learned");
  const bool shared = c.flag("model.share_embedding_weights", true),
             bias = c.flag("model.use_bias_in_output", false);
  const ModelResult result = result_of(c, true);
  if (!c.ok()) return;
  Attention a = attention_of(c, s, true);
  const ValueId table = b.weight("token_embedding", {s.vocabulary, s.hidden}, 0.02);
  ValueId v = rows_of(b, "tokens", table, b.input("input_ids", DataType::i32, {1, s.steps}));
  v = dropped(b, "embedding", with_positions(b, v, s, a), "embedding_dropout_rate");
  for (int64_t i = 0; i < s.layers && c.ok(); ++i) {
    const std::string name = fmt::format("layer{}", i);
    const ValueId h = norm(b, name + "_norm1", v, s);
    v = b.add(name + "_sum1", v, dropped(b, name + "_attended", attention(b, name + "_attention", h, h, a)));
    const ValueId f = b.feed_forward(name + "_ffn", norm(b, name + "_norm2", v, s), s.nonlinearity_key,
                                     s.nonlinearity, s.filter, s.ffn_bias);
    v = b.add(name + "_sum2", v, dropped(b, name + "_ffn", f));
  }
  const ValueId left = steps_of_result(b, norm(b, "final_norm", v, s), result);
  set_result(b, logits(b, left, table, "lm_head", shared, bias), "logits", result);
}

// Norms follow the sums. Outputs: logits of masked tokens, and of the next sentence from the first token.
void build_bert(NetBuilder& b) {
  ModelConfig& c = b.config;
  const std::string key =
      c.has("model.encoder_nonlinearity") ? "model.encoder_nonlinearity" : "model.nonlinearity";
  const Shape s = shape_of(c, key, "learned");
  const bool shared = c.flag("model.share_embedding_weights", true);
  const bool next_sentence = !c.flag("model.disable_nsp", false);
  const std::string pooler = c.text("model.pooler_nonlinearity", "tanh");
  const int64_t segments = c.extent("model.num_segments", 2);
  const ModelResult result = result_of(c, false);
  if (!c.ok()) return;
  Attention a = attention_of(c, s, false);
  const ValueId table = b.weight("token_embedding", {s.vocabulary, s.hidden}, 0.02);
  ValueId v = rows_of(b, "tokens", table, b.input("input_ids", DataType::i32, {1, s.steps}));
  const ValueId kinds = b.weight("segment_embedding", {segments, s.hidden}, 0.02);
  v = b.add("with_segments", v,
            rows_of(b, "segments", kinds, b.input("token_type_ids", DataType::i32, {1, s.steps})));
  v = dropped(b, "embedding", norm(b, "embedding_norm", with_positions(b, v, s, a), s),
              "embedding_dropout_rate");
  for (int64_t i = 0; i < s.layers && c.ok(); ++i) {
    const std::string name = fmt::format("layer{}", i);
    const ValueId attended = dropped(b, name + "_attended", attention(b, name + "_attention", v, v, a));
    v = norm(b, name + "_norm1", b.add(name + "_sum1", v, attended), s);
    const ValueId f = b.feed_forward(name + "_ffn", v, key, s.nonlinearity, s.filter, s.ffn_bias);
    v = norm(b, name + "_norm2", b.add(name + "_sum2", v, dropped(b, name + "_ffn", f)), s);
  }
  const ValueId left = steps_of_result(b, v, result);
  const ValueId h = b.nonlinearity(key, s.nonlinearity, "mlm_act", b.linear("mlm_dense", left, s.hidden));
  set_result(b, logits(b, norm(b, "mlm_norm", h, s), table, "mlm_head", shared, true), "mlm_logits", result);
  if (!next_sentence) return;
  const ValueId first =
      b.op("slice", "first_token", {v}, {{"starts", Ints{0}}, {"ends", Ints{1}}, {"axes", Ints{1}}});
  const ValueId pooled = b.linear("pooler", b.reshape("pooled", first, {1, s.hidden}), s.hidden);
  b.set_output(
      b.linear("nsp_head", b.nonlinearity("model.pooler_nonlinearity", pooler, "pooler_act", pooled), 2),
      "nsp_logits");
}

// Norms without mean, projections without bias, positions as a bias of the scores.
void build_t5(NetBuilder& b) {
  ModelConfig& c = b.config;
  const int64_t width = c.extent("model.d_model"), heads = c.extent("model.num_heads");
  const int64_t depth = c.extent("model.d_kv", std::max<int64_t>(1, width / heads));
  const int64_t filter = c.extent("model.d_ff", 4 * width),
                vocabulary = c.extent("model.src_vocab_size", c.extent("model.vocab_size", 32001));
  const int64_t encoders = c.extent("model.encoder_num_hidden_layers"),
                decoders = c.extent("model.decoder_num_hidden_layers", encoders);
  const int64_t sources =
      c.extent("train_input.src_max_sequence_length", c.extent("model.src_max_position_embeddings", 512));
  const int64_t targets =
      c.extent("train_input.tgt_max_sequence_length", c.extent("model.tgt_max_position_embeddings", 114));
  const double epsilon = c.real("model.layer_norm_epsilon", 1e-6);
  const std::string key =
      c.has("model.encoder_nonlinearity") ? "model.encoder_nonlinearity" : "model.nonlinearity";
  const std::string function = c.text(key, "relu");
  const std::string decoder_key = c.has("model.decoder_nonlinearity") ? "model.decoder_nonlinearity" : key;
  const std::string decoder_function = c.text(decoder_key, function);
  const bool bias = c.flag("model.use_projection_bias_in_attention", false),
             ffn_bias = c.flag("model.use_ffn_bias", false);
  const std::string positions = c.text("model.position_embedding_type", "relative");
  const int64_t buckets = c.extent("model.num_relative_attention_buckets", 32);
  const double scale = score_scale(c, depth, "dot_product");
  const ModelResult result = result_of(c, true);
  if (positions != "relative" && positions != "fixed")
    c.error("model.position_embedding_type",
            "unknown type '" + positions + "'; there are relative and fixed");
  if (!c.ok()) return;
  const bool relative = positions == "relative";
  const ValueId table = b.weight("token_embedding", {vocabulary, width}, 0.05);
  const auto embedded = [&](const std::string& name, int64_t steps) {
    const ValueId v = rows_of(b, name + "_tokens", table, b.input(name + "_ids", DataType::i32, {1, steps}));
    return dropped(
        b, name,
        relative ? v : b.add(name + "_embedding", v, fixed_positions(b, name + "_positions", steps, width)));
  };
  const auto of = [&](bool causal, ValueId score_bias) {
    return Attention{heads, depth, bias, causal, scale, score_bias, 0};
  };
  const auto self_attended = [&](const std::string& name, ValueId v, bool causal, ValueId score_bias) {
    const ValueId h = b.rms_norm(name + "_norm", v, epsilon);
    const ValueId attended = attention(b, name + "_attention", h, h, of(causal, score_bias));
    return b.add(name + "_sum", v, dropped(b, name + "_attended", attended));
  };
  const auto fed_forward = [&](const std::string& name, ValueId v, const std::string& k,
                               const std::string& f) {
    const ValueId h = b.rms_norm(name + "_norm_ffn", v, epsilon);
    return b.add(name + "_sum_ffn", v,
                 dropped(b, name + "_ffn", b.feed_forward(name + "_ffn", h, k, f, filter, ffn_bias)));
  };

  ValueId v = embedded("source", sources);
  const ValueId near =
      relative ? relative_bias(b, "encoder_bias", heads, sources, sources, buckets, 128, true) : ValueId{};
  for (int64_t i = 0; i < encoders && c.ok(); ++i) {
    const std::string name = fmt::format("encoder{}", i);
    v = fed_forward(name, self_attended(name, v, false, near), key, function);
  }
  const ValueId memory = b.rms_norm("encoder_norm", v, epsilon);

  v = embedded("target", targets);
  const ValueId behind =
      relative ? relative_bias(b, "decoder_bias", heads, targets, targets, buckets, 128, false) : ValueId{};
  for (int64_t i = 0; i < decoders && c.ok(); ++i) {
    const std::string name = fmt::format("decoder{}", i);
    v = self_attended(name, v, true, behind);
    const ValueId g = b.rms_norm(name + "_norm_cross", v, epsilon);
    v = b.add(name + "_sum_cross", v,
              dropped(b, name + "_crossed", attention(b, name + "_cross", g, memory, of(false, {}))));
    v = fed_forward(name, v, decoder_key, decoder_function);
  }
  const bool shared = c.flag("model.share_embedding_weights", true);
  v = b.rms_norm("decoder_norm", v, epsilon);
  if (shared) v = b.op("mul", "rescaled", {v, b.filled("rescale", {}, 1 / std::sqrt(double(width)))});
  v = logits(b, steps_of_result(b, v, result), table, "lm_head", shared, c.flag("model.use_bias_in_output", false));
  set_result(b, v, "logits", result);
}

}  // namespace cs::frontend
