// Whole rows: softmax, norms, and groups of operators over rows that the generator writes
// (autogen/row_code.h). A PE has whole rows, one after another.
#include <algorithm>

#include <fmt/format.h>

#include "compiler/autogen/autogen.h"
#include "compiler/autogen/expression.h"
#include "compiler/autogen/row_code.h"
#include "compiler/kernels/match_parts.h"
#include "compiler/kernels/role_parts.h"

namespace cs::kernels {

namespace {

class Rows final : public Kind {
 public:
  std::string_view name() const override { return "rows"; }

  std::span<const Row> library() const override {
    static const Row list[] = {
        {"softmax",
         "softmax.csl",
         this,
         {"softmax"},
         "softmax of the innermost dimension, whole rows per PE"},
        {"log_softmax",
         "log_softmax.csl",
         this,
         {"log_softmax"},
         "logarithm of softmax of the innermost dimension, whole rows per PE"},
        {"layer_norm",
         "layer_norm.csl",
         this,
         {"layer_norm"},
         "layer norm over the innermost dimensions with constant scale and bias, whole rows per PE"},
        {"rms_norm",
         "layer_norm.csl",
         this,
         {"rms_norm"},
         "RMS norm over the innermost dimensions with a constant scale, whole rows per PE"}};
    return list;
  }

  std::string_view generated() const override { return "dtg-rows"; }
  bool writes_groups() const override { return true; }

  // ---- match

  bool takes(const graph::Graph& g, graph::NodeId id) const override {
    return std::any_of(library().begin(), library().end(),
                       [&](const Row& r) { return r.name == g.node(id).op; });
  }

  // Of the last dimensions: softmax, and norms with constant scale and bias.
  std::optional<Work> match(const graph::Graph& g, graph::NodeId id, std::string& why) const override {
    const graph::Node& node = g.node(id);
    const graph::Value& x = operand(g, node, 0);
    const int rank = x.type.rank();
    int64_t axis = ops::attr_int(g.op(id), node.attrs, "axis");
    if (axis < 0) axis += rank;
    Work work;
    work.kind = this;
    const bool one_axis = ops::find_op(node.op)->operands.size() == 1;  // softmax; norms have axes
    for (int64_t d = axis; d < rank; ++d) {
      int64_t extent = x.type.shape[size_t(d)];
      if (one_axis && d > axis && extent != 1) {
        why = "only the innermost dimension can be normalized";
        return std::nullopt;
      }
      work.row *= extent;
    }
    if (x.is_constant()) {
      why = "all its operands are constant";
      return std::nullopt;
    }
    for (size_t k = 1; k < node.inputs.size(); ++k) {
      const graph::Value& v = operand(g, node, k);
      if (!v.is_constant() || v.type.elements() != work.row) {
        why = fmt::format("operand '{}' is not one constant per element of a row", v.name);
        return std::nullopt;
      }
      ++work.constants;
    }
    if (node.op == "layer_norm" && work.constants != 2) {
      why = "it has no bias";
      return std::nullopt;
    }
    work.n = work.m = x.type.elements();
    work.flops_per_element = double(g.flops(id)) / double(std::max<int64_t>(1, work.m));
    return work;
  }

  // Streams may be in 16 bits.
  const Row* choose(const graph::Graph& g, graph::NodeId id, std::string& why) const override {
    return work_of(g, id, why) ? find_row(g.node(id).op) : nullptr;
  }

  void add_nodes(const graph::Graph& g, std::span<const graph::NodeId> nodes, const Machine& machine,
                 Work& work) const override {
    work.row_cost = library_row_cost(g.node(nodes.front()).op, machine);
  }

  bool take(const graph::Graph& g, const graph::Group& group, const Taking& by, Choice& choice,
            Diag& diag) const override {
    const graph::NodeId front = group.nodes.front();
    if (kernel_of(g, front).row != nullptr) return Kind::take(g, group, by, choice, diag);
    autogen::RowGroup rows;
    std::string why;
    if (!autogen::make_row_group(g, group.nodes, rows, why)) return refuse(g, front, why, diag);
    choice.results = {g.node(group.nodes.back()).outputs[0]};
    take_rows(g, std::move(rows), by.machine, choice);
    return true;
  }
  // Of the library's kernels, or of rows that are generated.
  std::optional<Work> work_of_group(const graph::Graph& g, std::span<const graph::NodeId> nodes,
                                    const Machine& machine, std::string& why) const override {
    if (kernel_of(g, nodes.front()).row != nullptr) return Kind::work_of_group(g, nodes, machine, why);
    autogen::RowGroup rows;
    if (!autogen::make_row_group(g, nodes, rows, why)) return std::nullopt;
    return rows.work(autogen::row_cost(rows, machine));
  }

  // ---- footprints

  // A PE alone sends row by row what it has computed of a sample.
  Skew skew(const Choice& choice, const Plan& plan, const Layout*) const override {
    const Work& work = choice.work;
    const bool by_rows = plan.cut.w * plan.cut.h == 1 && !work.half;
    Skew s = whole_samples(choice, plan, by_rows ? work.n / work.row : 1);
    if (work.rows > 1) take_in_parts(s, work.rows, 2, plan.latency_cycles);
    return s;
  }

  bool rounds() const override { return true; }
  bool same_slices() const override { return true; }

  // ---- costs of streamed operands

  // DSR loads, calls and scalars come to each row; rows of several PEs are sent when all are done.
  PeCycles pe_cycles(const Work& work, const Cut& cut, const Machine& m) const override {
    const int64_t rows = cut.n_slice / work.row;
    const double per_element = work.row_cost.per_element + (cut.w > 1 || work.half ? 1 : 0);
    return {cut.n_slice * per_element, m.core.task_start_cycles + 8 + double(rows) * work.row_cost.per_row};
  }

  double words_kept(const Work& work, const Cut& cut) const override {
    return double(cut.n_slice) * work.operands;
  }

  void add_memory(const Work& work, const Cut& cut, Memory& memory) const override {
    add_user(memory, "input buffers", 8 * int64_t(cut.n_slice));
    add_user(memory, "temporaries", 4 * (work.row + 1) * work.row_cost.temporaries);
    add_user(memory, "constants", 4 * work.row * work.constants);
  }

  // ---- costs of resident operands

  bool has_resident_form() const override { return true; }
  // Rows that are regions where they are streamed: those of 16-bit floats.
  bool take_resident(const graph::Graph& g, const graph::Group& group, const Machine& machine, Choice& choice,
                     std::string& why) const override {
    const graph::NodeId front = group.nodes.front();
    autogen::RowGroup rows;
    std::string none;
    const bool generated = autogen::make_row_group(g, group.nodes, rows, none, true);
    const bool by_library =
        !generated && group.nodes.size() == 1 && takes(g, front) && choose(g, front, why) != nullptr;
    if (!generated && !by_library) return false;
    choice.region.reset();
    choice.constants.clear();
    if (generated) {
      take_rows(g, std::move(rows), machine, choice);
      return true;
    }
    choice.work = *work_of(g, front, why);
    choice.operands = {graph::source_of(g, g.node(front).inputs[0])};
    choice.origin = Origin::handwritten;
    fill(g, group, machine, choice);
    return true;
  }
  // Every PE has all constants.
  ResidentArrays resident_arrays(const Choice& choice, const Cut& cut) const override {
    ResidentArrays list = Kind::resident_arrays(choice, cut);
    const int row = int(choice.work.row);
    for (ResidentArray& c : list.constants) c = {c.name, row, row, 1, row, cut.w, cut.h, false, false};
    return list;
  }
  ResidentText write_resident(const Choice& choice, const Setting& at) const override {
    const Cut& cut = at.cut;
    const Work& work = choice.work;
    ResidentText text = Kind::write_resident(choice, at);
    text.call = "kernel.buffers.all_rows(&x0)";
    const std::string file = choice.rows ? at.name + "_kernel.csl" : std::string(choice.row->file);
    const int rows = int(cut.n_slice / work.row);
    text.import = fmt::format(
        "const kernel = @import_module(\"{}\", .{{\n  .resident = true, .rows = {}, .x0 = &x0, .x1 = &x0",
        file, rows);
    for (const PackedConstant& c : choice.constants) text.import += fmt::format(", .{0} = &{0}", c.name);
    if (choice.rows) {
      const std::string on =
          fmt::format("{} rows on {} x {} PEs, {} each", work.n / work.row, cut.w, cut.h, rows);
      text.files[file] = autogen::row_module(*choice.rows, {choice.title, on, true}, at.machine);
      text.import += " });\n";
      return text;
    }
    text.import += fmt::format(", .n = {}", work.row);
    if (!choice.constants.empty()) {
      text.import += fmt::format(",\n  .epsilon = {}, .centred = {}", autogen::float_literal(choice.epsilon),
                                 choice.constants.size() > 1);
      if (choice.constants.size() == 1) text.import += ", .bias = &scale";
    }
    text.import += " });\n";
    return text;
  }
  std::optional<Cut> cut_resident(const Work& work, int w, int h, const Machine&) const override {
    return cut_evenly(work, w, h);
  }
  void add_resident_memory(const Work& work, const Cut& cut, Memory& memory) const override {
    add_user(memory, "operands", 4 * int64_t(cut.n_slice) * work.operands);
    add_user(memory, "temporaries", 4 * (work.row + 1) * work.row_cost.temporaries);
    add_user(memory, "constants", 4 * work.constants * work.row);
  }
  double launch_cycles(const Work& work, const Cut& cut, const Machine&) const override {
    const int64_t rows = cut.n_slice / work.row;
    return cut.n_slice * work.row_cost.resident + double(rows) * work.row_cost.per_row;
  }

  // ---- text

  // Of the library's: scale and bias are the same on every PE.
  void fill(const graph::Graph& g, const graph::Group& group, const Machine& machine,
            Choice& choice) const override {
    const graph::Node& node = g.node(group.nodes.front());
    choice.row = find_row(node.op);
    choice.work.row_cost = library_row_cost(node.op, machine);
    choice.kernel = node.op;
    for (size_t k = 1; k < node.inputs.size(); ++k) {
      choice.constants.push_back(
          {k == 1 ? "scale" : "bias", ConstantView(g.shared_constant_of(graph::source_of(g, node.inputs[k])))});
    }
    if (!choice.constants.empty())
      choice.epsilon = float(ops::attr_real(*ops::find_op(node.op), node.attrs, "epsilon"));
  }

  void write_roles(const Choice& choice, const Setting& at, InstanceRoles& out) const override {
    const auto module = [&](const Place& p, Role& role, InstanceRoles& made) {
      add_module(choice, at, p, role, made);
    };
    row_roles(choice, at, at.cut.w > 1, out, module);
  }

  // The same values on every PE.
  std::vector<PackedPart> pack(const Choice& choice, const Cut& cut, const Layout*) const override {
    std::vector<PackedPart> list;
    for (const PackedConstant& c : choice.constants) {
      const auto same = [values = c.values](size_t, std::vector<uint32_t>& words) {
        values.append_floats(0, values.size(), 1, words);
      };
      list.push_back({c.name, {0, 0, cut.w, cut.h}, uint32_t(4 * c.values.size()), same});
    }
    return list;
  }

  // ---- bound

  int64_t flops(const Work& work) const override {
    return int64_t(double(work.rows * work.m) * work.flops_per_element);
  }
  double least_cycles(const Work& work, const Machine&) const override {
    return double(work.rows * work.m) * work.row_cost.least;
  }

 private:
  static void take_rows(const graph::Graph& g, autogen::RowGroup rows, const Machine& machine,
                        Choice& choice) {
    choice.work = rows.work(autogen::row_cost(rows, machine));
    choice.work.half = g.value(rows.result).type.dtype != DataType::f32;
    choice.kernel = rows_kind()->generated();
    choice.operands = {rows.operand};
    for (graph::ValueId v : rows.constants())
      choice.constants.push_back(
          {fmt::format("c{}", choice.constants.size()), ConstantView(g.shared_constant_of(v))});
    choice.rows = std::move(rows);
  }

  void add_module(const Choice& choice, const Setting& at, const Place& p, Role& role,
                  InstanceRoles& out) const {
    const Cut& cut = at.cut;
    const int n = n_here(p, cut), row = int(choice.work.row);
    role.buffers = {{"x0", n, true, "", "rows, two halves"}, {"x1", n, true, "", ""}};
    ModuleUse use{choice.rows ? at.name + "_kernel.csl" : std::string(choice.row->file), "kernel", {}, {}};
    use.needs = {queue(false, "x", at.in[0]), queue(true, "y", at.out)};
    add_tasks(use, {"compute", "start"});
    use.parameters = {{"rows", number(n / row)},
                      {"x0", "&x0"},
                      {"x1", "&x1"},
                      {"send_control", flag(cut.w > 1)},
                      {"control", cut.w > 1 ? control(p) : "0"}};
    for (const PackedConstant& c : choice.constants) {
      role.buffers.push_back(
          {c.name, row, true, fmt::format("{}_{}", at.name, c.name), "the same on every PE"});
      use.parameters.push_back({c.name, "&" + c.name});
    }
    if (choice.rows) {
      out.files[use.file] = autogen::row_module(
          *choice.rows, {choice.title, sharding(choice.work, cut), cut.w > 1}, at.machine);
    } else {
      add_library_parameters(choice, row, use);
    }
    role.modules.push_back(use);
  }

  static void add_library_parameters(const Choice& choice, int row, ModuleUse& use) {
    use.parameters.insert(use.parameters.end(), {{"n", number(row)}, {"half", flag(choice.work.half)}});
    if (choice.constants.empty()) return;
    use.parameters.push_back({"epsilon", autogen::float_literal(choice.epsilon)});
    use.parameters.push_back({"centred", flag(choice.constants.size() > 1)});
    if (choice.constants.size() == 1) use.parameters.push_back({"bias", "&scale"});
  }
};

}  // namespace

const Kind* rows_kind() {
  static const Rows kind;
  return &kind;
}

}  // namespace cs::kernels
