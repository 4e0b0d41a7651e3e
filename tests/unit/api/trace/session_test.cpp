// Backends, and what one wafer takes.
#include <gmock/gmock.h>

#include "tests/unit/api/trace/fixture.h"

namespace cs {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

class SessionTest : public TraceTest {
 protected:
  SessionTest() : TraceTest({}) {}
};

TEST_F(SessionTest, AnUnknownBackendListsWhatThereIs) {
  EXPECT_THAT([] { backend("CSX"); }, ThrowsMessage<BackendError>(AllOf(
                                          HasSubstr("unknown backend 'CSX'"), HasSubstr("host, sim (wse2)"),
                                          HasSubstr("small"), HasSubstr("wse3"))));
  EXPECT_THAT([] { backend("sim", {.policy = "fast"}); },
              ThrowsMessage<BackendError>(HasSubstr("policy 'fast'")));
  EXPECT_THAT([] { backend("sim", {.host_ops = "no"}); },
              ThrowsMessage<BackendError>(HasSubstr("host_ops 'no'")));
  EXPECT_THAT(
      [] {
        backend("sim", {.fabric = std::pair{0, 4}});
      },
      ThrowsMessage<BackendError>(HasSubstr("fabric 0x4")));
}

TEST_F(SessionTest, ASecondCompileIsRefused) {
  const uint32_t line = __LINE__ + 1;
  compile(Linear(4, 4), wafer);
  EXPECT_THAT([&] { compile(ReLU(), wafer); },
              ThrowsMessage<CompileError>(
                  HasSubstr("a second compile in one session: the backend small has Linear since "
                            "session_test.cpp:" +
                            std::to_string(line))));
  const Backend free = backend("small", {.reload = true});
  compile(Linear(4, 4), free);
  EXPECT_NO_THROW(compile(Linear(4, 4), free));
}

TEST_F(SessionTest, ASecondProgramIsRefused) {
  trace([](const Tensor& x) { return relu(x); }, {.name = "first"})(row());
  auto second = trace([](const Tensor& x) { return tanh(x); }, {.name = "second"});
  EXPECT_THAT([&] { second(row()); },
              ThrowsMessage<ReloadError>(
                  HasSubstr("programmed with first(), and the graph of second() is another one")));
  EXPECT_EQ(wafer.statistics().programs, 1);
}

TEST_F(SessionTest, TheSameGraphIsTheSameProgram) {
  const auto both = [](const Tensor& x) { return relu(x); };
  trace(both)(row());
  trace(both)(row());
  EXPECT_EQ(wafer.statistics().programs, 1);
  EXPECT_EQ(wafer.statistics().iterations, 2);
}

TEST_F(SessionTest, WithReloadProgramsTakeTurnsAndWeightsThatChangedAreNew) {
  const Backend free = backend("small", {.reload = true});
  Weight w(row(2).value(), "w");
  auto a = trace([&](const Tensor& x) { return x * w; });
  auto b = trace([&](const Tensor& x) { return x + w; });
  EXPECT_EQ(a(row(3)).floats(), row(6).floats());
  EXPECT_EQ(b(row(3)).floats(), row(5).floats());
  EXPECT_EQ(a(row(4)).floats(), row(8).floats());
  EXPECT_EQ(free.statistics().programs, 2);
  w.store(row(5).value());
  EXPECT_EQ(a(row(4)).floats(), row(20).floats());
  EXPECT_EQ(free.statistics().programs, 3);
}

TEST_F(SessionTest, OtherWeightsOfAProgramThatDoesNotTrainThemAreAnotherProgram) {
  Weight w(row(2).value(), "w");
  auto step = trace([&](const Tensor& x) { return x * w; });
  step(row());
  EXPECT_THROW(w.store(Tensor({2}, {1, 2}).value()), TraceError);
  w.store(row(5).value());
  EXPECT_THAT([&] { step(row()); }, ThrowsMessage<ReloadError>(HasSubstr("w has changed since")));
}

TEST_F(SessionTest, OneStepHasOneBackend) {
  const CompiledModel a = compile(Linear(4, 4), wafer), b = compile(Linear(4, 4), backend("small"));
  EXPECT_THAT([&] { trace([&](const Tensor& x) { return a(b(x)); })(row()); },
              ThrowsMessage<CompileError>(HasSubstr("compiled for two backends")));
  const Backend other = backend("small");
  EXPECT_THAT([&] { trace([&](const Tensor& x) { return a(x); }, {.backend = other})(row()); },
              ThrowsMessage<CompileError>(HasSubstr("uses a model that is compiled for another one")));
}

TEST_F(SessionTest, AModelAloneIsAStepOfItsOwn) {
  const CompiledModel model = compile(Sequential(Linear(4, 3), ReLU()), wafer);
  const std::vector<Weight> w = model.weights();
  ASSERT_EQ(w.size(), 2u);
  EXPECT_EQ(w[0].name(), "0.weight");
  const Tensor expected = relu(linear(row(2), w[0], w[1])), found = model(row(2));
  ASSERT_EQ(found.shape(), (ops::Shape{1, 3}));
  for (size_t k = 0; k < 3; ++k) EXPECT_NEAR(found.floats()[k], expected.floats()[k], 1e-6);
}

TEST_F(SessionTest, TheHostComputesTheSameGraph) {
  const Backend host = backend("host");
  auto step = trace([](const Tensor& x) { return relu(x) * 3.0; }, {.backend = host});
  EXPECT_EQ(step(row(2)).floats(), row(6).floats());
  EXPECT_EQ(wafer.statistics().iterations, 0);
}

TEST_F(SessionTest, AnOperatorWithoutAKernelIsAnErrorOfItsLine) {
  const uint32_t line = __LINE__ + 1;
  auto step = trace([](const Tensor& x) { return op("cast", {x}, {{"to", std::string("f64")}}) * 2.0; });
  EXPECT_THAT([&] { step(row()); },
              ThrowsMessage<CompileError>(AllOf(HasSubstr("session_test.cpp:" + std::to_string(line)))));
}

}  // namespace
}  // namespace cs
