// Model configurations: merging and complaints, networks against counts and properties that follow from their
// form.
#include <gmock/gmock.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "compiler/frontend/frontend.h"
#include "compiler/frontend/model_config.h"
#include "interpret.h"

namespace cs::frontend {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string kConfigs = std::string(CS_SOURCE_DIR) + "/models/configs/";

std::optional<graph::Graph> load(const std::string& file, Diag& diag, std::vector<std::string> set = {}) {
  return load_model(kConfigs + file, LoadOptions{{}, std::move(set)}, diag);
}
graph::Graph loaded(const std::string& file, std::vector<std::string> set = {}) {
  Diag diag;
  auto g = load(file, diag, std::move(set));
  EXPECT_TRUE(g) << diag.to_string();
  return g ? std::move(*g) : graph::Graph{};
}

// Trained values: constants but the masks, the epsilons and other scalars.
int64_t weights(const graph::Graph& g) {
  int64_t n = 0;
  for (const auto& t : g.constants)
    if (!t->type.shape.empty() && !std::isinf(t->get(1))) n += t->elements();
  return n;
}

class Folder : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::string(CS_BINARY_DIR) + "/configs." +
              ::testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ + "/" + name) << text;
    return folder_ + "/" + name;
  }
  std::string complaint(const std::string& text) {
    Diag diag;
    const auto g = load_model(write("model.yaml", text), {}, diag);
    EXPECT_FALSE(g);
    return diag.to_string();
  }
  std::string folder_;
};
using ModelConfigFile = Folder;

TEST_F(ModelConfigFile, OverridesWinOverWhatTheyInclude) {
  write("base.yaml", "model: {name: mlp, hidden_sizes: [3, 4], input_size: 5, num_classes: 2}\n");
  const std::string over = write("over.yaml", "include: base.yaml\nmodel:\n  num_classes: 7\n");
  Diag diag;
  const auto g = load_model(over, {{}, {"model.input_size=6"}}, diag);
  ASSERT_TRUE(g) << diag.to_string();
  EXPECT_EQ(weights(*g), 6 * 3 + 3 + 3 * 4 + 4 + 4 * 7 + 7);
  const auto printed = print_config(over, {"model.input_size=6"}, diag);
  ASSERT_TRUE(printed);
  EXPECT_THAT(*printed, AllOf(HasSubstr("model.num_classes: 7  # " + over + ":3"),
                              HasSubstr("model.hidden_sizes: [3, 4]  # " + folder_ + "/base.yaml:1"),
                              HasSubstr("model.input_size: 6  # --set")));
}

TEST_F(ModelConfigFile, AFileThatIncludesItselfIsAnError) {
  EXPECT_THAT(complaint("include: model.yaml\n"), HasSubstr("include each other"));
  EXPECT_THAT(complaint("include: nowhere.yaml\nmodel: {name: mlp}\n"), HasSubstr("nowhere.yaml"));
}

TEST_F(ModelConfigFile, UnknownKeysAreErrorsWithTheNearestKnownOne) {
  EXPECT_THAT(complaint("train_input: {batch_size: 3, shuffle: True}\n"
                        "model:\n  name: mlp\n  hiden_size: 8\n  mixed_precision: False\n"),
              AllOf(HasSubstr("model.yaml:4"), HasSubstr("error: unknown key 'model.hiden_size'"),
                    HasSubstr("did you mean 'model.hidden_size'")));
  const std::pair<const char*, const char*> cases[] = {
      {"runconfig: {autogen_polcy: disabled}\n", "runconfig.autogen_policy"},
      {"train_input: {suffle: True}\n", "train_input.shuffle"},
      {"eval_input: {batch_sise: 2}\n", "_input.batch_size"},
      {"optimizer: {learing_rate: 0.1}\n", "optimizer.learning_rate"},
      {"trainer: {init: {modeldir: x}}\n", "trainer.init.model_dir"},
      {"trainer: {init: {precision: {enable: True}}}\n", "did you mean"}};
  for (const auto& [text, near] : cases)
    EXPECT_THAT(complaint(std::string("model: {name: mlp}\n") + text), HasSubstr(near)) << text;
  EXPECT_THAT(complaint("model: {name: mlp, loss: {type: MSELoss, reducton: sum}}\n"),
              HasSubstr("did you mean 'reduction'?"));
}

TEST_F(ModelConfigFile, KeysOfTrainingAreKnownOnesToo) {
  const std::string file =
      write("model.yaml",
            "model: {name: mlp}\n"
            "optimizer:\n  optimizer_type: SGD\n  learning_rate: 0.1\n"
            "runconfig:\n  max_steps: 3\n  autogen_on_failure: error\n  mode: infer\n"
            "eval_input: {batch_size: 3, max_sequence_length: 4}\n"
            "trainer: {init: {callbacks: [{}], precision: {loss_scaling_factor: dynamic}}}\n");
  Diag diag;
  ASSERT_TRUE(load_model(file, {}, diag)) << diag.to_string();
  EXPECT_EQ(diag.to_string(), "");
}

TEST_F(ModelConfigFile, KeysOfRunsHaveTheirKinds) {
  const auto of = [&](const std::string& key) {
    return complaint("model: {name: mlp}\nrunconfig: {" + key + "}\n");
  };
  EXPECT_THAT(of("max_steps: many"), AllOf(HasSubstr("model.yaml:2"), HasSubstr("max_steps")));
  EXPECT_THAT(of("max_steps: -1"), HasSubstr("must not be negative"));
  EXPECT_THAT(of("save_losses: 3"), HasSubstr("must be true or false"));
  EXPECT_THAT(of("autogen_on_failure: errors"), HasSubstr("did you mean 'error'?"));
}

TEST_F(ModelConfigFile, TrainingNeedsAnOptimizerWithARate) {
  for (const char* mode : {"train", "train_and_eval"}) {
    const std::string model = std::string("model: {name: mlp}\nrunconfig:\n  mode: ") + mode + "\n";
    EXPECT_THAT(complaint(model), HasSubstr("training needs an optimizer that is built"));
    EXPECT_THAT(complaint(model + "optimizer: {optimizer_type: SGD}\n"),
                HasSubstr("optimizer.learning_rate: is missing"));
  }
}

TEST_F(ModelConfigFile, ValuesOfTheWrongKindAreNamedWithTheirLine) {
  EXPECT_THAT(complaint("model:\n  name: mlp\n  depth: many\n"),
              AllOf(HasSubstr("model.yaml:3"), HasSubstr("model.depth")));
  EXPECT_THAT(complaint("model:\n  name: mlp\n  hidden_size: 0\n"), HasSubstr("from 1 to a million"));
  EXPECT_THAT(complaint("model: {name: vgg}\n"),
              AllOf(HasSubstr("vgg"), HasSubstr("fc_mnist"), HasSubstr("bert")));
  EXPECT_THAT(complaint("model: {dropout: 0.1}\n"),
              AllOf(HasSubstr("model.name"), HasSubstr("set it to one of")));
  EXPECT_THAT(complaint("model: {name: mlp}\nrunconfig: {autogen_policy: mild}\n"),
              HasSubstr("unknown policy 'mild'"));
  EXPECT_THAT(complaint("model: {name: mlp}\noptimizer: {learning_rate: -1}\n"),
              HasSubstr("-1 is not a learning rate"));
  EXPECT_THAT(complaint("model: {name: mlp}\noptimizer:\n  learning_rate: [{scheduler: Linear, steps: 3, "
                        "initial_learning_rate: -0.5}]\n"),
              HasSubstr("-0.5 is not a learning rate"));
  EXPECT_THAT(complaint("model: {name: mlp}\nrunconfig: {mode: trian}\n"), HasSubstr("unknown mode 'trian'"));
  EXPECT_THAT(
      complaint("model: {name: gpt2, hidden_size: 10, num_heads: 3, vocab_size: 5, num_hidden_layers: 1}\n"),
      HasSubstr("3 heads do not divide hidden_size 10"));
  EXPECT_THAT(complaint("model: {name: gpt2, hidden_size: 8}\n"),
              AllOf(HasSubstr("model.vocab_size"), HasSubstr("is missing")));
  EXPECT_THAT(complaint("model: {name: mlp, hidden_sizes: [3, 1000000, 1000000]}\n"), HasSubstr("weights"));
}

TEST_F(ModelConfigFile, AMisspeltNonlinearityListsTheKnownOnes) {
  EXPECT_THAT(
      complaint("model:\n  name: mlp\n  nonlinearity: leaky_rellu\n"),
      AllOf(HasSubstr("model.yaml:3"), HasSubstr("quick_gelu"), HasSubstr("did you mean 'leaky_relu'")));
}

// The later style of the zoo says the same as the sections; anchors are YAML's.
TEST_F(ModelConfigFile, TheTrainerStyleNestsTheSameKeys) {
  const std::string file = write("trainer.yaml", R"(
trainer:
  init:
    backend: {backend_type: CSX}
    model: {name: mlp, hidden_sizes: [4], input_size: 6, num_classes: 3, dropout: 0.0}
    optimizer: {SGD: {lr: 0.1}}
    precision: {enabled: true, fp16_type: bfloat16}
    seed: 5
  fit:
    train_dataloader: &data {data_processor: MnistProcessor, batch_size: 4}
  validate:
    val_dataloader: {<<: *data, batch_size: 2}
)");
  Diag diag;
  const auto g = load_model(file, {}, diag);
  ASSERT_TRUE(g) << diag.to_string();
  EXPECT_EQ(diag.to_string(), "");
  EXPECT_EQ(weights(*g), 6 * 4 + 4 + 4 * 3 + 3);
  EXPECT_EQ(g->value(g->inputs[0]).type, (ops::TensorType{DataType::bf16, {1, 6}}));
}

TEST_F(ModelConfigFile, MixedPrecisionIsSixteenBits) {
  const auto type = [](std::vector<std::string> set) {
    const graph::Graph g = loaded("mlp_tiny.yaml", std::move(set));
    return g.outputs.empty() ? DataType::boolean : g.value(g.outputs[0]).type.dtype;
  };
  EXPECT_EQ(type({"model.mixed_precision=False"}), DataType::f32);
  EXPECT_EQ(type({"model.mixed_precision=True"}), DataType::f16);
  EXPECT_EQ(type({"model.mixed_precision=True", "model.use_bfloat16=True"}), DataType::bf16);
  EXPECT_EQ(type({"model.mixed_precision=True", "model.fp16_type=bfloat16"}), DataType::bf16);
  Diag diag;
  EXPECT_FALSE(load("mlp_tiny.yaml", diag, {"model.mixed_precision=True", "model.fp16_type=cbfloat16"}));
  EXPECT_THAT(diag.to_string(),
              AllOf(HasSubstr("model.fp16_type"), HasSubstr("cbfloat16"), HasSubstr("bfloat16")));
}

TEST(ModelConfigNonlinearity, NamesOfTheZooBecomeRows) {
  const auto row = [](const std::string& name) {
    const graph::Graph g = loaded("mlp_tiny.yaml", {"model.activation_fn=" + name, "model.depth=1"});
    std::string rows;
    for (const graph::NodeId id : g.nodes())
      if (g.node(id).op != "gemm") rows += g.node(id).op + " ";
    return rows;
  };
  EXPECT_EQ(row("relu"), "relu ");
  EXPECT_EQ(row("LeakY_relu"), "leaky_relu ");  // in any case
  EXPECT_EQ(row("swish"), row("silu"));
  EXPECT_EQ(row("gelu_new"), "gelu_tanh ");
  EXPECT_EQ(row("squared_relu"), "relu square ");
  EXPECT_EQ(row("relu6"), "hard_tanh ");
  EXPECT_EQ(row("linear"), "");
}

// The configuration fc_mnist of the zoo has 63 thousand parameters.
TEST(ModelConfigMlp, WeightsAreCounted) {
  const int64_t n = weights(loaded("fc_mnist.yaml"));
  EXPECT_EQ(n, 784 * 50 + 50 + 9 * (50 * 50 + 50) + 50 * 10 + 10);
  EXPECT_EQ((n + 500) / 1000, 63);
}

TEST(ModelConfigMlp, ComputesLayerByLayer) {
  const graph::Graph g = loaded("mlp_tiny.yaml");
  std::vector<float> x;
  for (int i = 0; i < 16; ++i) x.push_back(float(i - 7) / 8);
  const auto out = graph::interpret(g, {{"x", ops::Tensor::from_floats({1, 16}, x)}}).at("logits");
  std::vector<double> h(x.begin(), x.end());
  for (const char* layer : {"layer0", "layer1", "classifier"}) {
    const ops::Tensor& w = *g.constant_of(*g.find_value(std::string(layer) + "_w"));
    const ops::Tensor& b = *g.constant_of(*g.find_value(std::string(layer) + "_b"));
    const int64_t n = b.elements();
    std::vector<double> y;
    for (int64_t j = 0; j < n; ++j) {
      double sum = b.get(j);
      for (size_t i = 0; i < h.size(); ++i) sum += h[i] * w.get(int64_t(i) * n + j);
      y.push_back(layer[0] == 'l' ? std::max(sum, 0.0) : sum);
    }
    h = y;
  }
  ASSERT_EQ(out.elements(), 4);
  for (int64_t i = 0; i < 4; ++i) EXPECT_NEAR(out.get(i), h[size_t(i)], 1e-6);
}

TEST(ModelConfigMlp, SeedsDecideTheWeights) {
  const auto first = [](const std::string& seed) {
    return *loaded("mlp_tiny.yaml", {"runconfig.seed=" + seed}).constants.at(0);
  };
  EXPECT_EQ(first("5"), first("5"));
  EXPECT_NE(first("5"), first("6"));
  double sum = 0;
  for (const float v : first("5").to_floats()) {
    EXPECT_LE(std::abs(v), 0.25F);  // 1 / sqrt(16)
    sum += std::abs(v);
  }
  EXPECT_NEAR(sum / double(first("5").elements()), 0.125, 0.03);
}

// LeNet-5 of 28 x 28 has 61,706 parameters, ResNet-20 0.27 million, ResNet-50 25,557,032 and, for each of
// 26,560 channels, a mean and a variance.
TEST(ModelConfigVision, WeightsAreCounted) {
  EXPECT_EQ(weights(loaded("lenet.yaml")), 61706);
  EXPECT_EQ((weights(loaded("resnet.yaml")) + 5000) / 10000, 27);
  EXPECT_EQ(weights(loaded("resnet50.yaml")), 25557032 + 2 * 26560);
}

// 224 x 224 pixels: the stem and its pooling halve them, and each stage but the first.
TEST(ModelConfigVision, BottlenecksMakeChannelsFewerAndMoreAgain) {
  const graph::Graph g = loaded("resnet50.yaml");
  const auto shape = [&](const char* node) { return g.value(g.node(*g.find_node(node)).outputs[0]).type.shape; };
  EXPECT_EQ(shape("stem_pool"), (ops::Shape{1, 64, 56, 56}));
  EXPECT_EQ(shape("stage0_block0_act1"), (ops::Shape{1, 64, 56, 56}));
  EXPECT_EQ(shape("stage0_block0_act3"), (ops::Shape{1, 256, 56, 56}));
  EXPECT_EQ(shape("stage3_block0_act1"), (ops::Shape{1, 512, 14, 14}));
  EXPECT_EQ(shape("stage3_block2_act3"), (ops::Shape{1, 2048, 7, 7}));
}

TEST(ModelConfigVision, AResidualBlockKeepsWhatPassesItsSkip) {
  const graph::Graph g = loaded("resnet_tiny.yaml");
  int sums = 0;
  for (const graph::NodeId id : g.nodes())
    sums += g.node(id).op == "add" && g.node(id).name.ends_with("_sum");
  EXPECT_EQ(sums, 2);
  EXPECT_EQ(g.value(g.outputs.at(0)).type.shape, (ops::Shape{1, 4}));
}

class Transformer : public ::testing::Test {
 protected:
  void SetUp() override {}
  using Values = std::map<std::string, ops::Tensor>;
  static ops::Tensor ids(const std::vector<int>& list) {
    ops::Tensor t(ops::TensorType{DataType::i32, {1, int64_t(list.size())}});
    for (size_t i = 0; i < list.size(); ++i) t.set_int(int64_t(i), list[i]);
    return t;
  }
  static double difference(const ops::Tensor& a, const ops::Tensor& b, int64_t row) {
    const int64_t n = a.type.shape.back();
    double most = 0;
    for (int64_t i = 0; i < n; ++i) most = std::max(most, std::abs(a.get(row * n + i) - b.get(row * n + i)));
    return most;
  }
};

// Embeddings, then 4 projections, 2 dense layers and 2 norms a layer, then a norm.
TEST_F(Transformer, WeightsOfGptAreCounted) {
  const int64_t v = 16, t = 4, h = 8, f = 16;
  EXPECT_EQ(weights(loaded("gpt3_tiny.yaml")),
            v * h + t * h + 2 * (4 * (h * h + h) + h * f + f + f * h + h + 4 * h) + 2 * h);
}

TEST_F(Transformer, TheTwoLineOverrideChangesTheNonlinearityAlone) {
  const graph::Graph a = loaded("gpt3_tiny.yaml"), b = loaded("gpt3_tiny_leaky_relu.yaml");
  ASSERT_EQ(a.nodes().size(), b.nodes().size());
  ASSERT_EQ(a.constants.size(), b.constants.size());
  for (size_t i = 0; i < a.constants.size(); ++i) EXPECT_EQ(*a.constants[i], *b.constants[i]);
  for (size_t i = 0; i < a.nodes().size(); ++i) {
    const std::string &x = a.node(a.nodes()[i]).op, &y = b.node(b.nodes()[i]).op;
    EXPECT_TRUE(x == y || (x == "gelu" && y == "leaky_relu")) << x << " " << y;
  }
}

TEST_F(Transformer, ADecoderSeesWhatIsBeforeAnEncoderEverything) {
  for (const char* positions : {"learned", "fixed", "rotary", "relative", "alibi"}) {
    const std::string set = std::string("model.position_embedding_type=") + positions;
    const graph::Graph gpt = loaded("gpt2_tiny.yaml", {set});
    const auto of = [&](const std::vector<int>& tokens) {
      return graph::interpret(gpt, {{"input_ids", ids(tokens)}}).at("logits");
    };
    const ops::Tensor one = of({3, 1, 4, 1}), other = of({3, 1, 4, 9});
    for (int64_t row = 0; row < 3; ++row) EXPECT_EQ(difference(one, other, row), 0) << positions;
    EXPECT_GT(difference(one, other, 3), 1e-3) << positions;
    // The order matters: without positions, the last row would not see it.
    EXPECT_GT(difference(one, of({1, 3, 4, 1}), 3), 1e-6) << positions;
  }
  const graph::Graph bert = loaded("bert_tiny.yaml");
  const auto of = [&](const std::vector<int>& tokens) {
    return graph::interpret(bert, {{"input_ids", ids(tokens)}, {"token_type_ids", ids({0, 0, 1, 1})}});
  };
  EXPECT_GT(difference(of({3, 1, 4, 1}).at("mlm_logits"), of({3, 1, 4, 9}).at("mlm_logits"), 0), 1e-6);
  EXPECT_EQ(of({3, 1, 4, 1}).at("nsp_logits").type.shape, (ops::Shape{1, 2}));
}

TEST_F(Transformer, T5ReadsItsSourceEverywhereAndItsTargetUpToHere) {
  const graph::Graph g = loaded("t5_tiny.yaml");
  const auto of = [&](const std::vector<int>& source, const std::vector<int>& target) {
    return graph::interpret(g, {{"source_ids", ids(source)}, {"target_ids", ids(target)}}).at("logits");
  };
  const ops::Tensor one = of({1, 2, 3, 4}, {5, 6, 7});
  EXPECT_GT(difference(one, of({1, 2, 3, 9}, {5, 6, 7}), 0), 1e-6);
  EXPECT_EQ(difference(one, of({1, 2, 3, 4}, {5, 6, 8}), 1), 0);
  EXPECT_GT(difference(one, of({1, 2, 3, 4}, {5, 6, 8}), 2), 1e-6);
}

TEST_F(Transformer, GatedNonlinearitiesHaveASecondProjection) {
  EXPECT_EQ(
      weights(loaded("gpt2_tiny.yaml", {"model.nonlinearity=swiglu"})) - weights(loaded("gpt2_tiny.yaml")),
      8 * 16 + 16);
}

TEST(ModelConfig, TrainingSaysWhatItLeavesOut) {
  const auto trained = [](std::vector<std::string> set) {
    set.insert(set.begin(), {"runconfig.mode=train", "optimizer.optimizer_type=SGD",
                             "optimizer.learning_rate=0.1", "train_input.batch_size=2"});
    Diag diag;
    const bool made = load("mlp_tiny.yaml", diag, set).has_value();
    return std::pair(made, diag.to_string());
  };
  for (const char* none : {"model.dropout_rate=0.0", "model.dropout=null"}) {
    const auto [made, text] = trained({none});
    EXPECT_TRUE(made) << text;
    EXPECT_THAT(text, Not(HasSubstr("dropout"))) << none;
  }
  const auto [made, text] = trained({"model.attention_dropout_rate=0.1", "runconfig.mode=train_and_eval"});
  EXPECT_TRUE(made) << text;
  EXPECT_THAT(text, AllOf(HasSubstr("model.attention_dropout_rate: dropout is not built here: steps drop nothing "
                                    "instead of 10 %")));
  for (const char* wrong : {"model.dropout_rate=1.0", "model.dropout_rate=-0.1"}) {
    const auto [also, why] = trained({wrong});
    EXPECT_FALSE(also) << wrong;
    EXPECT_THAT(why, HasSubstr("a rate is at least 0 and below 1"));
  }
}

}  // namespace
}  // namespace cs::frontend
