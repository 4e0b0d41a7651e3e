// A kind whose operands and results lie on PEs: no stream leads to it, so a graph chooses it only for a
// program with resident operands (Kind::take_resident).
#pragma once

#include "compiler/kernels/choice.h"
#include "compiler/kernels/kind.h"
#include "runtime/ops/windows.h"

namespace cs::kernels {

class ResidentKind : public Kind {
 public:
  const Row* choose(const graph::Graph&, graph::NodeId, std::string& why) const override {
    why = "its operands would have to lie on the PEs";
    return nullptr;
  }
  bool has_resident_form() const override { return true; }

 protected:
  // The group is this kind's first row, of its first node's first operand, and what is behind the node
  // generated; or all is, under this name.
  void take_group(const graph::Graph& g, const graph::Group& group, const Work& work, Choice& choice,
                  std::string_view generated = {}) const {
    choice.work = work;
    choice.row = generated.empty() ? &library()[0] : nullptr;
    choice.kernel = std::string(generated.empty() ? choice.row->name : generated);
    choice.origin = group.nodes.size() > 1 || !generated.empty() ? Origin::autogen : Origin::handwritten;
    choice.operands = {graph::source_of(g, g.node(group.nodes.front()).inputs[0])};
    choice.constants.clear();
    choice.expr.reset();
    choice.region.reset();
    choice.epilogue = nullptr;
  }
};

// Windows of rows and columns; a single dimension is one of rows. False with the reason if there are more, or
// longer ones than PEs take (resident_convolution.cpp).
bool add_windows(const ops::Window&, Convolution&, std::string& why);

// Products: `rows` times m sums of n products each.
class ResidentProductKind : public ResidentKind {
 public:
  int64_t flops(const Work& work) const override {
    return work.rows * work.m * 2 * work.n + int64_t(double(work.rows * work.m) * work.flops_per_element);
  }
  double constant_words(const Work& work) const override {
    return double(work.n) * double(work.m) / double(work.rows);  // read once, not for every row
  }
};

}  // namespace cs::kernels
