// Scheduling of an expression: see expression.h for the steps.
#include "compiler/autogen/expression.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace cs::autogen {

namespace {

using ops::Expr;
using ops::ExprKind;
using ops::ExprNode;

bool is_leaf(ExprKind k) { return k == ExprKind::constant || k == ExprKind::input; }

// Computed by vector instructions, given that at most one operand is a constant.
bool has_vector_form(ExprKind k) {
  switch (k) {
    case ExprKind::add:
    case ExprKind::sub:
    case ExprKind::mul:
    case ExprKind::neg:
    case ExprKind::abs:
    case ExprKind::min:
    case ExprKind::max:
      return true;
    default:
      return false;
  }
}

class Scheduler {
 public:
  Scheduler(const Expr& e, const ExpressionTarget& target, const Machine& m)
      : e_(e), target_(target), machine_(m) {
    names_.resize(e.nodes.size());
    place_.assign(e.nodes.size(), Place::unused);
    uses_.assign(e.nodes.size(), 0);
    mark(e.root);
    split();
    find_multiply_adds();
  }

  ExpressionResult run() {
    for (size_t i = 0; i < e_.nodes.size(); ++i) {
      if (place_[i] == Place::vector) vector_node(int(i));
    }
    if (place_[size_t(e_.root)] == Place::loop) {
      emit_loop();
    } else if (is_leaf(node(e_.root).kind)) {
      emit_copy();
    }
    return std::move(result_);
  }

 private:
  enum class Place : uint8_t { unused, leaf, vector, fused, loop };

  const ExprNode& node(int i) const { return e_.nodes[size_t(i)]; }
  static std::vector<int> operands(const ExprNode& n) {
    std::vector<int> list;
    for (int o : {n.a, n.b, n.c}) {
      if (o >= 0) list.push_back(o);
    }
    return list;
  }
  // The step of node `user` reads the value of node i: as an operand, or through the product fused into it.
  bool reads(size_t user, int i) const {
    if (place_[user] == Place::unused || place_[user] == Place::fused) return false;
    for (int o : operands(e_.nodes[user])) {
      if (o == i) return true;
      if (place_[size_t(o)] != Place::fused) continue;
      const ExprNode& product = node(o);
      if (product.a == i || product.b == i) return true;
    }
    return false;
  }
  bool constant(int i) const { return node(i).kind == ExprKind::constant; }

  void mark(int i) {
    ++uses_[size_t(i)];
    if (place_[size_t(i)] != Place::unused) return;
    place_[size_t(i)] = is_leaf(node(i).kind) ? Place::leaf : Place::vector;
    for (int o : operands(node(i))) mark(o);
  }

  // A node without vector form, and whatever depends on one, is computed in the loop.
  void split() {
    for (size_t i = 0; i < e_.nodes.size(); ++i) {
      if (place_[i] != Place::vector) continue;
      const ExprNode& n = e_.nodes[i];
      bool loop = !has_vector_form(n.kind);
      for (int o : operands(n)) loop = loop || place_[size_t(o)] == Place::loop;
      if (loop) place_[i] = Place::loop;
    }
    // A comparison is used by selects of the loop only, so nothing of the loop feeds a vector.
  }

  // add(b, mul(a, constant)) with a product that nobody else uses: b + a * constant in one instruction.
  void find_multiply_adds() {
    multiply_add_.assign(e_.nodes.size(), -1);
    for (size_t i = 0; i < e_.nodes.size(); ++i) {
      const ExprNode& n = e_.nodes[i];
      if (place_[i] != Place::vector || (n.kind != ExprKind::add && n.kind != ExprKind::sub)) continue;
      for (int product : {n.b, n.a}) {
        int other = product == n.b ? n.a : n.b;
        if (n.kind == ExprKind::sub && product == n.a) continue;
        const ExprNode& p = node(product);
        bool fits = p.kind == ExprKind::mul && uses_[size_t(product)] == 1 && !constant(other) &&
                    (constant(p.a) || constant(p.b)) && product != other;
        if (!fits) continue;
        multiply_add_[i] = product;
        place_[size_t(product)] = Place::fused;
        break;
      }
    }
  }

  // ---- names and buffers

  std::string operand_text(int i) const {
    if (constant(i)) return float_literal(node(i).value);
    return buffer(i).descriptor;
  }
  Buffer buffer(int i) const {
    const ExprNode& n = node(i);
    if (n.kind == ExprKind::input) return target_.inputs[size_t(n.index)];
    return names_[size_t(i)];
  }

  // True if a step at or after that of node `step` reads node i; the loop comes after all vectors.
  bool needed_from(int i, int step) const {
    for (size_t j = 0; j < e_.nodes.size(); ++j) {
      if ((int(j) >= step || place_[j] == Place::loop) && reads(j, i)) return true;
    }
    return i == e_.root;
  }

  Buffer new_temporary(int step) {
    for (const Buffer& t : temporaries_) {
      bool busy = false;
      for (int j = 0; j < step; ++j) {
        bool holds = place_[size_t(j)] == Place::vector && names_[size_t(j)] == t;
        busy = busy || (holds && needed_from(j, step));
      }
      if (!busy) return t;
    }
    temporaries_.push_back(declare());
    return temporaries_.back();
  }

  Buffer declare() {
    std::string name = fmt::format("{}{}", target_.temporary, result_.code.temporaries.size());
    result_.code.temporaries.push_back(name);
    return {name + "[i]", name + "_dsd"};
  }

  // Where the vector result of node i goes: the output for the root, else a temporary.
  std::string destination(int i) {
    if (i == e_.root) {
      names_[size_t(i)] = target_.out;
      if (!target_.fabric_out.empty()) {
        result_.to_fabric = true;
        return target_.fabric_out;
      }
      return target_.out.descriptor;
    }
    names_[size_t(i)] = new_temporary(i);
    return names_[size_t(i)].descriptor;
  }

  // ---- vector instructions

  void line(std::string text, double rate) {
    result_.code.lines.push_back(std::move(text));
    result_.code.cycles_per_element += 1 / rate;
  }

  void vector_node(int i) {
    const ExprNode& n = node(i);
    double wide = machine_.simd("fadds");
    if (multiply_add_[size_t(i)] >= 0) return multiply_add(i);
    if (n.kind == ExprKind::min) return minimum(i);
    if (n.kind == ExprKind::neg || n.kind == ExprKind::abs) {
      const char* name = n.kind == ExprKind::neg ? "fnegs" : "fabss";
      std::string source = operand_text(n.a);
      line(fmt::format("@{}({}, {});", name, destination(i), source), wide);
      return;
    }
    const char* name = n.kind == ExprKind::add   ? "fadds"
                       : n.kind == ExprKind::sub ? "fsubs"
                       : n.kind == ExprKind::mul ? "fmuls"
                                                 : "fmaxs";
    std::string a = operand_text(n.a), b = operand_text(n.b);
    line(fmt::format("@{}({}, {}, {});", name, destination(i), a, b), machine_.simd(name));
  }

  void multiply_add(int i) {
    const ExprNode& n = node(i);
    int product = multiply_add_[size_t(i)];
    const ExprNode& p = node(product);
    int factor = constant(p.a) ? p.a : p.b;
    int vector = constant(p.a) ? p.b : p.a;
    int other = product == n.b ? n.a : n.b;
    double value = node(factor).value * (n.kind == ExprKind::sub ? -1 : 1);
    std::string a = operand_text(other), b = operand_text(vector);
    line(fmt::format("@fmacs({}, {}, {}, {});", destination(i), a, b, float_literal(value)),
         machine_.simd("fmacs"));
  }

  // min(a, b) = -max(-a, -b); only the last of the steps may go to the fabric.
  void minimum(int i) {
    const ExprNode& n = node(i);
    int a = constant(n.a) ? n.b : n.a, b = constant(n.a) ? n.a : n.b;
    double wide = machine_.simd("fnegs");
    std::string first = operand_text(a), second = operand_text(b);
    Buffer negated = scratch(0), other = scratch(1);
    line(fmt::format("@fnegs({}, {});", negated.descriptor, first), wide);
    if (constant(b)) {
      second = float_literal(-node(b).value);
    } else {
      line(fmt::format("@fnegs({}, {});", other.descriptor, second), wide);
      second = other.descriptor;
    }
    line(fmt::format("@fmaxs({}, {}, {});", negated.descriptor, negated.descriptor, second),
         machine_.simd("fmaxs"));
    line(fmt::format("@fnegs({}, {});", destination(i), negated.descriptor), wide);
  }

  // Temporaries of one node's own steps; they never hold a value beyond it.
  Buffer scratch(size_t which) {
    while (scratch_.size() <= which) scratch_.push_back(declare());
    return scratch_[which];
  }

  void emit_copy() {
    bool fabric = !target_.fabric_out.empty();
    result_.to_fabric = fabric;
    line(fmt::format("@fmovs({}, {});", fabric ? target_.fabric_out : target_.out.descriptor,
                     operand_text(e_.root)),
         machine_.simd("fmovs"));
  }

  // Nodes of the loop as an expression of their own; what vectors made, and operands, are its inputs.
  void emit_loop() {
    Expr loop;
    std::vector<ScalarInput> inputs;
    std::vector<int> number(e_.nodes.size(), -1);
    for (size_t i = 0; i < e_.nodes.size(); ++i) {
      const ExprNode& n = e_.nodes[i];
      if (place_[i] == Place::unused || place_[i] == Place::fused) continue;
      if (place_[i] == Place::loop) {
        auto of = [&](int o) { return o < 0 ? -1 : number[size_t(o)]; };
        number[i] = loop.make(n.kind, of(n.a), of(n.b), of(n.c));
      } else if (n.kind == ExprKind::constant) {
        number[i] = loop.constant(n.value);
      } else {
        number[i] = loop.input(int(inputs.size()));
        inputs.push_back({buffer(int(i)).element, ScalarType::f32});
      }
    }
    loop.root = number[size_t(e_.root)];
    ScalarCode scalar = scalar_code(loop, inputs, ScalarType::f32, machine_);
    ExpressionCode& code = result_.code;
    code.in_loop = true;
    code.lines.push_back("var i: i16 = 0;");
    code.lines.push_back(fmt::format("while (i < {}) : (i += 1) {{", target_.n));
    for (const std::string& line : scalar.lines) code.lines.push_back("  " + line);
    code.lines.push_back(fmt::format("  {} = {};", target_.out.element, scalar.value));
    code.lines.push_back("}");
    code.uses_math = scalar.uses_math;
    code.uses_round = scalar.uses_round;
    code.uses_power = scalar.uses_power;
    code.cycles_per_element += machine_.core.jump_taken_cycles + 4 + scalar.cycles;
  }

  const Expr& e_;
  const ExpressionTarget& target_;
  const Machine& machine_;
  std::vector<Buffer> names_;  // of vector nodes
  std::vector<Place> place_;
  std::vector<int> uses_, multiply_add_;
  std::vector<Buffer> temporaries_, scratch_;
  ExpressionResult result_;
};

}  // namespace

bool expression_supported(const ops::Expr& e, std::string& why) {
  for (const ExprNode& n : e.nodes) {
    if (n.kind == ExprKind::attr) {
      why = fmt::format("attribute '{}' has no value", n.name);
      return false;
    }
  }
  return true;
}

ExpressionResult generate_expression(const ops::Expr& e, const ExpressionTarget& target,
                                     const Machine& machine) {
  Expr rewritten = rewrite_for_vectors(e);
  ExpressionResult result = Scheduler(rewritten, target, machine).run();
  result.code.text = ops::expr_text(rewritten);
  return result;
}

double expression_cycles(const ops::Expr& e, const Machine& machine) {
  ExpressionTarget target;
  target.inputs.resize(size_t(std::max(1, e.inputs())));
  return generate_expression(e, target, machine).code.cycles_per_element;
}

bool passes_through(const ops::Expr& e, const Machine& machine) {
  ExpressionTarget target;
  for (int i = 0; i < std::max(1, e.inputs()); ++i)
    target.inputs.push_back({"", i == 0 ? "stream" : fmt::format("memory{}", i)});
  target.fabric_out = "out";
  ExpressionResult result = generate_expression(e, target, machine);
  if (!result.to_fabric || result.code.lines.size() != 1) return false;
  const std::string& line = result.code.lines[0];
  size_t first = line.find("stream");
  return first != std::string::npos && line.find("stream", first + 1) == std::string::npos;
}

}  // namespace cs::autogen
