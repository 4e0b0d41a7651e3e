// Finds a comparison whose readers can all do without it, and rewrites them.
#include "compiler/autogen/index_statements.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "compiler/autogen/join_statements.h"

namespace cs::autogen {

namespace {

using ops::BufferKind;
using ops::Combine;
using ops::Expr;
using ops::ExprKind;
using ops::ExprNode;
using ops::LoopAccess;
using ops::LoopProgram;
using ops::LoopStatement;

bool is_number(const Expr& e, int node, double value) {
  return e.nodes[size_t(node)].kind == ExprKind::constant && e.nodes[size_t(node)].value == value;
}

// Selects whose condition is known, and sums with 0.
Expr folded(const Expr& from) {
  Expr to;
  std::vector<int> at(from.nodes.size(), -1);
  const auto of = [&](int node) { return node < 0 ? -1 : at[size_t(node)]; };
  for (size_t i = 0; i < from.nodes.size(); ++i) {
    const ExprNode& n = from.nodes[i];
    const int a = of(n.a), b = of(n.b);
    if (n.kind == ExprKind::constant)
      at[i] = to.constant(n.value);
    else if (n.kind == ExprKind::input)
      at[i] = to.input(n.index);
    else if (n.kind == ExprKind::select && to.nodes[size_t(a)].kind == ExprKind::constant)
      at[i] = is_number(to, a, 0) ? of(n.c) : b;
    else if ((n.kind == ExprKind::add || n.kind == ExprKind::sub) && is_number(to, b, 0))
      at[i] = a;
    else if (n.kind == ExprKind::add && is_number(to, a, 0))
      at[i] = b;
    else if (n.kind == ExprKind::logical_not && to.nodes[size_t(a)].kind == ExprKind::constant)
      at[i] = to.constant(is_number(to, a, 0) ? 1 : 0);
    else
      at[i] = to.make(n.kind, a, b, of(n.c));
  }
  to.root = at[size_t(from.root)];
  return ops::prune(to);
}

// A comparison of an index with the places of an axis.
struct Comparison {
  size_t statement = 0, axis = 0;
  LoopAccess index;   // as the statement loads it
  int64_t first = 0;  // what the first place counts as
};

class Rewriter {
 public:
  Rewriter(LoopProgram& p, std::vector<LoopStatement>& list) : p_(p), list_(list) {}

  bool rewrite_one() {
    for (size_t k = 0; k < list_.size(); ++k) {
      const std::optional<Comparison> c = comparison(k);
      if (c && rewrite(*c)) return true;
    }
    return false;
  }

 private:
  std::optional<Comparison> comparison(size_t k) const {
    const LoopStatement& s = list_[k];
    const ExprNode& root = s.value.nodes[size_t(s.value.root)];
    if (p_.buffers[size_t(s.out.buffer)].kind != BufferKind::temporary || s.combine != Combine::assign ||
        s.out.index >= 0 || s.loads.size() != 2 || root.kind != ExprKind::eq)
      return std::nullopt;
    for (const size_t n : {0, 1}) {
      const LoopAccess &counter = s.loads[n], &index = s.loads[1 - n];
      if (counter.buffer != ops::kCounter || index.buffer < 0 || index.index >= 0 ||
          data_type_is_float(p_.buffers[size_t(index.buffer)].type.dtype) || counter.step != 0 ||
          index.step != 0)
        continue;
      const auto moves = [](int64_t stride) { return stride != 0; };
      if (std::count_if(counter.strides.begin(), counter.strides.end(), moves) != 1) continue;
      const size_t axis = size_t(std::find_if(counter.strides.begin(), counter.strides.end(), moves) -
                                 counter.strides.begin());
      if (counter.strides[axis] == 1 && index.strides[axis] == 0)
        return Comparison{k, axis, index, counter.offset};
    }
    return std::nullopt;
  }

  bool rewrite(const Comparison& c) {
    const LoopStatement made = list_[c.statement];
    std::vector<size_t> readers;
    for (size_t k = 0; k < list_.size(); ++k) {
      if (k != c.statement && list_[k].out.buffer == made.out.buffer) return false;
      if (reads(list_[k], made.out.buffer)) readers.push_back(k);
    }
    if (readers.empty()) return false;
    for (size_t r : readers) {
      split_like(list_[r], made.extents);
      if (r < c.statement || !takes(list_[r], made)) return false;
    }
    std::vector<LoopStatement> list;
    const int place = add_place(c);
    std::vector<bool> gone(list_.size(), false);
    std::vector<std::vector<LoopStatement>> instead(list_.size());
    gone[c.statement] = true;
    instead[c.statement] = {find_place(made, c, place)};
    for (size_t r : readers) {
      const Expr elsewhere = with(list_[r], made.out.buffer, 0);
      gone[r] = true;
      if (const std::optional<size_t> sum = summed(r, made, c, elsewhere)) {
        gone[*sum] = true;
        instead[*sum] = {at_place(list_[r], made, c, place, &list_[*sum])};
        continue;
      }
      LoopStatement all = list_[r];
      all.value = elsewhere;
      instead[r] = {without_unread(std::move(all)), at_place(list_[r], made, c, place, nullptr)};
    }
    for (size_t k = 0; k < list_.size(); ++k) {
      if (!gone[k]) list.push_back(std::move(list_[k]));
      for (LoopStatement& s : instead[k]) list.push_back(std::move(s));
    }
    list_ = std::move(list);
    return true;
  }

  static bool reads(const LoopStatement& s, int buffer) {
    return std::any_of(s.loads.begin(), s.loads.end(),
                       [&](const LoopAccess& a) { return a.buffer == buffer; });
  }
  // Over the same elements, one by one, none of them by an index, and it does not read what it makes.
  static bool takes(const LoopStatement& s, const LoopStatement& made) {
    if (s.combine != Combine::assign || s.extents != made.extents || s.out.index >= 0 || s.out.step != 0)
      return false;
    return std::all_of(s.loads.begin(), s.loads.end(), [&](const LoopAccess& a) {
      return a.index < 0 && a.step == 0 && a.buffer != s.out.buffer &&
             (a.buffer != made.out.buffer || (a.strides == made.out.strides && a.offset == made.out.offset));
    });
  }
  static Expr with(const LoopStatement& s, int buffer, double value) {
    std::vector<Expr> inner(s.loads.size());
    for (size_t k = 0; k < s.loads.size(); ++k)
      inner[k].root = s.loads[k].buffer == buffer ? inner[k].constant(value) : inner[k].input(int(k));
    return folded(ops::substitute(s.value, inner));
  }

  // The statement that adds up what reader r makes over the axis, if that is 0 at all other places.
  std::optional<size_t> summed(size_t r, const LoopStatement& made, const Comparison& c,
                               const Expr& elsewhere) {
    const LoopAccess& out = list_[r].out;
    if (!is_number(elsewhere, elsewhere.root, 0) ||
        p_.buffers[size_t(out.buffer)].kind != BufferKind::temporary)
      return std::nullopt;
    std::optional<size_t> sum;
    for (size_t k = 0; k < list_.size(); ++k) {
      if (!reads(list_[k], out.buffer)) continue;
      if (sum || k < r) return std::nullopt;
      sum = k;
    }
    if (!sum) return std::nullopt;
    LoopStatement& s = list_[*sum];
    split_like(s, made.extents);
    const bool adds = s.combine == Combine::add && s.extents == made.extents && s.loads.size() == 1 &&
                      s.value.nodes[size_t(s.value.root)].kind == ExprKind::input && s.loads[0] == out &&
                      s.out.index < 0 && s.out.strides[c.axis] == 0;
    return adds ? sum : std::nullopt;
  }

  int add_place(const Comparison& c) {
    ops::LoopBuffer b = p_.buffers[size_t(c.index.buffer)];
    b.name = fmt::format("place{}", p_.buffers.size());
    b.kind = BufferKind::temporary;
    b.type.dtype = DataType::i32;
    p_.buffers.push_back(std::move(b));
    return int(p_.buffers.size()) - 1;
  }
  // Within the axis, wherever the index is.
  static LoopStatement find_place(const LoopStatement& made, const Comparison& c, int place) {
    LoopStatement s;
    s.extents = made.extents;
    s.loads = {c.index};
    s.out = c.index;
    s.out.buffer = place;
    Expr e;
    const int low =
        e.make(ExprKind::max, e.make(ExprKind::sub, e.input(0), e.constant(double(c.first))), e.constant(0));
    e.root = e.make(ExprKind::min, low, e.constant(double(made.extents[c.axis] - 1)));
    s.value = std::move(e);
    return without_axis(std::move(s), c.axis);
  }
  static LoopStatement without_axis(LoopStatement s, size_t axis) {
    s.extents.erase(s.extents.begin() + int64_t(axis));
    const auto drop = [&](LoopAccess& a) { a.strides.erase(a.strides.begin() + int64_t(axis)); };
    drop(s.out);
    for (LoopAccess& a : s.loads) drop(a);
    if (s.extents.empty()) {
      s.extents.push_back(1);
      s.out.strides.push_back(0);
      for (LoopAccess& a : s.loads) a.strides.push_back(0);
    }
    return s;
  }
  // What the reader makes at the place of the index, if it is one; added by `sum` to what that makes.
  static LoopStatement at_place(const LoopStatement& reader, const LoopStatement& made, const Comparison& c,
                                int place, const LoopStatement* sum) {
    LoopStatement s = reader;
    LoopAccess where = c.index;
    where.buffer = place;
    s.loads = {c.index, where};
    std::vector<Expr> inner(reader.loads.size());
    const auto indexed = [&](LoopAccess a) {
      if (a.strides[c.axis] == 0) return a;
      a.index = 1;
      a.index_stride = a.strides[c.axis];
      a.index_extent = made.extents[c.axis];
      return a;
    };
    for (size_t k = 0; k < reader.loads.size(); ++k) {
      const LoopAccess& a = reader.loads[k];
      if (a.buffer == made.out.buffer) {
        inner[k].root = inner[k].constant(1);
      } else {
        inner[k].root = inner[k].input(int(s.loads.size()));
        s.loads.push_back(indexed(a));
      }
    }
    Expr e = folded(ops::substitute(reader.value, inner));
    const int value = e.root;
    int otherwise = -1;
    if (sum != nullptr) {
      s.combine = sum->combine;
      s.out = sum->out;
      otherwise = e.constant(0);
    } else {
      otherwise = e.input(int(s.loads.size()));
      s.loads.push_back(indexed(reader.out));
      s.out = indexed(reader.out);
    }
    const int here = e.make(ExprKind::add, e.input(1), e.constant(double(c.first)));
    e.root = e.make(ExprKind::select, e.make(ExprKind::eq, e.input(0), here), value, otherwise);
    s.value = ops::prune(e);
    return without_unread(without_axis(std::move(s), c.axis));
  }
  static LoopStatement without_unread(LoopStatement s) {
    std::vector<Expr> inner(s.loads.size());
    std::vector<LoopAccess> kept;
    for (size_t k = 0; k < s.loads.size(); ++k) {  // an index and its place are always read
      if (!s.value.uses_input(int(k))) {
        inner[k].root = inner[k].constant(0);
        continue;
      }
      inner[k].root = inner[k].input(int(kept.size()));
      kept.push_back(s.loads[k]);
    }
    s.value = ops::substitute(s.value, inner);
    s.loads = std::move(kept);
    return s;
  }

  LoopProgram& p_;
  std::vector<LoopStatement>& list_;
};

// A temporary into which statements put 0, 1, 2, …, element by element, is what loops count.
void count_elements(LoopProgram& p, std::vector<LoopStatement>& list) {
  const auto puts = [](const LoopStatement& s) -> const ExprNode* {
    const ExprNode& root = s.value.nodes[size_t(s.value.root)];
    const bool one = std::all_of(s.extents.begin(), s.extents.end(), [](int64_t e) { return e == 1; });
    return one && s.combine == Combine::assign && s.out.index < 0 && s.out.step == 0 &&
                   root.kind == ExprKind::constant
               ? &root
               : nullptr;
  };
  std::vector<int64_t> put(p.buffers.size(), 0);
  for (const LoopStatement& s : list) {
    const ExprNode* root = puts(s);
    int64_t& n = put[size_t(s.out.buffer)];
    const ops::LoopBuffer& b = p.buffers[size_t(s.out.buffer)];
    const bool counts = root != nullptr && n >= 0 && b.kind == BufferKind::temporary &&
                        !data_type_is_float(b.type.dtype) && s.out.offset == n && root->value == double(n);
    n = counts ? n + 1 : -1;
  }
  const auto counted = [&](const LoopAccess& a) {
    return a.buffer >= 0 && put[size_t(a.buffer)] > 1 &&
           put[size_t(a.buffer)] == p.buffers[size_t(a.buffer)].type.elements();
  };
  for (const LoopStatement& s : list)  // by an index: it has to be there
    for (const LoopAccess& a : s.loads)
      if (counted(a) && a.index >= 0) put[size_t(a.buffer)] = -1;
  std::erase_if(list, [&](const LoopStatement& s) { return counted(s.out); });
  for (LoopStatement& s : list)
    for (LoopAccess& a : s.loads)
      if (counted(a)) a.buffer = ops::kCounter;
}

}  // namespace

void use_indices(LoopProgram& p) {
  for (ops::LoopBlock& block : p.blocks)
    if (block.steps == 1 && p.blocks.size() == 1) count_elements(p, block.statements);
  for (ops::LoopBlock& block : p.blocks)
    while (block.steps == 1 && p.blocks.size() == 1 && Rewriter(p, block.statements).rewrite_one()) {
    }
}

}  // namespace cs::autogen
