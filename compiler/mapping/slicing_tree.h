// A slicing tree over n kernels: leaves are kernels, inner nodes set their two groups beside or above each
// other. Each node keeps the staircase of its outlines; a move recomputes those on the way to the root and
// can be undone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "compiler/mapping/arrangement.h"
#include "compiler/mapping/shape_curve.h"
#include "runtime/support/geometry.h"
#include "runtime/support/rng.h"

namespace cs::mapping {

class SlicingTree {
 public:
  // `wired`: kernels that each kernel has wires to; moves look for places near them.
  SlicingTree(const std::vector<std::vector<int>>& wired, const Arrangement&, Outline limit);

  // New staircases of the leaves; everything is recomputed.
  void set_leaves(const std::vector<const ShapeCurve*>&);
  const ShapeCurve& root_curve() const { return curves_[size_t(root_)]; }

  // One random move; false if it changed nothing. `undo` takes the last one back.
  bool move(Rng&);
  void undo();

  // Rectangles of the kernels when the root has this outline (one of its curve).
  void place(Outline root, std::vector<Rect>& rects);

 private:
  struct Links {
    int16_t parent = -1, first = -1, second = -1;
    bool beside = false;  // else above each other
  };
  bool is_leaf(int v) const { return v < leaves_; }
  bool below(int v, int ancestor) const;
  void replace_child(int parent, int child, int by);
  void exchange(int a, int b);
  bool regraft(int v, int target, bool beside, bool first);
  bool refresh(int v);
  void update(int v, int end);  // from v upwards, as far as staircases change, before `end`
  void update_both(int a, int b);
  void recompute(int v, ShapeCurve& out) const;
  int near_wires(int kernel, Rng&) const;
  int random_inner(Rng& rng) const { return leaves_ + int(rng.below(uint32_t(leaves_ - 1))); }

  const std::vector<std::vector<int>>& wired_;
  int leaves_, root_;
  Outline limit_;
  std::vector<Links> nodes_;
  std::vector<ShapeCurve> curves_;
  struct Waiting {  // a group whose place is known, in place()
    int node = 0;
    int16_t w = 0, h = 0;
    int x = 0, y = 0;
  };
  std::vector<Waiting> waiting_;
  std::vector<size_t> placed_at_;  // point of each node's curve that place() took the last time
  std::vector<Links> old_nodes_;  // before the last move
  std::vector<uint32_t> stamps_;  // of the last update_both that passed a node
  uint32_t stamp_ = 0;
  int old_root_ = 0;
  std::vector<std::pair<int, ShapeCurve>> old_curves_;
  size_t changed_ = 0;  // how many entries of old_curves_ belong to the last move
};

}  // namespace cs::mapping
