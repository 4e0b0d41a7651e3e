// Found once, from the nodes that the graph says are in pieces.
#include "compiler/mapping/pieces.h"

#include <algorithm>

#include <fmt/format.h>

namespace cs::mapping {

using graph::InPieces;
using graph::NodeId;
using graph::ValueId;

CrossingPieces::CrossingPieces(const graph::Graph& g, Diag& diag) : g_(g) {
  std::set<NodeId> done;
  for (const ValueId v : g.inputs) {
    std::string why;
    std::optional<InPieces> in = graph::input_in_pieces(g, v, why);
    const auto says_so = [&](NodeId id) { return graph::is_in_pieces(g.node(id)); };
    if (!in || !std::all_of(in->nodes.begin(), in->nodes.end(), says_so)) continue;
    done.insert(in->nodes.begin(), in->nodes.end());
    for (const graph::ValuePiece& p : in->pieces)
      for (const ValueId same : p.same) same_[same] = p.value;
    name(*in, g.value(v).name);
    inputs_.emplace(v, std::move(*in));
  }
  for (const NodeId id : g.nodes()) {
    if (!graph::is_in_pieces(g.node(id)) || done.count(id) > 0) continue;
    std::string why;
    std::optional<InPieces> in = graph::output_in_pieces(g, id, why);
    if (!in) {
      graph::node_error(
          g, id, diag,
          fmt::format("{} '{}' is to cross the edge in pieces, but {}", g.node(id).op, g.node(id).name,
                      g.node(id).op == "concat" ? why : "not every part of the input is taken by itself"),
          "leave its 'origin' and 'kernel' out of the plan");
      continue;
    }
    for (const graph::ValuePiece& p : in->pieces) parts_.insert(p.value);
    name(*in, g.value(g.node(id).outputs[0]).name);
    outputs_.emplace(g.node(id).outputs[0], std::move(*in));
  }
}

// What the model gives by itself too has the name that it has there.
void CrossingPieces::name(const InPieces& in, const std::string& tensor) {
  for (const graph::ValuePiece& p : in.pieces)
    if (!g_.value(p.value).is_output)
      names_.emplace(p.value, fmt::format("{}[{}:{} of {}]", tensor, p.first, p.first + p.length, in.stride));
}

std::string CrossingPieces::crosses_as(ValueId v) const {
  const auto found = names_.find(v);
  return found == names_.end() ? g_.value(v).name : found->second;
}

const InPieces* CrossingPieces::of_input(ValueId v) const {
  const auto found = inputs_.find(v);
  return found == inputs_.end() ? nullptr : &found->second;
}

const InPieces* CrossingPieces::of_output(ValueId v) const {
  const auto found = outputs_.find(graph::source_of(g_, v));
  return found == outputs_.end() ? nullptr : &found->second;
}

ValueId CrossingPieces::sent_as(ValueId v) const {
  const auto found = same_.find(v);
  return found == same_.end() ? v : found->second;
}

void CrossingPieces::describe(const InPieces& in, HostTensor& t) const {
  t.stride = in.stride;
  for (const graph::ValuePiece& p : in.pieces)
    t.pieces.push_back({g_.value(p.value).name, p.first, p.length});
}

}  // namespace cs::mapping
