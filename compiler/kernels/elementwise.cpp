// Elementwise chains: n elements on a row of PEs. The library's is relu.csl, the generator
// autogen/elementwise.h.
#include <algorithm>

#include <fmt/format.h>

#include "compiler/autogen/elementwise.h"
#include "compiler/autogen/expression.h"
#include "compiler/autogen/joins.h"
#include "compiler/kernels/match_parts.h"
#include "compiler/kernels/resident_chain.h"
#include "compiler/kernels/role_parts.h"

namespace cs::kernels {

namespace {

// The result is sent by an instruction of its own: the last one of the chain cannot, or would wait with the
// first part until it is the PE's turn.
bool sent_apart(const ChainCost& chain, const Cut& cut) {
  return !chain.to_fabric || (cut.w > 1 && cut.n_slice > part_of(cut.n_slice));
}

class Elementwise final : public Kind {
 public:
  std::string_view name() const override { return "elementwise"; }

  std::span<const Row> library() const override {
    static const Row list[] = {
        {"relu", "relu.csl", this, {"relu"}, "max(x, 0) on a row of PEs", "relu_epilogue.csl"}};
    return list;
  }

  std::string_view generated() const override { return "dtg-elementwise"; }

  // ---- match

  bool takes(const graph::Graph& g, graph::NodeId id) const override {
    return g.op(id).kind == ops::OpKind::elementwise;
  }

  std::optional<Work> match(const graph::Graph& g, graph::NodeId id, std::string& why) const override {
    const graph::Node& node = g.node(id);
    Work work;
    work.kind = this;
    work.operands = 0;
    for (graph::ValueId v : node.inputs) {
      if (!v.valid()) continue;
      const graph::Value& value = g.value(v);
      if (value.is_constant()) {
        if (value.type.elements() != 1) ++work.constants;
      } else {
        ++work.operands;
      }
    }
    if (work.operands == 0) {
      why = "all its operands are constant";
      return std::nullopt;
    }
    work.n = work.m = g.value(node.outputs[0]).type.elements();
    work.flops_per_element = g.op(id).flops;
    work.chain.per_element = work.flops_per_element;
    return work;
  }

  void add_nodes(const graph::Graph& g, std::span<const graph::NodeId> nodes, const Machine& machine,
                 Work& work) const override {
    const ChainStreams s = add_chain_work(g, nodes, machine, work);
    work.operands = s.streams;
    work.through = s.through;
  }

  bool may_become_region() const override { return true; }
  const Row* stand_in() const override { return &library()[0]; }

  // A PE alone sends part by part where the last instruction sends.
  Skew skew(const Choice& choice, const Plan& plan, const Layout*) const override {
    const Work& work = choice.work;
    const int part = part_of(plan.cut.n_slice);
    const bool by_parts = plan.cut.w * plan.cut.h == 1 && work.chain.to_fabric;
    Skew s = whole_samples(choice, plan, by_parts ? (work.n + part - 1) / part : 1);
    if (work.through) pass_words(s, plan.latency_cycles);
    return s;
  }

  // ---- footprints

  bool same_slices() const override { return true; }

  // ---- costs of streamed operands

  PeCycles pe_cycles(const Work& work, const Cut& cut, const Machine& m) const override {
    if (work.through)
      return {m.core.task_start_cycles + vector_cycles(cut.n_slice, 1, m) + (cut.w > 1 ? 2 : 0), 0};
    const double start = m.core.task_start_cycles + 8;
    PeCycles c = chain_cycles(work.chain, cut.n_slice);
    c.free += start + vector_cycles(0, 1, m);
    if (sent_apart(work.chain, cut)) c.busy += cut.n_slice;
    if (cut.w > 1) c.free += vector_cycles(1, 1, m);
    return c;
  }

  double words_kept(const Work& work, const Cut& cut) const override {
    return work.through ? 0 : double(cut.n_slice) * work.operands;
  }

  double last_row_cycles(const Work& work, const Cut&, double feed, double pe,
                         const Machine&) const override {
    return work.through ? std::max(feed, pe) : feed + pe;  // results leave while operands arrive
  }

  void add_memory(const Work& work, const Cut& cut, Memory& memory) const override {
    add_user(memory, "input buffers", 8 * int64_t(cut.n_slice) * work.operands * !work.through);
    add_user(memory, "temporaries and output",
             4 * (chain_words(work.chain, cut.n_slice) + (work.chain.to_fabric ? 0 : cut.n_slice)) *
                 !work.through);
    add_user(memory, "constants", 4 * (int64_t(cut.n_slice) + 1) * work.constants);
  }

  // ---- costs of resident operands

  bool has_resident_form() const override { return true; }
  // Chains that are regions where they are streamed: those of 16-bit floats, and those with truth values
  // inside.
  bool take_resident(const graph::Graph& g, const graph::Group& group, const Machine& machine, Choice& choice,
                     std::string& why) const override {
    const auto of_chain = [&](graph::NodeId id) { return takes(g, id); };
    if (!std::all_of(group.nodes.begin(), group.nodes.end(), of_chain)) return false;
    const int64_t elements = choice.results.size() == 1 ? g.value(choice.results[0]).type.elements() : 0;
    for (graph::NodeId id : group.nodes) {
      std::optional<Work> work = match(g, id, why);
      const ops::OpDef& op = g.op(id);
      if (!work ||
          !autogen::expression_supported(
              ops::bind_attrs(ops::op_expression(op), ops::with_defaults(op, g.node(id).attrs)), why))
        return false;
      if (work->m != elements) {
        why = fmt::format("'{}' has another shape than the result", g.node(id).name);
        return false;
      }
      choice.work = *work;
    }
    const graph::Value& result = g.value(choice.results[0]);
    choice.work.half = data_type_bytes(result.type.dtype) == 2;
    choice.region.reset();
    choice.constants.clear();
    fill(g, group, machine, choice);
    for (graph::ValueId& v : choice.operands) v = graph::source_of(g, v);
    fold_uniform_constants(machine, choice);
    return floats_alike(g, group, choice, result, why);
  }
  ResidentArrays resident_arrays(const Choice& choice, const Cut& cut) const override {
    ResidentArrays list = Kind::resident_arrays(choice, cut);
    place_in_turns(list);
    return list;
  }
  ResidentText write_resident(const Choice& choice, const Setting& at) const override {
    const Cut& cut = at.cut;
    ResidentText text = Kind::write_resident(choice, at);
    if (choice.row != nullptr) {
      text.import = fmt::format("const kernel = @import_module(\"{}\", .{{ .n = {}, .y = &x0 }});\n",
                                choice.row->epilogue, cut.n_slice);
      return text;
    }
    const std::string file = at.name + "_kernel.csl";
    const std::string on =
        fmt::format("{} elements on {} x {} PEs, {} each", choice.work.n, cut.w, cut.h, cut.n_slice);
    const autogen::ElementwiseSpec spec{choice.title,          on,         *choice.expr, choice.work.operands,
                                        choice.expr_constants, cut.n_slice};
    text.files[file] = autogen::epilogue_module(spec, at.machine);
    text.import = fmt::format("const kernel = @import_module(\"{}\", .{{ .y = &x0", file);
    text.import += chain_operands(choice.work.operands);
    for (const PackedConstant& c : choice.constants)
      text.import += fmt::format(", .{0} = @ptrcast([*]f32, &{0}[1])", c.name);
    text.import += " });\n";
    return text;
  }
  std::optional<Cut> cut_resident(const Work& work, int w, int h, const Machine&) const override {
    return cut_evenly(work, w, h);
  }
  void add_resident_memory(const Work& work, const Cut& cut, Memory& memory) const override {
    add_user(memory, "operands", 4 * int64_t(cut.n_slice) * work.operands);
    add_user(memory, "temporaries", 4 * chain_words(work.chain, cut.n_slice));
    add_user(memory, "constants", 4 * work.constants * (int64_t(cut.n_slice) + 1));
  }
  double launch_cycles(const Work& work, const Cut& cut, const Machine&) const override {
    return chain_cycles(work.chain, cut.n_slice).alone();
  }

  // ---- text

  void fill(const graph::Graph& g, const graph::Group& group, const Machine& machine,
            Choice& choice) const override {
    attach_expression(g, group, group.nodes, false, machine, choice);
    const graph::Node& node = g.node(group.nodes.front());
    const bool alone = node.assignment.origin == Origin::handwritten && group.nodes.size() == 1;
    choice.row = alone ? row_for(node.op) : nullptr;
    choice.kernel = alone ? choice.row->name : generated();
  }

  void write_roles(const Choice& choice, const Setting& at, InstanceRoles& out) const override {
    const auto module = [&](const Place& p, Role& role, InstanceRoles& made) {
      add_module(choice, at, p, role, made);
    };
    row_roles(choice, at, at.cut.w > 1, out, module);
  }

  std::vector<PackedPart> pack(const Choice& choice, const Cut& cut, const Layout*) const override {
    std::vector<PackedPart> list;
    for (const PackedConstant& c : choice.constants) pack_per_element(c, cut, list);
    return list;
  }

  // ---- bound

  int64_t flops(const Work& work) const override {
    return int64_t(double(work.rows * work.m) * work.flops_per_element);
  }
  double least_cycles(const Work& work, const Machine&) const override {
    return double(work.rows * work.m) * work.least_cycles;
  }

 private:
  // What the host brings and gets; between the operators there may be truth values too.
  static bool floats_alike(const graph::Graph& g, const graph::Group& group, const Choice& choice,
                           const graph::Value& result, std::string& why) {
    std::vector<graph::ValueId> outside = choice.operands;
    outside.push_back(choice.results[0]);
    for (const graph::NodeId id : group.nodes) {
      const graph::ValueId v = g.node(id).outputs[0];
      if (g.value(v).type.dtype != DataType::boolean) outside.push_back(v);
    }
    for (const graph::ValueId v : outside) {
      const graph::Value& value = g.value(v);
      if (is_computed(g, value) && value.type.dtype == result.type.dtype) continue;
      why = fmt::format("'{}' is {}, kernels compute in f32", value.name, ops::type_text(value.type));
      return false;
    }
    return true;
  }

  void add_module(const Choice& choice, const Setting& at, const Place& p, Role& role,
                  InstanceRoles& out) const {
    const Cut& cut = at.cut;
    const int n = n_here(p, cut), operands = choice.work.operands;
    ModuleUse use{"", "kernel", {}, {}};
    for (int k = 0; k < operands; ++k)
      use.needs.push_back(
          queue(false, choice.row != nullptr ? "x" : fmt::format("x{}", k), at.in[size_t(k)]));
    use.needs.push_back(queue(true, "y", at.out));
    if (choice.work.through)
      add_tasks(use, {"send"});
    else
      add_tasks(use, {"compute", "start"});
    for (int k = 0; k < operands; ++k)
      if (autogen::Join::has_own_task(size_t(k), size_t(operands)))
        use.needs.push_back({Resource::local_task, fmt::format("arrived{}", k), -1, -1});
    use.parameters = {{"send_control", flag(cut.w > 1)}, {"control", cut.w > 1 ? control(p) : "0"}};
    if (choice.row != nullptr) {
      use.file = std::string(choice.row->file);
      use.parameters.push_back({"n", number(n)});
    } else {
      use.file = at.name + (p.last && cut.n_last != cut.n_slice ? "_kernel_last.csl" : "_kernel.csl");
      add_constants(choice, at, n, use, role);
      autogen::ElementwiseSpec spec{choice.title, sharding(choice.work, cut), *choice.expr,
                                    operands,     choice.expr_constants,      n,
                                    cut.w > 1};
      out.files[use.file] = autogen::elementwise_module(spec, at.machine);
      if (operands > 1) use.parameters.push_back({"shared", "false"});  // as far as is known here
    }
    role.modules.push_back(use);
  }
};

}  // namespace

const Kind* elementwise_kind() {
  static const Elementwise kind;
  return &kind;
}

}  // namespace cs::kernels
