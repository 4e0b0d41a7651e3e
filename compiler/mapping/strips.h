// How the fabric is cut into strips, one for each copy of a network (--copies N).
//
//   columns        side by side, from the northern edge to the southern one
//   rows           stacked, from the western edge to the eastern one
//   half_columns   side by side in two bands, which meet in the middle: one at the northern edge, one at the southern
//   half_rows      the same, western and eastern
//   ring           half columns at the northern and the southern edge, half rows at the other two between them
//
// The strips of a band are equal, and so are the copies that lie on them; every band has its own network, since its
// host ports are at other edges.
#pragma once

#include <optional>
#include <vector>

#include "compiler/mapping/mapping.h"
#include "compiler/mapping/plan.h"

namespace cs::mapping {

inline constexpr StripCut kStripCuts[] = {StripCut::columns, StripCut::rows, StripCut::half_columns,
                                          StripCut::half_rows, StripCut::ring};

// Edges of the fabric that the strips of a band have, and how many there are. One copy has the whole fabric.
struct Band {
  std::vector<Port> edges;
  int copies = 1;
  bool across = false;  // its strips lie side by side, not one below the other
};
std::vector<Band> bands_of(const Strips&);
inline Band band_of(const Strips& s) { return bands_of(s)[size_t(s.band)]; }
// Of the fabric, what one strip of the band may use; no PEs if the fabric has too few lines.
Extent strip_of(const Strips&, const Extent& whole);

// So many copies have ports, those of all edges: each takes one to take and one to give.
inline int most_by_ports(const Machine& machine) { return 2 * machine.host.host_ports; }

// Where the strips of all bands begin, by band, if they have these extents; on a fabric of `whole`, or on the smallest
// one that holds them. The first one begins at 0, 0.
struct StripPlaces {
  Extent fabric;
  std::vector<std::vector<Coord>> begins;
};
StripPlaces place_strips(const Strips&, const std::vector<Extent>& of_band, std::optional<Extent> whole);

}  // namespace cs::mapping
