// What can go wrong with traced functions. These are exceptions, where the rest of the library reports into a
// Diag: an expression such as `x * 2.0` has no other way to say that it cannot be.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace cs {

// Where a function is called, as a default argument: what std::source_location is, which clang has from
// version 16 on.
struct CallSite {
  const char* file = "";
  uint32_t line = 0;
  static constexpr CallSite here(const char* file = __builtin_FILE(), uint32_t line = __builtin_LINE()) {
    return {file, line};
  }
};

// A line of the user's program, as messages name it: "train.cpp:17".
struct Place {
  std::string file;   // without its folder
  uint32_t line = 0;  // 0: none
  std::string text() const;
  bool operator==(const Place&) const = default;
};
Place place_of(const CallSite&);

// Base of all errors below; `where` is the line of the user's program that they are about.
class TraceError : public std::runtime_error {
 public:
  explicit TraceError(const std::string& message, const Place& where = {});
  const Place& where() const { return where_; }

 private:
  Place where_;
};

// The traced function needs something that a static graph does not have, such as the value of a tensor.
class StaticGraphError : public TraceError {
  using TraceError::TraceError;
};

// The graph of an iteration is not that of the first one.
class GraphChanged : public TraceError {
 public:
  int64_t iteration = 0;  // its number, from 0
  int64_t node = -1;      // number of the first node that differs; -1: none does
  Place before, after;    // the lines that made it in iteration 0 and in this one
  GraphChanged(const std::string& message, int64_t its_iteration)
      : TraceError(message), iteration(its_iteration) {}
};

// The compiler refused a graph, or a backend has a model already.
class CompileError : public TraceError {
  using TraceError::TraceError;
};
// A second program for a backend that takes one.
class ReloadError : public TraceError {
  using TraceError::TraceError;
};
// No such backend, or options that it cannot have.
class BackendError : public TraceError {
  using TraceError::TraceError;
};
// The simulated program ended in a fault; the message is the simulator's.
class RunError : public TraceError {
  using TraceError::TraceError;
};

}  // namespace cs
