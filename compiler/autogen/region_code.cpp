// Choice of vector axes and text of statements: see region_code.h.
#include "compiler/autogen/region_code.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <tuple>
#include <utility>

#include <fmt/format.h>

namespace cs::autogen {

namespace {

using ops::Combine;
using ops::ExprKind;
using ops::LoopAccess;
using ops::LoopStatement;

constexpr size_t kMaxDimensions = 4;     // of a mem4d_dsd
constexpr int64_t kMaxTemporary = 1024;  // elements of a temporary that holds one vector
constexpr double kVectorStart = 14;      // cycles: descriptors with changed offsets, loads, latency
constexpr double kRound = 12;            // cycles of a round of a loop around an instruction

using Axes = std::vector<size_t>;

class Coder {
 public:
  Coder(const LoopStatement& s, int64_t steps, const StatementContext& context, RegionCode& code)
      : s_(s), steps_(steps), c_(context), m_(context.machine), code_(code), number_(code.statements++) {}

  void run() {
    if (is_copy() || is_fill()) return plain();
    if (!all_f32() || s_.combine == Combine::min) return scalars();
    if (s_.combine == Combine::add && product()) return multiply_add();
    if (s_.combine != Combine::assign) return accumulate();
    expression();
  }

 private:
  // ---- what kind of statement

  const ops::ExprNode& root() const { return s_.value.nodes[size_t(s_.value.root)]; }
  bool integer(const LoopAccess& a) const {
    return a.buffer == ops::kCounter || c_.integers[size_t(a.buffer)];
  }
  bool in_memory() const {
    return s_.out.index < 0 && std::all_of(s_.loads.begin(), s_.loads.end(), [](const LoopAccess& a) {
             return a.index < 0 && a.buffer != ops::kCounter;
           });
  }
  bool is_copy() const {
    return s_.combine == Combine::assign && root().kind == ExprKind::input && in_memory() &&
           integer(s_.loads[size_t(root().index)]) == integer(s_.out);
  }
  bool is_fill() const {
    return s_.combine == Combine::assign && root().kind == ExprKind::constant && s_.out.index < 0;
  }
  bool all_f32() const {
    return in_memory() && !integer(s_.out) &&
           std::none_of(s_.loads.begin(), s_.loads.end(), [&](const LoopAccess& a) { return integer(a); });
  }
  bool product() const {
    if (root().kind != ExprKind::mul) return false;
    const auto &a = s_.value.nodes[size_t(root().a)], &b = s_.value.nodes[size_t(root().b)];
    return a.kind == ExprKind::input && b.kind == ExprKind::input;
  }
  int64_t extent(size_t axis) const { return s_.extents[axis]; }
  int64_t points(const Axes& axes) const {
    return std::accumulate(axes.begin(), axes.end(), int64_t(1),
                           [&](int64_t n, size_t k) { return n * extent(k); });
  }
  double rounds(const Axes& vector) const {
    double n = double(steps_);
    for (size_t k = 0; k < s_.extents.size(); ++k) {
      if (std::find(vector.begin(), vector.end(), k) == vector.end()) n *= double(extent(k));
    }
    return n;
  }

  // Up to four of the axes that qualify, the longest; in their order.
  Axes choose(const std::function<bool(size_t)>& qualifies, size_t most = kMaxDimensions,
              int64_t most_points = INT64_MAX) const {
    Axes list;
    for (size_t k = 0; k < s_.extents.size(); ++k) {
      if (qualifies(k)) list.push_back(k);
    }
    std::stable_sort(list.begin(), list.end(), [&](size_t a, size_t b) { return extent(a) > extent(b); });
    if (list.size() > most) list.resize(most);
    while (list.size() > 1 && points(list) > most_points) list.pop_back();
    std::sort(list.begin(), list.end());
    return list;
  }

  // ---- text

  std::string name(const LoopAccess& a) const { return c_.names[size_t(a.buffer)]; }
  static std::string term(int64_t factor, const std::string& counter) {
    return factor == 1 ? counter : fmt::format("{} * {}", factor, counter);
  }
  static void join(std::string& sum, const std::string& t) { sum += sum.empty() ? t : " + " + t; }

  // Σ stride · counter over the axes that are loops; empty if the access stands still in them.
  std::string moving(const LoopAccess& a, const Axes& vector) const {
    std::string sum;
    if (a.step != 0) join(sum, term(a.step, "step"));
    for (size_t k = 0; k < a.strides.size(); ++k) {
      bool loop = std::find(vector.begin(), vector.end(), k) == vector.end();
      if (loop && a.strides[k] != 0) join(sum, term(a.strides[k], fmt::format("i{}", k)));
    }
    return sum;
  }

  // One element of a load, all axes being loops.
  std::string element(const LoopAccess& a) const {
    if (a.buffer == ops::kCounter) return counter(a);
    std::string at = moving(a, {});
    if (a.index >= 0) {
      std::string index = fmt::format("@as(i16, index{})", a.index);
      join(at, term(a.index_stride, index));
    }
    if (a.offset != 0 || at.empty()) join(at, std::to_string(a.offset));
    return fmt::format("{}[{}]", name(a), at);
  }
  std::string counter(const LoopAccess& a) const {
    std::string sum;
    auto add = [&](int64_t stride, const std::string& i) {
      if (stride != 0) join(sum, term(stride, fmt::format("@as(i32, {})", i)));
    };
    add(a.step, "step");
    for (size_t k = 0; k < a.strides.size(); ++k) add(a.strides[k], fmt::format("i{}", k));
    if (a.offset != 0 || sum.empty()) join(sum, std::to_string(a.offset));
    return "(" + sum + ")";
  }

  std::string declare(const std::string& what, const LoopAccess& a, const Axes& axes) {
    std::string variables, extents, at;
    const std::string names = "abcd";
    for (size_t k = 0; k < axes.size(); ++k) {
      variables += fmt::format("{}{}", k > 0 ? ", " : "", names[k]);
      extents += fmt::format("{}{}", k > 0 ? ", " : "", extent(axes[k]));
      if (a.strides[axes[k]] != 0) join(at, term(a.strides[axes[k]], std::string(1, names[k])));
    }
    if (axes.empty()) variables = "a", extents = "1";
    if (a.offset != 0 || at.empty()) join(at, std::to_string(a.offset));
    std::string dsd = fmt::format("s{}_{}", number_, what);
    code_.declarations.push_back(
        fmt::format("const {} = @get_dsd({}, .{{ .tensor_access = |{}|{{{}}} -> {}[{}] }});", dsd,
                    axes.size() > 1 ? "mem4d_dsd" : "mem1d_dsd", variables, extents, name(a), at));
    return dsd;
  }

  // The descriptor of an access in this round: declared once, moved by the counters of the loops.
  std::string descriptor(const std::string& what, const LoopAccess& a, const Axes& axes) {
    std::string dsd = declare(what, a, axes), by = moving(a, axes);
    if (by.empty()) return dsd;
    line(fmt::format("const {}_at = @increment_dsd_offset({}, {}, {});", dsd, dsd, by,
                     integer(a) ? "i32" : "f32"));
    return dsd + "_at";
  }

  std::string temporary(int64_t n) {
    std::string t = fmt::format("s{}_t", number_);
    code_.declarations.push_back(fmt::format("var {} = @zeros([{}]f32);", t, n));
    code_.declarations.push_back(fmt::format(
        "const {0}_dsd = @get_dsd(mem1d_dsd, .{{ .tensor_access = |a|{{{1}}} -> {0}[a] }});", t, n));
    code_.scratch_words += n;
    return t;
  }

  void line(const std::string& text) { code_.lines.push_back(std::string(size_t(indent_), ' ') + text); }

  void open_loops(const Axes& vector) {
    indent_ = c_.indent;
    line("{");  // a scope for counters and descriptors
    indent_ += 2;
    for (size_t k = 0; k < s_.extents.size(); ++k) {
      if (std::find(vector.begin(), vector.end(), k) != vector.end()) continue;
      line(fmt::format("var i{}: i16 = 0;", k));
      line(fmt::format("while (i{0} < {1}) : (i{0} += 1) {{", k, extent(k)));
      indent_ += 2;
    }
  }
  void close_loops() {
    while (indent_ > c_.indent) {
      indent_ -= 2;
      line("}");
    }
  }
  void cost(const Axes& vector, double rate, double instructions = 1) {
    code_.cycles += rounds(vector) * (kRound + instructions * (kVectorStart + double(points(vector)) / rate));
  }

  // ---- kinds

  void plain() {
    Axes axes = choose([](size_t) { return true; });
    open_loops(axes);
    bool is_int = integer(s_.out);
    std::string out = descriptor("y", s_.out, axes), from;
    if (is_fill()) {
      double v = root().value;
      from = is_int ? fmt::format("@as(i32, {})", int64_t(std::min(std::max(v, -2147483648.0), 2147483647.0)))
                    : float_literal(v);
    } else {
      from = descriptor("x", s_.loads[size_t(root().index)], axes);
    }
    line(fmt::format("@{}({}, {});", is_int ? "mov32" : "fmovs", out, from));
    cost(axes, m_.simd("fmovs"));
    close_loops();
  }

  void multiply_add() {
    const LoopAccess& a = s_.loads[size_t(s_.value.nodes[size_t(root().a)].index)];
    const LoopAccess& b = s_.loads[size_t(s_.value.nodes[size_t(root().b)].index)];
    auto along = [&](const LoopAccess& scalar) {
      return choose([&](size_t k) { return s_.out.strides[k] != 0 && scalar.strides[k] == 0; });
    };
    Axes with_b = along(b), with_a = along(a);
    bool b_is_scalar = points(with_b) >= points(with_a);
    const LoopAccess &scalar = b_is_scalar ? b : a, &vector = b_is_scalar ? a : b;
    Axes axes = b_is_scalar ? with_b : with_a;
    Axes all = choose([](size_t) { return true; }, 1);
    if (points(axes) == 1 || points(axes) * 4 < points(all)) return accumulate();
    open_loops(axes);
    std::string y = descriptor("y", s_.out, axes), x = descriptor("x", vector, axes);
    std::string at = moving(scalar, axes);
    if (scalar.offset != 0 || at.empty()) join(at, std::to_string(scalar.offset));
    line(fmt::format("@fmacs({0}, {0}, {1}, {2}[{3}]);", y, x, name(scalar), at));
    cost(axes, m_.simd("fmacs") / (1 + one_bank(s_.out, vector, axes) * (m_.core.bank_conflict_factor - 1)));
    close_loops();
  }

  // The part of the rounds in which two vectors of words begin in one bank: buffers begin at a multiple of 8
  // bytes, and banks are those of even and of odd words (docs/timing.md, bank conflicts).
  double one_bank(const LoopAccess& a, const LoopAccess& b, const Axes& vector) const {
    double same = 1, other = 0;
    if ((a.offset - b.offset) % 2 != 0) std::swap(same, other);
    for (size_t k = 0; k < s_.extents.size(); ++k) {
      if (std::find(vector.begin(), vector.end(), k) != vector.end()) continue;
      const bool turns = (a.strides[k] - b.strides[k]) % 2 != 0;
      const int64_t half = turns ? extent(k) / 2 : 0;
      const double odd = double(half), even = double(extent(k) - half);
      std::tie(same, other) = std::pair(same * even + other * odd, same * odd + other * even);
    }
    return same / (same + other);
  }

  const char* combiner() const {
    return s_.combine == Combine::add ? "fadds" : s_.combine == Combine::max ? "fmaxs" : "fmuls";
  }

  // out = combine(out, value): a value that is not just loaded goes through a temporary.
  void accumulate() {
    bool loaded = root().kind == ExprKind::input;
    bool one = loaded || (product() && s_.combine == Combine::add);
    Axes axes = choose([](size_t) { return true; },
                       one && loaded ? kMaxDimensions
                       : one         ? 2
                                     : 1,
                       loaded ? INT64_MAX : kMaxTemporary);
    if (!loaded && points(axes) > kMaxTemporary) return scalars();
    open_loops(axes);
    std::string from;
    if (loaded) {
      from = descriptor("x", s_.loads[size_t(root().index)], axes);
    } else {
      from = value_in_temporary(axes);
    }
    std::string y = descriptor("y", s_.out, axes);
    line(fmt::format("@{0}({1}, {1}, {2});", combiner(), y, from));
    bool still = std::any_of(axes.begin(), axes.end(), [&](size_t k) { return s_.out.strides[k] == 0; });
    cost(axes, still ? 1.0 / m_.core.reduction_cycles_per_element : m_.simd(combiner()));
    close_loops();
  }

  std::string value_in_temporary(const Axes& axes) {
    std::string t = temporary(points(axes));
    compute({t + "[i]", t + "_dsd", 1}, axes);
    return t + "_dsd";
  }

  void expression() {
    Axes axes = choose([](size_t) { return true; }, 1);
    open_loops(axes);
    std::string out = descriptor("y", s_.out, axes);
    compute({along(s_.out, axes), out, axes.empty() ? 0 : s_.out.strides[axes[0]]}, axes);
    code_.cycles += rounds(axes) * kRound;
    close_loops();
  }

  // Element of an access in a loop of scalars over i, along the one vector axis.
  std::string along(const LoopAccess& a, const Axes& axes) const {
    std::string at = moving(a, axes);
    if (!axes.empty() && a.strides[axes[0]] != 0) join(at, term(a.strides[axes[0]], "i"));
    if (a.offset != 0 || at.empty()) join(at, std::to_string(a.offset));
    return fmt::format("{}[{}]", name(a), at);
  }

  void compute(const Buffer& out, const Axes& axes) {
    ExpressionTarget target;
    for (size_t k = 0; k < s_.loads.size(); ++k) {
      const LoopAccess& a = s_.loads[k];
      const bool still = std::all_of(axes.begin(), axes.end(), [&](size_t k) { return a.strides[k] == 0; });
      target.numbers.push_back(still);
      target.inputs.push_back({along(a, axes), still ? "" : descriptor(fmt::format("x{}", k), a, axes),
                               axes.empty() ? 0 : a.strides[axes[0]]});
    }
    target.one_part = axes.size() > 1;
    target.out = out;
    target.n = int(points(axes));
    target.temporary = fmt::format("s{}_v", number_);
    ExpressionResult result = generate_expression(s_.value, target, m_);
    code_.declarations.insert(code_.declarations.end(), result.code.declarations.begin(),
                              result.code.declarations.end());
    code_.scratch_words += result.code.words;
    for (const std::string& text : result.code.lines) line(text);
    code_.uses_math = code_.uses_math || result.code.uses_math;
    code_.uses_round = code_.uses_round || result.code.uses_round;
    code_.uses_power = code_.uses_power || result.code.uses_power;
    code_.cycles += rounds(axes) * (kVectorStart + result.code.cycles_per_run +
                                    double(target.n) * result.code.cycles_per_element);
  }

  void scalars() {
    open_loops({});
    std::vector<ScalarInput> inputs;
    for (size_t k = 0; k < s_.loads.size(); ++k) {
      const LoopAccess& a = s_.loads[k];
      inputs.push_back({element(a), integer(a) ? ScalarType::i32 : ScalarType::f32});
      if (used_as_index(int(k))) {
        int64_t extent = extent_of_index(int(k));
        line(fmt::format("var index{} = {};", k, element(a)));
        line(fmt::format("if (index{0} < 0) {{ index{0} += {1}; }}", k, extent));
        code_.cycles += rounds({}) * 14;
      }
    }
    bool is_int = integer(s_.out);
    ScalarCode scalar = scalar_code(s_.value, inputs, is_int ? ScalarType::i32 : ScalarType::f32, m_);
    for (const std::string& text : scalar.lines) line(text);
    std::string out = element(s_.out);
    line(store(out, scalar.value, is_int));
    code_.uses_math = code_.uses_math || scalar.uses_math;
    code_.uses_round = code_.uses_round || scalar.uses_round;
    code_.uses_power = code_.uses_power || scalar.uses_power;
    code_.cycles += rounds({}) * (kRound + 6 + 3 * double(s_.loads.size()) + scalar.cycles);
    close_loops();
  }

  bool used_as_index(int k) const { return extent_of_index(k) > 0; }
  int64_t extent_of_index(int k) const {
    if (s_.out.index == k) return s_.out.index_extent;
    for (const LoopAccess& a : s_.loads) {
      if (a.index == k) return a.index_extent;
    }
    return 0;
  }

  std::string store(const std::string& out, const std::string& value, bool is_int) const {
    switch (s_.combine) {
      case Combine::assign:
        return fmt::format("{} = {};", out, value);
      case Combine::add:
        return fmt::format("{0} = {0} + {1};", out, value);
      case Combine::multiply:
        return fmt::format("{0} = {0} * {1};", out, value);
      default:
        return fmt::format("const value: {} = {}; if (value {} {}) {{ {} = value; }}", is_int ? "i32" : "f32",
                           value, s_.combine == Combine::max ? ">" : "<", out, out);
    }
  }

  const LoopStatement& s_;
  int64_t steps_;
  const StatementContext& c_;
  const Machine& m_;
  RegionCode& code_;
  int number_;
  int indent_ = 2;
};

}  // namespace

void append_statement(const LoopStatement& s, int64_t steps, const StatementContext& context,
                      RegionCode& code) {
  Coder(s, steps, context, code).run();
}

}  // namespace cs::autogen
