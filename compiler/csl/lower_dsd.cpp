// DSDs as words. A DSD that is known is a read-only constant; one that changes is four (or ten) words of
// memory, of which only those that changed are written.
#include <algorithm>

#include "compiler/csl/lower_dsd.h"
#include "compiler/csl/lower_vector.h"

namespace cs::csl {

using isa::Op;
using isa::Operand;
using isa::OperandKind;

isa::DsdKind dsd_kind_of(const Type& t) {
  switch (t.kind) {
    case TypeKind::mem1d_dsd:
      return isa::DsdKind::mem1d;
    case TypeKind::mem4d_dsd:
      return isa::DsdKind::mem4d;
    case TypeKind::fabin_dsd:
      return isa::DsdKind::fabin;
    case TypeKind::fabout_dsd:
      return isa::DsdKind::fabout;
    case TypeKind::circbuf_dsd:
      return isa::DsdKind::circbuf;
    default:
      return isa::DsdKind::none;
  }
}

DsdValue dsd_value(const Value& v) {
  if (v.is(ValueKind::dsd)) return v.dsd();
  DsdValue d;
  d.in_memory = true;
  d.place = v.location;
  d.dsd.kind = dsd_kind_of(*v.type);
  if (d.dsd.kind == isa::DsdKind::none) d.dsd.kind = isa::DsdKind::mem1d;
  return d;
}

std::array<uint16_t, 10> dsd_words(const DsdValue& d) {
  std::array<uint16_t, 10> words{};
  isa::encode(d.dsd, words);
  return words;
}

Operand dsd_word(Evaluator& e, const DsdValue& d, int word) {
  if (d.words[size_t(word)]) return *d.words[size_t(word)];
  if (d.in_memory) {
    const Operand r = e.builder().reg();
    e.builder().load16(r, offset_by(d.place, 2 * word));
    return r;
  }
  if (word == 1 && !d.dsd.is_fabric()) return d.base;
  return FunctionBuilder::imm(dsd_words(d)[size_t(word)]);
}

Value with_word(const Type* t, DsdValue d, int word, const Operand& value) {
  const bool known = value.kind == OperandKind::imm && !d.in_memory && !d.words[size_t(word)];
  if (known && word == 2 && d.dsd.kind != isa::DsdKind::mem4d)
    d.dsd.extent[0] = uint16_t(value.value);
  else if (known && word == 3 && d.dsd.kind == isa::DsdKind::mem1d)
    d.dsd.stride[0] = int16_t(value.value);
  else if (word == 1 && !d.in_memory && !d.dsd.is_fabric() && value.kind != OperandKind::reg) {
    d.base = value;
    d.words[1].reset();
  } else {
    d.words[size_t(word)] = value;
  }
  return Value::with(t, ValueKind::dsd, d);
}

void store_dsd(Evaluator& e, const Location& to, const Value& v, SourceLoc where) {
  if (v.is(ValueKind::place)) {
    if (!(v.location == to)) copy_memory(e, to, v.location, v.type->bytes, where);
    return;
  }
  if (!v.is(ValueKind::dsd)) return;
  const DsdValue& d = v.dsd();
  const int count = int(v.type->bytes) / 2;
  const bool in_place = d.in_memory && d.place == to;
  // All words are read before one is written: the source may be what is overwritten.
  std::array<Operand, 10> words;
  for (int w = 0; w < count; ++w)
    if (!in_place || d.words[size_t(w)]) words[size_t(w)] = dsd_word(e, d, w);
  for (int w = 0; w < count; ++w) {
    const Operand& o = words[size_t(w)];
    if (o.kind == OperandKind::none) continue;
    const bool pair = w % 2 == 0 && w + 1 < count && o.kind == OperandKind::imm &&
                      words[size_t(w) + 1].kind == OperandKind::imm;
    if (pair) {
      const uint32_t both = uint32_t(uint16_t(o.value)) | uint32_t(uint16_t(words[size_t(w) + 1].value))
                                                              << 16;
      e.builder().store(e.types().integer(32, false), offset_by(to, 2 * w),
                        FunctionBuilder::imm(int32_t(both)));
      ++w;
    } else {
      e.builder().store16(offset_by(to, 2 * w), o);
    }
  }
}

namespace {

// A mem1d DSD over consecutive elements at a location.
DsdValue block_dsd(Evaluator& e, const Location& at, uint32_t elements, int stride) {
  DsdValue d;
  d.dsd.kind = isa::DsdKind::mem1d;
  d.dsd.extent = {uint16_t(elements), 1, 1, 1};
  d.dsd.stride = {int16_t(stride), 0, 0, 0};
  if (at.index < 0) {
    d.base = at.operand();
  } else {
    const Value p = e.address_of(Value::place(e.types().integer(16, false), at, false), e.builder().loc);
    d.words[1] = e.operand(p, e.builder().loc);
  }
  return d;
}

Value mem1d(Evaluator& e, DsdValue d) {
  return Value::with(e.types().get(TypeKind::mem1d_dsd), ValueKind::dsd, d);
}

}  // namespace

void copy_memory(Evaluator& e, const Location& to, const Location& from, uint32_t bytes, SourceLoc where) {
  constexpr uint32_t kByWords = 16;
  FunctionBuilder& b = e.builder();
  const Type* u32 = e.types().integer(32, false);
  if (bytes > kByWords) {
    const Value dst = mem1d(e, block_dsd(e, to, bytes / 2, 1)),
                src = mem1d(e, block_dsd(e, from, bytes / 2, 1));
    emit_vector(e, Op::mov16, {dst, src}, nullptr, where);
    return;
  }
  std::vector<Operand> words;
  for (uint32_t at = 0; at + 4 <= bytes; at += 4) {
    words.push_back(b.pair());
    b.load(u32, words.back(), offset_by(from, int32_t(at)));
  }
  for (uint32_t k = 0; k < words.size(); ++k) b.store(u32, offset_by(to, int32_t(4 * k)), words[k]);
  if (bytes % 4 >= 2) {
    const Operand r = b.reg();
    b.load16(r, offset_by(from, int32_t(bytes / 4 * 4)));
    b.store16(offset_by(to, int32_t(bytes / 4 * 4)), r);
  }
  if (bytes % 2) {
    const Type* u8 = e.types().integer(8, false);
    const Operand r = b.reg();
    b.load(u8, r, offset_by(from, int32_t(bytes - 1)));
    b.store(u8, offset_by(to, int32_t(bytes - 1)), r);
  }
}

void fill_memory(Evaluator& e, const Location& to, const Value& element, uint64_t count, SourceLoc where) {
  const Value dst = mem1d(e, block_dsd(e, to, uint32_t(count), 1));
  if (element.type->bytes == 1) {
    for (uint64_t i = 0; i < count; ++i)
      e.builder().store(element.type, offset_by(to, int32_t(i)), e.operand(element, where));
    return;
  }
  emit_vector(e, element.type->is_pair() ? Op::mov32 : Op::mov16, {dst, element}, nullptr, where);
}

}  // namespace cs::csl
