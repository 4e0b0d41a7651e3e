// --shards: networks of PyTorch give their outputs, faster, on both machines, and the command line says what
// is wrong.
#include <fstream>

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/e2e/run_tool.h"
#include "tests/e2e/some_are_enough.h"

namespace cs::e2e {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

class Shards : public Scratch {
 protected:
  static std::string of(const std::string& network, const std::string& file) {
    return kSource + "/tests/networks/" + network + "/" + file;
  }
  static std::vector<std::string> machines() {
    if (kSomeAreEnough) return {"wse3"};
    return {"wse2", "wse3"};
  }
  // The messages.
  std::string compile(const std::string& model, std::vector<std::string> more) const {
    more.insert(more.begin(), {model, "--no-baselines", "--no-advice", "-o", path("p.csp")});
    const ChildResult made = run("cs-compile", more);
    EXPECT_EQ(made.exit_code, 0) << made.err;
    return made.out + made.err;
  }
  // Cycles from one sample to the next; all outputs agree with PyTorch's.
  double interval(const std::string& network) const {
    const ChildResult checked = run("cs-sim", {path("p.csp"), "-q", "--inputs", of(network, "inputs_0.npz"),
                                               "--expect", of(network, "expected_0.npz")});
    EXPECT_EQ(checked.exit_code, 0) << checked.err;
    const ChildResult r = run(
        "cs-sim", {path("p.csp"), "--json", "--iterations", "8", "--inputs", of(network, "inputs_0.npz")});
    const json stats = json::parse(r.out, nullptr, false);
    return stats.is_object() ? stats.value("interval_cycles", 0.0) : 0;
  }
  // Less than so many of the cycles of the whole network, on both machines.
  void four_shards_take(const std::string& network, double share) const {
    for (const std::string& machine : machines()) {
      compile(of(network, "model.onnx"), {"-m", machine});
      const double whole = interval(network);
      EXPECT_THAT(compile(of(network, "model.onnx"), {"-m", machine, "--shards", "4"}),
                  HasSubstr("a sample in 4 shards"));
      const double parts = interval(network);
      EXPECT_GT(parts, 0);
      EXPECT_LT(parts, share * whole) << machine;
    }
  }
};

TEST_F(Shards, ABlockOfGptIsRightAndFaster) { four_shards_take("gpt_block", 0.8); }

TEST_F(Shards, AutoTakesThoseThatAreFasterAndNoneWhereNoneAre) {
  EXPECT_THAT(compile(of("convnext_block", "model.onnx"), {"--shards", "auto"}), HasSubstr("shards\n"));
  EXPECT_GT(interval("convnext_block"), 0);
  EXPECT_THAT(compile(of("lstm", "model.onnx"), {"--shards", "auto"}), Not(HasSubstr("shards")));
}

// A configuration says how it is rewritten; flags win, key by key.
TEST_F(Shards, OfAConfigurationAreThoseItAsksFor) {
  const std::string file = path("model.yaml");
  const auto asks = [&](const std::string& rewrite) {
    std::ofstream(file) << "include: " << kSource << "/models/configs/gpt2_tiny.yaml\nrunconfig: {rewrite: " << rewrite
                        << "}\n";
  };
  const auto program_of = [&](const std::string& rewrite, const std::vector<std::string>& flags) {
    asks(rewrite);
    compile(file, flags);
    return slurp(path("p.csp/program.fb"));
  };
  const std::string both = "[shards=2, columns=2]";
  asks(both);
  EXPECT_THAT(compile(file, {}), HasSubstr("a sample in 2 shards"));
  EXPECT_TRUE(program_of(both, {}) == program_of("[]", {"--shards", "2", "--rewrite", "columns=2"}));
  EXPECT_TRUE(program_of(both, {"--shards", "1"}) == program_of("[]", {"--rewrite", "columns=2"}));
  EXPECT_TRUE(program_of(both, {"--rewrite", "columns=1"}) == program_of("[]", {"--shards", "2"}));
  EXPECT_TRUE(program_of(both, {}) != program_of("[]", {}));
  EXPECT_TRUE(program_of("shards=auto", {}) == program_of("[]", {"--shards", "auto"}));
  asks("shards=many");
  const ChildResult r = run("cs-compile", {file, "-o", path("q.csp")});
  EXPECT_EQ(r.exit_code, 2);
  EXPECT_THAT(r.err, testing::AllOf(HasSubstr("runconfig.rewrite"), HasSubstr("shards=many"), HasSubstr("N|auto")));
}

// Rows of pictures, with those of their neighbours: convolutions with strides and groups, pools, a mean of all rows.
TEST_F(Shards, OfPicturesAreRightAndFaster) { four_shards_take("shufflenet", 0.7); }

// Logits by the columns of their matrix, beside parts of the tokens, on both machines.
TEST_F(Shards, OfColumnsAreRight) {
  for (const std::string& machine : machines())
    for (const std::string shards : {"1", "2"}) {
      EXPECT_THAT(
          compile(of("gpt", "model.onnx"), {"-m", machine, "--shards", shards, "--rewrite", "columns=4"}),
          Not(HasSubstr("is cut by its columns")));
      EXPECT_GT(interval("gpt"), 0);
    }
  EXPECT_THAT(compile(of("lstm", "model.onnx"), {"--rewrite", "columns=4"}),
              HasSubstr("no product that makes an output is cut by its columns"));
}

// The layer inside of a feed-forward network, whose parts are added up, on both machines, beside parts of the tokens.
TEST_F(Shards, OfSumsAreRight) {
  for (const std::string& machine : machines())
    for (const std::string shards : {"1", "2"}) {
      EXPECT_THAT(compile(of("gpt", "model.onnx"), {"-m", machine, "--shards", shards, "--rewrite", "sums=2"}),
                  Not(HasSubstr("is added up from parts")));
      EXPECT_GT(interval("gpt"), 0);
    }
  EXPECT_THAT(compile(of("lstm", "model.onnx"), {"--rewrite", "sums=2"}),
              HasSubstr("no product is added up from parts"));
}

// 7 tokens, and two programs beside each other.
// Hidden states of the masked tokens, and of the first one, come from the shards that have them: nothing puts all
// tokens of the last layer together. Values are the host's.
TEST_F(Shards, MaskedStepsComeFromThoseThatHaveThem) {
  const auto bert = [this](std::vector<std::string> more) {
    more.insert(more.begin(), {"--result", "masked", "--set", "train_input.max_sequence_length=16", "--set",
                               "train_input.max_predictions_per_seq=2", "--set", "model.max_position_embeddings=16"});
    compile(kSource + "/models/configs/bert_tiny.yaml", more);
  };
  bert({"--autogen-policy", "disabled", "--host-ops", "allow"});
  EXPECT_EQ(run("cs-sim", {path("p.csp"), "-q", "--iterations", "3", "--outputs", path("want.npz")}).exit_code, 0);
  for (const std::string shards : {"2", "4"}) {
    bert({"--shards", shards, "--host-ops", "forbid"});
    const json report = json::parse(slurp(path("p.csp") + "/compile_report.json"), nullptr, false);
    std::string names;
    for (const json& kernel : report["kernels"]) names += kernel.value("name", "") + " ";
    EXPECT_THAT(names, HasSubstr("masked_steps_"));
    EXPECT_THAT(names, HasSubstr("first_token_slice"));
    EXPECT_THAT(names, Not(HasSubstr("layer0_norm2_y_whole")));
    const ChildResult checked =
        run("cs-sim", {path("p.csp"), "-q", "--iterations", "3", "--expect", path("want.npz")});
    EXPECT_EQ(checked.exit_code, 0) << checked.err;
  }
}

TEST_F(Shards, OfUnequalPartsAndInSeveralCopies) {
  const std::string model =
      write("m.yaml",
            "graph: m\ninputs:\n  - {name: x, type: \"f32[1, 7, 4]\", sample_dim: 0}\nnodes:\n"
            "  - {name: a, op: exp, inputs: [x]}\n"
            "  - {name: y, op: softmax, inputs: [a], attrs: {axis: -1}}\noutputs: [y]\n");
  compile(model, {});
  ASSERT_EQ(
      run("cs-sim", {path("p.csp"), "-q", "--iterations", "4", "--outputs", path("whole.npz")}).exit_code, 0);
  for (const std::vector<std::string>& more : {std::vector<std::string>{"--shards", "3"},
                                               {"--shards", "2", "--copies", "2"},
                                               {"--shards", "3", "--autogen-policy", "aggressive"}}) {
    compile(model, more);
    const ChildResult r =
        run("cs-sim", {path("p.csp"), "-q", "--iterations", "4", "--expect", path("whole.npz")});
    EXPECT_EQ(r.exit_code, 0) << r.err;
  }
}

TEST_F(Shards, TheCommandLineSaysWhatIsWrong) {
  const auto message = [&](std::vector<std::string> args) {
    args.insert(args.end(), {"-o", path("p.csp")});
    const ChildResult r = run("cs-compile", args);
    EXPECT_EQ(r.exit_code, 2);
    return r.err;
  };
  const std::string model = of("rnn", "model.onnx");
  EXPECT_THAT(message({model, "--shards", "33"}),
              HasSubstr("'33' is neither auto nor a number from 1 to 32"));
  EXPECT_THAT(message({model, "--shards", "some"}), HasSubstr("'some' is neither auto"));
  EXPECT_THAT(message({model, "--shards", "2", "--operands", "resident"}),
              HasSubstr("leave out --operands resident"));
  EXPECT_THAT(message({write("l.csl", "layout {}"), "--shards", "2"}), HasSubstr("--shards is for models"));
  const std::string mixes =
      write("m.yaml",
            "graph: m\ninputs:\n  - {name: x, type: \"f32[1, 3]\", sample_dim: 0}\nnodes:\n"
            "  - {name: y, op: softmax, inputs: [x]}\noutputs: [y]\n");
  EXPECT_THAT(compile(mixes, {"--shards", "8"}), HasSubstr("nothing is computed in 8 shards"));
}

}  // namespace
}  // namespace cs::e2e
