// Sections: parts of a program that belong to one backend, taps that bring a value out of a step, and
// with_backend() for a single function.
//
//   {
//     cs::BackendSection section(wafer);
//     const cs::Tap tap = section.tap("loss", 10, [](int64_t step, const cs::Tensor& v) { ... });
//     auto step = cs::trace([&](cs::Tensor x, cs::Tensor y) { ...; tap(loss); ... });
//     for (const Batch& b : batches) step(b.x, b.y);
//   }  // the backend before is back, after exceptions too
//   cs::Tensor y = cs::with_wafer([](cs::Tensor x) { return x + x; }, x);
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tools/api/trace/step.h"

namespace cs {

namespace tracing {
struct SectionState;
struct TapState;
}  // namespace tracing

// Gets the value of steps 0, every, 2 every, ... A tap without a receiver adds nothing to a graph.
class Tap {
 public:
  explicit Tap(std::shared_ptr<tracing::TapState> state) : state_(std::move(state)) {}
  // In a traced function; outside of traces the receiver gets the value at once.
  void operator()(const Tensor& value, CallSite where = CallSite::here()) const;

 private:
  std::shared_ptr<tracing::TapState> state_;
};
using TapReceiver = std::function<void(int64_t step, const Tensor& value)>;

// A tensor that crossed the border of the section, which counts once however often its values went.
struct Transfer {
  std::string name;
  bool to_wafer = true;
  uint64_t bytes = 0;  // of one crossing
  bool operator==(const Transfer&) const = default;
};

// While it lives, steps without a backend of their own run on this one. Sections nest.
class BackendSection {
 public:
  explicit BackendSection(const Backend& backend);
  ~BackendSection();
  BackendSection(const BackendSection&) = delete;
  BackendSection& operator=(const BackendSection&) = delete;

  // `every` from 1 on, else a TraceError.
  Tap tap(const std::string& name, int64_t every, TapReceiver to) const;
  // Arguments, results, values of taps, and weights where a program was loaded with them.
  const std::vector<Transfer>& transfers() const;

 private:
  std::shared_ptr<tracing::SectionState> state_;
};

// That of the innermost section; outside of sections the host.
Backend current_backend();
// The wafer that was made last and still is, else a BackendError.
Backend latest_wafer();

// Transfers the inputs, runs the function there, brings back what it returns: tensors, a number of the host,
// or nothing.
template <typename F, typename... Inputs>
auto with_backend(const Backend& backend, F function, const Inputs&... inputs) {
  using Result = std::invoke_result_t<F&, tracing::Passed<Inputs>...>;
  const BackendSection section(backend);
  const TraceOptions options{.name = "with_backend", .backend = backend};
  if constexpr (std::is_arithmetic_v<Result>) {
    Result result{};
    trace([&](const tracing::Passed<Inputs>&... in) { result = function(in...); }, options)(inputs...);
    return result;
  } else {
    return trace(std::move(function), options)(inputs...);
  }
}
template <typename F, typename... Inputs>
auto with_wafer(F function, const Inputs&... inputs) {
  return with_backend(latest_wafer(), std::move(function), inputs...);
}

}  // namespace cs
