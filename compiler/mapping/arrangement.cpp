// Rows, and halves of halves: slicing trees from the order of kernels.
#include "compiler/mapping/arrangement.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

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
  Halves(const std::vector<const ShapeCurve*>& leaves, Outline box) : leaves_(leaves), box_(box) {
    made_.kernels = leaves.size();
    for (const ShapeCurve* leaf : leaves) until_.push_back(until_.back() + least_area(*leaf));
  }

  std::optional<Arrangement> run() {
    const int root = group(0, leaves_.size());
    const Fit fit = best_fit(curve(root), box_.w, box_.h);
    if (fit.factor > 1) return std::nullopt;
    decide(root, fit.outline, {});
    return std::move(made_);
  }

 private:
  // How a group has one of its outlines.
  struct Halved {
    int first = 0, second = 0;
    bool beside = false;
  };
  struct Node {
    ShapeCurve outlines;
    std::vector<Halved> halved;  // by outline
  };
  // The order goes from east to west, from south to north.
  struct Mirrored {
    bool x = false, y = false;
  };
  // Groups of so few kernels are halved at every kernel, not where their areas are: small ones lie then beside what
  // has room for them.
  static constexpr size_t kFew = 10;

  static double least_area(const ShapeCurve& c) {
    double least = std::numeric_limits<double>::infinity();
    for (const Outline& o : c) least = std::min(least, double(o.w) * o.h);
    return std::isfinite(least) ? least : 0;
  }
  bool is_leaf(int v) const { return size_t(v) < leaves_.size(); }
  const Node& node(int v) const { return nodes_[size_t(v) - leaves_.size()]; }
  const ShapeCurve& curve(int v) const { return is_leaf(v) ? *leaves_[size_t(v)] : node(v).outlines; }

  // Kernels from … to-1 are halved before this one.
  size_t middle_of(size_t from, size_t to) const {
    const double half = (until_[from] + until_[to]) / 2;
    const auto begin = until_.begin() + std::ptrdiff_t(from) + 1, end = until_.begin() + std::ptrdiff_t(to);
    size_t middle = size_t(std::lower_bound(begin, end, half) - until_.begin());
    if (middle > from + 1 && half - until_[middle - 1] < until_[middle] - half) --middle;
    return std::min(middle, to - 1);
  }

  // Their node, with all outlines that the box has room for.
  int group(size_t from, size_t to) {
    if (to - from == 1) return int(from);
    const auto [known, is_new] = known_.try_emplace({from, to}, 0);
    if (!is_new) return known->second;
    std::vector<std::pair<Outline, Halved>> list;
    const bool few = to - from <= kFew;
    const size_t middle = few ? from + 1 : middle_of(from, to), last = few ? to - 1 : middle;
    for (size_t at = middle; at <= last; ++at) add_halves(group(from, at), group(at, to), list);
    nodes_.push_back(best_of(list));
    return known->second = int(leaves_.size() + nodes_.size()) - 1;
  }
  void add_halves(int first, int second, std::vector<std::pair<Outline, Halved>>& list) {
    combine_beside(curve(first), curve(second), box_, combined_);
    for (const Outline& o : combined_) list.push_back({o, {first, second, true}});
    combine_stacked(curve(first), curve(second), box_, combined_);
    for (const Outline& o : combined_) list.push_back({o, {first, second, false}});
  }
  static Node best_of(std::vector<std::pair<Outline, Halved>>& list) {
    std::ranges::stable_sort(list, {}, [](const auto& one) { return std::pair(one.first.w, one.first.h); });
    Node node;
    for (const auto& [outline, halved] : list) {
      if (!node.outlines.empty() && node.outlines.back().h <= outline.h) continue;
      node.outlines.push_back(outline);
      node.halved.push_back(halved);
    }
    return node;
  }

  // The node has this outline, one of its own. Its number in the arrangement.
  int decide(int v, Outline outline, Mirrored mirrored) {
    if (is_leaf(v)) return v;
    size_t at = 0;
    narrowest(node(v).outlines, outline.h, at);
    const auto [first, second, beside] = node(v).halved[at];
    const auto part = [&, beside = beside](int child) {
      size_t there = 0;
      return beside ? narrowest(curve(child), outline.h, there) : lowest(curve(child), outline.w, there);
    };
    Mirrored behind = mirrored;
    (beside ? behind.y : behind.x) = !(beside ? behind.y : behind.x);
    const int one = decide(first, part(first), mirrored), two = decide(second, part(second), behind);
    const bool turned = beside ? mirrored.x : mirrored.y;
    return join(made_, turned ? two : one, turned ? one : two, beside);
  }

  const std::vector<const ShapeCurve*>& leaves_;
  const Outline box_;
  std::vector<double> until_{0};  // area of the kernels before each one
  std::vector<Node> nodes_;
  std::map<std::pair<size_t, size_t>, int> known_;  // nodes by their first kernel and the one behind their last
  ShapeCurve combined_;
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

std::optional<Arrangement> arrange_halves(const std::vector<const ShapeCurve*>& kernels, Outline box) {
  return Halves(kernels, box).run();
}

}  // namespace cs::mapping
