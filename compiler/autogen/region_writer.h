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
  static constexpr double kVectorStart = 14;   // cycles: descriptors with changed offsets, loads, latency
  static constexpr double kRound = 12;         // cycles of a round of a loop around an instruction

  StatementWriter(const ops::LoopStatement& s, int64_t steps, const StatementContext& context,
                  RegionCode& code)
      : s_(s),
        steps_(steps),
        c_(context),
        m_(context.machine),
        code_(code),
        number_(code.statements++),
        indent_(context.indent) {}

 protected:
  const ops::ExprNode& root() const { return s_.value.nodes[size_t(s_.value.root)]; }
  bool integer(const ops::LoopAccess& a) const {
    return a.buffer == ops::kCounter || c_.integers[size_t(a.buffer)];
  }
  int64_t extent(size_t axis) const { return s_.extents[axis]; }
  int64_t points(const Axes&) const;
  double rounds(const Axes& vector) const;  // of the loops over all other axes
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
  std::string moved(const std::string& dsd, const ops::LoopAccess&, const Axes& fixed);
  std::string descriptor(const std::string& what, const ops::LoopAccess& a, const Axes& axes) {
    return moved(declare(what, a, axes), a, axes);
  }
  std::string temporary(int64_t n);

  void line(const std::string& text) { code_.lines.push_back(std::string(size_t(indent_), ' ') + text); }
  void open_scope();
  void open_loop(size_t axis, int64_t rounds);
  void open_loops(const Axes& vector);  // a scope, and loops over all other axes
  void close_loops() { close_to(c_.indent); }
  void close_to(int indent);
  void cost(const Axes& vector, double rate, double instructions = 1);

  const ops::LoopStatement& s_;
  int64_t steps_;
  const StatementContext& c_;
  const Machine& m_;
  RegionCode& code_;
  int number_;
  int indent_;
};

// `y += x * w` of a convolution by the library's conv.csl (region_convolution.cpp); false, and nothing is
// written, if it is something else.
bool append_convolution(const ops::LoopStatement&, int64_t steps, const StatementContext&, RegionCode&);
// `y += a * b` by multiply-adds along the axes that move y and one factor (region_product.cpp); false, and
// nothing is written, if summing along the other axes is better.
bool append_product(const ops::LoopStatement&, int64_t steps, const StatementContext&, RegionCode&);

}  // namespace cs::autogen
