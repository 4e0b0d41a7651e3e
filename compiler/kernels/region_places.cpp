// Which PEs of a region are looked at: the corners, some of the middle, and where most is cut.
#include "compiler/kernels/region_places.h"

#include <algorithm>
#include <limits>

namespace cs::kernels {

namespace {

using autogen::Region;
using autogen::RegionCut;
using autogen::Runs;

constexpr int kManyPes = 16;  // along rows and columns, if many are looked at

// Ends of rows, planes and so on of a result that lie inside the part: what is computed row by row is then
// computed of more of them than the part has words for.
int64_t ends_inside(const ops::Shape& shape, int64_t elements, const Runs& part) {
  int64_t n = 0, period = std::numeric_limits<int64_t>::max();
  for (const autogen::Level& level : part.levels) {
    int64_t stride = elements;
    for (const int64_t extent : shape) {
      stride /= extent;
      if (stride <= level.stride || stride >= period) continue;
      n += level.stride * (level.first + level.count - 1) / stride - level.stride * level.first / stride;
    }
    period = level.stride;
  }
  return n;
}

constexpr int kLookedAt = 64;  // first columns, or rows, among which the most cut one is

// The first and the last column (or row) whose parts have the most such ends: the parts of a concat are
// computed differently.
std::pair<int, int> most_cut(const Region& r, const RegionCut& cut, bool south) {
  std::pair<int, int> most;
  int64_t ends = -1;
  for (int k = 0; k < std::min(south ? cut.h() : cut.w(), kLookedAt); ++k) {
    const int64_t n = r.elements(r.result_buffer[0]);
    const Runs part = part_of(n, cut, south ? cut.w() / 2 : k, south ? k : cut.h() / 2);
    const int64_t inside = ends_inside(r.program.buffers[size_t(r.result_buffer[0])].type.shape, n, part);
    if (inside > ends) ends = inside, most.first = k;
    if (inside == ends) most.second = k;
  }
  return most;
}

// Up to so many of 0 .. n - 1, the first and the last one included.
std::vector<int> spread(int n, int most) {
  std::vector<int> list;
  const int count = std::min(n, most);
  for (int k = 0; k < count; ++k) list.push_back(count == 1 ? 0 : int(int64_t(k) * (n - 1) / (count - 1)));
  return list;
}

}  // namespace

Places places_of(const Region& r, const RegionCut& cut, Look look) {
  const int w = cut.w(), h = cut.h();
  const auto [first_x, last_x] = most_cut(r, cut, false);
  const auto [first_y, last_y] = most_cut(r, cut, true);
  Places list = {{0, 0}, {std::min(1, w - 1), std::min(1, h - 1)}, {w / 2, h / 2}, {w - 1, h - 1}};
  list.insert(list.end(), {{first_x, first_y}, {last_x, last_y}});
  if (look == Look::many) {
    for (int x : spread(w, kManyPes)) list.insert(list.end(), {{x, h / 2}, {x, first_y}, {x, last_y}});
    for (int y : spread(h, kManyPes)) list.insert(list.end(), {{w / 2, y}, {first_x, y}, {last_x, y}});
  }
  std::sort(list.begin(), list.end());
  list.erase(std::unique(list.begin(), list.end()), list.end());
  return list;
}

}  // namespace cs::kernels
