// With retrace_every_iteration: what happens in every call, and graphs that change.
#include <gmock/gmock.h>
#include <malloc.h>

#include "tests/unit/api/trace/fixture.h"

namespace cs {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Retrace : public TraceTest {
 protected:
  Retrace() : TraceTest({.retrace_every_iteration = true}) {}

  // The error of the fourth iteration, in which `now` is set; the three before are good.
  template <typename F>
  GraphChanged changed(F function, const Tensor& last = row()) {
    auto step = trace(std::move(function), {.inputs = {"x"}});
    now = false;
    for (int k = 0; k < 3; ++k) step(row());
    now = true;
    try {
      step(last);
    } catch (const GraphChanged& error) {
      EXPECT_EQ(error.iteration, 3);
      EXPECT_THAT(error.what(), HasSubstr("the graph of step() has changed in iteration 3"));
      return error;
    }
    ADD_FAILURE() << "the graph has not changed";
    return {"", 0};
  }
  bool now = false;
};

TEST_F(Retrace, TracedAndSideEffectsInEveryIteration) {
  int calls = 0;
  float unused = 0;
  auto step = trace(
      [&](const Tensor& x) {
        ++calls;
        return relu(x);
      },
      {.scalars = {watch("calls", calls), watch("unused", unused)}, .warn = keep()});
  for (int k = 0; k < 10; ++k) {
    unused = float(k);
    step(row());
  }
  EXPECT_EQ(calls, 10);
  EXPECT_EQ(step.traces(), 10);
  EXPECT_EQ(wafer.statistics().traces, 10);
  EXPECT_EQ(wafer.statistics().programs, 1);
  EXPECT_THAT(warned, IsEmpty());
}

TEST_F(Retrace, AHyperChangesWithoutChangingTheGraph) {
  Hyper rate = hyper(0.5, "rate");
  auto step = trace([&](const Tensor& x) { return x * rate; });
  EXPECT_EQ(step(row(4)).floats(), row(2).floats());
  rate.set(0.25);
  EXPECT_EQ(step(row(4)).floats(), row(1).floats());
  EXPECT_EQ(wafer.statistics().programs, 1);
}

TEST_F(Retrace, AFlippedBranch) {
  uint32_t line = 0;
  const GraphChanged error = changed([&](const Tensor& x) {
    line = __LINE__ + 1;
    if (now) return tanh(x);
    return relu(x);
  });
  EXPECT_EQ(error.node, 0);
  EXPECT_EQ(error.before.line, line + 1);
  EXPECT_EQ(error.after.line, line);
  EXPECT_THAT(error.what(), HasSubstr("first difference: node 0, operator relu -> tanh"));
  EXPECT_THAT(error.what(), HasSubstr("iteration 0: relu = relu(x) -> f32[1, 4]   retrace_test.cpp:" +
                                      std::to_string(line + 1)));
  EXPECT_THAT(error.what(), HasSubstr("iteration 3: tanh = tanh(x) -> f32[1, 4]   retrace_test.cpp:" +
                                      std::to_string(line)));
}

TEST_F(Retrace, AChangedTripCount) {
  const GraphChanged error = changed([&](Tensor x) {
    for (int k = 0; k < (now ? 4 : 2); ++k) x = relu(x);
    return x;
  });
  EXPECT_EQ(error.node, 2);
  EXPECT_THAT(error.what(), HasSubstr("iteration 0: ends before"));
  EXPECT_THAT(error.what(), HasSubstr("nodes: 2 -> 4"));
}

TEST_F(Retrace, AChangedShape) {
  const GraphChanged error =
      changed([](const Tensor& x) { return relu(x); }, Tensor({2, 4}, std::vector<float>(8)));
  EXPECT_THAT(error.what(), HasSubstr("argument x: f32[1, 4] -> f32[2, 4]"));
  EXPECT_THAT(error.what(), HasSubstr("node 0, shape f32[1, 4] -> f32[2, 4]"));
}

TEST_F(Retrace, AChangedConstant) {
  const GraphChanged error = changed([&](const Tensor& x) { return relu(x) * (now ? 2.0 : 1.0); });
  EXPECT_EQ(error.node, 1);
  EXPECT_THAT(error.what(), HasSubstr("node 1, constant 1 -> 2"));
}

TEST_F(Retrace, AChangedArray) {
  const Tensor a({1, 8}, {1, 2, 3, 4, 5, 6, 7, 8}), b({1, 8}, {8, 2, 3, 4, 5, 6, 7, 8});
  const GraphChanged error = changed([&](const Tensor& x) { return sum(x) + (now ? b : a); });
  EXPECT_THAT(error.what(), HasSubstr("constant f32[1, 8] "));
}

TEST_F(Retrace, AChangedAttribute) {
  const GraphChanged error = changed([&](const Tensor& x) { return leaky_relu(x, now ? 0.5 : 0.25); });
  EXPECT_THAT(error.what(), HasSubstr("attribute alpha 0.25 -> 0.5"));
}

TEST_F(Retrace, AnotherWeightOfTheSameTypeAndOtherResults) {
  const Weight a(row(1).value(), "a"), b(row(1).value(), "a");
  EXPECT_THAT(changed([&](const Tensor& x) { return x + (now ? b : a); }).what(),
              HasSubstr("only now: weight"));
  const Backend free = backend("small", {.retrace_every_iteration = true});
  EXPECT_THAT(changed([&](const Tensor& x) {
                std::vector<Tensor> all = {relu(x), tanh(x)};
                if (now) all.pop_back();
                return all;
              }).what(),
              HasSubstr("only now: outputs [relu]"));
}

TEST_F(Retrace, AThousandIterationsKeepOneGraph) {
  const Linear layer(4, 2);
  auto step = trace([&](const Tensor& x) { return relu(layer(x) * 2.0); });
  size_t early = 0;
  for (int k = 0; k < 1000; ++k) {
    step(row());
    if (k == 99) early = mallinfo2().uordblks;
  }
  const size_t late = mallinfo2().uordblks;
  // Nine hundred graphs of three nodes would take some megabytes.
  EXPECT_LT(late, early + 64 * 1024);
  EXPECT_EQ(step.traces(), 1000);
  EXPECT_EQ(wafer.statistics().programs, 1);
}

TEST(Statistics, TheShareOfTracingComesWithAHint) {
  Statistics s{.trace_seconds = 3, .execute_seconds = 1, .traces = 12, .iterations = 12};
  EXPECT_EQ(s.trace_share(), 0.75);
  EXPECT_THAT(
      s.text(),
      HasSubstr(
          "hint: tracing takes 75 % of the time; without retrace_every_iteration a step is traced once"));
  s.trace_seconds = 0.1;
  EXPECT_EQ(s.hint(), "");
  s = {.trace_seconds = 3, .execute_seconds = 1, .traces = 1, .iterations = 12};
  EXPECT_EQ(s.hint(), "");
}

TEST_F(Retrace, TheSecondsOfEachPartAreCounted) {
  auto step = trace([](const Tensor& x) { return relu(x); });
  for (int k = 0; k < 3; ++k) step(row());
  const Statistics& s = wafer.statistics();
  EXPECT_GT(s.trace_seconds, 0);
  EXPECT_GT(s.compile_seconds, 0);
  EXPECT_GT(s.execute_seconds, 0);
  EXPECT_GT(s.cycles, 0u);
}

}  // namespace
}  // namespace cs
