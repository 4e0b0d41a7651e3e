// Leaves are nodes 0 … n-1, inner nodes n … 2n-2.
#include "compiler/mapping/slicing_tree.h"

#include <algorithm>

namespace cs::mapping {

SlicingTree::SlicingTree(const std::vector<std::vector<int>>& wired, const Arrangement& arrangement, Outline limit)
    : wired_(wired),
      leaves_(int(arrangement.kernels)),
      root_(int(arrangement.kernels + arrangement.pairs.size()) - 1),
      limit_(limit),
      nodes_(arrangement.kernels + arrangement.pairs.size()),
      curves_(nodes_.size()),
      placed_at_(nodes_.size(), 0),
      stamps_(nodes_.size(), 0) {
  int next = leaves_;
  for (const Arrangement::Pair& p : arrangement.pairs) {
    Links& node = nodes_[size_t(next)];
    node.first = int16_t(p.first), node.second = int16_t(p.second), node.beside = p.beside;
    nodes_[size_t(p.first)].parent = nodes_[size_t(p.second)].parent = int16_t(next++);
  }
}

void SlicingTree::recompute(int v, ShapeCurve& out) const {
  const Links& n = nodes_[size_t(v)];
  const ShapeCurve &a = curves_[size_t(n.first)], &b = curves_[size_t(n.second)];
  if (n.beside)
    combine_beside(a, b, limit_, out);
  else
    combine_stacked(a, b, limit_, out);
}

void SlicingTree::set_leaves(const std::vector<const ShapeCurve*>& leaves) {
  for (size_t i = 0; i < leaves.size(); ++i) curves_[i] = *leaves[i];
  std::vector<int> order{root_};
  for (size_t i = 0; i < order.size(); ++i) {
    if (is_leaf(order[i])) continue;
    order.push_back(nodes_[size_t(order[i])].first);
    order.push_back(nodes_[size_t(order[i])].second);
  }
  for (size_t i = order.size(); i-- > 0;)
    if (!is_leaf(order[i])) recompute(order[i], curves_[size_t(order[i])]);
  changed_ = 0;
}

bool SlicingTree::below(int v, int ancestor) const {
  while (v >= 0 && v != ancestor) v = nodes_[size_t(v)].parent;
  return v == ancestor;
}

void SlicingTree::replace_child(int parent, int child, int by) {
  nodes_[size_t(by)].parent = int16_t(parent);
  if (parent < 0) {
    root_ = by;
  } else if (nodes_[size_t(parent)].first == child) {
    nodes_[size_t(parent)].first = int16_t(by);
  } else {
    nodes_[size_t(parent)].second = int16_t(by);
  }
}

void SlicingTree::exchange(int a, int b) {
  const int pa = nodes_[size_t(a)].parent, pb = nodes_[size_t(b)].parent;
  if (pa == pb) {
    std::swap(nodes_[size_t(pa)].first, nodes_[size_t(pa)].second);
    return;
  }
  replace_child(pa, a, b);
  replace_child(pb, b, a);
  update_both(pa, pb);
}

// Takes v out and puts it beside or above `target`; v's parent node moves along.
bool SlicingTree::regraft(int v, int target, bool beside, bool first) {
  const int p = nodes_[size_t(v)].parent;
  if (p < 0 || target == p || below(target, v)) return false;
  const int sibling = nodes_[size_t(p)].first == v ? nodes_[size_t(p)].second : nodes_[size_t(p)].first;
  const int grand = nodes_[size_t(p)].parent;
  if (target != sibling) {
    replace_child(grand, p, sibling);
    const int above = nodes_[size_t(target)].parent;
    replace_child(above, target, p);
    nodes_[size_t(target)].parent = int16_t(p);
  }
  nodes_[size_t(p)].first = int16_t(first ? v : target);
  nodes_[size_t(p)].second = int16_t(first ? target : v);
  nodes_[size_t(p)].beside = beside;
  refresh(p);
  const int above = nodes_[size_t(p)].parent;
  if (above < 0) {
    if (grand >= 0 && target != sibling) update(grand, -1);
  } else if (grand < 0 || target == sibling) {
    update(above, -1);
  } else {
    update_both(grand, above);
  }
  return true;
}

// One node; false if its staircase stays what it was.
bool SlicingTree::refresh(int v) {
  if (old_curves_.size() == changed_) old_curves_.emplace_back();
  auto& [node, old] = old_curves_[changed_];
  recompute(v, old);
  if (old == curves_[size_t(v)]) return false;
  node = v;
  std::swap(old, curves_[size_t(v)]);
  ++changed_;
  return true;
}

void SlicingTree::update(int v, int end) {
  while (v != end && refresh(v)) v = nodes_[size_t(v)].parent;
}

// What the two ways to the root have in common is recomputed once.
void SlicingTree::update_both(int a, int b) {
  ++stamp_;
  for (int v = a; v >= 0; v = nodes_[size_t(v)].parent) stamps_[size_t(v)] = stamp_;
  int common = b;
  while (common >= 0 && stamps_[size_t(common)] != stamp_) common = nodes_[size_t(common)].parent;
  update(a, common);
  update(b, common);
  update(common, -1);
}

// A kernel that this one has a wire to, or a small group around that one; any node if it has no wires.
int SlicingTree::near_wires(int kernel, Rng& rng) const {
  const std::vector<int>& ends = wired_[size_t(kernel)];
  if (ends.empty()) return int(rng.below(uint32_t(nodes_.size())));
  int v = ends[rng.below(uint32_t(ends.size()))];
  while (nodes_[size_t(v)].parent >= 0 && rng.below(2) == 0) v = nodes_[size_t(v)].parent;
  return v;
}

bool SlicingTree::move(Rng& rng) {
  old_nodes_ = nodes_;
  old_root_ = root_;
  changed_ = 0;
  if (leaves_ < 2) return false;
  const uint32_t kind = rng.below(100);
  const auto any = [&] { return int(rng.below(uint32_t(nodes_.size()))); };
  if (kind < 25) {  // two kernels change places
    const int a = int(rng.below(uint32_t(leaves_)));
    const int b = kind < 10 ? near_wires(a, rng) : int(rng.below(uint32_t(leaves_)));
    if (below(a, b)) return false;
    exchange(a, b);
  } else if (kind < 35) {  // two groups change places
    const int a = any(), b = any();
    if (below(a, b) || below(b, a)) return false;
    exchange(a, b);
  } else if (kind < 50) {  // beside <-> above
    const int v = random_inner(rng);
    nodes_[size_t(v)].beside = !nodes_[size_t(v)].beside;
    update(v, -1);
  } else if (kind < 65) {  // mirror a group: only the wires change
    const int v = random_inner(rng);
    std::swap(nodes_[size_t(v)].first, nodes_[size_t(v)].second);
  } else {  // a kernel or a group goes elsewhere
    const int v = kind < 90 ? int(rng.below(uint32_t(leaves_))) : any();
    const int target = is_leaf(v) && rng.below(3) > 0 ? near_wires(v, rng) : any();
    return regraft(v, target, rng.below(2) == 0, rng.below(2) == 0);
  }
  return true;
}

void SlicingTree::undo() {
  while (changed_ > 0) {
    --changed_;
    std::swap(old_curves_[changed_].second, curves_[size_t(old_curves_[changed_].first)]);
  }
  nodes_ = old_nodes_;
  root_ = old_root_;
}

void SlicingTree::place(Outline root, std::vector<Rect>& rects) {
  rects.resize(size_t(leaves_));
  if (waiting_.size() < nodes_.size()) waiting_.resize(nodes_.size());
  // Down to one child at once; the other one waits. Field by field: a waiting one is mostly read right after it was
  // written, for which a processor needs stores and loads of one size.
  Waiting* top = waiting_.data();
  int v = root_, x = 0, y = 0;
  int16_t w = root.w, h = root.h;
  while (true) {
    if (is_leaf(v)) {
      rects[size_t(v)] = {x, y, w, h};
      if (top == waiting_.data()) return;
      --top;
      v = top->node, x = top->x, y = top->y, w = top->w, h = top->h;
      continue;
    }
    const Links& n = nodes_[size_t(v)];
    const ShapeCurve &a = curves_[size_t(n.first)], &b = curves_[size_t(n.second)];
    size_t &at_a = placed_at_[size_t(n.first)], &at_b = placed_at_[size_t(n.second)];
    v = n.first;
    if (n.beside) {
      const Outline left = narrowest(a, h, at_a), right = narrowest(b, h, at_b);
      *top++ = {n.second, right.w, right.h, x + left.w, y};
      w = left.w, h = left.h;
    } else {
      const Outline upper = lowest(a, w, at_a), lower = lowest(b, w, at_b);
      *top++ = {n.second, lower.w, lower.h, x, y + upper.h};
      w = upper.w, h = upper.h;
    }
  }
}

}  // namespace cs::mapping
