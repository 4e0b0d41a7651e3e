// What happens once, and what is an error, where a function is traced in the first call alone.
#include <gmock/gmock.h>

#include "tests/unit/api/trace/fixture.h"

namespace cs {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST_F(TraceOnce, TracedOnceAndRunEachTime) {
  int calls = 0;
  auto step = trace([&](const Tensor& x) {
    ++calls;  // a side effect
    return relu(x) * 2.0;
  });
  for (int k = 0; k < 10; ++k) EXPECT_EQ(step(row(float(k))).floats(), row(2 * float(k)).floats());
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(step.traces(), 1);
  EXPECT_EQ(step.iterations(), 10);
  EXPECT_EQ(wafer.statistics().traces, 1);
  EXPECT_EQ(wafer.statistics().iterations, 10);
  EXPECT_EQ(wafer.statistics().programs, 1);
}

TEST_F(TraceOnce, OnlyTheBranchOfTheFirstIterationIsInTheGraph) {
  bool deep = true;
  auto step = trace([&](const Tensor& x) { return branch("deep", deep) ? relu(x) : tanh(x); },
                    {.scalars = {watch("deep", deep)}, .warn = keep()});
  step(row());
  deep = false;
  step(row());
  EXPECT_THAT(nodes(step), ElementsAre("relu"));
  EXPECT_THAT(step.explain(), HasSubstr("branch 'deep': true   once_test.cpp:"));
  EXPECT_THAT(step.warnings(),
              ElementsAre(HasSubstr("'deep' was 1 when step() was traced and is a constant")));
}

TEST_F(TraceOnce, LoopsAreUnrolledByTheTripsOfTheFirstIteration) {
  int64_t count = 3;
  auto step = trace([&](Tensor x) {
    for (int64_t k = 0; k < trips("layers", count); ++k) x = relu(x);
    return x;
  });
  step(row());
  count = 5;
  step(row());
  EXPECT_THAT(nodes(step), ElementsAre("relu", "relu", "relu"));
  EXPECT_THAT(step.explain(), HasSubstr("loop 'layers': 3 trips"));
}

TEST_F(TraceOnce, WhatLinesHaveBecomeCanBeRead) {
  uint32_t line = 0;
  auto step = trace([&](Tensor x) {
    line = __LINE__;
    for (int k = 0; k < 3; ++k) x = relu(x);
    return tanh(x) * 2.0;
  });
  EXPECT_EQ(step.explain(), "step() has not been traced");
  step(row());
  EXPECT_EQ(step.explain(), "step(): 5 nodes\n  once_test.cpp:" + std::to_string(line + 1) +
                                ": 3 x relu\n  once_test.cpp:" + std::to_string(line + 2) +
                                ": tanh, mul\n  constants of the program: 2\n");
}

TEST_F(TraceOnce, AWatchedNumberIsAConstantAndAWarningNamesIt) {
  float scale = 2;
  auto step =
      trace([&](const Tensor& x) { return x * scale; }, {.scalars = {watch("scale", scale)}, .warn = keep()});
  EXPECT_EQ(step(row(1)).floats(), row(2).floats());
  EXPECT_THAT(warned, IsEmpty());
  scale = 3;
  EXPECT_EQ(step(row(1)).floats(), row(2).floats());
  step(row(1));
  EXPECT_THAT(warned, ElementsAre(HasSubstr(
                          "'scale' was 2 when step() was traced and is a constant of its graph; that "
                          "it is 3 now changes nothing")));
}

TEST_F(TraceOnce, AFunctionThatChangesAWatchedNumberIsWarnedOf) {
  int seen = 0;
  auto step = trace(
      [&](const Tensor& x) {
        ++seen;
        return relu(x);
      },
      {.scalars = {watch("seen", seen)}, .warn = keep()});
  for (int k = 0; k < 3; ++k) step(row());
  EXPECT_EQ(seen, 1);
  EXPECT_THAT(warned, ElementsAre(HasSubstr("step() changes 'seen' while it is traced; that happens once")));
}

TEST_F(TraceOnce, AnArgumentThatIsANumberIsAConstantToo) {
  auto step = trace([](const Tensor& x, double factor) { return x * factor; },
                    {.inputs = {"x", "factor"}, .warn = keep()});
  step(row(1), 2.0);
  EXPECT_EQ(step(row(1), 3.0).floats(), row(2).floats());
  EXPECT_THAT(warned, ElementsAre(HasSubstr("'factor' was 2 when step() was traced")));
}

TEST_F(TraceOnce, AnotherShapeOrTypeIsAnError) {
  auto step = trace([](const Tensor& x) { return relu(x); }, {.inputs = {"x"}});
  step(row());
  try {
    step(Tensor({2, 4}, std::vector<float>(8)));
    FAIL() << "the shape has changed";
  } catch (const GraphChanged& error) {
    EXPECT_EQ(error.iteration, 1);
    EXPECT_EQ(error.node, 0);
    EXPECT_THAT(error.what(), HasSubstr("argument x: f32[1, 4] -> f32[2, 4]"));
    EXPECT_THAT(error.what(), HasSubstr("relu(x) -> f32[1, 4], at once_test.cpp:"));
  }
  EXPECT_THAT(
      [&] {
        step(ops::Tensor({DataType::f16, {1, 4}}));
      },
      ::testing::ThrowsMessage<GraphChanged>(HasSubstr("f32[1, 4] -> f16[1, 4]")));
}

TEST_F(TraceOnce, SeveralResultsAndNone) {
  auto step = trace([](const Tensor& x) { return std::tuple{relu(x), x * 2.0, x}; });
  const auto [a, b, c] = step(row(3));
  EXPECT_EQ(a.floats(), row(3).floats());
  EXPECT_EQ(b.floats(), row(6).floats());
  EXPECT_EQ(c.floats(), row(3).floats());
  int calls = 0;
  auto nothing = trace([&](const Tensor&) { ++calls; }, {.backend = wafer});
  for (int k = 0; k < 3; ++k) nothing(row());
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(nothing.iterations(), 3);
}

TEST_F(TraceOnce, AStepWithinAStepIsAPartOfIt) {
  auto inner = trace([](const Tensor& x) { return relu(x); });
  auto outer = trace([&](const Tensor& x) { return inner(x) + inner(x); });
  EXPECT_EQ(outer(row(2)).floats(), row(4).floats());
  EXPECT_EQ(inner.traces(), 0);
  EXPECT_THAT(nodes(outer), ElementsAre("relu", "relu", "add"));
}

class Refused : public TraceOnce {
 protected:
  // Line of the error, whose message has this text.
  template <typename F>
  uint32_t refused(F function, const std::string& text) {
    try {
      trace(std::move(function))(row());
      ADD_FAILURE() << "nothing is refused";
    } catch (const StaticGraphError& error) {
      EXPECT_THAT(error.what(), HasSubstr(text));
      EXPECT_EQ(error.where().file, "once_test.cpp") << error.what();
      return error.where().line;
    }
    return 0;
  }
};

TEST_F(Refused, TheValueOfATracedTensor) {
  uint32_t line = 0;
  const auto item = [&](const Tensor& x) {
    line = __LINE__ + 1;
    return x * sum(x).item();
  };
  EXPECT_EQ(refused(item, "the value of a traced f32[] (reduce_sum) is asked for"), line);
  const auto value = [&](const Tensor& x) {
    line = __LINE__ + 1;
    return Tensor(x.value());
  };
  EXPECT_EQ(refused(value, "the value of a traced f32[1, 4] (x0)"), line);
}

TEST_F(Refused, ABranchOnATracedValue) {
  uint32_t line = 0;
  const auto step = [&](const Tensor& x) {
    line = __LINE__ + 1;
    if (sum(x) > 0.0) return relu(x);
    return tanh(x);
  };
  EXPECT_EQ(refused(step, "branches and loops depend on host values only"), line);
}

TEST_F(Refused, AShapeThatDependsOnValues) {
  uint32_t line = 0;
  const auto step = [&](const Tensor& x) {
    line = __LINE__ + 1;
    return op("non_zero", {x});
  };
  EXPECT_EQ(refused(step, "non_zero: "), line);
}

TEST_F(Refused, OperatorsOperandsAndAttributesThatAreNone) {
  refused([](const Tensor& x) { return op("rellu", {x}); },
          "there is no operator 'rellu'; did you mean 'relu'?");
  refused([](const Tensor& x) { return x + Tensor({3}, {1, 2, 3}); }, "add: ");
  refused([](const Tensor& x) { return op("leaky_relu", {x}, {{"alhpa", 0.5}}); }, "alhpa");
}

TEST_F(Refused, ATensorOfATraceThatIsOver) {
  std::vector<Tensor> kept;
  auto first = trace([&](const Tensor& x) {
    kept.push_back(relu(x));
    return kept.back();
  });
  first(row());
  refused([&](const Tensor& x) { return x + kept[0]; }, "whose tracing is over");
  EXPECT_THROW(kept[0].value(), StaticGraphError);
}

TEST_F(Refused, TrainingThatIsNotWhole) {
  const Linear layer(4, 1);
  const Optimizer sgd("SGD", layer.weights(), "{learning_rate: 0.1}");
  const auto train = [&](const Tensor& loss) {
    loss.backward();
    sgd.step();
    return loss;
  };
  refused(
      [&](const Tensor& x) {
        sgd.step();
        return x;
      },
      "without a backward()");
  refused([&](const Tensor& x) { return train(layer(x)); }, "without zero_grad()");
  refused([&](const Tensor& x) { return train(relu(x)); }, "loss of one element, this one is f32[1, 4]");
  refused([&](const Tensor& x) { return train(sum(x)); }, "uses none of the optimizer's weights");
  EXPECT_THROW(sgd.step(), StaticGraphError);
}

TEST_F(Refused, AfterAnErrorAStepBeginsAnew) {
  auto step = trace([](const Tensor& x) { return x.shape()[0] == 2 ? Tensor(x.value()) : relu(x); });
  EXPECT_THROW(step(Tensor({2, 4}, std::vector<float>(8))), StaticGraphError);
  EXPECT_EQ(step(row(1)).floats(), row(1).floats());
}

TEST(OutsideOfTraces, TheHostComputesAtOnce) {
  const Tensor x({2}, {-1, 3});
  EXPECT_EQ((relu(x) + 1.0).floats(), (std::vector<float>{1, 4}));
  EXPECT_EQ(sum(x).item(), 2);
  EXPECT_TRUE(bool(sum(x) > 1.0));
  EXPECT_THAT([&] { x.item(); },
              ::testing::ThrowsMessage<TraceError>(HasSubstr("f32[2] has not one element")));
}

}  // namespace
}  // namespace cs
