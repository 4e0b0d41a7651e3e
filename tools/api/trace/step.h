// cs::trace: a function of tensors becomes a static graph, which a backend compiles once and runs in every
// call.
//
//   auto step = cs::trace([&](cs::Tensor x, cs::Tensor y) {
//     cs::Tensor loss = cs::loss("CrossEntropyLoss", {model(x), y});
//     loss.backward();  optimizer.step();  optimizer.zero_grad();
//     return loss;
//   }, {.name = "step", .inputs = {"x", "y"}});
//   for (...) double loss = step(images, labels).item();
//
// The function runs in the first call alone, with tensors that have a type and no value: a branch is the one
// that was taken, a loop as many copies of its body as there were trips, side effects happen once. With
// retrace_every_iteration of the backend it runs in every call and must make the same graph each time, else
// GraphChanged says what differs. docs/cpp.md has the rules.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "compiler/graph/graph_yaml.h"
#include "tools/api/trace/backend.h"
#include "tools/api/trace/tensor.h"

namespace cs {

// A variable of the host that the function reads: what it was while the function was traced is a constant of
// the graph, and a change of it later on is a warning. C++ does not tell what a function captures, so it must
// be named.
struct WatchedScalar {
  std::string name;
  std::function<double()> read;
};
// `variable` must live as long as the step, as what the function captures by reference must.
template <typename T>
WatchedScalar watch(std::string name, const T& variable) {
  static_assert(std::is_arithmetic_v<T>, "numbers and truth values can be watched");
  return {std::move(name), [&variable] { return double(variable); }};
}
template <typename T>
WatchedScalar watch(std::string name, const T&& variable) = delete;  // gone before the first call

struct TraceOptions {
  std::string name = "step";        // of the graph, for messages
  std::vector<std::string> inputs;  // names of the arguments; left out: x0, x1, ...
  std::optional<Backend> backend;   // else that of a compiled model in it, else the wafer made last
  std::vector<WatchedScalar> scalars;
  std::function<void(const std::string&)> warn;  // gets each warning once; left out: stderr
};

namespace tracing {

// An argument of a call: a tensor, or a number, which is a constant of the graph.
struct Argument {
  std::optional<Tensor> tensor;
  double number = 0;
};
using Body = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;
bool is_tracing();

}  // namespace tracing

// What is behind every traced function. Copies are the same step.
class Step {
 public:
  explicit Step(TraceOptions options);

  int64_t traces() const;      // how often the function ran
  int64_t iterations() const;  // how often the step ran
  const std::vector<std::string>& warnings() const;
  // Which nodes each line of the function made, with branches and loops that it told of; after the first
  // call.
  std::string explain() const;
  // The graph as cs-compile reads it, weights in a file weights.bin beside it; after the first call.
  graph::GraphText text() const;

 protected:
  std::vector<Tensor> call(const std::vector<tracing::Argument>& arguments, const tracing::Body& body) const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

namespace tracing {

template <typename T>
using Passed = std::conditional_t<std::is_arithmetic_v<std::decay_t<T>>, std::decay_t<T>, Tensor>;

template <typename T>
Argument argument(const T& given) {
  if constexpr (std::is_arithmetic_v<T>) {
    return {std::nullopt, double(given)};
  } else {
    return {Tensor(given), 0};
  }
}

// What a function may return, as a list and back.
inline std::vector<Tensor> leaves(const Tensor& t) { return {t}; }
inline std::vector<Tensor> leaves(const std::vector<Tensor>& list) { return list; }
template <typename... T>
std::vector<Tensor> leaves(const std::tuple<T...>& list) {
  return std::apply([](const auto&... t) { return std::vector<Tensor>{t...}; }, list);
}
template <typename Result>
struct Rebuild {
  static_assert(std::is_same_v<Result, Tensor>,
                "a traced function returns Tensor, std::vector<Tensor>, std::tuple or "
                "nothing");
  static Tensor from(const std::vector<Tensor>& list) { return list.at(0); }
};
template <>
struct Rebuild<std::vector<Tensor>> {
  static std::vector<Tensor> from(const std::vector<Tensor>& list) { return list; }
};
template <typename... T>
struct Rebuild<std::tuple<T...>> {
  static std::tuple<T...> from(const std::vector<Tensor>& list) {
    return take(list, std::index_sequence_for<T...>());
  }

 private:
  template <size_t... K>
  static std::tuple<T...> take(const std::vector<Tensor>& list, std::index_sequence<K...>) {
    return {list.at(K)...};
  }
};

}  // namespace tracing

template <typename F>
class TracedFunction : public Step {
 public:
  TracedFunction(F function, TraceOptions options)
      : Step(std::move(options)), function_(std::move(function)) {}

  // Arguments are tensors of the host (or what becomes one) and numbers. Results have values.
  template <typename... Args>
  auto operator()(const Args&... args) {
    using Result = std::invoke_result_t<F&, tracing::Passed<Args>...>;
    if (tracing::is_tracing()) return function_(tracing::Passed<Args>(args)...);  // a part of that step
    const tracing::Body body = [&](const std::vector<Tensor>& traced) -> std::vector<Tensor> {
      size_t next = 0;
      std::tuple<tracing::Passed<Args>...> in{pass(args, traced, next)...};
      if constexpr (std::is_void_v<Result>) {
        std::apply(function_, std::move(in));
        return {};
      } else {
        return tracing::leaves(std::apply(function_, std::move(in)));
      }
    };
    const std::vector<Tensor> results = call({tracing::argument(args)...}, body);
    if constexpr (!std::is_void_v<Result>) return tracing::Rebuild<Result>::from(results);
  }

 private:
  template <typename T>
  static tracing::Passed<T> pass(const T& given, const std::vector<Tensor>& traced, size_t& next) {
    if constexpr (std::is_arithmetic_v<T>) {
      return given;
    } else {
      return traced.at(next++);
    }
  }

  F function_;
};

template <typename F>
TracedFunction<F> trace(F function, TraceOptions options = {}) {
  return {std::move(function), std::move(options)};
}

// Tell the trace of a branch or a loop on a value of the host: both return what they are given, and explain()
// lists them. Without them the graph is the same.
bool branch(const std::string& name, bool condition, CallSite where = CallSite::here());
int64_t trips(const std::string& name, int64_t count, CallSite where = CallSite::here());

}  // namespace cs
