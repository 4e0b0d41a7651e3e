// Inputs and weights that are said not to change: who writes one is named, unless it is allowed.
#include <gmock/gmock.h>

#include "runtime/host/npz.h"
#include "tests/e2e/run_tool.h"

namespace cs::e2e {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Adds its input to what it keeps: w is a state that the next run begins with, k is only read.
constexpr const char* kCounter = R"(graph: counter
inputs:
  - {name: x, type: "f32[4]"}
  - {name: w, type: "f32[4]"%s}
  - {name: k, type: "f32[4]", static: true}
nodes:
  - {name: sum, op: add, inputs: [w, x]}
  - {name: y, op: mul, inputs: [sum, k]}
outputs: [y, sum]
states:
  - {name: kept, purpose: weights, input: w, output: sum, value: [0, 0, 0, 0]}
)";

class StaticInputs : public Scratch {
 protected:
  std::string counter(const std::string& of_w, const std::string& more = "") const {
    std::string text = kCounter;
    text.replace(text.find("%s"), 2, of_w);
    return write("counter.yaml", text + more);
  }
  ChildResult compile(const std::string& model, std::vector<std::string> options = {}) const {
    options.insert(options.begin(), {model, "--no-baselines", "--no-advice", "-o", path("out.csp")});
    return run("cs-compile", options);
  }
  std::string data(int64_t steps_of_k) const {
    const auto ones = [](const std::string& name, int64_t steps) {
      NamedArray a{name, ops::Tensor({DataType::f32, {steps, 4}})};
      for (int64_t i = 0; i < a.tensor.elements(); ++i) a.tensor.set(i, 1);
      return a;
    };
    Diag diag;
    EXPECT_TRUE(write_npz(path("data.npz"), {ones("x", 3), ones("k", steps_of_k)}, diag)) << diag.to_string();
    return path("data.npz");
  }
  // What is kept behind three steps that add 1.
  double kept_after_three() const {
    const ChildResult r = run("cs-sim", {path("out.csp"), "--data", data(1), "--state-out", path("state.npz"), "-q"});
    EXPECT_EQ(r.exit_code, 0) << r.out << r.err;
    Diag diag;
    const auto states = read_npz(path("state.npz"), diag);
    const NamedArray* kept = states ? find_array(*states, "kept") : nullptr;
    return kept != nullptr ? kept->tensor.get(0) : -1;
  }
};

TEST_F(StaticInputs, WhoWritesOneIsNamed) {
  const ChildResult r = compile(counter(", static: true"));
  EXPECT_EQ(r.exit_code, 1);
  EXPECT_THAT(r.err, HasSubstr("'w' is said to be static, and it is written by 'sum' (add, counter.yaml:7)"));
  EXPECT_THAT(r.err, HasSubstr("--allow-mutated-static-inputs"));
  EXPECT_THAT(r.err, Not(HasSubstr("'k'")));
}

TEST_F(StaticInputs, ThatIsAllowedWhereOneSaysSo) {
  EXPECT_EQ(compile(counter(", static: true"), {"--allow-mutated-static-inputs"}).exit_code, 0);
  EXPECT_EQ(kept_after_three(), 3);
  EXPECT_EQ(compile(counter(", static: true", "replay: {allow_mutated_static_inputs: true}\n")).exit_code, 0);
  EXPECT_EQ(kept_after_three(), 3);
  EXPECT_EQ(compile(counter("")).exit_code, 0);
  EXPECT_EQ(compile(counter(", static: true", "replay: {allow_mutated_static_inputs: false}\n")).exit_code, 1);
  EXPECT_EQ(compile(counter(", static: true"), {"--set", "runconfig.allow_mutated_static_inputs=false"}).exit_code, 1);
}

TEST_F(StaticInputs, HaveOneValueForAllSteps) {
  ASSERT_EQ(compile(counter("")).exit_code, 0);
  const ChildResult r = run("cs-sim", {path("out.csp"), "--data", data(3), "-q"});
  EXPECT_EQ(r.exit_code, 1);
  EXPECT_THAT(r.err, HasSubstr("array 'k' has 3 slices, but the input is static"));
  const ChildResult samples = compile(write("samples.yaml", R"(graph: samples
inputs:
  - {name: x, type: "f32[1, 4]", sample_dim: 0, static: true}
nodes:
  - {name: y, op: relu, inputs: [x]}
outputs: [y]
)"));
  EXPECT_EQ(samples.exit_code, 1);
  EXPECT_THAT(samples.err, HasSubstr("input 'x' has samples, so it is not static"));
}

TEST_F(StaticInputs, TrainingOneIsWritingIt) {
  const std::string mlp = kSource + "/tests/training/mlp.yaml";
  const std::vector<std::string> frozen{"--set", "runconfig.static_inputs=[layer0_w]"};
  const ChildResult r = compile(mlp, frozen);
  EXPECT_EQ(r.exit_code, 1);
  EXPECT_THAT(r.err, HasSubstr("'layer0_w' is said to be static, and it is written by"));
  EXPECT_THAT(r.err, Not(HasSubstr("'classifier_w'")));
  const ChildResult unknown = compile(mlp, {"--set", "runconfig.static_inputs=[layer0_v]"});
  EXPECT_EQ(unknown.exit_code, 1);
  EXPECT_THAT(unknown.err, HasSubstr("did you mean 'layer0_w'?"));
  const ChildResult allowed =
      compile(mlp, {frozen[0], frozen[1], "--set", "runconfig.allow_mutated_static_inputs=true"});
  EXPECT_EQ(allowed.exit_code, 0) << allowed.err;
}

// One that is written is static no more.
TEST_F(StaticInputs, StandInTheTextThatReadsBack) {
  const std::string model = counter(", static: true", "replay: {allow_mutated_static_inputs: true}\n");
  ASSERT_EQ(run("cs-compile", {model, "--emit", "graph", "-o", path("again.yaml")}).exit_code, 0);
  const std::string text = slurp(path("again.yaml"));
  EXPECT_THAT(text, HasSubstr(R"({name: k, type: "f32[4]", static: true})"));
  EXPECT_THAT(text, HasSubstr(R"({name: w, type: "f32[4]"})"));
  EXPECT_EQ(compile(path("again.yaml")).exit_code, 0);
}

}  // namespace
}  // namespace cs::e2e
