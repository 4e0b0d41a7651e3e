// Text of the loop: nodes in their order become constants v<number>; the root is stored. Comparisons that
// only choose between values are written into the conditions that use them.
#include "compiler/autogen/scalar_loop.h"

#include <fmt/format.h>

namespace cs::autogen {

namespace {

using ops::Expr;
using ops::ExprKind;
using ops::ExprNode;

bool is_compare(ExprKind k) { return k >= ExprKind::lt && k <= ExprKind::ne; }

// Cycles of one operation, measured on generated kernels.
double scalar_cycles(ExprKind k, const Machine& m) {
  switch (k) {
    case ExprKind::exp:
      return 140;
    case ExprKind::log:
      return 120;
    case ExprKind::sin:
    case ExprKind::cos:
      return 145;
    case ExprKind::tanh:
      return 220;
    case ExprKind::erf:
      return 200;
    case ExprKind::pow:
      return 300;
    case ExprKind::sqrt:
      return 100;
    case ExprKind::div:
      return m.core.fp32_divide_cycles + 2;
    case ExprKind::floor:
    case ExprKind::ceil:
      return 45;
    case ExprKind::select:
      return m.core.jump_taken_cycles + m.core.jump_not_taken_cycles;
    default:
      return 2;
  }
}

class Loop {
 public:
  Loop(const LoopSpec& spec, ExpressionCode& code) : spec_(spec), e_(spec.expr), code_(code) {}

  void append(const Machine& machine) {
    code_.in_loop = true;
    code_.lines.push_back("var i: u16 = 0;");
    code_.lines.push_back(fmt::format("while (i < {}) : (i += 1) {{", spec_.n));
    double cycles = machine.core.jump_taken_cycles + 4;
    for (size_t i = 0; i < e_.nodes.size(); ++i) {
      if (!spec_.in_loop[i]) continue;
      cycles += scalar_cycles(e_.nodes[i].kind, machine);
      if (only_condition(int(i))) continue;
      std::string value = expression(int(i));
      code_.lines.push_back(int(i) == e_.root ? fmt::format("  {}[i] = {};", spec_.out, value)
                                              : fmt::format("  const v{}: f32 = {};", i, value));
    }
    code_.lines.push_back("}");
    code_.cycles_per_element += cycles;
  }

 private:
  const ExprNode& node(int i) const { return e_.nodes[size_t(i)]; }

  std::string scalar(int i) const {
    if (node(i).kind == ExprKind::constant) return float_literal(node(i).value);
    if (spec_.in_loop[size_t(i)]) return fmt::format("v{}", i);
    return spec_.arrays[size_t(i)] + "[i]";
  }

  std::string condition(int i) const {
    const ExprNode& n = node(i);
    const char* symbol = nullptr;
    switch (n.kind) {
      case ExprKind::lt:
        symbol = "<";
        break;
      case ExprKind::le:
        symbol = "<=";
        break;
      case ExprKind::gt:
        symbol = ">";
        break;
      case ExprKind::ge:
        symbol = ">=";
        break;
      case ExprKind::eq:
        symbol = "==";
        break;
      case ExprKind::ne:
        symbol = "!=";
        break;
      default:
        return scalar(i) + " != 0.0";
    }
    return fmt::format("{} {} {}", scalar(n.a), symbol, scalar(n.b));
  }

  // A function of <math>, nullptr if the node is none.
  static const char* function(ExprKind k) {
    switch (k) {
      case ExprKind::abs:
        return "abs";
      case ExprKind::exp:
        return "exp";
      case ExprKind::log:
        return "log";
      case ExprKind::sqrt:
        return "sqrt";
      case ExprKind::tanh:
        return "tanh";
      case ExprKind::erf:
        return "erf";
      case ExprKind::sin:
        return "sin";
      case ExprKind::cos:
        return "cos";
      case ExprKind::floor:
        return "floor";
      case ExprKind::ceil:
        return "ceil";
      case ExprKind::pow:
        return "pow";
      default:
        return nullptr;
    }
  }

  std::string expression(int i) {
    const ExprNode& n = node(i);
    if (const char* name = function(n.kind)) {
      code_.uses_math = true;
      std::string second = n.b >= 0 ? ", " + scalar(n.b) : "";
      return fmt::format("math.{}_f32({}{})", name, scalar(n.a), second);
    }
    switch (n.kind) {
      case ExprKind::add:
        return fmt::format("{} + {}", scalar(n.a), scalar(n.b));
      case ExprKind::sub:
        return fmt::format("{} - {}", scalar(n.a), scalar(n.b));
      case ExprKind::mul:
        return fmt::format("{} * {}", scalar(n.a), scalar(n.b));
      case ExprKind::div:
        return fmt::format("{} / {}", scalar(n.a), scalar(n.b));
      case ExprKind::neg:
        return fmt::format("-{}", scalar(n.a));
      case ExprKind::min:
        return fmt::format("if ({0} < {1}) {0} else {1}", scalar(n.a), scalar(n.b));
      case ExprKind::max:
        return fmt::format("if ({0} > {1}) {0} else {1}", scalar(n.a), scalar(n.b));
      case ExprKind::round:
        code_.uses_round = true;
        return fmt::format("round_even({})", scalar(n.a));
      case ExprKind::logical_not:
        return fmt::format("if ({}) 0.0 else 1.0", condition(n.a));
      case ExprKind::select:
        return fmt::format("if ({}) {} else {}", condition(n.a), scalar(n.b), scalar(n.c));
      default:
        return fmt::format("if ({}) 1.0 else 0.0", condition(i));
    }
  }

  bool only_condition(int i) const {
    if (!is_compare(node(i).kind) || i == e_.root) return false;
    for (size_t j = 0; j < e_.nodes.size(); ++j) {
      const ExprNode& n = e_.nodes[j];
      if (!spec_.in_loop[j] || (n.a != i && n.b != i && n.c != i)) continue;
      bool chooses = (n.kind == ExprKind::select && n.b != i && n.c != i) || n.kind == ExprKind::logical_not;
      if (!chooses) return false;
    }
    return true;
  }

  const LoopSpec& spec_;
  const Expr& e_;
  ExpressionCode& code_;
};

}  // namespace

void append_loop(const LoopSpec& spec, const Machine& machine, ExpressionCode& code) {
  Loop(spec, code).append(machine);
}

}  // namespace cs::autogen
