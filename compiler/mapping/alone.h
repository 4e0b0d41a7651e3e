// Nodes of a network as a graph of their own: what is one kernel, to be mapped, measured or run alone.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/graph/graph.h"
#include "compiler/mapping/mapping.h"

namespace cs::mapping {

bool among(const std::vector<graph::NodeId>&, graph::NodeId);

// What the copy of a node is: as it was decided, the library's (elementwise ones all together its stand-in, if
// there is one), or generated alone.
struct CopyForm {
  enum class Kind : uint8_t { self, library, alone } kind = Kind::self;
  std::string_view stand_in = {};  // operator that elementwise ones become
};
// Operands from outside become inputs, what leaves the nodes outputs. Several nodes are one kernel.
graph::Graph copy_alone(const graph::Graph&, const std::vector<graph::NodeId>&, const std::string& name,
                        CopyForm form = {});
// Kernels with the same text take the same cycles on the same rectangle: operators, types and small constants are in
// it, of large constants the values only where they are indices.
std::string kernel_text(const graph::Graph&, const std::vector<graph::NodeId>&);

// A graph of one kernel on the rectangle, or where its operators cannot be cut for it, on the best one inside.
std::optional<Mapped> map_inside(const graph::Graph&, const Rect&, const Machine&, MapOptions, Diag&);

// Rectangles that the one kernel of a graph may have, and what it takes there by estimate. Those of the same extent
// are one, with the least interval.
struct RectChoice {
  int w = 1, h = 1;
  double interval_cycles = 0;
};
std::vector<RectChoice> rectangles_of(const graph::Graph&, const Machine&, const MapOptions&);

}  // namespace cs::mapping
