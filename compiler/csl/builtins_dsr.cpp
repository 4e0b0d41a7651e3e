// Builtins on descriptor registers: their numbers, and loading descriptors into them, at run time or before the
// program begins.
//
// The hardware keeps rings and strides in registers of their own (XDSR, SR). Here a DSR holds all of its descriptor;
// the numbers are checked, nothing else depends on them.
#include <algorithm>

#include <fmt/format.h>

#include "compiler/csl/builtins.h"
#include "compiler/csl/lower_dsd.h"
#include "compiler/csl/lower_vector.h"

namespace cs::csl {
namespace {

using isa::OperandKind;

constexpr int kXdsrs = 8, kStrideRegisters = 8;

// File of a kind of DSR; `imm` if it is none.
OperandKind file_of(TypeKind kind) {
  switch (kind) {
    case TypeKind::dsr_dest:
    case TypeKind::dsr_fifo_dest:
      return OperandKind::dest;
    case TypeKind::dsr_src0:
      return OperandKind::src0;
    case TypeKind::dsr_src1:
    case TypeKind::dsr_fifo_src1:
      return OperandKind::src1;
    default:
      return OperandKind::imm;
  }
}

// @get_dsr(type, number), or of a FIFO type from the register of the plain type.
Value get_dsr(Evaluator& e, const ast::Builtin& n, const Type*) {
  const Type* t = e.eval_type(n.args[0]);
  if (!t) return {};
  const OperandKind file = file_of(t->kind);
  if (file == OperandKind::imm)
    return e.fail(n.args[0]->loc, fmt::format("'{}' is no kind of DSR", t->name),
                  "dsr_dest, dsr_src0, dsr_src1, dsr_fifo_dest or dsr_fifo_src1");
  const Value given = e.eval_comptime(n.args[1], nullptr, "a DSR");
  if (!given.ok()) return {};
  DsrValue r{.file = file, .index = 0};
  if (given.is(ValueKind::dsr)) {
    if (given.as<DsrValue>().file != file)
      return e.fail(n.args[1]->loc, fmt::format("'{}' cannot be a '{}'", given.type->name, t->name));
    r.index = given.as<DsrValue>().index;
  } else {
    int64_t id = 0;
    if (!e.eval_int(n.args[1], 0, e.machine().core.dsrs_per_file - 1, "a DSR", id)) return {};
    r.index = int(id);
  }
  e.unit().used_dsrs.insert(r.index);
  return Value::with(t, ValueKind::dsr, r);
}

Value get_numbered(Evaluator& e, const ast::Builtin& n, TypeKind kind, int count, const char* what) {
  int64_t id = 0;
  if (!e.eval_int(n.args[0], 0, count - 1, what, id)) return {};
  return Value::with(e.types().get(kind), ValueKind::dsr, DsrValue{.file = OperandKind::imm, .index = int(id)});
}
Value get_xdsr(Evaluator& e, const ast::Builtin& n, const Type*) {
  return get_numbered(e, n, TypeKind::xdsr, kXdsrs, "an XDSR");
}
Value get_sr(Evaluator& e, const ast::Builtin& n, const Type*) {
  return get_numbered(e, n, TypeKind::sr, kStrideRegisters, "a stride register");
}

bool check_pair(Evaluator& e, const ast::Builtin& n, const Value& dsr, const Value& dsd, const ast::Expr* dsd_at) {
  if (!dsr.is(ValueKind::dsr) || !dsr.type->is_dsr()) {
    e.fail(n.args[0]->loc, fmt::format("a DSR is needed here, this is '{}'", dsr.type->name),
           "@get_dsr(dsr_dest, n)");
    return false;
  }
  if (!dsd.type->is_dsd() || dsd.type->kind == TypeKind::fifo_dsd) {
    e.fail(dsd_at->loc, fmt::format("a DSD is needed here, this is '{}'", dsd.type->name));
    return false;
  }
  const bool is_dest = dsr.as<DsrValue>().file == OperandKind::dest;
  const bool wrong = is_dest ? dsd.type->kind == TypeKind::fabin_dsd : dsd.type->kind == TypeKind::fabout_dsd;
  if (!wrong) return true;
  e.fail(dsd_at->loc, fmt::format("a '{}' cannot be loaded into a '{}'", dsd.type->name, dsr.type->name));
  return false;
}

// The register's contents before the program begins; a later load replaces an earlier one.
bool load_before_start(Evaluator& e, const DsrValue& r, const DsdValue& d, const isa::DsrConfig& config,
                       SourceLoc where) {
  const bool known = !d.in_memory && d.base.kind != OperandKind::reg && d.base.kind != OperandKind::slot &&
                     std::none_of(d.words.begin(), d.words.end(), [](const auto& w) { return w.has_value(); });
  if (!known) {
    e.fail(where, "this DSD is not known at comptime");
    return false;
  }
  MirDsr init;
  init.init.file = uint8_t(int(r.file) - int(OperandKind::dest));
  init.init.index = uint8_t(r.index);
  init.init.config = isa::encode(config);
  init.init.words = dsd_words(d);
  if (d.base.kind == OperandKind::global) init.base = d.base;
  if (d.base.kind == OperandKind::imm && d.dsd.in_memory())
    init.init.words[1] = uint16_t(init.init.words[1] + d.base.value);
  auto& dsrs = e.unit().tile.dsrs;
  std::erase_if(dsrs, [&](const MirDsr& other) {
    return other.init.file == init.init.file && other.init.index == init.init.index;
  });
  dsrs.push_back(init);
  return true;
}

// What an explicit load takes: the configuration lies in the words of a descriptor, so those of a variable are copied
// for it (decision 28). Constants are configured before the program starts.
DsdValue configured(Evaluator& e, const Value& dsd, SourceLoc where) {
  const DsdValue d = dsd_value(dsd);
  if (!d.in_memory) return d;
  DsdValue copy;
  copy.place = e.in_memory(Value::with(dsd.type, ValueKind::dsd, d), where);
  copy.in_memory = true;
  return copy;
}

Value load(Evaluator& e, const ast::Builtin& n, size_t dsd_at, const Value& dsr, const Value& dsd) {
  if (!check_pair(e, n, dsr, dsd, n.args[dsd_at])) return {};
  isa::DsrConfig config;
  if (n.args.size() > dsd_at + 1) {
    ConfigFields f(e, n.args[dsd_at + 1]);
    if (!f.good() || !read_dsr_config(e, f, config)) return {};
    const DsdValue d = dsd_value(dsd);
    if (config.async && config.microthread < 0 && d.dsd.is_fabric() && !d.in_memory) {
      config.microthread = d.dsd.microthread >= 0 ? d.dsd.microthread : int8_t(d.dsd.queue);
    }
  }
  const auto& r = dsr.as<DsrValue>();
  if (e.emitting())
    load_dsr(e, r.file, r.index, configured(e, dsd, n.loc), dsd.type, config, n.loc);
  else if (!load_before_start(e, r, dsd_value(dsd), config, n.loc))
    return {};
  return e.void_value();
}

Value load_to_dsr(Evaluator& e, const ast::Builtin& n, const Type*) {
  const Value dsr = e.eval(n.args[0]), dsd = e.eval(n.args[1]);
  if (!dsr.ok() || !dsd.ok()) return {};
  if (dsd.type->kind == TypeKind::circbuf_dsd)
    return e.fail(n.args[1]->loc, "a circbuf_dsd needs an XDSR too", "@load_to_dsr_xdsr(dsr, xdsr, dsd)");
  return load(e, n, 1, dsr, dsd);
}

bool is_register(Evaluator& e, const ast::Expr* at, const Value& v, TypeKind kind, const char* help) {
  if (v.ok() && v.type->kind == kind) return true;
  if (v.ok())
    e.fail(at->loc, fmt::format("'{}' is needed here, this is '{}'", e.types().get(kind)->name, v.type->name), help);
  return false;
}

Value load_to_dsr_xdsr(Evaluator& e, const ast::Builtin& n, const Type*) {
  const Value dsr = e.eval(n.args[0]), xdsr = e.eval(n.args[1]), dsd = e.eval(n.args[2]);
  if (!dsr.ok() || !dsd.ok() || !is_register(e, n.args[1], xdsr, TypeKind::xdsr, "@get_xdsr(n)")) return {};
  if (dsd.type->kind != TypeKind::circbuf_dsd)
    return e.fail(n.args[2]->loc, fmt::format("a circbuf_dsd is needed here, this is '{}'", dsd.type->name));
  return load(e, n, 2, dsr, dsd);
}

// Stride registers that a descriptor needs: none for its innermost dimension, and none for the second one if the
// innermost stride is 1.
size_t stride_registers(const DsdValue& d) {
  size_t dims = 4;
  while (dims > 1 && d.dsd.extent[4 - dims] == 1 && d.dsd.stride[4 - dims] == 0) --dims;
  if (dims == 1) return 0;
  return dims - 1 - (d.dsd.stride[3] == 1 ? 1 : 0);
}

Value load_to_dsr_xdsr_sr(Evaluator& e, const ast::Builtin& n, const Type*) {
  const Value dsr = e.eval(n.args[0]), xdsr = e.eval(n.args[1]), srs = e.eval(n.args[2]), dsd = e.eval(n.args[3]);
  if (!dsr.ok() || !srs.ok() || !dsd.ok() || !is_register(e, n.args[1], xdsr, TypeKind::xdsr, "@get_xdsr(n)"))
    return {};
  if (dsd.type->kind != TypeKind::mem4d_dsd)
    return e.fail(n.args[3]->loc, fmt::format("a mem4d_dsd is needed here, this is '{}'", dsd.type->name));
  const uint64_t given = srs.is(ValueKind::aggregate) ? item_count(srs) : ~uint64_t(0);
  if (given > 3)
    return e.fail(n.args[2]->loc, "a tuple of at most three stride registers is needed here", ".{ @get_sr(0) }");
  for (uint64_t i = 0; i < given; ++i)
    if (!is_register(e, n.args[2], item(srs, i), TypeKind::sr, "@get_sr(n)")) return {};
  const size_t need = dsd.is(ValueKind::dsd) ? stride_registers(dsd.dsd()) : 3;
  if (given != need)
    return e.fail(n.args[2]->loc, fmt::format("this DSD needs {} stride registers, here are {}", need, given));
  return load(e, n, 3, dsr, dsd);
}

constexpr BuiltinRow kRows[] = {
    {"get_dsr", 2, 2, Allowed::either, get_dsr},
    {"get_xdsr", 1, 1, Allowed::either, get_xdsr},
    {"get_sr", 1, 1, Allowed::either, get_sr},
    {"load_to_dsr", 2, 3, Allowed::either, load_to_dsr},
    {"load_to_dsr_xdsr", 3, 4, Allowed::either, load_to_dsr_xdsr},
    {"load_to_dsr_xdsr_sr", 4, 5, Allowed::either, load_to_dsr_xdsr_sr},
    {"dfilt", 1, 2, Allowed::code, dfilt_builtin},
};

}  // namespace

std::span<const BuiltinRow> dsr_builtins() { return kRows; }

}  // namespace cs::csl
