// Extents and places of strips.
#include "compiler/mapping/strips.h"

#include <algorithm>

namespace cs::mapping {

namespace {

constexpr int kRingPart = 4;  // of the fabric's height that each of the ring's bands of columns has: one in so many

Band band(std::vector<Port> edges, int copies, bool across) { return {std::move(edges), copies, across}; }

}  // namespace

std::vector<Band> bands_of(const Strips& s) {
  using enum Port;
  if (s.count == 1) return {band({north, south, west, east}, 1, true)};
  // The first bands have one more where they cannot all have as many.
  const auto part = [&](int index, int bands) { return s.count / bands + (index < s.count % bands ? 1 : 0); };
  switch (s.cut) {
    case StripCut::columns: return {band({north, south}, s.count, true)};
    case StripCut::rows: return {band({west, east}, s.count, false)};
    case StripCut::half_columns: return {band({north}, part(0, 2), true), band({south}, part(1, 2), true)};
    case StripCut::half_rows: return {band({west}, part(0, 2), false), band({east}, part(1, 2), false)};
    case StripCut::ring: break;
  }
  return {band({north}, part(0, 4), true), band({south}, part(1, 4), true), band({west}, part(2, 4), false),
          band({east}, part(3, 4), false)};
}

Extent strip_of(const Strips& s, const Extent& whole) {
  Extent e = whole;
  if (s.count == 1) return e;
  const std::vector<Band> bands = bands_of(s);
  const bool across = bands[size_t(s.band)].across;
  if (bands.size() == 2) (across ? e.height : e.width) /= 2;
  if (bands.size() == 4 && across) e.height /= kRingPart;
  if (bands.size() == 4 && !across) e = {e.width / 2, e.height - 2 * (e.height / kRingPart)};
  // The first band of those that lie so has the most.
  (across ? e.width : e.height) /= std::ranges::find(bands, across, &Band::across)->copies;
  return e;
}

StripPlaces place_strips(const Strips& s, const std::vector<Extent>& of_band, std::optional<Extent> whole) {
  const std::vector<Band> bands = bands_of(s);
  // What each band takes of the fabric.
  std::vector<Extent> takes;
  for (size_t b = 0; b < bands.size(); ++b)
    takes.push_back(bands[b].across ? Extent{of_band[b].width * bands[b].copies, of_band[b].height}
                                    : Extent{of_band[b].width, of_band[b].height * bands[b].copies});
  Extent needed = takes[0];
  if (bands.size() == 4) {
    needed.width = std::max({takes[0].width, takes[1].width, takes[2].width + takes[3].width});
    needed.height = takes[0].height + std::max(takes[2].height, takes[3].height) + takes[1].height;
  } else if (bands.size() == 2) {
    const bool across = bands[0].across;
    needed.width = across ? std::max(takes[0].width, takes[1].width) : takes[0].width + takes[1].width;
    needed.height = across ? takes[0].height + takes[1].height : std::max(takes[0].height, takes[1].height);
  }
  StripPlaces places{whole.value_or(needed), {}};
  for (size_t b = 0; b < bands.size(); ++b) {
    Coord at;
    if (bands[b].edges == std::vector{Port::south}) at.y = places.fabric.height - of_band[b].height;
    if (bands[b].edges == std::vector{Port::east}) at.x = places.fabric.width - of_band[b].width;
    if (bands.size() == 4 && !bands[b].across) at.y = takes[0].height;
    std::vector<Coord>& begins = places.begins.emplace_back();
    for (int i = 0; i < bands[b].copies; ++i) {
      begins.push_back(at);
      (bands[b].across ? at.x : at.y) += bands[b].across ? of_band[b].width : of_band[b].height;
    }
  }
  return places;
}

}  // namespace cs::mapping
