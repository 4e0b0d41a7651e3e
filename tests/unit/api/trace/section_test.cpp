// Sections and taps: what runs where, what crosses, what comes back behind them.
#include <gmock/gmock.h>

#include "tests/unit/api/trace/fixture.h"

namespace cs {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::ThrowsMessage;

class Sections : public TraceTest {
 protected:
  Sections() : TraceTest({.reload = true}) {}

  static std::vector<std::string> crossed(const BackendSection& section) {
    std::vector<std::string> out;
    for (const Transfer& t : section.transfers()) out.push_back((t.to_wafer ? "> " : "< ") + t.name);
    return out;
  }
};

TEST_F(Sections, StepsRunOnTheInnermostOneWhichIsRestored) {
  EXPECT_EQ(current_backend().name(), "host");
  const Backend other = backend("small");
  const BackendSection outer(wafer);
  {
    const BackendSection inner(other);
    EXPECT_EQ(current_backend().state(), other.state());
    trace([](const Tensor& x) { return relu(x); })(row());
  }
  EXPECT_EQ(other.statistics().iterations, 1);
  EXPECT_EQ(wafer.statistics().iterations, 0);
  EXPECT_EQ(current_backend().state(), wafer.state());
  try {
    const BackendSection inner(backend("host"));
    throw std::runtime_error("early");
  } catch (const std::runtime_error&) {
  }
  EXPECT_EQ(current_backend().state(), wafer.state());
  EXPECT_THROW(with_backend(
                   other, [](const Tensor& x) -> Tensor { return Tensor(x.value()); }, row()),
               StaticGraphError);
  EXPECT_EQ(current_backend().state(), wafer.state());
}

TEST_F(Sections, ATapBringsAValueEveryFewSteps) {
  std::vector<std::pair<int64_t, double>> seen;
  const BackendSection section(wafer);
  const Tap tap = section.tap("sum", 3, [&](int64_t k, const Tensor& v) { seen.emplace_back(k, v.item()); });
  auto step = trace([&](const Tensor& x) { tap(sum(x)); });
  for (int k = 0; k < 8; ++k) step(row(float(k)));
  EXPECT_THAT(seen, ElementsAre(Pair(0, 0), Pair(3, 12), Pair(6, 24)));
  EXPECT_EQ(step.traces(), 1);
  EXPECT_THAT([&] { section.tap("sum", 0, {}); }, ThrowsMessage<TraceError>(HasSubstr("from 1 on")));
}

TEST_F(Sections, ATapThatIsOffCostsNothing) {
  const auto cycles = [&](bool tapped) {
    const Backend fresh = backend("small");
    const BackendSection section(fresh);
    const Tap off = section.tap("off", 1, {});
    auto step = trace([&](const Tensor& x) {
      const Tensor y = relu(x);
      if (tapped) off(y * 2.0);
      return sum(y);
    });
    step(row(2));
    return fresh.statistics().cycles;
  };
  EXPECT_GT(cycles(false), 0u);
  EXPECT_EQ(cycles(true), cycles(false));
}

TEST_F(Sections, EveryCrossingTensorCountsOnce) {
  const Linear layer(4, 2);
  const Optimizer sgd("SGD", layer.weights(), "{learning_rate: 0.1}");
  auto step = trace(
      [&](const Tensor& x) {
        Tensor loss = sum(layer(x));
        loss.backward();
        sgd.step();
        sgd.zero_grad();
        return loss;
      },
      {.inputs = {"x"}});
  {
    const BackendSection first(wafer);
    for (int k = 0; k < 3; ++k) step(row(float(k)));
    EXPECT_EQ(crossed(first).size(), 4u);  // x, weight and bias go there, the loss comes back
    EXPECT_THAT(crossed(first), ::testing::Contains("> x"));
    EXPECT_EQ(first.transfers()[0], (Transfer{"x", true, 16}));
  }
  const BackendSection second(wafer);  // the weights are there
  step(row());
  EXPECT_EQ(crossed(second).size(), 2u);
}

TEST_F(Sections, AFunctionElsewhereTakesAndGivesTensorsTuplesAndNumbers) {
  EXPECT_EQ(with_wafer([](const Tensor& x) { return x + x; }, row(2)).floats(), row(4).floats());
  const auto [a, b] = with_backend(
      wafer,
      [](const Tensor& x, const Tensor& y) {
        return std::tuple{relu(x), x * y};
      },
      row(-2), row(3));
  EXPECT_EQ(a.floats(), row(0).floats());
  EXPECT_EQ(b.floats(), row(-6).floats());
  EXPECT_EQ(with_backend(
                wafer, [](const Tensor& x, int n) { return x * double(n); }, row(2), 5)
                .floats(),
            row(10).floats());
  EXPECT_EQ(with_backend(
                wafer, [](int n) { return 2 * n; }, 21),
            42);
  int calls = 0;
  with_backend(
      wafer, [&](int) { ++calls; }, 1);
  EXPECT_EQ(calls, 1);
  // Two wafers, and the host gathers.
  const Backend left = backend("small"), right = backend("small");
  const Tensor x = with_backend(
      left, [](const Tensor& t) { return t * 2.0; }, row(1));
  const Tensor y = with_backend(
      right, [](const Tensor& t) { return t * 3.0; }, row(1));
  EXPECT_EQ((x + y).floats(), row(5).floats());
}

}  // namespace
}  // namespace cs
