// A block of a program: rectangles, routes and streams by hand.
#include "runtime/program/crop.h"

#include <gtest/gtest.h>

namespace cs {
namespace {

Program whole() {
  Program p;
  p.fabric_width = 6;
  p.fabric_height = 4;
  p.user = {1, 1, 4, 2};
  p.rects = {{{1, 1, 4, 1}, 0}, {{1, 2, 4, 1}, 1}};
  p.routes = {{{0, 1, 6, 1}, 3, {}}, {{0, 0, 1, 4}, 5, {}}};
  p.ports = {{"in", true, Port::west, 1, 3},
             {"low", true, Port::west, 3, 5},
             {"out", false, Port::east, 1, 3},
             {"top", false, Port::north, 0, 5}};
  p.host.emplace();
  return p;
}

TEST(Crop, moves_what_lies_inside_and_drops_the_rest) {
  const Program p = crop(whole(), {0, 1, 3, 2});
  EXPECT_EQ(p.fabric_width, 3);
  EXPECT_EQ(p.fabric_height, 2);
  // What programs read as their coordinates is x - user.x: PE (1, 1) of the whole is (1, 0) here and stays
  // (0, 0).
  EXPECT_EQ(p.user, (Rect{1, 0, 4, 2}));
  EXPECT_EQ(p.rects, (std::vector<TileRect>{{{1, 0, 2, 1}, 0}, {{1, 1, 2, 1}, 1}}));
  EXPECT_EQ(p.routes, (std::vector<RouteRun>{{{0, 0, 3, 1}, 3, {}}, {{0, 0, 1, 2}, 5, {}}}));
  EXPECT_EQ(p.ports, (std::vector<HostPort>{{"in", true, Port::west, 0, 3}}));
  EXPECT_FALSE(p.host.has_value());
}

TEST(Crop, a_block_right_of_the_program_has_coordinates_of_the_whole) {
  const Program p = crop(whole(), {4, 0, 2, 2});
  EXPECT_EQ(p.user, (Rect{-3, 1, 4, 2}));
  EXPECT_EQ(p.rects, (std::vector<TileRect>{{{0, 1, 1, 1}, 0}}));
  EXPECT_EQ(p.ports, (std::vector<HostPort>{{"out", false, Port::east, 1, 3}}));
}

TEST(Crop, the_whole_stays_the_whole) {
  Program p = whole();
  p.host.reset();
  EXPECT_EQ(crop(whole(), {0, 0, 6, 4}), p);
}

}  // namespace
}  // namespace cs
