// The dimensions of a mem4d_dsd that is given by its fields.
#include <fmt/format.h>

#include "compiler/csl/builtins.h"
#include "compiler/csl/tensor_access.h"

namespace cs::csl {

using isa::Op;
using isa::Operand;
using isa::OperandKind;

namespace {

constexpr int64_t kLargestExtent = 65535;

// Numbers of a tuple, or one number, into words that begin at `first` (known ones stay where they are).
template <typename Set>
bool each_word(Evaluator& e, const Value& given, SourceLoc where, const char* what, int64_t low, int64_t high,
               Set set) {
  const bool tuple = given.is(ValueKind::aggregate);
  const uint64_t count = tuple ? item_count(given) : 1;
  if (count < 1 || count > 4) {
    e.fail(where, fmt::format("{} has one to four dimensions, here are {}", what, count));
    return false;
  }
  for (uint64_t k = 0; k < count; ++k) {
    const Value v = tuple ? e.load(item(given, k), where) : given;
    if (!v.ok()) return false;
    if (!v.type->is_int() || (v.is(ValueKind::integer) && (v.i < low || v.i > high))) {
      e.fail(where,
             v.is(ValueKind::integer)
                 ? fmt::format("{} must be between {} and {}, this is {}", what, low, high, print_int(v.i))
                 : fmt::format("{} must be integers, this is '{}'", what, v.type->name));
      return false;
    }
    if (v.is(ValueKind::integer)) {
      set(k, count, v.i, Operand{});
      continue;
    }
    Operand o = e.operand(v, where);
    if (v.type->is_pair()) o = e.builder().emit_reg(Op::wunpl, {o});
    set(k, count, 0, o);
  }
  return true;
}

}  // namespace

bool read_dimensions(Evaluator& e, ConfigFields& f, DsdValue& d) {
  const Value *extent = f.required("extent"), *stride = f.find("stride");
  if (!extent || !extent->ok()) return false;
  d.dsd.extent = {1, 1, 1, 1};
  d.dsd.stride = {0, 0, 0, 1};
  const auto set_extent_word = [&](uint64_t k, uint64_t count, __int128 n, const Operand& o) {
    const size_t at = size_t(4 - count + k);
    if (o.kind == OperandKind::none)
      d.dsd.extent[at] = uint16_t(n);
    else
      d.words[2 + at] = o;
  };
  const auto set_stride_word = [&](uint64_t k, uint64_t, __int128 n, const Operand& o) {
    const size_t at = size_t(3 - k);
    if (o.kind == OperandKind::none)
      d.dsd.stride[at] = int16_t(n);
    else
      d.words[6 + at] = o;
  };
  if (!each_word(e, *extent, f.where(), "the extents", 0, kLargestExtent, set_extent_word)) return false;
  if (stride && !each_word(e, *stride, f.where(), "the strides", INT16_MIN, INT16_MAX, set_stride_word))
    return false;
  return true;
}

}  // namespace cs::csl
