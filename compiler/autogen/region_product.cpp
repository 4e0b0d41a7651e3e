// y += a * b along the axes that move y and one factor, the vector: one @fmacs with the other factor as its
// scalar.
//
//   slice    the elements of y that one instruction adds to; loops go over slices
//   tap      a multiply-add to a slice: a round of the axes that y stands still in
//   walk     the longest of those: taps one after another, whose descriptor register of the vector walks on
//            by itself, so that a tap costs a load of its scalar and one instruction
//
// Two sources that begin in one bank take twice as long (docs/timing.md §6), banks being those of even and of
// odd words. The taps of a slice are therefore split by where their vector begins (for a picture: even and
// odd columns of the kernel). Those in the other bank than y add to y, those in the same bank to a copy of
// the slice in the other bank, if that is worth two copies.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "compiler/autogen/region_writer.h"
#include "runtime/isa/scalar_cycles.h"

namespace cs::autogen {

namespace {

using ops::LoopAccess;
using ops::LoopStatement;

constexpr int64_t kUnrollAll = 32, kUnroll = 16;  // taps of a walk without a loop, and in one round of it
constexpr size_t kMostParts = 8;                  // of a slice's taps, and of a statement's slices
constexpr double kBegin = 20;                     // cycles to begin a walk in several loops
constexpr double kTap = 1;  // cycles of a tap besides its elements: its scalar is loaded

bool odd(int64_t n) { return n % 2 != 0; }

// The even or odd rounds of an axis.
LoopStatement half(const LoopStatement& s, size_t axis, bool second) {
  LoopStatement h = s;
  h.extents[axis] = second ? s.extents[axis] / 2 : (s.extents[axis] + 1) / 2;
  auto move = [&](LoopAccess& a) {
    if (second) a.offset += a.strides[axis];
    a.strides[axis] = h.extents[axis] == 1 ? 0 : 2 * a.strides[axis];
  };
  move(h.out);
  for (LoopAccess& a : h.loads) move(a);
  return h;
}

class Product : StatementWriter {
 public:
  using StatementWriter::StatementWriter;

  bool run() {
    const size_t a = size_t(s_.value.nodes[size_t(root().a)].index);
    const size_t b = size_t(s_.value.nodes[size_t(root().b)].index);
    auto along = [&](size_t scalar) {
      return choose([&](size_t k) { return s_.out.strides[k] != 0 && s_.loads[scalar].strides[k] == 0; },
                    kMaxDimensions - 1);
    };
    const Axes with_a = along(b), with_b = along(a);
    const bool by_a = points(with_a) >= points(with_b);
    axes_ = by_a ? with_a : with_b;
    vector_ = by_a ? a : b, scalar_ = by_a ? b : a;
    for (size_t k = 0; k < s_.extents.size(); ++k) {
      if (extent(k) == 1 || std::find(axes_.begin(), axes_.end(), k) != axes_.end()) continue;
      (s_.out.strides[k] != 0 ? slice_axes_ : tap_axes_).push_back(k);
    }
    if (points(axes_) == 1 || !pays()) return false;
    if (in_order()) {
      one_by_one();
      return true;
    }
    const size_t before = code_.lines.size();
    for (const LoopStatement& part : split({s_}, slice_axes_, false)) slices(part);
    code_.short_lines += code_.lines.size() - before;
    return true;
  }

 private:
  const LoopAccess& vector(const LoopStatement& s) const { return s.loads[vector_]; }
  const LoopAccess& scalar(const LoopStatement& s) const { return s.loads[scalar_]; }

  // Or is it better to multiply along the longest axis and add the products up, at so many cycles each?
  bool pays() const {
    const double n = double(points(axes_)), all = double(points(choose([](size_t) { return true; }, 1)));
    const Axes walk = in_order() ? Axes{} : walk_of(s_);
    const double taps = kTap + kBegin / double(walk.empty() ? 1 : extent(walk[0]));
    const double summed = 1.0 / m_.simd("fmuls") + m_.core.reduction_cycles_per_element;
    return (n + taps) / n < summed + 2 * start_cycles(3) / all;
  }
  // A tap that reads what an earlier one wrote.
  bool in_order() const { return vector(s_).buffer == s_.out.buffer || scalar(s_).buffer == s_.out.buffer; }
  // Parts in whose rounds of these axes y and the vector each stay in one bank, as far as that does not make
  // too many. Of taps, y stands still.
  std::vector<LoopStatement> split(std::vector<LoopStatement> list, const Axes& axes, bool taps) const {
    for (size_t k : axes) {
      if (!odd(s_.out.strides[k]) && !odd(vector(s_).strides[k])) continue;
      if (list.size() * 2 > (taps ? kMostParts : 2)) break;
      std::vector<LoopStatement> next;
      for (const LoopStatement& s : list) {
        next.push_back(half(s, k, false));
        next.push_back(half(s, k, true));
      }
      list = std::move(next);
    }
    return list;
  }
  // A half, or all, of the taps of this part have y and the vector in one bank.
  double one_bank(const LoopStatement& s) const {
    Axes moving;
    for (size_t k = 0; k < s.extents.size(); ++k) {
      if (std::find(axes_.begin(), axes_.end(), k) == axes_.end() && s.extents[k] > 1) moving.push_back(k);
    }
    return share_of_one_bank(s.out, vector(s), moving);
  }
  double tap_cycles(double one_bank) const {
    return double(points(axes_)) * conflict_factor(one_bank) / m_.simd("fmacs");
  }

  void one_by_one() {
    open_loops(axes_);
    const std::string y = descriptor("y", s_.out, axes_), x = descriptor("x", vector(s_), axes_);
    line(fmt::format("@fmacs({0}, {0}, {1}, {2});", y, x, factor(scalar(s_), axes_)));
    cycles(start_cycles(3) + offset_cycles(scalar(s_), axes_) + kTap + tap_cycles(one_bank(s_)));
    close_loops();
  }

  // An element of the scalar's buffer.
  std::string factor(const LoopAccess& a, const Axes& fixed) const {
    std::string at = moving(a, fixed);
    if (a.offset != 0 || at.empty()) join(at, std::to_string(a.offset));
    return fmt::format("{}[{}]", name(a), at);
  }

  // ---- slices

  int64_t count(const LoopStatement& s, const Axes& axes) const {
    int64_t n = 1;
    for (size_t k : axes) n *= s.extents[k];
    return n;
  }

  void slices(const LoopStatement& s) {
    std::vector<LoopStatement> here, aside;
    int64_t taps_aside = 0;
    for (const LoopStatement& part : split({s}, tap_axes_, true)) {
      const bool same = one_bank(part) == 1 && !moves_by_step();
      if (same) taps_aside += count(part, tap_axes_);
      (same ? aside : here).push_back(part);
    }
    const double n = double(points(axes_)), copies = 2 * (n / m_.simd("fmovs") + start_cycles(2));
    if (double(taps_aside) * (tap_cycles(1) - tap_cycles(0)) < copies) {
      here.insert(here.end(), aside.begin(), aside.end());
      aside.clear();
    }
    open_scope();
    for (size_t k : slice_axes_) {
      if (s.extents[k] > 1) open_loop(k, s.extents[k]);
    }
    Axes fixed = axes_;
    fixed.insert(fixed.end(), tap_axes_.begin(), tap_axes_.end());
    if (!aside.empty()) cycles(copies);
    const std::string y = moved(declare(unique("y"), s.out, axes_), s.out, fixed, axes_.size());
    if (!here.empty()) add(y, here, 1);
    if (!aside.empty()) {
      const std::string copy = copy_of_slice(odd(s.out.offset) ? 0 : 1);
      line(fmt::format("@fmovs({}, {});", copy, y));
      add(copy, aside, 0);
      line(fmt::format("@fmovs({}, {});", y, copy));
    }
    close_loops();
  }
  // Banks of a repeated block's rounds may differ.
  bool moves_by_step() const { return steps_ > 1 && (odd(s_.out.step) || odd(vector(s_).step)); }
  std::string unique(const std::string& what) { return what + std::to_string(names_++); }

  // A dense copy of a slice, which begins at an even or at an odd word.
  std::string copy_of_slice(int64_t first) {
    const std::string array = fmt::format("s{}_copy", number_);
    if (!has_copy_) {
      code_.declarations.push_back(
          fmt::format("var {0}: [{1}]f32 align(8) = @zeros([{1}]f32);", array, points(axes_) + 1));
      code_.scratch_words += points(axes_) + 1;
      has_copy_ = true;
    }
    std::string dsd = fmt::format("s{}_{}", number_, unique("copy"));
    code_.declarations.push_back(
        fmt::format("const {} = @get_dsd(mem1d_dsd, .{{ .tensor_access = |a|{{{}}} -> {}[a + {}] }});", dsd,
                    points(axes_), array, first));
    return dsd;
  }

  // ---- taps

  void add(const std::string& y, const std::vector<LoopStatement>& parts, double own_bank) {
    declare_registers();
    line(fmt::format("@load_to_dsr(s{}_to, {});", number_, y));
    line(fmt::format("@load_to_dsr(s{}_from, {});", number_, y));
    cycles(2 * m_.core.dsr_load_cycles);
    for (const LoopStatement& part : parts) taps(part, own_bank * one_bank(part));
  }
  void declare_registers() {
    if (has_registers_) return;
    has_registers_ = true;
    for (const auto& [what, file] : {std::pair{"to", "dest"}, {"from", "src0"}, {"vector", "src1"}})
      code_.declarations.push_back(fmt::format("const s{}_{} = @get_dsr(dsr_{}, 0);", number_, what, file));
  }

  // The longest axis along which the vector and its scalar walk upwards. A dimension of one round whose step
  // leads from the last element to itself would count as absent.
  Axes walk_of(const LoopStatement& s) const {
    int64_t span = 0;
    for (size_t k : axes_) span += vector(s).strides[k] * (extent(k) - 1);
    Axes best;
    for (size_t k : tap_axes_) {
      if (s.extents[k] == 1 || vector(s).strides[k] <= 0 || scalar(s).strides[k] <= 0) continue;
      if (vector(s).strides[k] == span) continue;
      if (best.empty() || s.extents[k] > s.extents[best[0]]) best = {k};
    }
    return best;
  }

  void taps(const LoopStatement& s, double one_bank) {
    const Axes walk = walk_of(s);
    const int64_t n = count(s, walk), by = walk.empty() ? 0 : vector(s).strides[walk[0]];
    const int outside = indent_;
    open_scope();
    for (size_t k : tap_axes_) {
      if (s.extents[k] == 1 || (!walk.empty() && k == walk[0])) continue;
      open_loop(k, s.extents[k]);
    }
    Axes fixed = axes_;
    fixed.insert(fixed.end(), walk.begin(), walk.end());
    const std::string x =
        moved(declare(unique("x"), vector(s), axes_, by), vector(s), fixed, axes_.size() + size_t(by != 0));
    line(fmt::format("@load_to_dsr(s{}_vector, {}{});", number_, x,
                     walk.empty() ? "" : ", .{ .save_address = true }"));
    line(fmt::format("const factors = @ptrcast([*]f32, &{});", factor(scalar(s), fixed)));
    multiply_adds(n, walk.empty() ? 0 : scalar(s).strides[walk[0]]);
    // The first multiply-add waits for its register; meanwhile the address and the value of its scalar are
    // there.
    cycles(std::max(double(m_.core.dsr_load_use_cycles),
                    m_.core.dsr_load_cycles + offset_cycles(scalar(s), fixed) + kTap) -
           kTap);
    cycles(double(n) * (kTap + tap_cycles(one_bank)));
    close_to(outside);
  }

  void multiply_adds(int64_t n, int64_t by) {
    auto one = [&](const std::string& at) {
      line(fmt::format("@fmacs(s{0}_to, s{0}_from, s{0}_vector, factors[{1}]);", number_, at));
    };
    int64_t done = 0;
    if (n > kUnrollAll) {
      done = n / kUnroll * kUnroll;
      cycles(double(n / kUnroll) * (4 + isa::condition_wait(m_.core) + m_.core.jump_taken_cycles));
      line("var at: i16 = 0;");
      line(fmt::format("while (at < {}) : (at += {}) {{", done * by, kUnroll * by));
      indent_ += 2;
      for (int64_t k = 0; k < kUnroll; ++k) one(fmt::format("at + {}", by * k));
      indent_ -= 2;
      line("}");
    }
    for (; done < n; ++done) one(std::to_string(by * done));
  }

  Axes axes_, slice_axes_, tap_axes_;
  size_t vector_ = 0, scalar_ = 0;
  int names_ = 0;
  bool has_copy_ = false, has_registers_ = false;
};

}  // namespace

bool append_product(const LoopStatement& s, int64_t steps, const StatementContext& context,
                    RegionCode& code) {
  return Product(s, steps, context, code).run();
}

}  // namespace cs::autogen
