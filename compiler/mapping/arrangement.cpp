// Rows, and halves of halves: slicing trees from the order of kernels.
#include "compiler/mapping/arrangement.h"

#include <algorithm>
#include <numeric>

namespace cs::mapping {

namespace {

int join(Arrangement& a, int first, int second, bool beside) {
  a.pairs.push_back({first, second, beside});
  return int(a.kernels + a.pairs.size()) - 1;
}

// Balanced, so that the ways to the root are short.
int join_all(Arrangement& a, const std::vector<int>& members, size_t from, size_t to, bool beside) {
  if (to - from == 1) return members[from];
  const size_t middle = (from + to) / 2;
  const int first = join_all(a, members, from, middle, beside);
  const int second = join_all(a, members, middle, to, beside);
  return join(a, first, second, beside);
}

class Halves {
 public:
  explicit Halves(const std::vector<double>& areas) : until_(areas.size() + 1, 0) {
    std::partial_sum(areas.begin(), areas.end(), until_.begin() + 1);
    made_.kernels = areas.size();
  }

  // Kernels from … to-1 in a box of this shape; `mirrored`: the order goes from east to west, from south to north.
  struct Mirrored {
    bool x = false, y = false;
  };
  int split(size_t from, size_t to, double width, double height, Mirrored mirrored) {
    if (to - from == 1) return int(from);
    const double half = (until_[from] + until_[to]) / 2;
    const auto begin = until_.begin() + std::ptrdiff_t(from) + 1, end = until_.begin() + std::ptrdiff_t(to);
    size_t middle = size_t(std::lower_bound(begin, end, half) - until_.begin());
    if (middle > from + 1 && half - until_[middle - 1] < until_[middle] - half) --middle;
    middle = std::min(middle, to - 1);
    const double all = until_[to] - until_[from];
    const double share = all > 0 ? (until_[middle] - until_[from]) / all : 0.5;
    const bool beside = width >= height;
    Mirrored behind = mirrored;
    (beside ? behind.y : behind.x) = !(beside ? behind.y : behind.x);
    const int one = split(from, middle, beside ? width * share : width, beside ? height : height * share, mirrored);
    const int two = split(middle, to, beside ? width * (1 - share) : width,
                          beside ? height : height * (1 - share), behind);
    const bool turned = beside ? mirrored.x : mirrored.y;
    return join(made_, turned ? two : one, turned ? one : two, beside);
  }
  Arrangement made() && { return std::move(made_); }

 private:
  std::vector<double> until_;  // area of the kernels before each one
  Arrangement made_;
};

}  // namespace

Arrangement arrange_rows(const std::vector<int>& lengths) {
  Arrangement a;
  a.kernels = size_t(std::accumulate(lengths.begin(), lengths.end(), 0));
  std::vector<int> rows;
  int from = 0;
  for (const int length : lengths) {
    std::vector<int> row(static_cast<size_t>(length));
    std::iota(row.begin(), row.end(), from);
    from += length;
    if (rows.size() % 2 == 1) std::reverse(row.begin(), row.end());
    rows.push_back(join_all(a, row, 0, row.size(), true));
  }
  join_all(a, rows, 0, rows.size(), false);
  return a;
}

Arrangement arrange_halves(const std::vector<double>& areas, double width, double height) {
  Halves halves(areas);
  halves.split(0, areas.size(), width, height, {});
  return std::move(halves).made();
}

}  // namespace cs::mapping
