// Names, descriptors and loops of a statement: see region_writer.h.
#include "compiler/autogen/region_writer.h"
#include "runtime/isa/scalar_cycles.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

namespace cs::autogen {

using ops::LoopAccess;

namespace {

bool contains(const StatementWriter::Axes& axes, size_t k) {
  return std::find(axes.begin(), axes.end(), k) != axes.end();
}

}  // namespace

int64_t StatementWriter::points(const Axes& axes) const {
  return std::accumulate(axes.begin(), axes.end(), int64_t(1),
                         [&](int64_t n, size_t k) { return n * extent(k); });
}

StatementWriter::Axes StatementWriter::choose(const std::function<bool(size_t)>& qualifies, size_t most,
                                              int64_t most_points) const {
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

std::string StatementWriter::term(int64_t factor, const std::string& counter) {
  return factor == 1 ? counter : fmt::format("{} * {}", factor, counter);
}

std::string StatementWriter::moving(const LoopAccess& a, const Axes& vector) const {
  std::string sum;
  if (a.step != 0) join(sum, term(a.step, "step"));
  for (size_t k = 0; k < a.strides.size(); ++k) {
    if (!contains(vector, k) && a.strides[k] != 0) join(sum, term(a.strides[k], fmt::format("i{}", k)));
  }
  return sum;
}

std::string StatementWriter::declare(const std::string& what, const LoopAccess& a, const Axes& axes,
                                     int64_t walk) {
  std::string variables, extents, at;
  const std::string names = "abcd";
  if (walk != 0) variables = "w", extents = "1", at = term(walk, "w");
  for (size_t k = 0; k < axes.size(); ++k) {
    variables += fmt::format("{}{}", variables.empty() ? "" : ", ", names[k]);
    extents += fmt::format("{}{}", extents.empty() ? "" : ", ", extent(axes[k]));
    if (a.strides[axes[k]] != 0) join(at, term(a.strides[axes[k]], std::string(1, names[k])));
  }
  if (variables.empty()) variables = "a", extents = "1";
  if (a.offset != 0 || at.empty()) join(at, std::to_string(a.offset));
  std::string dsd = fmt::format("s{}_{}", number_, what);
  const bool one = axes.size() + size_t(walk != 0) <= 1;
  code_.declarations.push_back(
      fmt::format("const {} = @get_dsd({}, .{{ .tensor_access = |{}|{{{}}} -> {}[{}] }});", dsd,
                  one ? "mem1d_dsd" : "mem4d_dsd", variables, extents, name(a), at));
  return dsd;
}

std::string StatementWriter::moved(const std::string& dsd, const LoopAccess& a, const Axes& fixed,
                                   size_t dimensions) {
  const std::string by = moving(a, fixed);
  if (by.empty()) return dsd;
  line(fmt::format("const {}_at = @increment_dsd_offset({}, {}, {});", dsd, dsd, by,
                   integer(a) ? "i32" : "f32"));
  constexpr double kStores = 3, kStoresOfSeveral = 6;  // of a descriptor's words, by its dimensions
  cycles(offset_cycles(a, fixed) + (dimensions > 1 ? kStoresOfSeveral : kStores));
  return dsd + "_at";
}

std::string StatementWriter::temporary(int64_t n) {
  std::string t = fmt::format("s{}_t", number_);
  code_.declarations.push_back(fmt::format("var {} = @zeros([{}]f32);", t, n));
  code_.declarations.push_back(fmt::format(
      "const {0}_dsd = @get_dsd(mem1d_dsd, .{{ .tensor_access = |a|{{{1}}} -> {0}[a] }});", t, n));
  code_.scratch_words += n;
  return t;
}

void StatementWriter::open_scope() {
  line("{");  // of counters and descriptors
  indent_ += 2;
  times_.push_back(times_.back());
}

// Counter, comparison and jump: before the loop, and behind every round.
void StatementWriter::open_loop(size_t axis, int64_t rounds) {
  const double test = 2 + isa::condition_wait(m_.core), leave = test + m_.core.jump_not_taken_cycles,
               again = test + m_.core.jump_taken_cycles;
  cycles(2 * leave + double(rounds - 1) * again);
  times_.push_back(times_.back() * double(rounds));
  line(fmt::format("var i{}: i16 = 0;", axis));
  line(fmt::format("while (i{0} < {1}) : (i{0} += 1) {{", axis, rounds));
  indent_ += 2;
}

void StatementWriter::open_straight(size_t axis) {
  times_.push_back(times_.back() * double(extent(axis)));
  line(fmt::format("inline for (@range(i16, {})) |i{}| {{", extent(axis), axis));
  indent_ += 2;
}

void StatementWriter::open_loops(const Axes& vector) {
  open_scope();
  for (size_t k = 0; k < s_.extents.size(); ++k) {
    if (!contains(vector, k)) open_loop(k, extent(k));
  }
}

void StatementWriter::close_to(int indent) {
  while (indent_ > indent) {
    indent_ -= 2;
    times_.pop_back();
    line("}");
  }
}

void StatementWriter::cost(const Axes& vector, double rate, int descriptors) {
  cycles(start_cycles(descriptors) + double(points(vector)) / rate);
}

double StatementWriter::share_of_one_bank(const LoopAccess& a, const LoopAccess& b,
                                          const Axes& moving) const {
  const auto odd = [](int64_t n) { return n % 2 != 0; };
  bool turns = steps_ > 1 && odd(a.step - b.step);
  for (size_t k : moving) turns = turns || odd(a.strides[k] - b.strides[k]);
  return turns ? 0.5 : odd(first_word(a) - first_word(b)) ? 0 : 1;
}

double StatementWriter::offset_cycles(const LoopAccess& a, const Axes& fixed) const {
  int terms = a.step != 0 ? 1 : 0;
  for (size_t k = 0; k < a.strides.size(); ++k) {
    if (!contains(fixed, k) && a.strides[k] != 0) ++terms;
  }
  return terms == 0 ? 0 : 2.0 * terms + 1;  // in bytes, from the beginning of the buffer
}

}  // namespace cs::autogen
