// Where traced functions run: a simulated machine by its name, or the host, which computes the same graph.
//
// A wafer is programmed once. A second compile() for a backend is a CompileError and a second program
// (another graph, or other weights in a program that does not train them) a ReloadError, unless `reload`
// allows them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "tools/api/trace/errors.h"

namespace cs {

namespace tracing {
struct BackendState;
}

struct BackendOptions {
  std::optional<std::pair<int, int>> fabric;  // width and height in PEs; none: the machine's
  std::string policy = "default";             // disabled, default, medium, aggressive (docs/graph.md)
  bool retrace_every_iteration = false;       // trace in every call, and refuse a graph that has changed
  bool reload = false;                        // let another program take the place of the first one
  std::string host_ops = "forbid";            // operators without a kernel: forbid, warn, allow
};

struct Statistics {
  // Of this computer. Executing is simulating, with all that a call needs beside it.
  double trace_seconds = 0, compile_seconds = 0, execute_seconds = 0;
  int64_t traces = 0, iterations = 0;
  int64_t programs = 0;  // that were compiled
  uint64_t cycles = 0;   // of the last step, from cycle 0 to its last output

  double trace_share() const;  // of the time for tracing and executing
  std::string hint() const;    // what would make it faster; empty if there is nothing to say
  std::string text() const;
};

class Backend {
 public:
  const std::string& name() const;
  const BackendOptions& options() const;
  const Statistics& statistics() const;

  explicit Backend(std::shared_ptr<tracing::BackendState> state) : state_(std::move(state)) {}
  const std::shared_ptr<tracing::BackendState>& state() const { return state_; }

 private:
  std::shared_ptr<tracing::BackendState> state_;
};

// `name`: a machine of configs/machines or a path to one, "sim" (wse2), or "host". A BackendError lists what
// there is.
Backend backend(const std::string& name = "sim", const BackendOptions& options = {});

}  // namespace cs
