// From a group's expression to instructions: slices are a vector program whose order is that of the
// expression, sums and maxima nodes of it, and numbers scalars between its instructions.
#include "compiler/autogen/row_code.h"
#include "compiler/autogen/least_cycles.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "compiler/autogen/elementwise.h"
#include "compiler/autogen/functions.h"
#include "compiler/autogen/scalar_code.h"
#include "compiler/autogen/vector_code.h"

namespace cs::autogen {

namespace {

using ops::Expr;
using ops::ExprKind;
using ops::ExprNode;

constexpr const char* kTemporary = "t";

struct RowCode {
  VectorCode vector;
  bool uses_math = false, uses_round = false, uses_power = false, sums = false;
  double scalars = 0;  // cycles per row
};

class Coder {
 public:
  Coder(const RowGroup& group, bool in_place, const Machine& machine, bool pieces = false)
      : g_(group),
        e_(group.expr),
        in_place_(in_place),
        pieces_(pieces),
        machine_(machine),
        number_(group.numbers()),
        ranges_(ranges_of(group.expr, group.largest_of())) {
    uses_.assign(e_.nodes.size(), 0);
    uses_[size_t(e_.root)] = 1;
    for (const RowInput& in : g_.inputs) {
      if (in.of >= 0) ++uses_[size_t(in.of)];
    }
    for (size_t i = e_.nodes.size(); i-- > 0;) {
      for (int o : {e_.nodes[i].a, e_.nodes[i].b, e_.nodes[i].c}) {
        if (uses_[i] > 0 && o >= 0) ++uses_[size_t(o)];
      }
    }
  }

  RowCode run() {
    // The row and its copy in the other half of eight bytes, for instructions in which it meets itself or a
    // constant.
    const int row = p_.input(0), copy = p_.copy(row);
    at_.assign(e_.nodes.size(), -1);
    for (size_t i = 0; i < e_.nodes.size(); ++i) {
      if (uses_[i] > 0) at_[i] = build(int(i));
    }
    for (VectorNode& n : p_.nodes) {
      const auto constant = [&](int o) { return o > row && p_.node(o).kind == VectorKind::input; };
      if (n.a == row && constant(n.b)) n.a = copy;
      if (n.b == row && constant(n.a)) n.b = copy;
    }
    std::vector<Buffer> inputs = {{"", "x", 1, 0}};
    for (size_t j = 0; j < g_.constants().size(); ++j)
      inputs.push_back({"", fmt::format("c{}_dsd", j), 1, 0});
    VectorTarget target{inputs,    names_, {"", "x", 1, 0}, in_place_ ? "" : "buffers.y_row", kTemporary,
                        int(g_.n), true};
    target.uniform_lines = lines_;
    code_.vector = vector_code(p_, at_[size_t(e_.root)], reductions_, target, machine_);
    return std::move(code_);
  }

 private:
  int build(int i) {
    const ExprNode& n = e_.nodes[size_t(i)];
    if (n.kind == ExprKind::input) {
      const RowInput& in = g_.inputs[size_t(n.index)];
      if (in.kind == RowInputKind::row) return p_.input(0);
      if (in.kind == RowInputKind::constant) return p_.input(1 + constant_number(in.value));
      return reduce(in, n.index);
    }
    if (number_[size_t(i)]) return used_by_slice(i) ? number(i) : -1;
    for (int o : {n.a, n.b, n.c}) {
      if (o >= 0 && at_[size_t(o)] >= 0 && reduces(o)) at_[size_t(o)] = number(o);
    }
    if (n.kind == ExprKind::mul) return product(n);
    return build_vector_form(p_, e_, i, ranges_, at_);
  }

  int constant_number(graph::ValueId v) const {
    const std::vector<graph::ValueId> list = g_.constants();
    return int(std::find(list.begin(), list.end(), v) - list.begin());
  }

  // The node is what a reduction gives, as it is.
  bool reduces(int i) const {
    const VectorKind kind = p_.node(at_[size_t(i)]).kind;
    return kind == VectorKind::sum || kind == VectorKind::largest;
  }

  bool used_by_slice(int i) const {
    for (size_t j = size_t(i) + 1; j < e_.nodes.size(); ++j) {
      const ExprNode& n = e_.nodes[j];
      if (uses_[j] > 0 && !number_[j] && (n.a == i || n.b == i || n.c == i)) return true;
    }
    return false;
  }

  int reduce(const RowInput& in, int name) {
    int of = at_[size_t(in.of)];
    if (in.kind == RowInputKind::smallest) of = p_.negate(of);
    const VectorKind kind = in.kind == RowInputKind::sum ? VectorKind::sum : VectorKind::largest;
    code_.sums = code_.sums || kind == VectorKind::sum;
    reductions_.push_back(p_.reduce(kind, of, name));
    return reductions_.back();
  }

  // (a * number) * b is (a * b) * number, which an addition behind it can take in one instruction.
  int product(const ExprNode& n) {
    const int a = at_[size_t(n.a)], b = at_[size_t(n.b)];
    for (const auto& [node, v, other] : {std::tuple{n.a, a, b}, std::tuple{n.b, b, a}}) {
      const VectorNode inner = p_.node(v);
      if (inner.kind != VectorKind::mul || uses_[size_t(node)] != 1 || p_.is_number(other)) continue;
      if (p_.is_number(inner.b)) return p_.mul(p_.mul(inner.a, other), inner.b);
      if (p_.is_number(inner.a)) return p_.mul(p_.mul(inner.b, other), inner.a);
    }
    return p_.mul(a, b);
  }

  // Of pieces: statements that make what the pieces' numbers give for the whole row, of those that node i needs and no
  // number before it has needed.
  std::vector<std::string> exchange(int i) {
    if (!pieces_) return {};
    std::vector<bool> needed(e_.nodes.size(), false);
    needed[size_t(i)] = true;
    std::vector<std::string> lines;
    for (size_t j = size_t(i) + 1; j-- > 0;) {
      const ExprNode& n = e_.nodes[j];
      if (!needed[j]) continue;
      for (int o : {n.a, n.b, n.c})
        if (o >= 0) needed[size_t(o)] = true;
      if (n.kind != ExprKind::input || g_.inputs[size_t(n.index)].of < 0) continue;
      if (!exchanged_.insert(n.index).second) continue;
      const char* how = g_.inputs[size_t(n.index)].kind == RowInputKind::sum ? "sum" : "largest";
      lines.push_back(fmt::format("const {0}_all{1} = {2}_of_line({0}_r{1});", kTemporary, n.index, how));
    }
    return lines;
  }

  // What scalars compute from reductions.
  int number(int i) {
    if (e_.nodes[size_t(i)].kind == ExprKind::constant) return p_.scalar(e_.nodes[size_t(i)].value);
    std::vector<ScalarInput> inputs;
    for (size_t k = 0; k < g_.inputs.size(); ++k) {
      const char* sign = g_.inputs[k].kind == RowInputKind::smallest ? "-" : "";
      inputs.push_back({fmt::format("{}{}_{}{}", sign, kTemporary, pieces_ ? "all" : "r", k), ScalarType::f32});
    }
    const std::vector<std::string> exchanges = exchange(i);
    Expr part = e_;
    part.root = i;
    const std::string name = fmt::format("{}_u{}", kTemporary, i);
    const ScalarCode scalar = scalar_code(part, inputs, ScalarType::f32, machine_, name + "_");
    code_.uses_math = code_.uses_math || scalar.uses_math;
    code_.uses_round = code_.uses_round || scalar.uses_round;
    code_.uses_power = code_.uses_power || scalar.uses_power;
    code_.scalars += scalar.cycles;
    lines_.push_back(exchanges);
    lines_.back().insert(lines_.back().end(), scalar.lines.begin(), scalar.lines.end());
    lines_.back().push_back(fmt::format("const {}: f32 = {};", name, scalar.value));
    names_.push_back(name);
    return p_.uniform(int(names_.size()) - 1);
  }

  const RowGroup& g_;
  const Expr& e_;
  bool in_place_, pieces_;
  const Machine& machine_;
  std::vector<bool> number_;
  std::vector<Range> ranges_;
  std::vector<int> uses_;
  std::vector<int> at_;  // node of the vector program
  std::vector<int> reductions_;
  std::set<int> exchanged_;  // inputs
  std::vector<std::string> names_;               // of numbers
  std::vector<std::vector<std::string>> lines_;  // that make them
  VectorProgram p_;
  RowCode code_;
};

kernels::RowCost cost_of(const RowCode& code, int64_t n) {
  constexpr double kCallAndLoop = 30;
  kernels::RowCost cost;
  cost.per_element = code.vector.per_element;
  cost.per_row = code.vector.per_run + code.scalars + kCallAndLoop;
  cost.temporaries = int((code.vector.words + n - 1) / n);
  return cost;
}

// "sum0 = sum of …; y = …", for the header.
std::string text_of(const RowGroup& g) {
  std::vector<std::string> names;
  int constants = 0;
  for (size_t k = 0; k < g.inputs.size(); ++k) {
    const RowInputKind kind = g.inputs[k].kind;
    names.push_back(kind == RowInputKind::row        ? "x"
                    : kind == RowInputKind::constant ? fmt::format("c{}", constants++)
                    : kind == RowInputKind::sum      ? fmt::format("sum{}", k)
                    : kind == RowInputKind::largest  ? fmt::format("largest{}", k)
                                                     : fmt::format("smallest{}", k));
  }
  std::string out;
  Expr e = g.expr;
  for (size_t k = 0; k < g.inputs.size(); ++k) {
    if (g.inputs[k].of < 0) continue;
    e.root = g.inputs[k].of;
    out += fmt::format("//   {} of {}\n", names[k], ops::expr_text(e, names));
  }
  e.root = g.expr.root;
  return out + fmt::format("//   y = {}\n", ops::expr_text(e, names));
}

}  // namespace

kernels::RowCost row_cost(const RowGroup& g, const Machine& machine) {
  kernels::RowCost cost = cost_of(Coder(g, false, machine).run(), g.n);
  cost.resident = cost_of(Coder(g, true, machine).run(), g.n).per_element;
  cost.least = least_cycles(g, machine);
  return cost;
}

bool row_fits(const RowGroup& g, const Machine& machine) {
  const kernels::Work one_by_one = g.work(row_cost(g, machine)).in_rounds(g.rows);
  const std::optional<kernels::Plan> plan = kernels::plan_kernel(one_by_one, 1, 1, machine);
  return plan && plan->memory.total <= uint32_t(machine.core.memory_bytes);
}

std::string row_module(const RowGroup& g, const RowSpec& spec, const Machine& machine) {
  const RowCode code = Coder(g, spec.in_place, machine, spec.pieces).run();
  const kernels::RowCost cost = cost_of(code, g.n);
  std::string out = fmt::format(
      "// {}\n//\n// Generated. Per row x of {} elements:\n{}"
      "// Sharding: {}. Expected: {:.2f} cycles per element and {:.0f} per row, by vector instructions.\n\n",
      spec.title, g.n, text_of(g), spec.sharding, cost.per_element + 1 + (spec.in_place ? 1 : 0),
      cost.per_row);
  out +=
      "param rows: u16;\nparam x0: [*]f32;\nparam x1: [*]f32;\nparam resident: bool = false;\n"
      "param x_color: color = @get_color(0);\nparam x_queue: input_queue = @get_input_queue(2);\n"
      "param y_color: color = @get_color(0);\nparam y_queue: output_queue = @get_output_queue(2);\n"
      "param send_control: bool = false;\nparam control: u32 = 0;\n"
      "param compute_id: local_task_id = @get_local_task_id(24);\n"
      "param start_id: local_task_id = @get_local_task_id(25);\n";
  for (size_t j = 0; j < g.constants().size(); ++j) out += fmt::format("param c{}: [*]f32;\n", j);
  if (spec.pieces)
    out += "param sum_of_line;  // fn (mine: f32) f32: of the whole row\nparam largest_of_line;  // likewise\n";
  out += fmt::format(
      "\nconst buffers = @import_module(\"row_buffers.csl\", .{{\n"
      "  .n = {}, .rows = rows, .x0 = x0, .x1 = x1, .resident = resident,\n  .x_color = x_color, .x_queue = x_queue,\n"
      "  .y_color = y_color, .y_queue = y_queue, .send_control = send_control, .half = false,\n"
      "  .control = control, .compute_id = compute_id, .start_id = start_id, .work = row }});\n",
      g.n);
  if (code.sums) out += fmt::format("const adder = @import_module(\"row_sum.csl\", .{{ .n = {} }});\n", g.n);
  out += scalar_helpers(code.uses_math, code.uses_round, code.uses_power);
  out += fmt::format("const x_row = @get_dsd(mem1d_dsd, .{{ .base_address = x0, .extent = {} }});\n", g.n);
  for (size_t j = 0; j < g.constants().size(); ++j)
    out += fmt::format("const c{0}_dsd = @get_dsd(mem1d_dsd, .{{ .base_address = c{0}, .extent = {1} }});\n",
                       j, g.n);
  out += indented(code.vector.declarations, 0);
  return out + "\nfn row(words: [*]f32) void {\n  const x = @set_dsd_base_addr(x_row, words);\n" +
         indented(code.vector.lines, 2) + "}\n";
}

}  // namespace cs::autogen
