// Which roles an instance has, and with which parameters each of them imports its kernel.
//
//   feeder       one PE per operand, if the kernel has more than one PE
//   contraction  first, middle (two: chain colors alternate) and last columns; PEs of the last column differ
//                by their turn, those of the last row by their extent
//   others       first, middle and last PE of the row
#include <fmt/format.h>

#include "compiler/autogen/contraction.h"
#include "compiler/autogen/elementwise.h"
#include "compiler/autogen/reduction.h"
#include "compiler/autogen/row_code.h"
#include "compiler/mapping/roles.h"

namespace cs::mapping {

namespace {

using kernels::Cut;
using kernels::Pattern;

struct Span {  // columns or rows of the rectangle with one role
  int first = 0, count = 1, step = 1;
};

struct Place {
  bool first = true, last = true;  // column of the rectangle
  int parity = 0;                  // of the column
  bool last_row = true;
  int turn = -1, turns = 1;  // of PEs that send in turns; -1: does not send
};

class Maker {
 public:
  Maker(const Instance& inst, const InstanceFlows& flows, const std::vector<int>& in_colors,
        const std::vector<int>& out_colors, const FlowPlan& plan, const Machine& machine)
      : inst_(inst),
        cut_(inst.plan.cut),
        flows_(flows),
        in_colors_(in_colors),
        out_color_(out_colors.front()),
        plan_(plan),
        machine_(machine) {}

  InstanceRoles run() {
    for (int k = 0; k < inst_.feeders(); ++k) feeder(k);
    switch (inst_.work.pattern) {
      case Pattern::contraction:
        contraction();
        break;
      case Pattern::elementwise:
      case Pattern::rows:
      case Pattern::reduction:
        row();
        break;
      case Pattern::broadcast:
        single("broadcast.csl", "x", "y", true);
        break;
      case Pattern::relay:
        single("relay.csl", "in", "out", false);
        break;
      case Pattern::region:  // region_roles.cpp
        break;
    }
    return std::move(result_);
  }

 private:
  int color(int flow) const { return flow < 0 ? 0 : plan_.flows[size_t(flow)].color; }
  // Color on which operand k reaches the kernel's PEs.
  int x_color(int k) const {
    return flows_.scatter.empty() ? in_colors_[size_t(k)] : color(flows_.scatter[size_t(k)]);
  }
  int n_here(const Place& p) const { return p.last ? cut_.n_last : cut_.n_slice; }

  static Need queue(bool output, const std::string& name, int color) {
    return {output ? Resource::output_queue : Resource::input_queue, name, color, -1};
  }
  static void add_tasks(ModuleUse& use, std::initializer_list<const char*> names) {
    for (const char* name : names) use.needs.push_back({Resource::local_task, name, -1, -1});
  }
  static std::string flag(bool b) { return b ? "true" : "false"; }
  static std::string number(int64_t n) { return std::to_string(n); }

  std::string sharding() const {
    if (inst_.work.pattern == Pattern::contraction)
      return fmt::format("{} x {} on {} x {} PEs, at most {} x {} each", inst_.work.m, inst_.work.n, cut_.h,
                         cut_.w, cut_.m_slice, cut_.n_slice);
    return fmt::format("{} elements on {} PEs, at most {} each", inst_.work.n, cut_.w, cut_.n_slice);
  }

  // ---- one-PE roles

  void feeder(int k) {
    Role role;
    role.name = fmt::format("{}_feeder{}", inst_.name, k > 0 ? std::to_string(k) : "");
    role.what = fmt::format("{}: feeder of operand {}, {} elements to {} columns", inst_.name, k,
                            inst_.work.n, cut_.w);
    Coord at = inst_.entry(k);
    role.runs = {{at.x, at.y, 1, 1, 1}};
    ModuleUse use{"feeder.csl", "feeder", {}, {}};
    use.parameters = {
        {"slices", number(cut_.w)}, {"slice", number(cut_.n_slice)}, {"last_slice", number(cut_.n_last)}};
    use.needs = {queue(false, "in", in_colors_[size_t(k)]), queue(true, "out", x_color(k))};
    add_tasks(use, {"send"});
    role.modules.push_back(use);
    result_.roles.push_back(role);
  }

  void single(const std::string& file, const std::string& in, const std::string& out, bool tasks) {
    Role role;
    role.name = inst_.name;
    role.what = fmt::format("{}: {}", inst_.name, inst_.reason);
    role.runs = {{inst_.rect.x, inst_.rect.y, 1, 1, 1}};
    ModuleUse use{file, "kernel", {{"n", number(inst_.work.m)}}, {}};
    use.needs = {queue(false, in, in_colors_[0]), queue(true, out, out_color_)};
    if (tasks)
      add_tasks(use, {"compute", "start"});
    else
      add_tasks(use, {"send"});
    role.modules.push_back(use);
    result_.roles.push_back(role);
  }

  // ---- spans

  std::vector<Span> columns() const {
    std::vector<Span> list;
    list.push_back({0, 1, 1});
    if (cut_.w > 2) list.push_back({1, (cut_.w - 1) / 2, 2});
    if (cut_.w > 3) list.push_back({2, (cut_.w - 2) / 2, 2});
    if (cut_.w > 1) list.push_back({cut_.w - 1, 1, 1});
    return list;
  }

  Place column_place(const Span& s) const {
    Place p;
    p.first = s.first == 0;
    p.last = s.first == cut_.w - 1;
    p.parity = s.first % 2;
    return p;
  }

  static std::string column_name(const Place& p) {
    if (p.first && p.last) return "";
    return p.first ? "_first" : p.last ? "_last" : p.parity != 0 ? "_odd" : "_even";
  }

  static std::string control(const Place& p) { return turn_control(p.turn, p.turns); }

  // ---- rows of PEs

  void row() {
    bool turns = inst_.in_turns();
    for (const Span& s : columns()) {
      Place p = column_place(s);
      p.turns = cut_.w;
      p.turn = !turns ? -1 : p.first ? 0 : p.last ? cut_.w - 1 : 1;
      Role role;
      role.name = inst_.name + column_name(p);
      role.what = fmt::format("{}: {}", inst_.title, sharding());
      role.runs = {{inst_.rect.x + s.first, inst_.rect.y, s.count, s.step, 1}};
      if (inst_.work.pattern == Pattern::elementwise) elementwise(p, role);
      if (inst_.work.pattern == Pattern::rows) rows(p, role);
      if (inst_.work.pattern == Pattern::reduction) reduction(p, role);
      result_.roles.push_back(role);
    }
  }

  void elementwise(const Place& p, Role& role) {
    int n = n_here(p);
    ModuleUse use{"", "kernel", {}, {}};
    bool several = inst_.work.operands > 1;
    for (int k = 0; k < inst_.work.operands; ++k)
      use.needs.push_back(queue(false, inst_.row != nullptr ? "x" : fmt::format("x{}", k), x_color(k)));
    use.needs.push_back(queue(true, "y", out_color_));
    if (inst_.work.through)
      add_tasks(use, {"send"});
    else
      add_tasks(use, {"compute", "start"});
    for (int k = 0; several && k < inst_.work.operands; ++k)
      use.needs.push_back({Resource::local_task, fmt::format("arrived{}", k), -1, -1});
    use.parameters = {{"send_control", flag(cut_.w > 1)}, {"control", cut_.w > 1 ? control(p) : "0"}};
    if (inst_.row != nullptr) {
      use.file = std::string(inst_.row->file);
      use.parameters.push_back({"n", number(n)});
    } else {
      use.file = inst_.name + (p.last && cut_.n_last != cut_.n_slice ? "_kernel_last.csl" : "_kernel.csl");
      constants(use, role, n);
      autogen::ElementwiseSpec spec{inst_.title,          sharding(), *inst_.expr, inst_.work.operands,
                                    inst_.expr_constants, n,          cut_.w > 1};
      result_.files[use.file] = autogen::elementwise_module(spec, machine_);
    }
    role.modules.push_back(use);
  }

  void rows(const Place& p, Role& role) {
    const int n = n_here(p), row = int(inst_.work.row);
    role.buffers = {{"x0", n, true, "", "rows, two halves"}, {"x1", n, true, "", ""}};
    ModuleUse use{inst_.rows ? inst_.name + "_kernel.csl" : std::string(inst_.row->file), "kernel", {}, {}};
    use.needs = {queue(false, "x", x_color(0)), queue(true, "y", out_color_)};
    add_tasks(use, {"compute", "start"});
    use.parameters = {{"rows", number(n / row)},
                      {"x0", "&x0"},
                      {"x1", "&x1"},
                      {"send_control", flag(cut_.w > 1)},
                      {"control", cut_.w > 1 ? control(p) : "0"}};
    for (const PackedConstant& c : inst_.constants) {
      role.buffers.push_back(
          {c.name, row, true, fmt::format("{}_{}", inst_.name, c.name), "the same on every PE"});
      use.parameters.push_back({c.name, "&" + c.name});
    }
    if (inst_.rows) {
      result_.files[use.file] =
          autogen::row_module(*inst_.rows, {inst_.title, sharding(), cut_.w > 1}, machine_);
    } else {
      library_rows(use, row);
    }
    role.modules.push_back(use);
  }

  void library_rows(ModuleUse& use, int row) const {
    use.parameters.insert(use.parameters.end(), {{"n", number(row)}, {"half", flag(inst_.work.half)}});
    if (inst_.constants.empty()) return;
    use.parameters.push_back({"epsilon", autogen::float_literal(inst_.epsilon)});
    use.parameters.push_back({"centred", flag(inst_.constants.size() > 1)});
    if (inst_.constants.size() == 1) use.parameters.push_back({"bias", "&scale"});
  }

  void constants(ModuleUse& use, Role& role, int n) {
    for (int j = 0; j < inst_.expr_constants; ++j) {
      std::string name = fmt::format("c{}", j);
      role.buffers.push_back({name, n, false, fmt::format("{}_{}", inst_.name, name), "constant operand"});
      use.parameters.push_back({name, "&" + name});
    }
  }

  void reduction(const Place& p, Role& role) {
    const bool library = inst_.row != nullptr;
    ModuleUse use{library ? std::string(inst_.row->file) : role.name + "_kernel.csl", "kernel", {}, {}};
    if (library) {
      use.parameters = {{"maximum", flag(inst_.maximum)},
                        {"scale", autogen::float_literal(inst_.scale)},
                        {"n", number(n_here(p))},
                        {"first", flag(p.first)},
                        {"last", flag(p.last)}};
    } else {
      result_.files[use.file] = autogen::reduction_module(
          {inst_.title, sharding(), n_here(p), inst_.maximum, inst_.scale, p.first, p.last});
    }
    chain_queues(p, use, library);
    role.modules.push_back(use);
  }

  // x, the partial sums of the western neighbour, and what goes east. A library kernel names all of them,
  // whether its role uses them or not; unused ones get what is certainly there.
  void chain_queues(const Place& p, ModuleUse& use, bool library) {
    use.needs.push_back(queue(false, "x", x_color(0)));
    int east = p.last ? out_color_ : color(flows_.chain[p.parity]);
    if (!p.first) {
      use.needs.push_back(queue(false, "west", color(flows_.chain[1 - p.parity])));
    } else if (library) {
      use.parameters.push_back({"west_color", fmt::format("@get_color({})", x_color(0))});
      use.parameters.push_back({"west_queue", "@get_input_queue(0)"});
    }
    use.needs.push_back(queue(true, "east", east));
    add_tasks(use, {"compute", "start"});
  }

  // ---- contraction

  void contraction() {
    for (const Span& s : columns()) {
      Place p = column_place(s);
      if (p.last) {
        for (int t : {0, 1, 2}) last_column(p, s, t);
      } else {
        bool ragged = cut_.m_last != cut_.m_slice;
        int upper = ragged ? cut_.h - 1 : cut_.h;
        p.last_row = false;
        if (upper > 0) contraction_role(p, s, 0, upper, column_name(p));
        p.last_row = true;
        if (ragged) contraction_role(p, s, upper, 1, column_name(p) + "_south");
      }
    }
  }

  // The last column sends in turns: 0 the northernmost PE, 1 those between, 2 the southernmost, which is the
  // exit.
  void last_column(Place p, const Span& s, int turn) {
    int row = turn == 0 ? 0 : turn == 1 ? 1 : cut_.h - 1;
    int rows = turn == 1 ? cut_.h - 2 : 1;
    if (rows < 1 || (turn == 0 && cut_.h == 1)) return;
    p.turns = cut_.h;
    p.turn = row;
    p.last_row = turn == 2;
    std::string name = column_name(p);
    if (cut_.h > 1) name += turn == 0 ? "_north" : turn == 1 ? "_middle" : "_exit";
    contraction_role(p, s, row, rows, name);
  }

  void contraction_role(const Place& p, const Span& s, int row, int rows, const std::string& suffix) {
    int n = n_here(p), m = p.last_row ? cut_.m_last : cut_.m_slice, padded = m + m % 2;
    Role role;
    role.name = inst_.name + suffix;
    role.what = fmt::format("{}: {}; here {} outputs from {} inputs", inst_.title, sharding(), m, n);
    role.runs = {{inst_.rect.x + s.first, inst_.rect.y + row, s.count, s.step, rows}};
    role.buffers.push_back({"w", padded * n + 1, true, inst_.name + "_w",
                            "weights, column by column, behind one unused element"});
    if (p.first) role.buffers.push_back({"b", padded, false, inst_.name + "_b", "bias"});
    if (inst_.row != nullptr) {
      library_contraction(p, role, m, padded, n);
    } else {
      generated_contraction(p, role, m, padded, n);
    }
    result_.roles.push_back(role);
  }

  void library_contraction(const Place& p, Role& role, int m, int padded, int n) {
    role.buffers.push_back({"x0", n, false, "", "input, two halves"});
    role.buffers.push_back({"x1", n, false, "", ""});
    role.buffers.push_back({"y", padded, true, "", "output"});
    bool control_needed = p.turn >= 0 && p.turns > 1;
    ModuleUse use{std::string(inst_.row->file), "kernel", {}, {}};
    use.parameters = {{"m", number(padded)},
                      {"m_out", number(m)},
                      {"n", number(n)},
                      {"first", flag(p.first)},
                      {"last", flag(p.last)},
                      {"half", flag(inst_.work.half)},
                      {"w", "&w"},
                      {"b", p.first ? "&b" : "&y"},
                      {"x0", "&x0"},
                      {"x1", "&x1"},
                      {"y", "&y"},
                      {"send_control", flag(control_needed)},
                      {"control", control_needed ? control(p) : "0"}};
    bool epilogue = p.last && inst_.expr.has_value();
    role.needs_no_epilogue = !epilogue;
    use.parameters.push_back({"epilogue", epilogue ? "epilogue.run" : "no_epilogue"});
    if (epilogue) {
      ModuleUse module{
          inst_.name + (m != cut_.m_slice ? "_epilogue_last.csl" : "_epilogue.csl"), "epilogue", {}, {}};
      module.parameters.push_back({"y", "&y"});
      if (inst_.library_epilogue) {
        module.file = "relu_epilogue.csl";
        module.parameters.push_back({"n", number(m)});
      } else {
        constants(module, role, m);
        autogen::ElementwiseSpec spec{inst_.title, sharding(), *inst_.expr, 1, inst_.expr_constants, m};
        result_.files[module.file] = autogen::epilogue_module(spec, machine_);
      }
      role.modules.push_back(module);
    }
    chain_queues(p, use, true);
    role.modules.push_back(use);
  }

  void generated_contraction(const Place& p, Role& role, int m, int padded, int n) {
    ModuleUse use{role.name + "_kernel.csl", "kernel", {{"w", "&w"}}, {}};
    if (p.first) use.parameters.push_back({"b", "&b"});
    autogen::ContractionSpec spec;
    spec.title = inst_.title;
    spec.sharding = sharding();
    spec.m = m;
    spec.m_padded = padded;
    spec.n = n;
    spec.first = p.first;
    spec.last = p.last;
    spec.send_control = p.turn >= 0 && p.turns > 1;
    spec.half = inst_.work.half;
    spec.epilogue = inst_.expr;
    spec.constants = inst_.expr_constants;
    if (spec.send_control) use.parameters.push_back({"control", control(p)});
    if (p.last) constants(use, role, m);
    result_.files[use.file] = autogen::contraction_module(spec, machine_);
    chain_queues(p, use, false);
    role.modules.push_back(use);
  }

  const Instance& inst_;
  const Cut& cut_;
  const InstanceFlows& flows_;
  const std::vector<int>& in_colors_;
  int out_color_;
  const FlowPlan& plan_;
  const Machine& machine_;
  InstanceRoles result_;
};

}  // namespace

InstanceRoles roles_of(const Instance& inst, const InstanceFlows& flows, const std::vector<int>& in_colors,
                       const std::vector<int>& out_colors, const FlowPlan& plan, const Machine& machine) {
  if (inst.slack > 0) return slack_roles(inst, flows, in_colors, out_colors, plan);
  if (inst.region) return region_roles(inst, flows, in_colors, out_colors, plan, machine);
  return Maker(inst, flows, in_colors, out_colors, plan, machine).run();
}

}  // namespace cs::mapping
