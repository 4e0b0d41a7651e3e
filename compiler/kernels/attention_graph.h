// A graph of primitives as exports write attention: softmax(scale Q K^T) V of one head or several.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "compiler/graph/graph.h"

namespace cs::kernels {

// What is added to a score that is hidden, or less.
inline constexpr double kHidden = -1e4;

struct Heads {
  graph::ValueId q, k, v;        // from outside: heads, queries or keys, elements, in C order
  bool keys_by_columns = false;  // k: heads, elements, keys
  int64_t count = 1, queries = 1, keys = 1, depth = 1;
  double scale = 1;
  std::shared_ptr<const ops::Tensor> mask;  // constant, added to the scores, of all or of one head's; null: none
};
// Nothing if the nodes are something else, with the reason if there are products around a softmax.
std::optional<Heads> read_heads(const graph::Graph&, const graph::Group&, std::string& why);
// Of the product that ends it, wherever in a graph that is.
std::optional<Heads> heads_before(const graph::Graph&, graph::NodeId product);

}  // namespace cs::kernels
