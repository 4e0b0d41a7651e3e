// What is behind a Backend: at most one program at a time, and what it cost.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tools/api/trace/backend.h"
#include "tools/api/trace/canonical.h"
#include "tools/api/trace/graph_program.h"

namespace cs::tracing {

struct BackendState {
  std::string name, machine;
  BackendOptions options;
  Statistics statistics;
  std::optional<std::pair<std::string, Place>> compiled;          // what compile() was called with
  std::map<std::string, std::shared_ptr<GraphProgram>> programs;  // by the graph's digest
  std::shared_ptr<GraphProgram> loaded;

  bool is_host() const { return name == "host"; }
  // The program of a graph: the one that is loaded, if it is the same graph.
  std::shared_ptr<GraphProgram> program(const std::shared_ptr<const Tracer>&, const std::vector<Line>&);
};

// The wafer that was made last and still is; null if there is none.
std::shared_ptr<BackendState> latest_backend();

}  // namespace cs::tracing
