// Building, checking and printing of loop programs.
#include "runtime/ops/loops.h"

#include <algorithm>

#include <fmt/format.h>

#include "runtime/support/diag.h"

namespace cs::ops {

namespace {

std::vector<int64_t> c_strides(const Shape& shape) {
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * shape[d];
  return strides;
}

std::string axis_name(size_t k) {
  constexpr std::string_view kNames = "ijklmnpqrstuvw";
  return k < kNames.size() ? std::string(1, kNames[k]) : fmt::format("a{}", k);
}

std::string term(int64_t factor, const std::string& name) {
  return factor == 1 ? name : fmt::format("{}*{}", factor, name);
}

std::string access_text(const LoopProgram& p, const LoopStatement& s, const LoopAccess& a) {
  std::string sum;
  auto join = [&](const std::string& t) { sum += sum.empty() ? t : " + " + t; };
  if (a.step != 0) join(term(a.step, "step"));
  for (size_t k = 0; k < a.strides.size(); ++k) {
    if (a.strides[k] != 0) join(term(a.strides[k], axis_name(k)));
  }
  if (a.index >= 0) join(term(a.index_stride, access_text(p, s, s.loads[size_t(a.index)])));
  if (a.offset != 0 || sum.empty()) join(std::to_string(a.offset));
  return a.buffer == kCounter ? "(" + sum + ")"
                              : fmt::format("{}[{}]", p.buffers[size_t(a.buffer)].name, sum);
}

std::string statement_text(const LoopProgram& p, const LoopStatement& s) {
  std::string axes;
  for (size_t k = 0; k < s.extents.size(); ++k) {
    axes += fmt::format("{}{}<{}", k > 0 ? ", " : "", axis_name(k), s.extents[k]);
  }
  std::vector<std::string> names;
  for (const LoopAccess& a : s.loads) names.push_back(access_text(p, s, a));
  std::string mark = s.combine == Combine::assign ? "=" : std::string(combine_name(s.combine)) + "=";
  return fmt::format("{}: {} {} {}", axes, access_text(p, s, s.out), mark, expr_text(s.value, names));
}

bool check_access(const LoopProgram& p, const LoopStatement& s, int64_t steps, const LoopAccess& a,
                  size_t number, std::string& error) {
  auto fail = [&](const std::string& why) {
    error = fmt::format("{}: {}", statement_text(p, s), why);
    return false;
  };
  if (a.strides.size() != s.extents.size()) return fail("an access has not one stride per axis");
  if (a.index >= 0 && (size_t(a.index) >= number || a.index_extent < 1)) {
    return fail("an index must be an earlier load and have an extent");
  }
  if (a.buffer == kCounter) return true;
  if (a.buffer < 0 || size_t(a.buffer) >= p.buffers.size()) return fail("an access has no buffer");
  AddressRange r = address_range(a, s.extents, steps);
  int64_t span = a.index >= 0 ? a.index_stride * (a.index_extent - 1) : 0;
  int64_t n = p.buffers[size_t(a.buffer)].type.elements();
  if (r.first + std::min<int64_t>(span, 0) < 0 || r.last + std::max<int64_t>(span, 0) >= n) {
    return fail(fmt::format("'{}' has {} elements, {} to {} are accessed", p.buffers[size_t(a.buffer)].name,
                            n, r.first, r.last + span));
  }
  return true;
}

}  // namespace

std::string_view combine_name(Combine c) {
  constexpr std::string_view kNames[] = {"assign", "+", "*", "max", "min"};
  return kNames[size_t(c)];
}

AddressRange address_range(const LoopAccess& a, std::span<const int64_t> extents, int64_t steps) {
  AddressRange r{a.offset, a.offset};
  auto widen = [&](int64_t stride, int64_t extent) {
    (stride < 0 ? r.first : r.last) += stride * (extent - 1);
  };
  widen(a.step, steps);
  for (size_t k = 0; k < extents.size(); ++k) widen(a.strides[k], extents[k]);
  return r;
}

bool check_loops(const LoopProgram& p, std::string& error) {
  for (const LoopBlock& block : p.blocks) {
    for (const LoopStatement& s : block.statements) {
      for (int64_t e : s.extents) {
        if (e < 1) {
          error = fmt::format("a loop of {} rounds", e);
          return false;
        }
      }
      for (size_t i = 0; i < s.loads.size(); ++i) {
        if (!check_access(p, s, block.steps, s.loads[i], i, error)) return false;
      }
      if (!check_access(p, s, block.steps, s.out, s.loads.size(), error)) return false;
      if (s.out.buffer == kCounter || p.buffers[size_t(s.out.buffer)].kind == BufferKind::operand) {
        error = statement_text(p, s) + ": writes what cannot be written";
        return false;
      }
      if (s.value.inputs() > int(s.loads.size())) {
        error = statement_text(p, s) + ": the expression has more operands than loads";
        return false;
      }
    }
  }
  return true;
}

std::string loops_text(const LoopProgram& p) {
  std::string out;
  for (const LoopBuffer& b : p.buffers) {
    constexpr std::string_view kKinds[] = {"operand", "result", "temporary"};
    out += fmt::format("{} {}: {}\n", kKinds[size_t(b.kind)], b.name, type_text(b.type));
  }
  for (const LoopBlock& block : p.blocks) {
    if (block.steps != 1) out += fmt::format("repeat {}\n", block.steps);
    for (const LoopStatement& s : block.statements) {
      out += (block.steps != 1 ? "  " : "") + statement_text(p, s) + "\n";
    }
  }
  return out;
}

// ---- views

LoopAccess LoopView::access() const {
  LoopAccess a;
  a.buffer = buffer;
  a.offset = offset;
  a.strides = strides;
  return a;
}

LoopAccess LoopView::access(std::span<const int> dims) const {
  LoopAccess a;
  a.buffer = buffer;
  a.offset = offset;
  for (int d : dims) a.strides.push_back(d < 0 ? 0 : strides[size_t(d)]);
  return a;
}

LoopView LoopView::permuted(std::span<const int> dims) const {
  LoopView v = *this;
  v.shape.clear();
  v.strides.clear();
  for (int d : dims) {
    v.shape.push_back(shape[size_t(d)]);
    v.strides.push_back(strides[size_t(d)]);
  }
  return v;
}

LoopView LoopView::broadcast_to(const Shape& to) const {
  LoopView v = *this;
  v.shape = to;
  v.strides.assign(to.size(), 0);
  CS_CHECK(to.size() >= shape.size(), "a view is broadcast to fewer dimensions");
  for (size_t d = 0; d < shape.size(); ++d) {
    size_t at = d + to.size() - shape.size();
    CS_CHECK(shape[d] == to[at] || shape[d] == 1, "a view does not broadcast");
    v.strides[at] = shape[d] == 1 ? 0 : strides[d];
  }
  return v;
}

LoopView LoopView::sliced(int dim, int64_t start, int64_t extent, int64_t step) const {
  LoopView v = *this;
  v.offset += start * strides[size_t(dim)];
  v.shape[size_t(dim)] = extent;
  v.strides[size_t(dim)] *= step;
  return v;
}

LoopView LoopView::with_shape(const Shape& to) const {
  CS_CHECK(strides == c_strides(shape) &&
               TensorType({DataType::f32, to}).elements() == TensorType({DataType::f32, shape}).elements(),
           "only a whole tensor takes another shape");
  LoopView v = *this;
  v.shape = to;
  v.strides = c_strides(to);
  return v;
}

LoopView LoopView::reversed(int dim) const {
  LoopView v = *this;
  v.offset += (shape[size_t(dim)] - 1) * strides[size_t(dim)];
  v.strides[size_t(dim)] = -strides[size_t(dim)];
  return v;
}

LoopView LoopView::split(int dim, const Shape& parts) const {
  LoopView v = *this;
  std::vector<int64_t> steps = c_strides(parts);
  for (int64_t& s : steps) s *= strides[size_t(dim)];
  v.shape.erase(v.shape.begin() + dim);
  v.strides.erase(v.strides.begin() + dim);
  v.shape.insert(v.shape.begin() + dim, parts.begin(), parts.end());
  v.strides.insert(v.strides.begin() + dim, steps.begin(), steps.end());
  return v;
}

LoopView LoopView::windows(int dim, int64_t count, int64_t step, int64_t extent, int64_t spacing) const {
  LoopView v = *this;
  v.shape[size_t(dim)] = count;
  v.strides[size_t(dim)] = strides[size_t(dim)] * step;
  v.shape.push_back(extent);
  v.strides.push_back(strides[size_t(dim)] * spacing);
  return v;
}

LoopAccess counter(int64_t offset, std::vector<int64_t> strides, int64_t step) {
  LoopAccess a;
  a.buffer = kCounter;
  a.offset = offset;
  a.step = step;
  a.strides = std::move(strides);
  return a;
}

// ---- builder

LoopBuilder::LoopBuilder(LoopProgram& p, std::span<const TensorType* const> operands,
                         std::span<const TensorType> results)
    : p_(p) {
  for (size_t k = 0; k < operands.size(); ++k) {
    operand_.push_back(operands[k] == nullptr ? -1 : int(p_.buffers.size()));
    TensorType type = operands[k] == nullptr ? TensorType{DataType::f32, {0}} : *operands[k];
    if (operands[k] != nullptr) p_.buffers.push_back({fmt::format("x{}", k), BufferKind::operand, type});
  }
  first_result_ = int(p_.buffers.size());
  results_ = int(results.size());
  for (size_t k = 0; k < results.size(); ++k) {
    p_.buffers.push_back({results.size() == 1 ? "y" : fmt::format("y{}", k), BufferKind::result, results[k]});
  }
  p_.blocks.emplace_back();
}

bool LoopBuilder::has_operand(int k) const { return size_t(k) < operand_.size() && operand_[size_t(k)] >= 0; }

LoopView LoopBuilder::operand(int k) const {
  CS_CHECK(has_operand(k), "a loop rule asks for an operand that is absent");
  const Shape& shape = p_.buffers[size_t(operand_[size_t(k)])].type.shape;
  return {operand_[size_t(k)], 0, shape, c_strides(shape)};
}

LoopView LoopBuilder::result(int k) const {
  const Shape& shape = p_.buffers[size_t(first_result_ + k)].type.shape;
  return {first_result_ + k, 0, shape, c_strides(shape)};
}

bool LoopBuilder::has_result(int k) const { return k < results_; }

LoopView LoopBuilder::temporary(const std::string& name, DataType dtype, const Shape& shape) {
  p_.buffers.push_back({name, BufferKind::temporary, {dtype, shape}});
  return {int(p_.buffers.size()) - 1, 0, shape, c_strides(shape)};
}

void LoopBuilder::begin_block(int64_t steps) {
  if (p_.blocks.back().statements.empty()) p_.blocks.pop_back();
  p_.blocks.push_back({steps, {}});
}

void LoopBuilder::statement(const std::vector<int64_t>& extents, LoopAccess out,
                            std::vector<LoopAccess> loads, std::string_view value, Combine combine) {
  std::vector<std::string> names;
  for (size_t i = 0; i < loads.size(); ++i) names.push_back(fmt::format("x{}", i));
  std::vector<std::string_view> views(names.begin(), names.end());
  std::string error;
  std::optional<Expr> expr = parse_expr(value, views, {}, error);
  CS_CHECK(expr.has_value(), fmt::format("expression '{}' of a loop rule: {}", value, error));
  statement(extents, std::move(out), std::move(loads), std::move(*expr), combine);
}

void LoopBuilder::statement(const std::vector<int64_t>& extents, LoopAccess out,
                            std::vector<LoopAccess> loads, Expr value, Combine combine) {
  for (int64_t e : extents) {
    if (e == 0) return;
  }
  p_.blocks.back().statements.push_back(
      {extents, std::move(out), std::move(loads), std::move(value), combine});
}

void LoopBuilder::elementwise(const LoopView& out, const std::vector<LoopView>& loads,
                              std::string_view value) {
  std::vector<LoopAccess> accesses;
  for (const LoopView& v : loads) accesses.push_back(v.broadcast_to(out.shape).access());
  statement(out.shape, out.access(), std::move(accesses), value);
}

void LoopBuilder::fill(const LoopView& out, double value) {
  Expr expr;
  expr.root = expr.constant(value);
  statement(out.shape, out.access(), {}, std::move(expr));
}

}  // namespace cs::ops
