// A small wafer, and rows of four numbers.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "runtime/support/yaml.h"
#include "tools/api/trace/trace.h"

namespace cs {

// Operators of a step's graph, in its order, as its text has them.
inline std::vector<std::string> nodes(const Step& step) {
  Diag diag;
  const auto doc = YamlDoc::parse_text(step.text().yaml, "graph.yaml", diag);
  std::vector<std::string> found;
  if (!doc) return {diag.to_string()};
  for (const YamlNode& node : doc->root().find("nodes")->items()) found.push_back(node.find("op")->text());
  return found;
}

class TraceTest : public ::testing::Test {
 protected:
  explicit TraceTest(const BackendOptions& options) : wafer(backend("small", options)) {}

  static Tensor row(float value = 1) { return Tensor({1, 4}, {value, value, value, value}); }
  // Takes warnings, which would go to stderr.
  std::function<void(const std::string&)> keep() {
    return [this](const std::string& text) { warned.push_back(text); };
  }

  Backend wafer;
  std::vector<std::string> warned;
};

class TraceOnce : public TraceTest {
 protected:
  TraceOnce() : TraceTest({.reload = true}) {}
};

}  // namespace cs
