// What to try when a kernel has no place: the ladder from one form of an operator to the next.
//
//   another footprint   its text needs more memory than was estimated: sized again with what was measured
//   whole               a step of a recurrence that need not be one: the layer becomes one kernel again;
//   likewise the
//                       compound with the most parts, where streams have no way
//   one stream          what crosses the edge in pieces, where streams have no way
//   with the host       the fewest kernels between operators of the host, where streams have no way
//   apart               its nodes become kernels of their own
//   another origin      generated instead of handwritten, or the other way round
//   parts               the operator is replaced by several smaller ones (decompose.cpp, split.cpp)
//   host                with the reason, which names what does not fit
//
// A model is compiled again from its graph after every step down. Each step is one of finitely many, so that
// comes to an end; and steps follow from the graph alone, so it comes to the same one each time.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "compiler/graph/graph.h"
#include "compiler/mapping/mapping.h"

namespace cs::passes {

class Fallbacks {
 public:
  // One step down for every kernel. False if there is none left for one of them.
  // `unrolled` are the recurrences that were unrolled without being asked for.
  bool step_down(const graph::Graph&, const std::vector<mapping::Misfit>&,
                 const std::map<std::string, std::string>& unrolled = {});

  // As who asks for it wants it.
  void keep_apart(const std::string& node) { apart_.insert(node); }
  void refuse(const std::string& node, Origin origin, const std::string& why) { refused_[{node, origin}] = why; }
  // The node joins no other kernel.
  bool apart(const std::string& node) const { return apart_.count(node) > 0; }
  // The recurrence or compound stays one kernel, though its steps or parts would be faster; what crosses the edge in
  // pieces crosses as one stream.
  bool whole(const std::string& node) const { return whole_.count(node) > 0; }
  // Why the node has no kernel of this origin; empty: as far as is known it has one.
  const std::string& refused(const std::string& node, Origin) const;
  // The host computes the node, as it computes what is before and behind it.
  bool with_the_host(const std::string& node) const { return with_the_host_.count(node) > 0; }
  const std::map<std::string, uint32_t>& more_bytes() const { return more_bytes_; }
  bool empty() const {
    return apart_.empty() && whole_.empty() && with_the_host_.empty() && refused_.empty() && more_bytes_.empty();
  }

 private:
  bool larger_footprint(const mapping::Misfit&);
  bool cross_whole(const graph::Graph&);
  bool join_most_parts(const graph::Graph&);
  bool leave_to_the_host(const graph::Graph&);

  std::set<std::string> apart_, whole_, with_the_host_;
  std::map<std::pair<std::string, Origin>, std::string> refused_;
  std::map<std::string, uint32_t> more_bytes_;  // by node
  std::map<std::string, int> sized_again_;      // by node
};

}  // namespace cs::passes
