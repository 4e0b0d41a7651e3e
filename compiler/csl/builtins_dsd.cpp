// Builtins that make and change DSDs and DSRs.
#include <algorithm>

#include <fmt/format.h>

#include "compiler/csl/builtins.h"
#include "compiler/csl/lower_dsd.h"
#include "compiler/csl/lower_vector.h"
#include "compiler/csl/tensor_access.h"
#include "compiler/csl/warnings.h"

namespace cs::csl {
namespace {

using isa::Op;
using isa::Operand;
using isa::OperandKind;

constexpr int64_t kLargestExtent = 65535;

}  // namespace

bool base_of(Evaluator& e, const Value& given, SourceLoc where, Value& place) {
  Value v = given;
  if (v.type->kind == TypeKind::pointer) v = e.dereference(e.load(v, where), where);
  if (!v.ok()) return false;
  if (v.is(ValueKind::aggregate) && v.type->bytes && is_comptime(v))
    v = Value::place(v.type, e.constant_place(v, where), true);
  if (!v.is(ValueKind::place)) {
    e.fail(where, fmt::format("a pointer or an array is needed here, this is '{}'", given.type->name),
           "take the address: &a");
    return false;
  }
  place = v;
  return true;
}

namespace {

const Type* scalar_of(const Type* t) {
  while (t->kind == TypeKind::array) t = t->element;
  return t;
}

void set_base(Evaluator& e, DsdValue& d, const Location& l, SourceLoc where) {
  if (l.index < 0) {
    d.base = l.operand();
  } else {
    d.base = FunctionBuilder::imm(0);
    d.words[1] = e.operand(e.address_of(Value::place(e.types().integer(16, false), l, false), where), where);
  }
}

bool set_extent(Evaluator& e, DsdValue& d, const Value& v, SourceLoc where) {
  if (!v.ok()) return false;
  if (!v.type->is_int()) {
    e.fail(where, fmt::format("an extent must be an integer, this is '{}'", v.type->name));
    return false;
  }
  if (v.is(ValueKind::integer)) {
    if (v.i < 0 || v.i > kLargestExtent) {
      e.fail(where,
             fmt::format("an extent must be between 0 and {}, this is {}", kLargestExtent, print_int(v.i)));
      return false;
    }
    d.dsd.extent[0] = uint16_t(v.i);
    return true;
  }
  Operand o = e.operand(v, where);
  if (v.type->is_pair()) o = e.builder().emit_reg(Op::wunpl, {o});
  d.words[2] = o;
  return true;
}

// A mem4d_dsd over a pointer: base address, offset and the numbers of its dimensions.
bool pointer_fields(Evaluator& e, ConfigFields& f, DsdValue& d) {
  const Value* base = f.required("base_address");
  int64_t offset = 0;
  f.number("offset", INT16_MIN, INT16_MAX, offset);
  Value place;
  if (!base || !base->ok() || !base_of(e, *base, f.where(), place) || !read_dimensions(e, f, d)) return false;
  set_base(e, d, offset_by(place.location, int32_t(offset) * int32_t(scalar_of(place.type)->bytes)),
           f.where());
  return true;
}

bool memory_fields(Evaluator& e, ConfigFields& f, DsdValue& d) {
  d.dsd.indexed = f.flag("wavelet_index_offset");
  if (f.tensor_access()) return read_tensor_access(e, *f.tensor_access(), d);
  if (d.dsd.kind == isa::DsdKind::mem4d) return pointer_fields(e, f, d);
  const Value *base = f.required("base_address"), *extent = f.required("extent");
  int64_t stride = 1, offset = 0;
  f.number("stride", -128, 127, stride);
  f.number("offset", INT16_MIN, INT16_MAX, offset);
  Value place;
  if (!base || !extent || !base->ok() || !base_of(e, *base, f.where(), place) ||
      !set_extent(e, d, *extent, f.where()))
    return false;
  d.dsd.stride[0] = int16_t(stride);
  set_base(e, d, offset_by(place.location, int32_t(offset) * int32_t(scalar_of(place.type)->bytes)),
           f.where());
  return true;
}

// A ring: addresses are relative to its first element until the program is linked.
bool ring_fields(Evaluator& e, ConfigFields& f, DsdValue& d) {
  const Value *base = f.required("base_address"), *extent = f.required("extent");
  const Value* wraparound = f.find("wraparound");
  Value place;
  if (!base || !extent || !base->ok() || !base_of(e, *base, f.where(), place) ||
      !set_extent(e, d, *extent, f.where()))
    return false;
  const Type* element = scalar_of(place.type);
  int64_t elements = place.type->kind == TypeKind::array ? int64_t(place.type->elements()) : 0;
  if (elements == 0 && !wraparound) {
    e.fail(f.where(), "field 'wraparound' is missing: the base address is no array");
    return false;
  }
  int64_t given = 0;
  if (wraparound && !f.number("wraparound", 1, elements ? elements : UINT16_MAX, given)) return false;
  if (wraparound) elements = given;
  if (place.location.kind != OperandKind::global || place.location.index >= 0) {
    e.fail(f.where(), "a circbuf_dsd needs the address of a global, known at comptime");
    return false;
  }
  set_base(e, d, place.location, f.where());
  d.dsd.first = 0;
  d.dsd.end = uint16_t(elements * int64_t(element->bytes));
  return true;
}

enum class Binding : uint8_t {
  good,
  failed,
  unusable,   // the DSD can be had, not used: a module may be imported for other things
  of_queue    // its color is what @initialize_queue will say
};

Binding bind_queue(Evaluator& e, SourceLoc where, bool output, int queue, int color) {
  Unit& u = e.unit();
  auto& queues = u.tile.queues;
  const bool is_root = e.frame().module == u.modules.front().get();
  for (const QueueBinding& q : queues)
    if (q.output == output && q.queue == queue) {
      if (q.color == color) return Binding::good;
      if (!output && !e.machine().queues.data_task_on_queue) {
        shared_queue(e, where, queue, q.color, color);
        return Binding::good;
      }
      const auto presumed = u.presumed_queues.find(queue_key(output, queue));
      const std::string what = fmt::format("{} queue {} is bound to color {}, this DSD names color {}",
                                           output ? "output" : "input", queue, q.color, color);
      if (e.emitting()) {
        e.fail(where, what);
        return Binding::failed;
      }
      if (presumed != u.presumed_queues.end()) {
        presumed->second.push_back({where, color, is_root});
        return Binding::of_queue;
      }
      e.diag().warning(where, named("queue-color", what),
                       "the DSD is undefined; a program that uses it stops there");
      return Binding::unusable;
    }
  queues.push_back({.output = output, .queue = uint8_t(queue), .color = uint8_t(color)});
  u.tile.queue_locs.resize(queues.size());
  u.tile.queue_locs.back() = where;
  if (output || e.machine().queues.data_task_on_queue) u.presumed_queues[queue_key(output, queue)];
  return Binding::good;
}

// A color, or what stands for one.
bool read_color(Evaluator& e, ConfigFields& f, int& color) {
  const Value* c = f.find("fabric_color");
  if (!c || !c->ok()) return true;
  if (!c->is(ValueKind::integer) || c->type->kind != TypeKind::color) {
    e.fail(f.where(),
           fmt::format("field 'fabric_color' needs a color known at comptime, this is '{}'", c->type->name),
           "@get_color(n)");
    return false;
  }
  color = int(c->i);
  return true;
}

bool read_queue(Evaluator& e, ConfigFields& f, bool output, int& queue) {
  const Value* q = f.find(output ? "output_queue" : "input_queue");
  if (!q || !q->ok()) return true;
  if (!q->is(ValueKind::integer) ||
      q->type->kind != (output ? TypeKind::output_queue : TypeKind::input_queue)) {
    e.fail(f.where(), fmt::format("a queue known at comptime is needed here, this is '{}'", q->type->name),
           output ? "@get_output_queue(n)" : "@get_input_queue(n)");
    return false;
  }
  queue = int(q->i);
  return true;
}

void read_fabric_options(Evaluator& e, ConfigFields& f, isa::Dsd& d) {
  d.control = f.flag("control");
  d.advance_switch = f.flag("advance_switch");
  d.control_transform = f.flag("control_transform");
  d.indexed = f.flag("wavelet_index_offset");
  d.zero = uint8_t(f.choice("zero", {"first_source", "second_source"}));
  if (const Value* ut = f.find("ut_id"); ut && ut->is(ValueKind::integer)) d.microthread = int8_t(ut->i);
  read_priority(e, f, d.priority);
  if (const Value* m = f.find("simd_mode"); m && m->ok()) {
    ConfigFields modes(e, *m, f.where());
    if (modes.flag("simd_off")) d.simd = isa::SimdMode::off;
    if (modes.flag("simd_32")) d.simd = isa::SimdMode::simd_32;
    if (modes.flag("simd_64") || modes.flag("simd_32_or_64")) d.simd = isa::SimdMode::simd_64;
    modes.flag("simd_max");
    modes.finish();
  }
}

bool fabric_fields(Evaluator& e, ConfigFields& f, DsdValue& d) {
  const bool output = d.dsd.kind == isa::DsdKind::fabout;
  int color = -1, queue = -1;
  const Value* extent = f.required("extent");
  if (const Value* c = f.find("fabric_color"); c && c->ok() && c->type->kind == TypeKind::void_) {
    d.dsd.kind = isa::DsdKind::none;  // programs say {} for a color that they do not have
    for (std::string_view field : {"input_queue", "output_queue"}) f.find(field);
    read_fabric_options(e, f, d.dsd);
    return true;
  }
  if (!read_color(e, f, color) || !read_queue(e, f, output, queue)) return false;
  read_fabric_options(e, f, d.dsd);
  if (!extent || !set_extent(e, d, *extent, f.where())) return false;
  const Machine& m = e.machine();
  if (queue < 0 && (m.queues.data_task_on_queue || color < 0)) {
    e.fail(f.where(), fmt::format("field '{}' is missing", output ? "output_queue" : "input_queue"),
           output ? "@get_output_queue(n)" : "@get_input_queue(n)");
    return false;
  }
  const bool per_color = output ? m.queues.output_queue_per_color : true;
  if (queue >= 0 && color >= 0 && per_color) {
    const Binding binding = bind_queue(e, f.where(), output, queue, color);
    if (binding == Binding::unusable) d.dsd.kind = isa::DsdKind::none;
    if (binding == Binding::failed || binding == Binding::unusable) return binding == Binding::unusable;
    if (binding == Binding::of_queue) color = -1;
  }
  if (queue < 0) {
    // Without a queue: sends go through the one that is wired to the color, receives take a queue bound to
    // it.
    queue = output ? color / 4 : color_queue(e, color);
  }
  if (output && color < 0 && !m.queues.output_queue_per_color) {
    for (const QueueBinding& q : e.unit().tile.queues)
      if (q.output && q.queue == queue) color = q.color;
    if (color < 0) {
      e.fail(f.where(), "field 'fabric_color' is missing");
      return false;
    }
  }
  d.dsd.queue = uint8_t(queue);
  if (color >= 0) d.dsd.color = uint8_t(color);
  return true;
}

Value get_dsd(Evaluator& e, const ast::Builtin& n, const Type*) {
  const Type* t = e.eval_type(n.args[0]);
  if (!t) return {};
  DsdValue d;
  d.dsd.kind = dsd_kind_of(*t);
  if (d.dsd.kind == isa::DsdKind::none)
    return e.fail(n.args[0]->loc, fmt::format("'{}' is no kind of DSD", t->name),
                  "mem1d_dsd, mem4d_dsd, circbuf_dsd, fabin_dsd or fabout_dsd");
  ConfigFields f(e, n.args[1]);
  if (!f.good()) return {};
  const bool good = d.dsd.is_fabric()                     ? fabric_fields(e, f, d)
                    : d.dsd.kind == isa::DsdKind::circbuf ? ring_fields(e, f, d)
                                                          : memory_fields(e, f, d);
  if (!good || !f.finish()) return {};
  if (d.dsd.kind == isa::DsdKind::none) return Value(t, ValueKind::undefined);
  return Value::with(t, ValueKind::dsd, d);
}

// ---- changed copies

bool dsd_argument(Evaluator& e, const ast::Builtin& n, Value& v, bool memory) {
  v = e.eval(n.args[0]);
  if (!v.ok()) return false;
  const bool fits = v.type->kind == TypeKind::mem1d_dsd || (!memory && v.type->is_dsd());
  const bool moves = memory && v.type->kind == TypeKind::mem4d_dsd && n.name != "set_dsd_stride";
  if ((fits || moves) && (v.is(ValueKind::dsd) || e.emitting())) return true;
  e.fail(n.args[0]->loc, fits ? "this DSD is a variable and not known at comptime"
                              : fmt::format("@{} takes a {}, this is '{}'", n.name,
                                            memory ? "memory DSD" : "DSD", v.type->name));
  return false;
}

// A 16-bit operand of a changed word.
bool word_operand(Evaluator& e, const ast::Expr* x, int bits, bool is_signed, Value& v, Operand& o) {
  const Type* t = e.types().integer(bits, is_signed);
  v = e.rvalue(x);
  if (!v.ok()) return false;
  if (v.is(ValueKind::scalar) && v.type->is_int() && v.type->bytes <= 2)
    o = v.location.operand();
  else {
    v = e.coerce(v, t, x->loc, "value");
    if (!v.ok()) return false;
    o = e.operand(v, x->loc);
  }
  return true;
}

Value set_dsd_length(Evaluator& e, const ast::Builtin& n, const Type*) {
  Value dsd, v;
  Operand o;
  if (!dsd_argument(e, n, dsd, false) || !word_operand(e, n.args[1], 16, false, v, o)) return {};
  if (dsd.type->kind == TypeKind::mem4d_dsd)
    return e.fail(n.loc, "@set_dsd_length does not take a mem4d_dsd");
  return with_word(dsd.type, dsd_value(dsd), 2, o);
}

Value set_dsd_stride(Evaluator& e, const ast::Builtin& n, const Type*) {
  Value dsd, v;
  Operand o;
  if (!dsd_argument(e, n, dsd, true) || !word_operand(e, n.args[1], 16, true, v, o)) return {};
  return with_word(dsd.type, dsd_value(dsd), 3, o);
}

Value set_dsd_base_addr(Evaluator& e, const ast::Builtin& n, const Type*) {
  Value dsd, place;
  if (!dsd_argument(e, n, dsd, true)) return {};
  const Value base = e.locate(n.args[1]);
  if (!base.ok() || !base_of(e, base, n.args[1]->loc, place)) return {};
  return with_word(dsd.type, dsd_value(dsd), 1, e.operand(e.address_of(place, n.loc), n.loc));
}

Value increment_dsd_offset(Evaluator& e, const ast::Builtin& n, const Type*) {
  Value dsd, v;
  Operand by;
  const Type* t = e.eval_type(n.args[2]);
  if (!t || !dsd_argument(e, n, dsd, true) || !word_operand(e, n.args[1], 16, true, v, by)) return {};
  if (t->bytes == 0) return e.fail(n.args[2]->loc, fmt::format("'{}' has no size", t->name));
  const DsdValue d = dsd_value(dsd);
  Operand base = dsd_word(e, d, 1);
  if (v.is(ValueKind::integer)) {
    const int32_t bytes = int32_t(v.i) * int32_t(t->bytes);
    if (bytes == 0) return dsd;
    if (base.kind == OperandKind::reg)
      base = e.builder().emit_reg(Op::add16, {base, FunctionBuilder::imm(bytes)});
    else if (base.kind == OperandKind::imm)
      base.value += bytes;
    else
      base.extra += bytes;
  } else {
    if (t->bytes > 1)
      by = e.builder().emit_reg(t->bytes == 3 ? Op::imul16 : Op::sll16,
                                {by, FunctionBuilder::imm(t->bytes == 4 ? 2 : 1)});
    base = e.builder().emit_reg(Op::add16, {by, base});
  }
  return with_word(dsd.type, d, 1, base);
}

constexpr BuiltinRow kRows[] = {
    {"get_dsd", 2, 2, Allowed::either, get_dsd},
    {"set_dsd_length", 2, 2, Allowed::either, set_dsd_length},
    {"set_dsd_stride", 2, 2, Allowed::either, set_dsd_stride},
    {"set_dsd_base_addr", 2, 2, Allowed::either, set_dsd_base_addr},
    {"increment_dsd_offset", 3, 3, Allowed::either, increment_dsd_offset},
    {"map", 2, 16, Allowed::code, map_builtin},
};

}  // namespace

std::span<const BuiltinRow> dsd_builtins() { return kRows; }

}  // namespace cs::csl
