// Text of the code of one element: nodes in their order become constants v<number>. Comparisons that only
// choose between values are written into the conditions that use them.
#include "compiler/autogen/scalar_code.h"
#include "runtime/isa/scalar_cycles.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include <fmt/format.h>

namespace cs::autogen {

namespace {

using ops::Expr;
using ops::ExprKind;
using ops::ExprNode;

bool is_compare(ExprKind k) { return k >= ExprKind::lt && k <= ExprKind::ne; }

// Cycles of one operation: functions measured on generated kernels, others by their instructions. Of a choice
// the dearer way: the jump is taken, or falls through to a move. Between values that are there it is a selection.
double scalar_cycles(ExprKind k, const Machine& m, bool loaded) {
  const Machine::Core& t = m.core;
  const double condition = t.fp_result_cycles + (loaded ? 0 : isa::condition_wait(t)),
               choice = loaded ? t.wide_cycles : std::max(t.jump_taken_cycles, t.jump_not_taken_cycles + 1);
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
      return 600;
    case ExprKind::sqrt:
      return 100;
    case ExprKind::div:
      return m.core.fp32_divide_cycles + 2;
    case ExprKind::floor:
    case ExprKind::ceil:
      return 45;
    case ExprKind::min:
    case ExprKind::max:
      return condition + choice;
    case ExprKind::round:  // two bounds, and what is taken off again
      return 2 * (t.fp_result_cycles + isa::condition_wait(t) + t.jump_not_taken_cycles) + 2 * t.fp_result_cycles;
    case ExprKind::select:
      return choice;
    default:
      return t.fp_result_cycles;
  }
}

// A function of <math>, nullptr if the node is none.
const char* function(ExprKind k) {
  switch (k) {
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

const char* compare_symbol(ExprKind k) {
  switch (k) {
    case ExprKind::lt:
      return "<";
    case ExprKind::le:
      return "<=";
    case ExprKind::gt:
      return ">";
    case ExprKind::ge:
      return ">=";
    case ExprKind::eq:
      return "==";
    default:
      return "!=";
  }
}

std::string int_literal(double value) {
  constexpr double kLowest = std::numeric_limits<int32_t>::min(),
                   kHighest = std::numeric_limits<int32_t>::max();
  if (std::isnan(value)) return "0";
  return fmt::format("{}", int64_t(std::min(std::max(value, kLowest), kHighest)));
}

// An element of an array, not a constant of the code around: it may have to be read behind a jump.
bool in_memory(const ScalarInput& input) { return input.text.find('[') != std::string::npos; }

// `any`: constants and conditions, which are whatever their user wants.
enum class Kind : uint8_t { any, f32, i32 };

class Coder {
 public:
  Coder(const Expr& e, std::span<const ScalarInput> inputs, ScalarType result, const Machine& machine,
        const std::string& prefix)
      : e_(e),
        inputs_(inputs),
        result_(result == ScalarType::f32 ? Kind::f32 : Kind::i32),
        machine_(machine),
        prefix_(prefix),
        loaded_(std::none_of(inputs.begin(), inputs.end(), in_memory)) {
    used_.assign(e.nodes.size(), false);
    mark(e.root);
    for (size_t i = 0; i < e.nodes.size(); ++i) kinds_.push_back(kind_of(int(i)));
  }

  ScalarCode run() {
    for (size_t i = 0; i < e_.nodes.size(); ++i) {
      const ExprNode& n = e_.nodes[i];
      if (!used_[i] || n.kind == ExprKind::constant || n.kind == ExprKind::input) continue;
      code_.cycles += scalar_cycles(n.kind, machine_, loaded_);
      if (only_condition(int(i))) continue;
      std::string value = expression(int(i));
      code_.lines.push_back(fmt::format("const {}{}: {} = {};", prefix_, i, name(resolved(int(i))), value));
    }
    code_.value = text(e_.root, result_);
    return std::move(code_);
  }

 private:
  const ExprNode& node(int i) const { return e_.nodes[size_t(i)]; }
  static const char* name(Kind k) { return k == Kind::i32 ? "i32" : "f32"; }

  void mark(int i) {
    if (i < 0 || used_[size_t(i)]) return;
    used_[size_t(i)] = true;
    for (int o : {node(i).a, node(i).b, node(i).c}) mark(o);
  }

  static Kind join(Kind a, Kind b) {
    if (a == Kind::any) return b;
    return b == Kind::any || a == b ? a : Kind::f32;
  }

  Kind kind_of(int i) const {
    const ExprNode& n = node(i);
    auto of = [&](int o) { return o < 0 ? Kind::any : kinds_[size_t(o)]; };
    switch (n.kind) {
      case ExprKind::input:
        return inputs_[size_t(n.index)].type == ScalarType::f32 ? Kind::f32 : Kind::i32;
      case ExprKind::constant:
        return std::isfinite(n.value) && n.value != std::trunc(n.value) ? Kind::f32 : Kind::any;
      case ExprKind::select:
        return join(of(n.b), of(n.c));
      case ExprKind::div:
        return i == e_.root && join(of(n.a), of(n.b)) == Kind::i32 ? Kind::i32 : Kind::f32;
      case ExprKind::pow:
        return of(n.a) == Kind::i32 && of(n.b) != Kind::f32 ? Kind::i32 : Kind::f32;
      case ExprKind::floor:
      case ExprKind::ceil:
      case ExprKind::round:
        return of(n.a);
      default:
        break;
    }
    if (is_compare(n.kind) || n.kind == ExprKind::logical_not) return Kind::any;
    return function(n.kind) != nullptr ? Kind::f32 : join(of(n.a), of(n.b));
  }

  Kind resolved(int i) const { return kinds_[size_t(i)] == Kind::any ? result_ : kinds_[size_t(i)]; }

  // Node i as an operand of that type.
  std::string text(int i, Kind want) const {
    const ExprNode& n = node(i);
    if (n.kind == ExprKind::constant)
      return want == Kind::i32 ? int_literal(n.value) : float_literal(n.value);
    std::string t =
        n.kind == ExprKind::input ? inputs_[size_t(n.index)].text : fmt::format("{}{}", prefix_, i);
    return resolved(i) == want ? t : fmt::format("@as({}, {})", name(want), t);
  }

  std::string condition(int i) const {
    const ExprNode& n = node(i);
    if (!is_compare(n.kind)) {
      Kind k = resolved(i);
      return fmt::format("{} != {}", text(i, k), k == Kind::i32 ? "0" : "0.0");
    }
    Kind k = join(kinds_[size_t(n.a)], kinds_[size_t(n.b)]);
    if (k == Kind::any) k = Kind::f32;
    return fmt::format("{} {} {}", text(n.a, k), compare_symbol(n.kind), text(n.b, k));
  }

  std::string choice(const std::string& condition, const std::string& yes, const std::string& no) const {
    return fmt::format("if ({}) {} else {}", condition, yes, no);
  }

  std::string expression(int i) {
    const ExprNode& n = node(i);
    Kind k = resolved(i);
    auto a = [&] { return text(n.a, k); };
    auto b = [&] { return text(n.b, k); };
    std::string zero = k == Kind::i32 ? "0" : "0.0", one = k == Kind::i32 ? "1" : "1.0";
    switch (n.kind) {
      case ExprKind::add:
        return fmt::format("{} + {}", a(), b());
      case ExprKind::sub:
        return fmt::format("{} - {}", a(), b());
      case ExprKind::mul:
        return fmt::format("{} * {}", a(), b());
      case ExprKind::div:
        return fmt::format("{} / {}", a(), b());
      case ExprKind::neg:
        return fmt::format("-{}", a());
      case ExprKind::abs:
        code_.uses_math = code_.uses_math || k == Kind::f32;
        return k == Kind::f32 ? fmt::format("math.abs_f32({})", a()) : choice(a() + " < 0", "-" + a(), a());
      case ExprKind::min:
        return choice(fmt::format("{} < {}", a(), b()), a(), b());
      case ExprKind::max:
        return choice(fmt::format("{} > {}", a(), b()), a(), b());
      case ExprKind::logical_not:
        return choice(condition(n.a), zero, one);
      case ExprKind::select:
        return choice(condition(n.a), b(), text(n.c, k));
      case ExprKind::round:
        if (k == Kind::i32) return a();
        code_.uses_round = true;
        return fmt::format("round_even({})", a());
      default:
        break;
    }
    if (const char* f = function(n.kind)) {
      if (k == Kind::i32 && n.kind != ExprKind::pow) return a();  // floor and ceil of integers
      (k == Kind::i32 ? code_.uses_power : code_.uses_math) = true;
      if (k == Kind::i32) return fmt::format("power_i32({}, {})", a(), b());
      return fmt::format("math.{}_f32({}{})", f, a(), n.b >= 0 ? ", " + b() : "");
    }
    return choice(condition(i), one, zero);
  }

  bool only_condition(int i) const {
    if (!is_compare(node(i).kind) || i == e_.root) return false;
    for (size_t j = 0; j < e_.nodes.size(); ++j) {
      const ExprNode& n = e_.nodes[j];
      if (!used_[j] || (n.a != i && n.b != i && n.c != i)) continue;
      bool chooses = (n.kind == ExprKind::select && n.b != i && n.c != i) || n.kind == ExprKind::logical_not;
      if (!chooses) return false;
    }
    return true;
  }

  const Expr& e_;
  std::span<const ScalarInput> inputs_;
  Kind result_;
  const Machine& machine_;
  std::string prefix_;
  bool loaded_;
  std::vector<bool> used_;
  std::vector<Kind> kinds_;
  ScalarCode code_;
};

}  // namespace

ScalarCode scalar_code(const Expr& e, std::span<const ScalarInput> inputs, ScalarType result,
                       const Machine& machine, const std::string& prefix) {
  return Coder(e, inputs, result, machine, prefix).run();
}

std::string scalar_helpers(bool uses_math, bool uses_round, bool uses_power) {
  std::string out;
  if (uses_math) out += "const math = @import_module(\"<math>\");\n";
  if (uses_round) {
    // Adding 1.5 * 2^23 leaves no room for a fraction; larger numbers have none anyway.
    out +=
        "fn round_even(x: f32) f32 {\n"
        "  if (x > 4194304.0 or x < -4194304.0) { return x; }\n"
        "  const shifted: f32 = x + 12582912.0;\n"
        "  return shifted - 12582912.0;\n"
        "}\n";
  }
  if (uses_power) {
    out +=
        "fn power_i32(base: i32, exponent: i32) i32 {\n"
        "  var y: i32 = 1;\n"
        "  var k: i32 = 0;\n"
        "  while (k < exponent) : (k += 1) { y = y * base; }\n"
        "  return y;\n"
        "}\n";
  }
  return out;
}

std::string float_literal(double value) {
  float f = float(value);
  if (!std::isfinite(f)) return fmt::format("@bitcast(f32, @as(u32, 0x{:08x}))", std::bit_cast<uint32_t>(f));
  std::string text = fmt::format("{}", f);
  size_t exponent = text.find('e');
  if (text.find('.') == std::string::npos)
    text.insert(exponent == std::string::npos ? text.size() : exponent, ".0");
  return text;
}

}  // namespace cs::autogen
