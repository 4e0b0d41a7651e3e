// Lookups: rows of a constant table by numbers that arrive, on one PE that has the whole table.
#include <fmt/format.h>

#include "compiler/kernels/library.h"
#include "compiler/kernels/match_parts.h"
#include "compiler/kernels/role_parts.h"

namespace cs::kernels {

namespace {

// Between a number and the first word of its row: the task, the number, the descriptor.
constexpr double kRowCycles = 24;

class Lookup final : public Kind {
 public:
  std::string_view name() const override { return "lookup"; }

  std::span<const Row> library() const override {
    static const Row list[] = {
        {"lookup", "lookup.csl", this, {"gather"}, "rows of a constant table by their numbers, on one PE"}};
    return list;
  }

  // ---- match

  bool takes(const graph::Graph& g, graph::NodeId id) const override { return g.node(id).op == "gather"; }
  bool reads_numbers() const override { return true; }

  std::optional<Work> match(const graph::Graph& g, graph::NodeId id, std::string& why) const override {
    const graph::Node& node = g.node(id);
    const graph::Value &table = operand(g, node, 0), &numbers = operand(g, node, 1);
    const int64_t axis = ops::attr_int(g.op(id), node.attrs, "axis");
    if (!table.is_constant() || numbers.is_constant() || data_type_is_float(numbers.type.dtype)) {
      why = "the library's lookup takes a constant table and a stream of integers";
    } else if (table.type.rank() < 1 || (axis != 0 && axis != -table.type.rank())) {
      why = "the library's lookup gives rows, whole along all dimensions but the first";
    }
    if (!why.empty()) return std::nullopt;
    Work work;
    work.kind = this;
    work.rows = numbers.type.elements();
    work.constants = int(table.type.shape[0]);
    work.m = table.type.elements() / std::max<int64_t>(1, table.type.shape[0]);
    work.flops_per_element = 0;
    return work;
  }

  // The result may be in 16 bits.
  const Row* choose(const graph::Graph& g, graph::NodeId id, std::string& why) const override {
    const std::optional<Work> work = work_of(g, id, why);
    if (!work) return nullptr;
    const std::string lack = work->half ? kernels::library().lacks(library()[0].name, "half") : "";
    if (lack.empty()) return &library()[0];
    why = lack;
    return nullptr;
  }

  bool may_become_region() const override { return true; }

  // ---- footprints

  bool several_columns() const override { return false; }

  // ---- costs of streamed operands

  PeCycles pe_cycles(const Work& work, const Cut&, const Machine& m) const override {
    return {double(work.m), m.core.task_start_cycles + kRowCycles};
  }
  void add_memory(const Work& work, const Cut&, Memory& memory) const override {
    add_user(memory, "table", 4 * work.m * work.constants);
  }

  // ---- text

  void fill(const graph::Graph& g, const graph::Group& group, const Machine&, Choice& choice) const override {
    const graph::Node& node = g.node(group.nodes.front());
    choice.row = &library()[0];
    choice.kernel = choice.row->name;
    choice.operands = {graph::source_of(g, node.inputs[1])};
    choice.constants.push_back(
        {"table", ConstantView(g.shared_constant_of(graph::source_of(g, node.inputs[0])))});
  }

  void write_roles(const Choice& choice, const Setting& at, InstanceRoles& out) const override {
    const Work& work = choice.work;
    ModuleUse use{"lookup.csl", "kernel", {}, {}};
    use.needs = {queue(false, "x", at.arriving[0]), queue(true, "y", at.out)};
    add_tasks(use, {"arrived", "start"});
    use.parameters = {{"rows", number(work.constants)},
                      {"m", number(work.m)},
                      {"table", "&table"},
                      {"half", flag(work.half)}};
    single_role(choice, at, use, out);
    out.roles.back().what = fmt::format("{}: {}", choice.title, sharding(work, at.cut));
    out.roles.back().buffers = {
        {"table", int(work.m) * work.constants, true, at.name + "_table", "rows of the table"}};
  }

  std::vector<PackedPart> pack(const Choice& choice, const Cut&, const Layout*) const override {
    const PackedConstant& table = choice.constants[0];
    const auto all = [values = table.values](size_t, std::vector<uint32_t>& words) {
      values.append_floats(0, values.size(), 1, words);
    };
    return {{table.name, {0, 0, 1, 1}, uint32_t(4 * table.values.size()), all}};
  }

  std::string sharding(const Work& work, const Cut&) const override {
    return fmt::format("a table of {} rows of {} elements on one PE", work.constants, work.m);
  }

  // ---- bound

  double constant_words(const Work& work) const override { return double(work.m); }
};

}  // namespace

const Kind* lookup_kind() {
  static const Lookup kind;
  return &kind;
}

}  // namespace cs::kernels
