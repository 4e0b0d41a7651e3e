// Tensors on the PEs: where every element lies, by hand.
#include "runtime/host/copy_run.h"

#include <gtest/gtest.h>

namespace cs {
namespace {

using Words = std::vector<uint32_t>;

TEST(Tiles, PeAfterPeWithZerosBehindTheEnd) {
  // Seven elements, three on each of 2 x 2 PEs: a matrix of rows of six.
  const Tiling t{{4, 1, 2, 2}, 6, 1, 3};
  const Words words{1, 2, 3, 4, 5, 6, 7};
  const Words tiles = cut_into_tiles(t, words);
  EXPECT_EQ(tiles, (Words{1, 2, 3, 4, 5, 6, 7, 0, 0, 0, 0, 0}));
  Words back(7);
  join_tiles(t, tiles, back);
  EXPECT_EQ(back, words);
}

TEST(Tiles, PiecesOfRowsLieBesideEachOther) {
  // 3 x 4 on 2 x 2 PEs with tiles of 2 x 2: PE (0, 0) has 1 2 5 6.
  const Tiling t{{0, 0, 2, 2}, 4, 2, 2};
  const Words words{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  const Words tiles = cut_into_tiles(t, words);
  EXPECT_EQ(tiles, (Words{1, 2, 5, 6, 3, 4, 7, 8, 9, 10, 0, 0, 11, 12, 0, 0}));
  Words back(12);
  join_tiles(t, tiles, back);
  EXPECT_EQ(back, words);
}

// Two planes of 3 x 2 on two columns of PEs: two rows with one above and a column beside the plane, and two
// rows on, of which one is beyond its end. By hand.
TEST(Tiles, WindowsOverlapAndReachBeyondThePlane) {
  const Tiling t{{0, 0, 2, 3}, 2, 3, 3, {2, 3, -1, 0, 2}};
  const Words words{1, 2, 3, 4, 5, 6, 11, 12, 13, 14, 15, 16};
  EXPECT_EQ(
      cut_into_windows(t, words),
      (Words{0, 0, 0, 1, 2, 0, 3, 4, 0, 0,  0,  0, 11, 12, 0, 13, 14, 0,     // rows -1, 0, 1 of both planes
             3, 4, 0, 5, 6, 0, 0, 0, 0, 13, 14, 0, 15, 16, 0, 0,  0,  0}));  // rows 1, 2, 3
}

// Both slices of a vector of three, for the two rows of PEs.
TEST(Tiles, WindowsOfRowsOfPes) {
  Tiling t{{0, 0, 3, 2}, 1, 2, 1, {1, 3, 0, 0, 2}};
  t.windows.by_rows = true;
  EXPECT_EQ(cut_into_windows(t, {7, 8, 9}), (Words{7, 8, 9, 0}));
}

// 3 x 3 tiles of one element, tile (row, column) with 10 row + column. The numbers in the ring of PEs 0, 1, 2
// are 0, 2, 1; by hand.
TEST(Tiles, LieOnFoldedRings) {
  const Words words{0, 1, 2, 10, 11, 12, 20, 21, 22};
  Tiling t{{0, 0, 3, 3}, 3, 1, 1};
  const std::pair<TileOrder, Words> cases[] = {{TileOrder::ring, {0, 2, 1, 20, 22, 21, 10, 12, 11}},
                                               {TileOrder::skewed_columns, {0, 2, 1, 22, 21, 20, 11, 10, 12}},
                                               {TileOrder::skewed_rows, {0, 22, 11, 20, 12, 1, 10, 2, 21}}};
  for (const auto& [order, expected] : cases) {
    t.order = order;
    const Words tiles = cut_into_tiles(t, words);
    EXPECT_EQ(tiles, expected) << int(order);
    Words back(9);
    join_tiles(t, tiles, back);
    EXPECT_EQ(back, words);
  }
}

}  // namespace
}  // namespace cs
