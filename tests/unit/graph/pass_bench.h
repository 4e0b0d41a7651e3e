// A small graph from text and a context on WSE-2, to run passes on.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "compiler/frontend/frontend.h"
#include "compiler/graph/graph_yaml.h"
#include "compiler/passes/passes.h"

namespace cs::passes {

struct Bench {
  Machine machine;
  Diag diag;
  graph::Graph g;
  PassContext context;

  explicit Bench(const std::string& text, Policy policy = Policy::medium)
      : context{machine, policy, {}, diag, {}} {
    auto wse2 = load_machine("wse2", diag);
    if (wse2) machine = *wse2;
    std::optional<graph::Graph> parsed = frontend::import_yaml(text, "g.yaml", ".", diag);
    EXPECT_TRUE(parsed) << diag.to_string();
    if (parsed) g = std::move(*parsed);
  }
  bool run(bool (*pass)(graph::Graph&, PassContext&)) { return pass(g, context) && graph::verify(g, diag); }
  std::string op(const std::string& node) const { return g.node(*g.find_node(node)).op; }
};

// 0, 1, … as text.
inline std::string numbers(int count) {
  std::string list;
  for (int i = 0; i < count; ++i) list += fmt::format("{}{}", i ? ", " : "", i);
  return list;
}

}  // namespace cs::passes
