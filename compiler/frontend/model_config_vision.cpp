// Networks over feature vectors and pictures: multilayer perceptron, a LeNet-like CNN, ResNets.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "compiler/frontend/model_config_net.h"

namespace cs::frontend {

namespace {

using Ints = std::vector<int64_t>;

const std::vector<std::string> kDropout{"model.dropout", "model.dropout_rate"};  // behind hidden layers

// Pictures are [H, W, C] in configurations and NCHW in the graph.
ValueId picture(NetBuilder& b, Ints otherwise) {
  const Ints s = b.config.extents("train_input.image_shape", std::move(otherwise));
  if (s.size() == 3) return b.input("image", b.real(), {1, s[2], s[0], s[1]});
  b.config.error("train_input.image_shape", "must be [height, width, channels]");
  return {};
}

ValueId conv(NetBuilder& b, const std::string& name, ValueId v, int64_t filters, int64_t kernel,
             int64_t stride, int64_t pad, bool bias) {
  const int64_t channels = b.shape(v)[1];
  const double bound = 1 / std::sqrt(double(channels * kernel * kernel));
  const ValueId w = b.weight(name + "_w", {filters, channels, kernel, kernel}, bound);
  const ValueId offset = bias ? b.weight(name + "_b", {filters}, bound) : ValueId{};
  return b.op("conv", name, {v, w, offset},
              {{"kernel_shape", Ints{kernel, kernel}},
               {"strides", Ints{stride, stride}},
               {"pads", Ints{pad, pad, pad, pad}}});
}

// Inference form: statistics of training are constants.
ValueId batch_norm(NetBuilder& b, const std::string& name, ValueId v, double epsilon) {
  const int64_t c = b.shape(v)[1];
  return b.op("batch_norm", name,
              {v, b.filled_weight(name + "_scale", {c}, 1), b.filled_weight(name + "_bias", {c}, 0),
               b.weight(name + "_mean", {c}, 0.1), b.filled(name + "_variance", {c}, 1)},
              {{"epsilon", epsilon}});
}

ValueId conv_norm(NetBuilder& b, const std::string& name, ValueId v, int64_t filters, int64_t kernel,
                  int64_t stride) {
  const double epsilon = b.config.real("model.batch_norm_epsilon", 1e-5);
  return batch_norm(b, name + "_norm", conv(b, name, v, filters, kernel, stride, kernel / 2, false), epsilon);
}

ValueId activation(NetBuilder& b, const std::string& name, ValueId v) {
  return b.nonlinearity("model.nonlinearity", b.config.text("model.nonlinearity", "relu"), name, v);
}

// The part of a block that is added to its operand: two convolutions of 3 x 3, or, with `expansion`, one between
// two of 1 x 1 that make the channels fewer and more again.
ValueId residual(NetBuilder& b, const std::string& name, ValueId v, int64_t filters, int64_t expansion,
                 int64_t stride) {
  if (expansion == 0) {
    v = activation(b, name + "_act1", conv_norm(b, name + "_conv1", v, filters, 3, stride));
    return conv_norm(b, name + "_conv2", v, filters, 3, 1);
  }
  v = activation(b, name + "_act1", conv_norm(b, name + "_conv1", v, filters, 1, 1));
  v = activation(b, name + "_act2", conv_norm(b, name + "_conv2", v, filters, 3, stride));
  return conv_norm(b, name + "_conv3", v, filters * expansion, 1, 1);
}

// What stands before the first stage.
ValueId stem(NetBuilder& b, int64_t filters) {
  ModelConfig& c = b.config;
  const int64_t kernel = c.extent("model.stem_kernel", 3), stride = c.extent("model.stem_stride", 1);
  const ValueId x = picture(b, {32, 32, 3});
  if (!c.ok()) return x;
  const ValueId v = activation(b, "stem_act", conv_norm(b, "stem", x, filters, kernel, stride));
  if (!c.has("model.stem_pool")) return v;
  const int64_t pool = c.extent("model.stem_pool"), pad = pool / 2;
  return b.op("max_pool", "stem_pool", {v},
              {{"kernel_shape", Ints{pool, pool}}, {"strides", Ints{2, 2}}, {"pads", Ints{pad, pad, pad, pad}}});
}

}  // namespace

void build_mlp(NetBuilder& b) {
  ModelConfig& c = b.config;
  Ints sizes(size_t(c.extent("model.depth", 1)), c.extent("model.hidden_size", 64));
  sizes = c.extents("model.hidden_sizes", sizes);
  const std::string key = c.has("model.activation_fn") ? "model.activation_fn" : "model.nonlinearity";
  const std::string function = c.text(key, "relu");
  ValueId v = b.input("x", b.real(), {1, c.extent("model.input_size", 784)});
  for (size_t i = 0; i < sizes.size(); ++i) {
    const std::string name = fmt::format("layer{}", i);
    v = b.nonlinearity(key, function, name + "_act", b.linear(name, v, sizes[i]));
    v = b.dropout(name + "_dropout", v, kDropout);
  }
  b.set_output(b.linear("classifier", v, c.extent("model.num_classes", 10)), "logits");
}

void build_lenet(NetBuilder& b) {
  ModelConfig& c = b.config;
  const Ints filters = c.extents("model.conv_filters", {6, 16});
  const int64_t kernel = c.extent("model.kernel_size", 5), classes = c.extent("model.num_classes", 10);
  const Ints sizes = c.extents("model.hidden_sizes", {120, 84});
  ValueId v = picture(b, {28, 28, 1});
  for (size_t i = 0; i < filters.size(); ++i) {
    const std::string name = fmt::format("conv{}", i);
    v = activation(b, name + "_act", conv(b, name, v, filters[i], kernel, 1, i == 0 ? kernel / 2 : 0, true));
    v = b.op("max_pool", name + "_pool", {v}, {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}});
  }
  v = b.op("flatten", "flat", {v}, {{"axis", int64_t(1)}});
  for (size_t i = 0; i < sizes.size(); ++i) {
    const std::string name = fmt::format("dense{}", i);
    v = b.dropout(name + "_dropout", activation(b, name + "_act", b.linear(name, v, sizes[i])), kDropout);
  }
  b.set_output(b.linear("classifier", v, classes), "logits");
}

// Stages of blocks; the first block of every stage but the first halves the picture.
void build_resnet(NetBuilder& b) {
  ModelConfig& c = b.config;
  const Ints filters = c.extents("model.filters", {16, 32, 64});
  const Ints blocks = c.extents("model.blocks_per_stage", Ints(filters.size(), 1));
  const int64_t classes = c.extent("model.num_classes", 10);
  const int64_t expansion = c.has("model.expansion") ? c.extent("model.expansion") : 0;
  if (blocks.size() != filters.size())
    c.error("model.blocks_per_stage",
            fmt::format("has {} stages, model.filters {}", blocks.size(), filters.size()));
  if (!c.ok()) return;
  ValueId v = stem(b, filters[0]);
  for (size_t s = 0; s < filters.size() && c.ok(); ++s)
    for (int64_t k = 0; k < blocks[s] && c.ok(); ++k) {
      const std::string name = fmt::format("stage{}_block{}", s, k);
      const int64_t stride = s > 0 && k == 0 ? 2 : 1, channels = filters[s] * std::max<int64_t>(1, expansion);
      const ValueId y = residual(b, name, v, filters[s], expansion, stride);
      const bool same = stride == 1 && b.shape(v)[1] == channels;
      const ValueId skip = same ? v : conv_norm(b, name + "_skip", v, channels, 1, stride);
      v = activation(b, name + (expansion > 0 ? "_act3" : "_act2"), b.add(name + "_sum", y, skip));
    }
  v = b.op("reduce_mean", "pool", {v}, {{"axes", Ints{2, 3}}, {"keepdims", int64_t(0)}});
  b.set_output(b.linear("classifier", v, classes), "logits");
}

}  // namespace cs::frontend
