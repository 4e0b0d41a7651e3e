// @fadds and the other vector operations.
//
//   1. Every operand is a DSD, a DSR, a scalar or (destination only) a pointer to a scalar.
//   2. DSDs get a DSR by one load each; a source that is the destination uses the destination's DSR.
//   3. Operations of the main thread use one DSR number, asynchronous ones one per microthread, so that what the main
//      thread does meanwhile does not disturb them. Numbers that the program asked for are left alone.
//   4. A pointer destination is a register, stored afterwards.
#include "compiler/csl/lower_vector.h"

#include <algorithm>

#include <fmt/format.h>

#include "compiler/csl/builtins.h"
#include "compiler/csl/lower_dsd.h"

namespace cs::csl {

using isa::Op;
using isa::Operand;
using isa::OperandKind;

namespace {

Op vector_op(std::string_view name) {
  for (const char* bits : {"clz", "ctz", "popcnt"})
    if (name == bits) return *isa::op_from_mnemonic(std::string(name) + "16");
  const auto op = isa::op_from_mnemonic(name);
  return op && isa::has_vector_form(*op) ? *op : Op::count;
}

bool is_dsd(const Value& v) { return v.type->is_dsd(); }
bool is_vector_value(const Value& v) { return v.type->is_dsd() || v.type->is_dsr(); }

// An operation with such an operand gives a bool: whether all elements were done.
bool may_stop_early(const Value& v) {
  return v.type->kind == TypeKind::fifo_dsd || v.type->kind == TypeKind::dsr_fifo_dest ||
         v.type->kind == TypeKind::dsr_fifo_src1;
}

bool commutes(Op op) {
  switch (op) {
    case Op::add16:
    case Op::and16:
    case Op::or16:
    case Op::xor16:
    case Op::fadds:
    case Op::faddh:
    case Op::fmuls:
    case Op::fmulh:
    case Op::fmaxs:
    case Op::fmaxh:
      return true;
    default:
      return false;
  }
}

bool same_dsd(const Value& a, const Value& b) {
  if (!is_dsd(a) || a.type != b.type) return false;
  if (a.is(ValueKind::place) && b.is(ValueKind::place))
    return a.location == b.location && a.location.index < 0;
  return a.kind == b.kind && equal(a, b);
}

int sync_dsr(const Evaluator& e, const Unit& u) {
  for (int index = 1; index < first_async_dsr(e.machine()); ++index)
    if (!u.used_dsrs.contains(index)) return index;
  return 1;
}

// The number for a microthread's operations: its own, or in a small file the next free one from the top; -1 and an
// error if there is none.
int async_dsr(Evaluator& e, int microthread, SourceLoc where) {
  const Machine::Core& core = e.machine().core;
  const int first = first_async_dsr(e.machine());
  if (core.dsrs_per_file - first >= core.microthreads) return first + microthread;
  Unit& u = e.unit();
  if (const auto it = u.dsr_of_microthread.find(microthread); it != u.dsr_of_microthread.end()) return it->second;
  const auto taken = [&](int index) {
    return u.used_dsrs.contains(index) ||
           std::any_of(u.dsr_of_microthread.begin(), u.dsr_of_microthread.end(),
                       [&](const auto& entry) { return entry.second == index; });
  };
  for (int index = core.dsrs_per_file - 1; index >= first; --index)
    if (!taken(index)) return u.dsr_of_microthread[microthread] = index;
  e.fail(where,
         fmt::format("no DSR is left for microthread {}: of the {} numbers of a file asynchronous operations have {}",
                     microthread, core.dsrs_per_file, core.dsrs_per_file - first),
         "use fewer microthreads (.ut_id, or queues with the same number), or fewer numbers in @get_dsr");
  return -1;
}

}  // namespace

// Half of a file at least is for the main thread.
int first_async_dsr(const Machine& m) {
  return std::max(m.core.dsrs_per_file - m.core.microthreads, m.core.dsrs_per_file / 2);
}

bool is_vector_builtin(std::string_view name) {
  return vector_op(name) != Op::count && !name.ends_with("z16") && name != "popcnt16";
}

bool read_dsr_config(Evaluator& e, ConfigFields& f, isa::DsrConfig& c) {
  c.async = f.flag("async");
  c.save_address = f.flag("save_address");
  c.single_step = f.flag("single_step");
  bool good = true;
  const auto task = [&](const char* name, int8_t& out) {
    const Value* v = f.find(name);
    if (!v || !v->ok()) return;
    const int id = task_id_of(e, *v, f.where());
    good &= id >= 0;
    out = int8_t(id);
  };
  task("activate", c.activate);
  task("unblock", c.unblock);
  good &= read_priority(e, f, c.priority);
  if (const Value* ut = f.find("ut_id"); ut && ut->ok()) {
    if (ut->is(ValueKind::integer) && ut->type->kind == TypeKind::ut_id)
      c.microthread = int8_t(ut->i);
    else
      e.fail(f.where(), "field 'ut_id' needs a microthread id", "@get_ut_id(n)"), good = false;
  }
  if (const Value* oc = f.find("on_control"); oc && oc->ok()) {
    ConfigFields action(e, *oc, f.where());
    using On = isa::DsrConfig::OnControl;
    if (action.flag("terminate")) c.on_control = On::terminate;
    for (auto [name, what] : {std::pair{"activate", On::activate}, {"unblock", On::unblock}})
      if (const Value* v = action.find(name); v && v->ok()) {
        c.on_control = what;
        c.on_control_task = int8_t(task_id_of(e, *v, f.where()));
        good &= c.on_control_task >= 0;
      }
    good &= action.finish();
  }
  if (const Value* index = f.find("index"); index && index->ok()) {
    const Value v = e.coerce(*index, e.types().integer(16, false), f.where(), "index");
    good &= v.ok();
    if (v.ok())
      e.builder().emit(Op::stcfg16, {FunctionBuilder::imm(int(isa::ConfigReg::index)), e.operand(v, f.where())});
  }
  if (!f.finish() || !good) return false;
  if (c.activate >= 0 && c.unblock >= 0) {
    e.fail(f.where(), "an operation activates or unblocks at its end, not both");
    return false;
  }
  if (!c.async && (c.activate >= 0 || c.unblock >= 0)) {
    e.fail(f.where(), "'activate' and 'unblock' need '.async = true'");
    return false;
  }
  return true;
}

void load_dsr(Evaluator& e, OperandKind file, int index, const DsdValue& d, const Type* t,
              const isa::DsrConfig& config, SourceLoc where) {
  Location at = d.place;
  const bool changed =
      std::any_of(d.words.begin(), d.words.end(), [](const auto& w) { return w.has_value(); });
  if (!d.in_memory || changed) at = e.in_memory(Value::with(t, ValueKind::dsd, d), where);
  const Op op = file == OperandKind::dest ? Op::ldds : file == OperandKind::src0 ? Op::lds0 : Op::lds1;
  const Operand dsr{file, index, 0}, word = FunctionBuilder::imm(isa::encode(config));
  if (at.index >= 0)
    e.builder().emit(op, {dsr, {OperandKind::reg, at.index, 0}, at.operand(), word});
  else if (at.kind == OperandKind::imm)
    e.builder().emit(op, {dsr, FunctionBuilder::imm(0), at.operand(), word});
  else
    e.builder().emit(op, {dsr, at.operand(), FunctionBuilder::imm(0), word});
}

namespace {

// Checks one scalar operand against the element type of its position and gives the register or literal.
bool scalar_operand(Evaluator& e, Op op, size_t position, const Value& given, SourceLoc where, Operand& out) {
  const int bytes = isa::operand_bytes(op, int(position));
  Value v = e.load(given, where);
  if (!v.ok()) return false;
  const isa::Type t = isa::row(op).type;
  const bool floats = t == isa::Type::f32 || t == isa::Type::f16 || t == isa::Type::f16_f32 ||
                      t == isa::Type::f16_to_f32 || t == isa::Type::f32_to_f16 ||
                      t == isa::Type::f16_to_i16 || t == isa::Type::f32_to_i16;
  const bool exponent = isa::row(op).form[position] == 'r';
  const bool literal = v.type->kind == TypeKind::comptime_int || v.type->kind == TypeKind::comptime_float;
  if (floats && !exponent && (literal || v.type->is_float()))
    v = e.coerce(v, bytes == 4 ? e.types().f32() : e.types().f16(), where, "operand");
  else if (literal) {
    const bool negative = v.is(ValueKind::integer) && v.i < 0;
    v = e.coerce(v,
                 v.type->kind == TypeKind::comptime_float ? (bytes == 4 ? e.types().f32() : e.types().f16())
                                                          : e.types().integer(bytes * 8, negative),
                 where, "operand");
  }
  if (!v.ok()) return false;
  const bool number = v.type->is_number() || v.type->is_id() || v.type->kind == TypeKind::pointer ||
                      v.type->kind == TypeKind::boolean || v.type->kind == TypeKind::enumeration;
  if (!number || int(v.type->bytes) != bytes || (floats && !exponent && !v.type->is_float())) {
    e.fail(where, fmt::format("operand {} of @{} needs {}, this is '{}'", position + 1, isa::row(op).mnemonic,
                              exponent ? "a 16-bit integer"
                              : floats ? (bytes == 4 ? "an f32 or a DSD" : "an f16 or a DSD")
                                       : fmt::format("{} bits or a DSD", bytes * 8),
                              v.type->name));
    return false;
  }
  out = e.operand(v, where);
  return true;
}

struct VectorCall {
  Evaluator& e;
  Op op;
  std::vector<Value> values;
  isa::DsrConfig config;
  SourceLoc where;
  int index = 1;  // DSR number
  isa::Inst inst;
  bool config_placed = false;
  Operand result;  // register destination, to be stored to values[0]

  void dsr(OperandKind file, size_t position) {
    const Value& v = values[position];
    if (v.type->kind == TypeKind::fifo_dsd) {  // its registers were loaded before the program began
      const MirFifo& fifo = e.unit().tile.fifos[v.dsd().dsd.queue];
      inst.args[position] = {position == 0 ? OperandKind::dest : OperandKind::src1, fifo.dsr, 0};
      return;
    }
    if (v.type->is_dsr()) {
      const auto& r = v.as<DsrValue>();
      inst.args[position] = {r.file, r.index, 0};
      return;
    }
    load_dsr(e, file, index, dsd_value(v), v.type, config_placed ? isa::DsrConfig{} : config, where);
    config_placed = true;
    inst.args[position] = {file, index, 0};
  }
};

bool destination(VectorCall& c, bool reduction) {
  Evaluator& e = c.e;
  const Value& d = c.values[0];
  if (is_vector_value(d)) {
    c.dsr(OperandKind::dest, 0);
    return true;
  }
  const int bytes = isa::operand_bytes(c.op, 0);
  if (d.type->kind != TypeKind::pointer || d.type->many || int(d.type->element->bytes) != bytes ||
      !d.type->element->is_scalar()) {
    e.fail(c.where,
           fmt::format("the destination of @{} is a DSD, a DSR or a pointer to {} bits, this is '{}'",
                       isa::row(c.op).mnemonic, bytes * 8, d.type->name));
    return false;
  }
  if (d.type->is_const) {
    e.fail(c.where, "the destination is constant");
    return false;
  }
  if (c.config.async) {
    e.fail(c.where, "an asynchronous operation cannot write to a scalar");
    return false;
  }
  c.result = bytes == 4 ? e.builder().pair() : e.builder().reg();
  c.inst.args[0] = c.result;
  if (!reduction) return true;
  Operand start;
  if (!scalar_operand(e, c.op, 1, c.values[1], c.where, start)) return false;
  e.builder().move(c.result, start);
  c.inst.args[1] = c.result;
  return true;
}

bool sources(VectorCall& c, bool reduction) {
  const std::string_view form = isa::row(c.op).form;
  if (form.size() > 2 && c.values[1].type->kind == TypeKind::fifo_dsd) {
    c.e.fail(c.where, fmt::format("a FIFO cannot be the first source of @{}", isa::row(c.op).mnemonic),
             "make it the second source");
    return false;
  }
  for (size_t k = reduction ? 2 : 1; k < form.size(); ++k) {
    const Value& v = c.values[k];
    if (!is_vector_value(v)) {
      if (!scalar_operand(c.e, c.op, k, v, c.where, c.inst.args[k])) return false;
      continue;
    }
    if (form[k] == 'S' || form[k] == 'r') {
      c.e.fail(c.where, fmt::format("operand {} of @{} is a scalar, this is '{}'", k + 1,
                                    isa::row(c.op).mnemonic, v.type->name));
      return false;
    }
    if (form[k] == 'A' && same_dsd(v, c.values[0]))
      c.inst.args[k] = c.inst.args[0];
    else
      c.dsr(form[k] == 'A' ? OperandKind::src0 : OperandKind::src1, k);
  }
  return true;
}

}  // namespace

Value emit_vector(Evaluator& e, Op op, std::vector<Value> values, ConfigFields* fields, SourceLoc where) {
  VectorCall c{.e = e, .op = op, .values = std::move(values), .where = where};
  if (fields && !read_dsr_config(e, *fields, c.config)) return {};
  // dst = b op dst: the source that is the destination goes first, where it needs no DSR of its own.
  const bool may_swap = c.values.size() == 3 && commutes(op) && !may_stop_early(c.values[1]);
  if (may_swap && same_dsd(c.values[2], c.values[0]) && !same_dsd(c.values[1], c.values[0]))
    std::swap(c.values[1], c.values[2]);
  const bool any_dsr =
      std::any_of(c.values.begin(), c.values.end(), [](const Value& v) { return v.type->is_dsr(); });
  const bool any_dsd = std::any_of(c.values.begin(), c.values.end(), is_dsd);
  c.index = sync_dsr(e, e.unit());
  if (c.config.async && any_dsd && !any_dsr) {
    const int ut = microthread_of(e, c.values, c.config, where);
    if (ut < 0) return {};
    c.config.microthread = int8_t(ut);
    c.index = async_dsr(e, ut, where);
  } else if (c.config.async && any_dsr && any_dsd) {
    c.index = async_dsr(e, e.machine().core.microthreads - 1, where);
  }
  if (c.index < 0) return {};
  const bool reduction = !is_vector_value(c.values[0]) && c.values.size() == 3 &&
                         !is_vector_value(c.values[1]) && is_vector_value(c.values[2]);
  c.inst.op = op;
  if (!destination(c, reduction) || !sources(c, reduction)) return {};
  e.builder().emit(op, {c.inst.args[0], c.inst.args[1], c.inst.args[2], c.inst.args[3]});
  const bool tests = !c.config.async && std::any_of(c.values.begin(), c.values.end(), may_stop_early);
  Operand done;
  if (tests)
    done = e.builder().emit_reg(Op::ldcfg16, {FunctionBuilder::imm(int(isa::ConfigReg::test))});
  if (c.result.kind != OperandKind::none) {
    const int end = tests ? e.builder().new_label() : -1;
    if (tests) e.builder().jump_if(done, false, end);
    e.store(e.dereference(c.values[0], where), Value::scalar(c.values[0].type->element, c.result), where);
    if (tests) e.builder().place(end);
  }
  // Whether all elements were done; only a FIFO ends an operation before.
  return tests ? Value::scalar(e.types().get(TypeKind::boolean), done) : bool_value(e.types(), true);
}

// @dfilt(fabin, …): nothing is kept of what arrives until so many control wavelets have come.
Value dfilt_builtin(Evaluator& e, const ast::Builtin& n, const Type*) {
  const Value v = e.eval(n.args[0]);
  if (!v.ok()) return {};
  if (v.type->kind != TypeKind::fabin_dsd || (!v.is(ValueKind::dsd)))
    return e.fail(n.args[0]->loc,
                  fmt::format("@dfilt takes a fabin_dsd known at comptime, this is '{}'", v.type->name));
  isa::DsrConfig config;
  if (n.args.size() > 1) {
    ConfigFields f(e, n.args[1]);
    if (!f.good() || !read_dsr_config(e, f, config)) return {};
  }
  DsdValue d = v.dsd();
  d.dsd.zero = 1;
  const int ut = config.async ? microthread_of(e, {v}, config, n.loc) : 0;
  if (ut < 0) return {};
  if (config.async) config.microthread = int8_t(ut);
  const int index = config.async ? async_dsr(e, ut, n.loc) : sync_dsr(e, e.unit());
  if (index < 0) return {};
  load_dsr(e, OperandKind::src1, index, d, v.type, config, n.loc);
  e.builder().emit(Op::mov32, {e.builder().pair(), {OperandKind::src1, index, 0}});
  return e.void_value();
}

Value vector_builtin(Evaluator& e, const ast::Builtin& n) {
  const Op op = vector_op(n.name);
  const size_t operands = isa::row(op).form.size();
  if (n.args.size() != operands && n.args.size() != operands + 1)
    return e.fail(
        n.loc, fmt::format("@{} takes {} operands and perhaps a configuration, here are {} arguments", n.name,
                           operands, n.args.size()));
  std::vector<Value> values;
  bool good = true;
  for (size_t k = 0; k < operands; ++k) {
    values.push_back(k == 0 ? e.eval(n.args[k]) : e.rvalue(n.args[k]));
    const Value& v = values.back();
    good &= v.ok();
    if (v.ok() && v.is(ValueKind::place) && v.type->is_scalar() && k == 0) values.back() = e.load(v, n.loc);
    if (v.ok() && v.is(ValueKind::undefined)) {
      e.fail(n.args[k]->loc, "this operand is undefined");
      good = false;
    }
  }
  if (!good) return {};
  if (n.args.size() == operands) return emit_vector(e, op, std::move(values), nullptr, n.loc);
  ConfigFields config(e, n.args[operands]);
  return config.good() ? emit_vector(e, op, std::move(values), &config, n.loc) : Value();
}

}  // namespace cs::csl
