// Einstein sums and determinants.
#include <algorithm>
#include <cctype>
#include <map>

#include <fmt/format.h>

#include "runtime/ops/indices.h"
#include "runtime/ops/rows.h"
#include "runtime/ops/rules.h"

namespace cs::ops {

namespace {

// ---- einsum

// A label is a letter, or kRest + the place (from the end) among the dimensions that "..." stands for.
constexpr int kRest = 256;
using Labels = std::vector<int>;

struct Equation {
  std::vector<Labels> inputs;
  Labels output, summed;
  std::map<int, int64_t> extent;
};

std::optional<Labels> labels_of(const std::string& term, int rank, std::string& error) {
  size_t dots = term.find("...");
  int letters = int(std::count_if(term.begin(), term.end(), [](char c) { return c != '.'; }));
  Labels labels;
  for (size_t i = 0; i < term.size(); ++i) {
    if (i == dots) {
      for (int k = rank - letters; k-- > 0;) labels.push_back(kRest + k);
      i += 2;
    } else if (std::isalpha(static_cast<unsigned char>(term[i])) != 0) {
      labels.push_back(term[i]);
    } else {
      error = fmt::format("'{}' in the term '{}'", term[i], term);
      return std::nullopt;
    }
  }
  return labels;
}

// Without "->": what "..." stands for, then the letters that occur once, in alphabetical order.
Labels implied_output(const std::vector<Labels>& inputs) {
  std::map<int, int> count;
  for (const Labels& labels : inputs) {
    for (int l : labels) ++count[l];
  }
  Labels rest, once;
  for (const auto& [label, n] : count) {
    if (label >= kRest) {
      rest.insert(rest.begin(), label);
    } else if (n == 1) {
      once.push_back(label);
    }
  }
  rest.insert(rest.end(), once.begin(), once.end());
  return rest;
}

bool take_extents(const ShapeContext& c, Equation& e, std::string& error) {
  for (size_t k = 0; k < e.inputs.size(); ++k) {
    const TensorType& t = *c.inputs[k];
    if (int(e.inputs[k].size()) != t.rank())
      return fail(error, fmt::format("a term with {} labels for {}", e.inputs[k].size(), type_text(t)));
    for (size_t d = 0; d < t.shape.size(); ++d) {
      int64_t& extent = e.extent.try_emplace(e.inputs[k][d], 1).first->second;
      if (extent != t.shape[d] && extent != 1 && t.shape[d] != 1)
        return fail(
            error, fmt::format("a label stands for {} and, in {}, for {}", extent, type_text(t), t.shape[d]));
      if (extent == 1) extent = t.shape[d];
    }
  }
  return true;
}

std::optional<Equation> equation_of(const ShapeContext& c, std::string& error) {
  std::string text = attr_text(c.op, c.attrs, "equation");
  std::erase(text, ' ');
  size_t arrow = text.find("->");
  std::string left = text.substr(0, arrow);
  Equation e;
  int rest = 0;
  for (size_t at = 0, k = 0; at <= left.size(); ++k) {
    size_t end = std::min(left.find(',', at), left.size());
    if (k == c.inputs.size()) break;
    std::optional<Labels> labels = labels_of(left.substr(at, end - at), c.inputs[k]->rank(), error);
    if (!labels) return std::nullopt;
    rest =
        std::max(rest, int(std::count_if(labels->begin(), labels->end(), [](int l) { return l >= kRest; })));
    e.inputs.push_back(std::move(*labels));
    at = end + 1;
  }
  auto terms = size_t(std::count(left.begin(), left.end(), ',')) + 1;
  if (terms != c.inputs.size()) {
    error = fmt::format("the equation '{}' has {} terms for {} operands", text, terms, c.inputs.size());
    return std::nullopt;
  }
  if (!take_extents(c, e, error)) return std::nullopt;
  if (arrow == std::string::npos) {
    e.output = implied_output(e.inputs);
  } else {
    std::string right = text.substr(arrow + 2);
    int letters = int(std::count_if(right.begin(), right.end(), [](char ch) { return ch != '.'; }));
    std::optional<Labels> labels = labels_of(right, letters + rest, error);
    if (!labels) return std::nullopt;
    e.output = std::move(*labels);
  }
  for (int label : e.output) {
    if (!e.extent.contains(label) || std::count(e.output.begin(), e.output.end(), label) > 1) {
      error = fmt::format("the result of '{}' has a label that no operand has, or one twice", text);
      return std::nullopt;
    }
  }
  for (const auto& [label, extent] : e.extent) {
    if (std::find(e.output.begin(), e.output.end(), label) == e.output.end()) e.summed.push_back(label);
  }
  return e;
}

bool shape_einsum(const ShapeContext& c, std::vector<TensorType>& outputs, std::string& error) {
  if (!same_dtype(c, 0, error)) return false;
  std::optional<Equation> e = equation_of(c, error);
  if (!e) return false;
  Shape out;
  for (int label : e->output) out.push_back(e->extent.at(label));
  outputs = {{c.inputs[0]->dtype, std::move(out)}};
  return true;
}

bool loops_einsum(const ShapeContext& c, std::span<const TensorType> outputs, LoopProgram& p,
                  std::string& error) {
  std::optional<Equation> e = equation_of(c, error);
  if (!e) return false;
  LoopBuilder b(p, c.inputs, outputs);
  LoopView y = b.result();
  Labels axes = e->output;
  axes.insert(axes.end(), e->summed.begin(), e->summed.end());
  std::vector<int64_t> extents;
  for (int label : axes) extents.push_back(e->extent.at(label));
  std::vector<LoopAccess> loads;
  std::string value;
  for (size_t k = 0; k < e->inputs.size(); ++k) {
    LoopView x = b.operand(int(k));
    LoopAccess a = x.access(std::vector<int>(axes.size(), -1));
    // A label that occurs twice walks along the diagonal.
    for (size_t d = 0; d < x.shape.size(); ++d) {
      size_t at = size_t(std::find(axes.begin(), axes.end(), e->inputs[k][d]) - axes.begin());
      if (x.shape[d] != 1) a.strides[at] += x.strides[d];
    }
    loads.push_back(std::move(a));
    value += fmt::format("{}x{}", k > 0 ? " * " : "", k);
  }
  LoopAccess out = y.access();
  out.strides.resize(axes.size(), 0);
  if (!e->summed.empty()) b.fill(y, 0);
  b.statement(extents, out, std::move(loads), value, e->summed.empty() ? Combine::assign : Combine::add);
  return true;
}

// ---- determinant

bool shape_det(const ShapeContext& c, std::vector<TensorType>& outputs, std::string& error) {
  const TensorType& x = *c.inputs[0];
  if (x.rank() < 2 || x.shape.back() != x.shape[x.shape.size() - 2] || x.shape.back() < 1)
    return fail(error, fmt::format("{} holds no square matrices", type_text(x)));
  outputs = {{x.dtype, Shape(x.shape.begin(), x.shape.end() - 2)}};
  return true;
}

// Elimination with the largest element of each column as its pivot; one step per column.
bool loops_det(const ShapeContext& c, std::span<const TensorType> outputs, LoopProgram& p, std::string&) {
  LoopBuilder b(p, c.inputs, outputs);
  const TensorType& type = *c.inputs[0];
  int64_t n = type.shape.back(), count = outputs[0].elements();
  LoopView y = b.result().with_shape({count});
  LoopView a = b.temporary("a", type.dtype, {count, n, n}),
           line = b.temporary("line", type.dtype, {count, n}),
           best = b.temporary("best", type.dtype, {count}), row = b.temporary("row", DataType::i32, {count}),
           factor = b.temporary("factor", type.dtype, {count, n});
  b.copy(a, b.operand(0).with_shape(a.shape));
  b.fill(y, 1);
  b.begin_block(n);
  // Accesses at the column, the row and the diagonal element of the step.
  auto access = [&](std::vector<int64_t> strides, int64_t step) {
    LoopAccess at = a.access(std::vector<int>{});
    at.strides = std::move(strides);
    at.step = step;
    return at;
  };
  std::vector<int64_t> rows = {count, n}, all = {count, n, n};
  LoopAccess column = access({n * n, n}, 1), own_row = access({n * n, 1}, n), pivot = access({n * n}, n + 1);
  LoopAccess below = counter(0, {0, 1}, -1), best_wide = best.access(), row_wide = row.access();
  best_wide.strides = row_wide.strides = {1, 0};
  b.fill(best, -1);
  b.statement(rows, best_wide, {column, below}, "select(x1 >= 0, abs(x0), -1)", Combine::max);
  b.fill(row, double(n - 1));
  b.statement(rows, row_wide, {column, below, best_wide, counter(0, {0, 1})},
              fmt::format("select(x1 < 0, {0}, select(abs(x0) == x2, x3, {0}))", n - 1), Combine::min);
  // Swap the row of the pivot with the own one.
  LoopAccess chosen = access({n * n, 1}, 0);
  b.statement(rows, line.access(), {row_wide, at_index(chosen, 0, n, n)}, "x1");
  b.statement(rows, at_index(chosen, 0, n, n), {row_wide, own_row}, "x1");
  b.statement(rows, own_row, {line.access()}, "x0");
  b.statement({count}, y.access(), {pivot, row.access(), counter(0, {0}, 1)}, "select(x1 == x2, x0, -x0)",
              Combine::multiply);
  LoopAccess pivot_wide = pivot;
  pivot_wide.strides = {n * n, 0};
  b.statement(rows, factor.access(), {column, pivot_wide, below},
              "select(x2 <= 0, 0, select(x1 == 0, 0, x0 / x1))");
  LoopAccess line_wide = line.access(), factor_wide = factor.access();
  line_wide.strides = {n, 0, 1};
  factor_wide.strides = {n, 1, 0};
  b.statement(all, a.access(), {factor_wide, line_wide}, "-x0 * x1", Combine::add);
  return true;
}

}  // namespace

void add_algebra(Rows& t) {
  OpDef einsum = by_loops(OpKind::loops, "einsum", {"Einsum"}, {"x"}, 0,
                          {{"equation", AttrKind::text, std::string(), true}}, shape_einsum, loops_einsum);
  einsum.variadic = true;
  t.push_back(einsum);
  t.push_back(by_loops(OpKind::loops, "det", {"Det"}, {"x"}, 0, {}, shape_det, loops_det));
}

}  // namespace cs::ops
