// Text of one statement of a region: names, descriptors, loops. region_code.cpp and region_product.cpp say
// what the instructions are.
//
// Axis k of the statement is either one of the vector axes, dimensions of a descriptor, or a loop with the
// counter i<k>.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "compiler/autogen/region_code.h"

namespace cs::autogen {

class StatementWriter {
 public:
  using Axes = std::vector<size_t>;
  static constexpr size_t kMaxDimensions = 4;  // of a mem4d_dsd

  StatementWriter(const ops::LoopStatement& s, int64_t steps, const StatementContext& context,
                  RegionCode& code)
      : s_(s),
        steps_(steps),
        c_(context),
        m_(context.machine),
        code_(code),
        number_(code.statements++),
        indent_(context.indent),
        times_{double(steps)} {}

 protected:
  const ops::ExprNode& root() const { return s_.value.nodes[size_t(s_.value.root)]; }
  bool integer(const ops::LoopAccess& a) const {
    return a.buffer == ops::kCounter || c_.integers[size_t(a.buffer)];
  }
  int64_t extent(size_t axis) const { return s_.extents[axis]; }
  int64_t points(const Axes&) const;
  // Up to so many of the axes that qualify, the longest; in their order.
  Axes choose(const std::function<bool(size_t)>& qualifies, size_t most = kMaxDimensions,
              int64_t most_points = INT64_MAX) const;

  std::string name(const ops::LoopAccess& a) const { return c_.names[size_t(a.buffer)]; }
  static std::string term(int64_t factor, const std::string& counter);
  static void join(std::string& sum, const std::string& t) { sum += sum.empty() ? t : " + " + t; }
  // Σ stride · counter over the axes that are loops; empty if the access stands still in them.
  std::string moving(const ops::LoopAccess&, const Axes& vector) const;

  // Declares a descriptor over the axes; its name. With `walk` a dimension of one round of this stride is
  // around them, by which a register that saves its address walks on (docs/timing.md §6).
  std::string declare(const std::string& what, const ops::LoopAccess&, const Axes&, int64_t walk = 0);
  // It in this round: moved by the counters of the loops, which are over all axes but `fixed`.
  std::string moved(const std::string& dsd, const ops::LoopAccess&, const Axes& fixed, size_t dimensions);
  std::string descriptor(const std::string& what, const ops::LoopAccess& a, const Axes& axes) {
    return moved(declare(what, a, axes), a, axes, axes.size());
  }
  std::string temporary(int64_t n);

  void line(const std::string& text) { code_.lines.push_back(std::string(size_t(indent_), ' ') + text); }
  void open_scope();
  void open_loop(size_t axis, int64_t rounds);
  void open_straight(size_t axis);      // the rounds one after the other, the counter being a literal
  void open_loops(const Axes& vector);  // a scope, and loops over all other axes
  void close_loops() { close_to(c_.indent); }
  void close_to(int indent);

  // ---- cycles: of what is written at this place, as often as the loops around it go round. Loops and moved
  // descriptors are counted as they are written.
  void cycles(double n) { code_.cycles += times_.back() * n; }
  // A vector instruction over these axes with so many descriptors.
  void cost(const Axes& vector, double rate, int descriptors);
  // From the first load of a descriptor's register to the instruction.
  double start_cycles(int descriptors) const {
    return (descriptors - 1) * m_.core.dsr_load_cycles + m_.core.dsr_load_use_cycles;
  }
  // The access's first word, counted from a multiple of 8 bytes.
  int64_t first_word(const ops::LoopAccess& a) const {
    return a.offset + (a.buffer >= 0 && size_t(a.buffer) < c_.odd.size() && c_.odd[size_t(a.buffer)] ? 1 : 0);
  }
  // How often two accesses begin in one bank at most, as these axes go round: always 1, never 0. Code is made for
  // banks that meet again after two words; today's do after four. Buffers begin at a multiple of 8 bytes. And what
  // that costs.
  double share_of_one_bank(const ops::LoopAccess&, const ops::LoopAccess&, const Axes& moving) const;
  double conflict_factor(double one_bank) const { return 1 + one_bank * (m_.core.bank_conflict_factor - 1); }
  // Of instructions that compute an offset from the counters: a product and a sum for each.
  double offset_cycles(const ops::LoopAccess&, const Axes& fixed) const;

  const ops::LoopStatement& s_;
  int64_t steps_;
  const StatementContext& c_;
  const Machine& m_;
  RegionCode& code_;
  int number_;
  int indent_;
  std::vector<double> times_;  // that a line is executed, by the loops around it
};

// `y += x * w` of a convolution by the library's conv.csl (region_convolution.cpp); false, and nothing is
// written, if it is something else.
bool append_convolution(const ops::LoopStatement&, int64_t steps, const StatementContext&, RegionCode&);
// `y += a * b` by multiply-adds along the axes that move y and one factor (region_product.cpp); false, and
// nothing is written, if summing along the other axes is better.
bool append_product(const ops::LoopStatement&, int64_t steps, const StatementContext&, RegionCode&);

}  // namespace cs::autogen
