// Strips of copies: extents by hand, and that they lie on the fabric, at their edges and beside each other.
#include "compiler/mapping/strips.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace cs::mapping {
namespace {

Extent strip(int count, StripCut cut, int band, Extent whole) { return strip_of({count, cut, band}, whole); }

void expect_extent(Extent e, int width, int height) {
  EXPECT_EQ(e.width, width);
  EXPECT_EQ(e.height, height);
}

// 750 / 60 = 12; 750 / 30 = 25 and 994 / 2 = 497; 994 / 4 = 248, so that 498 rows are left, 16 for each of 30.
TEST(Strips, ExtentsOnAWafer) {
  const Extent wafer{750, 994};
  expect_extent(strip(60, StripCut::columns, 0, wafer), 12, 994);
  expect_extent(strip(60, StripCut::rows, 0, wafer), 750, 16);
  for (const int band : {0, 1}) {
    expect_extent(strip(60, StripCut::half_columns, band, wafer), 25, 497);
    expect_extent(strip(60, StripCut::half_rows, band, wafer), 375, 33);
  }
  expect_extent(strip(120, StripCut::ring, 0, wafer), 25, 248);
  expect_extent(strip(120, StripCut::ring, 1, wafer), 25, 248);
  expect_extent(strip(120, StripCut::ring, 2, wafer), 375, 16);
  expect_extent(strip(120, StripCut::ring, 3, wafer), 375, 16);
}

// 7 copies: 4 north and 3 south, as wide as the 4 are; in a ring 2, 2, 2 and 1.
TEST(Strips, BandsThatAreNotEqual) {
  expect_extent(strip(7, StripCut::half_columns, 1, {40, 20}), 10, 10);
  expect_extent(strip(7, StripCut::ring, 3, {40, 20}), 20, 5);
  std::vector<int> copies;
  for (const Band& b : bands_of({7, StripCut::ring})) copies.push_back(b.copies);
  EXPECT_EQ(copies, (std::vector{2, 2, 2, 1}));
}

TEST(Strips, OneCopyHasTheFabric) {
  for (const StripCut cut : kStripCuts) {
    expect_extent(strip(1, cut, 0, {9, 5}), 9, 5);
    EXPECT_EQ(bands_of({1, cut}).at(0).edges.size(), 4U);
  }
}

// Strips as large as they may be, or as small as networks of different extents are; on a fabric of given extents, or
// not.
class StripPlacesTest : public ::testing::TestWithParam<bool> {
 protected:
  static bool touches(const Rect& r, Port edge, const Extent& fabric) {
    switch (edge) {
      case Port::north: return r.y == 0;
      case Port::west: return r.x == 0;
      case Port::south: return r.bottom() == fabric.height;
      case Port::east: return r.right() == fabric.width;
      default: return false;
    }
  }
  static void expect_places(const Strips& strips, const std::vector<Extent>& extents, const StripPlaces& places) {
    const std::vector<Band> bands = bands_of(strips);
    std::vector<Rect> all;
    for (size_t b = 0; b < bands.size(); ++b) {
      ASSERT_EQ(places.begins[b].size(), size_t(bands[b].copies));
      for (const Coord at : places.begins[b]) {
        const Rect r{at.x, at.y, extents[b].width, extents[b].height};
        EXPECT_GE(r.x, 0);
        EXPECT_GE(r.y, 0);
        EXPECT_LE(r.right(), places.fabric.width);
        EXPECT_LE(r.bottom(), places.fabric.height);
        for (const Port edge : bands[b].edges) EXPECT_TRUE(touches(r, edge, places.fabric)) << int(edge);
        EXPECT_TRUE(std::ranges::none_of(all, [&](const Rect& other) { return other.intersects(r); }));
        all.push_back(r);
      }
    }
    EXPECT_EQ(all.size(), size_t(strips.count));
    EXPECT_EQ(all.front().x, 0);
    EXPECT_EQ(all.front().y, 0);
  }
};

TEST_P(StripPlacesTest, LieBesideEachOtherAtTheirEdges) {
  for (const Extent whole : {Extent{750, 994}, Extent{128, 130}})
    for (const StripCut cut : kStripCuts)
      for (const int count : {1, 4, 5, 6, 7, 16, 31, 60, 119, 120}) {
        Strips strips{count, cut, 0};
        std::vector<Extent> extents;
        bool fits = true;
        for (size_t b = 0; b < bands_of(strips).size(); ++b) {
          strips.band = int(b);
          Extent e = strip_of(strips, whole);
          fits = fits && e.width > 0 && e.height > 0;
          // A strip that touches two opposite edges is as long as the fabric.
          if (!GetParam() && bands_of(strips)[b].edges.size() == 1)
            e = {std::max(1, e.width - int(b)), std::max(1, e.height / 2 - int(b))};
          extents.push_back(e);
        }
        if (!fits) continue;
        SCOPED_TRACE(::testing::Message() << count << " copies, cut " << int(cut));
        const bool shrinks = !GetParam();
        const bool two_edges = bands_of(strips)[0].edges.size() > 1;
        expect_places(strips, extents,
                      place_strips(strips, extents, shrinks || two_edges ? std::nullopt : std::optional(whole)));
      }
}

INSTANTIATE_TEST_SUITE_P(Extents, StripPlacesTest, ::testing::Bool());

}  // namespace
}  // namespace cs::mapping
