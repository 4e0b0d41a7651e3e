// Affine accesses, by trying them: with all variables 0 the access gives the offset, with one of them 1 its
// stride; the far corner, and every variable at its last value, must agree, else the access is not affine.
#include "compiler/csl/tensor_access.h"

#include <algorithm>

#include <fmt/format.h>

#include "compiler/csl/lower_dsd.h"
#include "compiler/csl/warnings.h"

namespace cs::csl {

using isa::Op;
using isa::Operand;

namespace {

constexpr int kNoQueue = 15;
constexpr int64_t kLargestExtent = 65535;

// Evaluates the indices of the access with the variables bound to numbers.
class Access {
 public:
  Access(Evaluator& e, const ast::TensorAccess& n, const ast::Index& body, const Type& array)
      : e_(e), n_(n), body_(body), array_(array) {}

  bool offset(const std::vector<int64_t>& at, int64_t& out) {
    ComptimeScope scope(e_);
    std::vector<Value> values;
    for (int64_t v : at) values.push_back(Value::integer(e_.types().get(TypeKind::comptime_int), v));
    std::vector<Value> indices;
    if (!e_.eval_with(n_.variables, values, body_.indices, indices)) return false;
    out = 0;
    const size_t dims = array_.kind == TypeKind::array ? array_.dims.size() : 1;
    if (indices.size() != dims) {
      e_.fail(body_.loc,
              fmt::format("'{}' has {} dimensions, here are {} indices", array_.name, dims, indices.size()));
      return false;
    }
    for (size_t k = 0; k < dims; ++k) {
      if (!indices[k].is(ValueKind::integer)) {
        e_.fail(body_.indices[k]->loc,
                "the indices of a tensor access must be known at comptime, up to its variables");
        return false;
      }
      out = out * (array_.kind == TypeKind::array ? int64_t(array_.dims[k]) : 1) + int64_t(indices[k].i);
    }
    return true;
  }

 private:
  Evaluator& e_;
  const ast::TensorAccess& n_;
  const ast::Index& body_;
  const Type& array_;
};

bool read_extents(Evaluator& e, const ast::TensorAccess& n, std::vector<int64_t>& extents, DsdValue& d) {
  for (const ast::Expr* x : n.extents) {
    const Value v = e.rvalue(x);
    if (!v.ok()) return false;
    if (!v.type->is_int()) {
      e.fail(x->loc, fmt::format("an extent must be an integer, this is '{}'", v.type->name));
      return false;
    }
    if (v.is(ValueKind::integer)) {
      if (v.i < 0 || v.i > kLargestExtent) {
        e.fail(x->loc,
               fmt::format("an extent must be between 0 and {}, this is {}", kLargestExtent, print_int(v.i)));
        return false;
      }
      extents.push_back(int64_t(v.i));
      continue;
    }
    if (n.extents.size() > 1) {
      e.fail(x->loc, "the extents of a mem4d_dsd must be known at comptime");
      return false;
    }
    extents.push_back(1);
    d.words[2] =
        v.type->is_pair() ? e.builder().emit_reg(Op::wunpl, {e.operand(v, x->loc)}) : e.operand(v, x->loc);
  }
  return true;
}

// Offset and strides; checks the corners.
bool fit(Evaluator& e, Access& access, const std::vector<int64_t>& extents, SourceLoc where, int64_t& origin,
         std::vector<int64_t>& strides) {
  const size_t n = extents.size();
  std::vector<int64_t> zero(n, 0), last(n);
  if (!access.offset(zero, origin)) return false;
  int64_t predicted = origin;
  for (size_t k = 0; k < n; ++k) {
    std::vector<int64_t> unit = zero, end = zero;
    unit[k] = 1;
    end[k] = last[k] = std::max<int64_t>(extents[k] - 1, 0);
    int64_t one = 0, far = 0;
    if (!access.offset(unit, one) || !access.offset(end, far)) return false;
    strides.push_back(one - origin);
    if (far - origin != strides[k] * last[k]) {
      e.fail(where, "this access is not affine in its variables", "use sums of variables times constants");
      return false;
    }
    predicted += strides[k] * last[k];
  }
  int64_t corner = 0;
  if (!access.offset(last, corner)) return false;
  if (corner != predicted)
    e.fail(where, "this access is not affine in its variables", "use sums of variables times constants");
  return corner == predicted;
}

bool check_bounds(Evaluator& e, const Type& array, const std::vector<int64_t>& extents,
                  const std::vector<int64_t>& strides, int64_t origin, SourceLoc where) {
  int64_t low = origin, high = origin;
  for (size_t k = 0; k < extents.size(); ++k) {
    if (extents[k] == 0) return true;
    (strides[k] < 0 ? low : high) += strides[k] * (extents[k] - 1);
  }
  const int64_t size = array.kind == TypeKind::array ? int64_t(array.elements()) : INT64_MAX;
  const std::string reach = fmt::format("this access reaches element {} of '{}', which has {}",
                                        low < 0 ? low : high, array.name, size);
  if (low < 0) {
    e.fail(where, reach, "make the offset larger");
    return false;
  }
  // Programs make descriptors over a dummy of one element and give them their base address later.
  if (high >= size && size > 1)
    e.diag().warning(where, named("access-out-of-array", reach),
                     "@set_dsd_base_addr gives another array; else make the extent smaller");
  return true;
}

}  // namespace

int color_queue(Evaluator& e, int color) {
  auto& queues = e.unit().tile.queues;
  for (const QueueBinding& q : queues)
    if (!q.output && q.color == color) return q.queue;
  // The last one that nobody has asked for so far.
  const Machine& m = e.machine();
  const auto taken = [&](int queue) {
    return std::any_of(queues.begin(), queues.end(),
                       [&](const QueueBinding& q) { return !q.output && q.queue == queue; }) ||
           std::count(m.memcpy.input_queues.begin(), m.memcpy.input_queues.end(), queue) > 0;
  };
  for (int queue = int(m.queues.input_words.size()) - 1; queue >= 0; --queue) {
    if (taken(queue)) continue;
    queues.push_back({.output = false, .queue = uint8_t(queue), .color = uint8_t(color)});
    return queue;
  }
  return kNoQueue;
}

bool read_tensor_access(Evaluator& e, const ast::TensorAccess& n, DsdValue& d) {
  const bool flat = d.dsd.kind == isa::DsdKind::mem1d;
  const size_t most = flat ? 1 : 4;
  if (n.variables.empty() || n.variables.size() > most || n.variables.size() != n.extents.size()) {
    e.fail(n.loc,
           fmt::format("a {} has {} variable{} with an extent each, here are {}",
                       flat ? "mem1d_dsd" : "mem4d_dsd", flat ? "one" : "one to four", flat ? "" : "s",
                       n.variables.size()),
           flat && n.variables.size() > 1 ? "use a mem4d_dsd" : "");
    return false;
  }
  const auto* body = ast::try_as<ast::Index>(n.body);
  if (!body) {
    e.fail(n.body->loc, "a tensor access reads an element of an array: a[…]");
    return false;
  }
  Value base = e.locate(body->base);
  if (!base.ok()) return false;
  if (base.type->kind == TypeKind::pointer) base = e.dereference(e.load(base, body->loc), body->loc);
  if (!base.ok()) return false;
  if (!base.is(ValueKind::place)) {
    e.fail(body->base->loc, fmt::format("an array in memory is needed here, this is '{}'", base.type->name));
    return false;
  }
  std::vector<int64_t> extents, strides;
  int64_t origin = 0;
  if (!read_extents(e, n, extents, d)) return false;
  Access access(e, n, *body, *base.type);
  if (!fit(e, access, extents, n.loc, origin, strides) ||
      !check_bounds(e, *base.type, extents, strides, origin, n.loc))
    return false;
  const Type* element = base.type;
  while (element->kind == TypeKind::array) element = element->element;
  Location at = offset_by(base.location, int32_t(origin) * int32_t(element->bytes));
  if (at.index < 0)
    d.base = at.operand();
  else {
    d.base = FunctionBuilder::imm(0);
    d.words[1] = e.operand(e.address_of(Value::place(element, at, false), n.loc), n.loc);
  }
  if (flat) {
    d.dsd.extent[0] = uint16_t(extents[0]);
    d.dsd.stride[0] = int16_t(strides[0]);
    return true;
  }
  // Stored strides are changes of the offset when a dimension steps and the inner ones start again.
  const size_t count = extents.size(), first = 4 - count;
  d.dsd.extent = {1, 1, 1, 1};
  d.dsd.stride = {0, 0, 0, 0};
  for (size_t k = 0; k < count; ++k) {
    int64_t delta = strides[k];
    for (size_t inner = k + 1; inner < count; ++inner) delta -= strides[inner] * (extents[inner] - 1);
    d.dsd.extent[first + k] = uint16_t(extents[k]);
    d.dsd.stride[first + k] = int16_t(delta);
  }
  return true;
}

}  // namespace cs::csl
