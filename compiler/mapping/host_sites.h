// Where streams of the host can cross the edge of the fabric. A host port is a place at the edge; streams that
// cross there in the same direction share it, each with a color of its own, and take turns word by word.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "compiler/mapping/plan.h"
#include "compiler/mapping/strips.h"

namespace cs::mapping {

struct Site {  // an edge PE with the side a host stream crosses
  Port side = Port::west;
  int position = 0;
  Coord pe;
};

class HostSites {
 public:
  HostSites(const Parts&, const Extent& fabric, const Machine&);
  // The sites that a stream of so many words can use, the best first: none where a port would be slower than
  // the goal before one where it is not, then near ones, of which one without other streams is worth some hops.
  std::vector<Site> list(Coord near, int64_t words, bool input) const;
  // Whether a port there would not be slower than the goal, were so many words of another stream to cross there.
  bool in_time(const Site& s, int64_t words, bool input) const { return late(s, words, input) == 0; }
  void take(const Site&, int64_t words, bool input);
  // Cycles that every sample takes, whatever the ways.
  double anyway() const { return anyway_; }

 private:
  struct Use {
    int streams = 0;
    int64_t words = 0;
  };
  // Index of what crosses at a place of the edge in a direction.
  size_t at(Port side, int position, bool input) const {
    return (size_t(side) * size_t(std::max(fabric_.width, fabric_.height)) + size_t(position)) * 2 + size_t(input);
  }
  // May a stream have a port of its own there? The last one is for the other direction as long as that has none.
  bool has_port(Port edge, bool input) const;
  double goal_of(const Parts&, bool input);
  double late(const Site&, int64_t words, bool input) const;  // cycles

  // A strip of the fabric for one of several copies has one or two edges, and its part of their ports.
  bool has(Port edge) const { return std::ranges::find(band_.edges, edge) != band_.edges.end(); }

  Extent fabric_;
  Band band_;
  int ports_per_edge_, colors_;
  double anyway_ = 0;
  double goal_[2];  // cycles per sample that no port should take longer than; of outputs, of inputs
  std::vector<Use> used_;
  std::map<Port, int> ports_;   // taken
  bool waits_[2];               // outputs, inputs: there are some, and none has a port yet
};

}  // namespace cs::mapping
