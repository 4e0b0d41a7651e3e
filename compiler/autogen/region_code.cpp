// Choice of vector axes and text of statements: see region_code.h.
#include "compiler/autogen/region_code.h"

#include <algorithm>

#include <fmt/format.h>

#include "compiler/autogen/byte_rows.h"
#include "compiler/autogen/region_own.h"
#include "compiler/autogen/region_writer.h"

namespace cs::autogen {

namespace {

using ops::Combine;
using ops::ExprKind;
using ops::LoopAccess;
using ops::LoopStatement;

constexpr int64_t kMaxTemporary = 1024;  // elements of a temporary that holds one vector

class Coder : StatementWriter {
 public:
  using StatementWriter::StatementWriter;

  void run() {
    if (is_copy() || is_fill()) return plain();
    if (!all_f32() || s_.combine == Combine::min) return scalars();
    if (s_.combine == Combine::add && product()) {
      if (c_.by_library && append_convolution(s_, steps_, c_, code_)) return;
      if (append_product(s_, steps_, c_, code_)) return;
    }
    if (s_.combine != Combine::assign) return accumulate();
    expression();
  }

 private:
  // ---- what kind of statement

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
  // ---- text

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
    if (a.own >= 0)
      join(sum, own_number(a.own));
    else if (a.offset != 0 || sum.empty())
      join(sum, std::to_string(a.offset));
    return "(" + sum + ")";
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
    cost(axes, m_.simd("fmovs"), is_fill() ? 1 : 2);
    close_loops();
  }

  const char* combiner() const {
    return s_.combine == Combine::add ? "fadds" : s_.combine == Combine::max ? "fmaxs" : "fmuls";
  }

  // out = combine(out, value): a value that is not just loaded goes through a temporary.
  void accumulate() {
    bool loaded = root().kind == ExprKind::input;
    if (c_.resident && loaded && sum_in_four()) return;
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
    // What stands still takes one element after another.
    bool still = std::any_of(axes.begin(), axes.end(), [&](size_t k) { return s_.out.strides[k] == 0; });
    double conflict = 1;
    if (loaded && std::any_of(axes.begin(), axes.end(), [&](size_t k) { return s_.out.strides[k] != 0; })) {
      Axes moving;
      for (size_t k = 0; k < s_.extents.size(); ++k) {
        if (std::find(axes.begin(), axes.end(), k) == axes.end() && extent(k) > 1) moving.push_back(k);
      }
      conflict = conflict_factor(share_of_one_bank(s_.out, s_.loads[size_t(root().index)], moving));
    }
    cost(axes, (still ? 1 : m_.simd(combiner())) / conflict, 3);
    close_loops();
  }

  // Sums and extremes of rows: element i of a row joins accumulator i mod 4, so that two join in a cycle;
  // then these four the result. All rows by the same instructions. The accumulators begin in the other bank
  // than what joins them.
  bool sum_in_four() {
    constexpr int64_t kFour = 4, kLeast = 16;
    const LoopAccess& x = s_.loads[size_t(root().index)];
    const size_t rank = s_.extents.size();
    if (rank == 0 || rank > 2 || steps_ > 1 || s_.combine == Combine::multiply) return false;
    const int64_t columns = extent(rank - 1), rows = rank == 2 ? extent(0) : 1;
    const int64_t row = rank == 2 ? x.strides[0] : 0, to = rank == 2 ? s_.out.strides[0] : 0;
    if (columns % kFour != 0 || columns < kLeast || x.strides[rank - 1] != 1 ||
        s_.out.strides[rank - 1] != 0 || (rank == 2 && to == 0))
      return false;
    const std::string t = fmt::format("s{}_t", number_);
    const int64_t begin = first_word(x) % 2 == 0 ? 1 : 0;
    const auto declare = [&](const char* what, const std::string& access) {
      code_.declarations.push_back(
          fmt::format("const {}_{} = @get_dsd(mem4d_dsd, .{{ .tensor_access = {} }});", t, what, access));
    };
    code_.declarations.push_back(
        fmt::format("var {0}: [{1}]f32 align(8) = @zeros([{1}]f32);", t, kFour * rows + 1));
    code_.declarations.push_back(fmt::format(
        "const {0}_all = @get_dsd(mem1d_dsd, .{{ .tensor_access = |a|{{{1}}} -> {0}[a + {2}] }});", t,
        kFour * rows, begin));
    declare("by_four", fmt::format("|a, b, c|{{{}, {}, {}}} -> {}[{} * a + c + {}]", rows, columns / kFour,
                                   kFour, t, kFour, begin));
    declare("in", fmt::format("|a, b, c|{{{}, {}, {}}} -> {}[{} * a + {} * b + c + {}]", rows,
                              columns / kFour, kFour, name(x), row, kFour, x.offset));
    declare("four", fmt::format("|a, b|{{{}, {}}} -> {}[{} * a + b + {}]", rows, kFour, t, kFour, begin));
    declare("out",
            fmt::format("|a, b|{{{}, {}}} -> {}[{} * a + {}]", rows, kFour, name(s_.out), to, s_.out.offset));
    code_.scratch_words += kFour * rows + 2;
    const std::string least = s_.combine == Combine::add ? "0.0" : "@bitcast(f32, @as(u32, 0xff800000))";
    open_scope();
    line(fmt::format("@fmovs({}_all, {});", t, least));
    line(fmt::format("@{0}({1}_by_four, {1}_by_four, {1}_in);", combiner(), t));
    line(fmt::format("@{0}({1}_out, {1}_out, {1}_four);", combiner(), t));
    cycles(start_cycles(1) + double(kFour * rows) / m_.simd("fmovs") + start_cycles(3) +
           double(rows * columns) / m_.simd(combiner()) + start_cycles(3) + double(kFour * rows));
    close_loops();
    return true;
  }

  std::string value_in_temporary(const Axes& axes) {
    std::string t = temporary(points(axes));
    compute({t + "[i]", t + "_dsd", 1, -1}, axes);
    return t + "_dsd";
  }

  // Sums, products, extremes and signs: an instruction each, with no more temporaries than one.
  bool is_short() const {
    size_t operations = 0;
    for (const auto& n : s_.value.nodes) {
      if (n.kind == ExprKind::input || n.kind == ExprKind::constant) continue;
      if (n.kind != ExprKind::add && n.kind != ExprKind::sub && n.kind != ExprKind::mul &&
          n.kind != ExprKind::neg && n.kind != ExprKind::abs)
        return false;
      ++operations;
    }
    return operations <= 2;
  }
  // Rows with a number each: all rows by the same instructions, if these are few.
  bool all_rows() const {
    return c_.resident && s_.extents.size() == 2 && steps_ == 1 && is_short() &&
           std::any_of(s_.loads.begin(), s_.loads.end(),
                       [](const LoopAccess& a) { return a.strides[0] != 0 && a.strides[1] == 0; });
  }

  void expression() {
    Axes axes = choose([](size_t) { return true; }, all_rows() ? 2 : 1);
    open_loops(axes);
    std::string out = descriptor("y", s_.out, axes);
    compute({along(s_.out, axes), out, axes.empty() ? 0 : s_.out.strides[axes[0]], phase(s_.out, axes)},
            axes);
    close_loops();
  }

  // Element of an access in a loop of scalars over i, along the one vector axis.
  std::string along(const LoopAccess& a, const Axes& axes) const {
    std::string at = moving(a, axes);
    if (!axes.empty() && a.strides[axes[0]] != 0) join(at, term(a.strides[axes[0]], "i"));
    if (a.offset != 0 || at.empty()) join(at, std::to_string(a.offset));
    return fmt::format("{}[{}]", name(a), at);
  }

  // Where it begins in eight bytes in every round of the loops; where operands are streamed, as it ever was.
  int phase(const LoopAccess& a, const Axes& axes) const {
    if (!c_.resident) return -1;
    for (size_t k = 0; k < a.strides.size(); ++k)
      if (a.strides[k] % 2 != 0 && std::find(axes.begin(), axes.end(), k) == axes.end()) return -1;
    return int(first_word(a) % 2);
  }

  void compute(const Buffer& out, const Axes& axes) {
    ExpressionTarget target;
    for (size_t k = 0; k < s_.loads.size(); ++k) {
      const LoopAccess& a = s_.loads[k];
      const bool still = std::all_of(axes.begin(), axes.end(), [&](size_t k) { return a.strides[k] == 0; });
      target.numbers.push_back(still);
      target.inputs.push_back({along(a, axes), still ? "" : descriptor(fmt::format("x{}", k), a, axes),
                               axes.empty() ? 0 : a.strides[axes[0]], still ? -1 : phase(a, axes)});
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
    cycles(result.code.cycles_per_run + double(target.n) * result.code.cycles_per_element);
  }

  // ---- loops of scalars: what is read comes into constants first, so that choices between values need no jump. A
  // result that stands still along the innermost axis is in a variable meanwhile; a short innermost loop is straight
  // code, in which addresses are literals.

  static constexpr int64_t kMostRounds = 8, kMostOperations = 96;  // of all rounds
  bool straight(size_t axis, const ScalarCode& round) const {
    const auto operations = int64_t(s_.loads.size() + s_.value.nodes.size());
    return extent(axis) <= kMostRounds && extent(axis) * operations <= kMostOperations && !round.uses_math &&
           !round.uses_power && !round.uses_round;
  }
  bool stands_still(size_t axis) const {
    return s_.combine != Combine::assign && s_.out.index < 0 && s_.out.strides[axis] == 0 &&
           std::none_of(s_.loads.begin(), s_.loads.end(),
                        [&](const LoopAccess& a) { return a.buffer == s_.out.buffer; });
  }
  const char* type(const LoopAccess& a) const { return integer(a) ? "i32" : "f32"; }

  void scalars() {
    std::vector<ScalarInput> inputs;
    for (size_t k = 0; k < s_.loads.size(); ++k)
      inputs.push_back({scalar_text(k), integer(s_.loads[k]) ? ScalarType::i32 : ScalarType::f32});
    const bool is_int = integer(s_.out);
    const ScalarCode scalar =
        scalar_code(s_.value, inputs, is_int ? ScalarType::i32 : ScalarType::f32, m_);
    Axes inner;
    if (!s_.extents.empty()) inner = {s_.extents.size() - 1};
    const bool total = !inner.empty() && stands_still(inner[0]),
               once = !inner.empty() && straight(inner[0], scalar);
    open_loops(inner);
    if (total) line(fmt::format("var total: {} = {};", type(s_.out), element(s_.out)));
    const int outside = indent_;
    if (once) {
      open_straight(inner[0]);
    } else if (!inner.empty()) {
      open_loop(inner[0], extent(inner[0]));
    }
    const double access = m_.core.wide_cycles + (once ? 0 : 2);
    load_scalars(access);
    for (const std::string& text : scalar.lines) line(text);
    line(store(total ? "total" : element(s_.out), scalar.value, total));
    code_.uses_math = code_.uses_math || scalar.uses_math;
    code_.uses_round = code_.uses_round || scalar.uses_round;
    code_.uses_power = code_.uses_power || scalar.uses_power;
    cycles(scalar.cycles + (total ? 0 : access) + combine_cycles(total));
    close_to(outside);
    if (total) line(fmt::format("{} = total;", element(s_.out)));
    close_loops();
  }
  double combine_cycles(bool total) const {
    if (s_.combine == Combine::assign) return 0;
    const double compute = m_.core.fp_result_cycles, read = total ? 0 : m_.core.wide_cycles;
    const bool chooses = s_.combine == Combine::min || s_.combine == Combine::max;
    return read + compute + (!chooses ? 0 : total ? m_.core.wide_cycles : m_.core.jump_taken_cycles);
  }
  // Indices, then what may lie at them.
  void load_scalars(double access) {
    for (size_t k = 0; k < s_.loads.size(); ++k) {
      if (!used_as_index(int(k))) continue;
      load_scalar(k, access);
      line(fmt::format("var index{0} = {1};", k, scalar_text(k)));
      line(fmt::format("if (index{0} < 0) {{ index{0} += {1}; }}", k, extent_of_index(int(k))));
      cycles(14);
    }
    for (size_t k = 0; k < s_.loads.size(); ++k)
      if (!used_as_index(int(k))) load_scalar(k, access);
  }
  std::string scalar_text(size_t k) const {
    return s_.loads[k].buffer == ops::kCounter ? counter(s_.loads[k]) : fmt::format("l{}", k);
  }
  void load_scalar(size_t k, double access) {
    const LoopAccess& a = s_.loads[k];
    if (a.buffer == ops::kCounter) return;
    line(fmt::format("const l{}: {} = {};", k, type(a), element(a)));
    cycles(access);
  }

  bool used_as_index(int k) const { return extent_of_index(k) > 0; }
  int64_t extent_of_index(int k) const {
    if (s_.out.index == k) return s_.out.index_extent;
    for (const LoopAccess& a : s_.loads) {
      if (a.index == k) return a.index_extent;
    }
    return 0;
  }

  std::string store(const std::string& out, const std::string& value, bool total) const {
    const char* better = s_.combine == Combine::max ? ">" : "<";
    switch (s_.combine) {
      case Combine::assign:
        return fmt::format("{} = {};", out, value);
      case Combine::add:
        return fmt::format("{0} = {0} + {1};", out, value);
      case Combine::multiply:
        return fmt::format("{0} = {0} * {1};", out, value);
      default:
        break;
    }
    const std::string chosen = fmt::format("const value: {} = {}; ", type(s_.out), value);
    if (total) return chosen + fmt::format("total = if (value {} total) value else total;", better);
    return chosen + fmt::format("if (value {0} {1}) {{ {1} = value; }}", better, out);
  }
};

}  // namespace

void append_statement(const LoopStatement& s, int64_t steps, const StatementContext& context,
                      RegionCode& code) {
  if (!append_by_rows(s, steps, context, code)) Coder(s, steps, context, code).run();
}

}  // namespace cs::autogen
