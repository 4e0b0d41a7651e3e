// A kind whose operands and results lie on PEs: no stream leads to it, so a graph chooses it only for a
// program with resident operands (Kind::take_resident).
#pragma once

#include "compiler/kernels/choice.h"
#include "compiler/kernels/kind.h"

namespace cs::kernels {

class ResidentKind : public Kind {
 public:
  const Row* choose(const graph::Graph&, graph::NodeId, std::string& why) const override {
    why = "its operands would have to lie on the PEs";
    return nullptr;
  }
  bool has_resident_form() const override { return true; }

 protected:
  // The group is this kind's first row, of its first node's first operand; behind the node it is generated.
  void take_group(const graph::Graph& g, const graph::Group& group, const Work& work, Choice& choice) const {
    choice.work = work;
    choice.row = &library()[0];
    choice.kernel = std::string(choice.row->name);
    choice.origin = group.nodes.size() > 1 ? Origin::autogen : Origin::handwritten;
    choice.operands = {graph::source_of(g, g.node(group.nodes.front()).inputs[0])};
    choice.constants.clear();
    choice.expr.reset();
    choice.region.reset();
    choice.epilogue = nullptr;
  }
};

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
