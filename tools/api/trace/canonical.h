// A graph as lines that are equal exactly if two graphs are: inputs, nodes with attributes and numbers,
// weights by identity, the recipe of training, results. No lines of the program and no values of weights.
#pragma once

#include <string>
#include <vector>

#include "tools/api/trace/tracer.h"

namespace cs::tracing {

struct Line {
  enum class Kind : uint8_t { input, node, weight, training, outputs } kind = Kind::node;
  std::string text;
  // Of a node, for messages; no part of what is compared.
  struct Parts {
    std::string op, type;
    std::vector<std::string> operands;  // names, and numbers of constants
    std::vector<bool> constant;         // which of them are
    Attrs attrs;
    Place where;
  } parts = {};
};

std::vector<Line> canonical(const Tracer&);
bool equal(const std::vector<Line>&, const std::vector<Line>&);
std::string digest(const std::vector<Line>&);
// Sections `training` and `optimizer` of the graph's text; empty if there was no backward().
std::string recipe_text(const Tracer&);
// A constant: its numbers if they are few, else type and digest.
std::string content(const ops::Tensor&);

}  // namespace cs::tracing
