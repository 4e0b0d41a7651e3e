// Sums, means and maxima of rows of what a chain of elementwise operators gives, of operands that lie on the
// PEs: the chain is computed in the place of the first operand, then the reduction takes that as its own
// (reduction.cpp). So what is between them never leaves the PE. Streamed, such a chain and its sums are two
// kernels or a region.
#include <algorithm>

#include <fmt/format.h>

#include "compiler/autogen/elementwise.h"
#include "compiler/autogen/expression.h"
#include "compiler/kernels/resident_chain.h"
#include "compiler/kernels/resident_reduction.h"
#include "compiler/kernels/role_parts.h"

namespace cs::kernels {

namespace {

using graph::Graph;
using graph::NodeId;

class ResidentSum final : public Kind {
 public:
  std::string_view name() const override { return "resident sum of a chain"; }

  // ---- choice

  bool has_resident_form() const override { return true; }

  bool take_resident(const Graph& g, const graph::Group& group, const Machine& machine, Choice& choice,
                     std::string& why) const override {
    if (group.nodes.size() < 2 || choice.results.size() != 1) return false;
    const NodeId last = group.nodes.back();
    if (!reduction_kind()->takes(g, last) || !computes(g.node(last).op)) return false;
    const graph::Group chain{.name = group.name, .nodes = {group.nodes.begin(), group.nodes.end() - 1}};
    if (!std::all_of(chain.nodes.begin(), chain.nodes.end(),
                     [&](NodeId id) { return elementwise_kind()->takes(g, id); }))
      return false;
    std::optional<Work> work = reduction_kind()->match(g, last, why);
    if (!work || !fits_chain(g, chain, last, work->rows * work->n, why)) return false;
    choice.work = *work;
    choice.region.reset();
    choice.constants.clear();
    choice.row = nullptr;
    attach_expression(g, chain, chain.nodes, false, machine, choice);
    fold_uniform_constants(machine, choice);
    if (choice.expr_constants > 0) {
      why = "constants with several elements have no place beside the sums";
      return false;
    }
    for (graph::ValueId& v : choice.operands) {
      v = graph::source_of(g, v);
      if (g.value(v).type.dtype == DataType::f32) continue;
      why = fmt::format("'{}' is no f32", g.value(v).name);
      return false;
    }
    int64_t flops = 0;
    for (NodeId id : chain.nodes) flops += g.flops(id);
    choice.work.kind = this;
    choice.work.through = false;
    choice.work.flops_per_element = double(flops) / double(work->rows * work->n);
    choice.kernel = fmt::format("{}+{}", elementwise_kind()->generated(), reduction_kind()->generated());
    choice.maximum = choice.work.maximum = g.node(last).op == "reduce_max";
    choice.scale = g.node(last).op == "reduce_mean" ? 1.0F / float(work->n) : 1.0F;
    return true;
  }

  ResidentArrays resident_arrays(const Choice& choice, const Cut& cut) const override {
    ResidentArrays list = reduction_kind()->resident_arrays(choice, cut);
    for (int k = 1; k < choice.work.operands; ++k) {
      list.operands.push_back(list.operands.front());
      list.operands.back().name = fmt::format("x{}", k);
    }
    place_in_turns(list);
    return list;
  }

  ResidentText write_resident(const Choice& choice, const Setting& at) const override {
    const int n = at.cut.m_slice * at.cut.n_slice;
    const std::string file = at.name + "_chain.csl";
    ResidentText text = Kind::write_resident(choice, at);
    text.files[file] = autogen::epilogue_module(
        {choice.title, resident_sharding(choice.work, at.cut), *choice.expr, choice.work.operands, 0, n},
        at.machine);
    text.import = fmt::format("const chain = @import_module(\"{}\", .{{ .y = &x0", file);
    text.import += chain_operands(choice.work.operands) + " });\n";
    text.call = "chain.run();\n  kernel.run()";
    return resident_reduction(choice, at, std::move(text));
  }

  std::string resident_sharding(const Work& work, const Cut& cut) const override {
    return reduction_kind()->resident_sharding(work, cut);
  }

  // ---- costs

  // Zeros beyond the end of an operand would go through the chain and into a sum.
  std::optional<Cut> cut_resident(const Work& work, int w, int h, const Machine& m) const override {
    const std::optional<Cut> cut = reduction_kind()->cut_resident(work, w, h, m);
    const int across = cut && cut->line > 1 ? 1 : w;
    const bool even =
        cut && int64_t(cut->m_slice) * h * across == work.rows && int64_t(cut->n_slice) * cut->line == work.n;
    return even ? cut : std::nullopt;
  }
  std::string resident_limits(const Work&) const override {
    return "rows divide evenly among the PEs, or rows among rows of PEs and their elements among columns";
  }
  void add_resident_memory(const Work& work, const Cut& cut, Memory& memory) const override {
    reduction_kind()->add_resident_memory(work, cut, memory);
    add_user(memory, "temporaries", 4 * chain_words(work.chain, cut.m_slice * cut.n_slice));
  }
  double launch_cycles(const Work& work, const Cut& cut, const Machine& m) const override {
    return chain_cycles(work.chain, cut.m_slice * cut.n_slice).alone() +
           reduction_kind()->launch_cycles(work, cut, m);
  }
  double resident_words(const Work& work, const Cut& cut) const override {
    return double(cut.m_slice) * (double(cut.n_slice) * work.operands + 1);
  }

  // ---- bound

  int64_t flops(const Work& work) const override {
    return int64_t(double(work.rows * work.n) * (work.flops_per_element + 1));
  }
  double least_cycles(const Work& work, const Machine& m) const override {
    return double(work.rows * work.n) * work.least_cycles + reduction_kind()->least_cycles(work, m);
  }

 private:
  static bool computes(const std::string& op) {
    return op == "reduce_sum" || op == "reduce_mean" || op == "reduce_max";
  }
  // Every operator of the chain has as many elements as are reduced, in words of 32 bits.
  static bool fits_chain(const Graph& g, const graph::Group& chain, NodeId last, int64_t elements,
                         std::string& why) {
    const graph::ValueId reduced = graph::source_of(g, g.node(last).inputs[0]);
    if (g.value(reduced).producer != chain.nodes.back()) return false;
    for (const NodeId id : chain.nodes) {
      const ops::OpDef& op = g.op(id);
      if (!autogen::expression_supported(
              ops::bind_attrs(ops::op_expression(op), ops::with_defaults(op, g.node(id).attrs)), why))
        return false;
      const std::optional<Work> work = elementwise_kind()->match(g, id, why);
      if (!work) return false;
      const DataType made = g.value(g.node(id).outputs[0]).type.dtype;
      if (work->m == elements && (made == DataType::f32 || made == DataType::boolean)) continue;
      why = fmt::format("'{}' has another shape than what is reduced, or no f32", g.node(id).name);
      return false;
    }
    return true;
  }
};

}  // namespace

const Kind* resident_sum_kind() {
  static const ResidentSum kind;
  return &kind;
}

}  // namespace cs::kernels
