// FIFOs: @allocate_fifo and the lengths of their two ends.
//
// A FIFO takes one number of the destination and the source-1 DSR file for the whole program; both registers hold
// its descriptor before the program begins. The ring itself is FifoBinding.
#include <algorithm>

#include <fmt/format.h>

#include "compiler/csl/builtins.h"
#include "compiler/csl/lower_dsd.h"
#include "compiler/csl/lower_vector.h"

namespace cs::csl {
namespace {

using isa::Op;
using isa::OperandKind;

constexpr uint32_t kFifoAlignment = 4;
constexpr size_t kMaxFifos = 16;  // the descriptor names a FIFO in four bits

// A free DSR number from the top of those that operations of the main thread use; two of them stay free.
int free_dsr(const Machine& m, const Unit& u) {
  for (int index = first_async_dsr(m) - 1; index > 1; --index)
    if (!u.used_dsrs.contains(index)) return index;
  return -1;
}

// The registers that the program names, or free ones.
bool choose_dsr(Evaluator& e, ConfigFields& f, MirFifo& fifo) {
  const Value *dest = f.find("dest"), *src = f.find("src"), *xdsr = f.find("xdsr");
  if (!dest && !src && !xdsr) {
    fifo.dsr = -1;  // chosen when all numbers that the program names are known
    return true;
  }
  if (!dest || !src || !xdsr) {
    e.fail(f.where(), "the fields 'dest', 'src' and 'xdsr' are given together or not at all");
    return false;
  }
  const auto is = [](const Value& v, OperandKind file) {
    return v.is(ValueKind::dsr) && v.as<DsrValue>().file == file;
  };
  if (!dest->ok() || !src->ok() || !xdsr->ok()) return false;
  if (!is(*dest, OperandKind::dest) || !is(*src, OperandKind::src1) ||
      dest->as<DsrValue>().index != src->as<DsrValue>().index) {
    e.fail(f.where(), "'dest' needs a dsr_dest and 'src' a dsr_src1 of the same number",
           "@get_dsr(dsr_dest, n) and @get_dsr(dsr_src1, n)");
    return false;
  }
  fifo.dsr = dest->as<DsrValue>().index;
  for (const MirFifo& other : e.unit().tile.fifos)
    if (other.dsr == fifo.dsr) {
      e.fail(f.where(), fmt::format("DSR {} holds another FIFO", fifo.dsr));
      return false;
    }
  return true;
}

bool read_action(Evaluator& e, ConfigFields& f, const char* name, FifoAction& out) {
  const int choice = f.choice(name, {"test_or_suspend", "terminate", "suspend", "fault"});
  if (choice == 0) return true;
  out = FifoAction(choice - 1);
  const bool only_wse3 = std::string_view(name) == "full_action" || choice > 2;
  if (e.wse3() || !only_wse3) return true;
  e.fail(f.where(), fmt::format("'{}' with this action does not exist on {}", name, e.machine().name),
         "leave it out");
  return false;
}

bool read_options(Evaluator& e, const ast::Builtin& n, MirFifo& fifo) {
  FifoBinding& b = fifo.binding;
  if (n.args.size() < 2) {
    ConfigFields none(e, Value::with(e.types().get(TypeKind::comptime_struct), ValueKind::aggregate, Aggregate{}),
                      n.loc);
    return choose_dsr(e, none, fifo);
  }
  ConfigFields f(e, n.args[1]);
  if (!f.good()) return false;
  for (bool push : {true, false})
    if (const Value* v = f.find(push ? "activate_push" : "activate_pop"); v && v->ok())
      e.unit().fifo_tasks.push_back({e.unit().tile.fifos.size(), push, *v, f.where()});
  b.priority = uint8_t(f.choice("priority", {"low", "medium", "high"}));
  if (const int simd = f.choice("simd_mode", {"simd_off", "simd_32", "simd_64", "simd_32_or_64"})) {
    if (e.wse3())
      return e.fail(f.where(), fmt::format("a FIFO has no 'simd_mode' on {}", e.machine().name)), false;
    b.simd = simd == 1 ? isa::SimdMode::off : simd == 2 ? isa::SimdMode::simd_32 : isa::SimdMode::simd_64;
  }
  return read_action(e, f, "full_action", b.full) && read_action(e, f, "empty_action", b.empty) &&
         choose_dsr(e, f, fifo) && f.finish();
}

isa::Dsd descriptor(size_t index) {
  isa::Dsd d;
  d.kind = isa::DsdKind::fifo;
  d.queue = uint8_t(index);
  d.stride[0] = 0;
  return d;
}

Value allocate_fifo(Evaluator& e, const ast::Builtin& n, const Type*) {
  Value place;
  const Value buffer = e.locate(n.args[0]);
  if (!buffer.ok() || !base_of(e, buffer, n.args[0]->loc, place)) return {};
  if (place.location.kind != OperandKind::global || place.location.index >= 0 || place.is_const ||
      place.type->kind != TypeKind::array)
    return e.fail(n.args[0]->loc, "a FIFO needs a global array that is a var", "var buffer = @zeros([n]u32);");
  const Type* element = place.type;
  while (element->kind == TypeKind::array) element = element->element;
  if (!element->is_number() || element->bytes < 2)
    return e.fail(n.args[0]->loc, fmt::format("a FIFO holds numbers of 16 or 32 bits, not '{}'", element->name));
  if (e.unit().tile.fifos.size() == kMaxFifos)
    return e.fail(n.loc, fmt::format("more than {} FIFOs", kMaxFifos));
  MirFifo fifo;
  fifo.global = uint32_t(place.location.value);
  fifo.binding.bytes = uint16_t(std::min<uint32_t>(place.type->bytes, UINT16_MAX));
  MirGlobal& global = e.unit().tile.globals[fifo.global];
  global.align = std::max(global.align, kFifoAlignment);
  if (!read_options(e, n, fifo)) return {};
  DsdValue d;
  d.dsd = descriptor(e.unit().tile.fifos.size());
  fifo.binding.address = uint16_t(place.location.extra);
  fifo.loc = n.loc;
  e.unit().tile.fifos.push_back(fifo);
  return Value::with(e.types().get(TypeKind::fifo_dsd), ValueKind::dsd, std::move(d));
}

// The extent of one end is a word of its DSR.
Value set_length(Evaluator& e, const ast::Builtin& n, int file) {
  const Value fifo = e.eval(n.args[0]);
  const Value length = e.eval_as(n.args[1], e.types().integer(16, false), "length");
  if (!fifo.ok() || !length.ok()) return {};
  if (fifo.type->kind != TypeKind::fifo_dsd)
    return e.fail(n.args[0]->loc, fmt::format("a FIFO is needed here, this is '{}'", fifo.type->name),
                  "@allocate_fifo(buffer)");
  const int dsr = e.unit().tile.fifos[fifo.dsd().dsd.queue].dsr;
  const int address = isa::dsr_length(file, dsr);
  e.builder().emit(Op::stcfg16, {FunctionBuilder::imm(address), e.operand(length, n.loc)});
  return e.void_value();
}
Value set_fifo_read_length(Evaluator& e, const ast::Builtin& n, const Type*) { return set_length(e, n, 2); }
Value set_fifo_write_length(Evaluator& e, const ast::Builtin& n, const Type*) { return set_length(e, n, 0); }

constexpr BuiltinRow kRows[] = {
    {"allocate_fifo", 1, 2, Allowed::config, allocate_fifo},
    {"set_fifo_read_length", 2, 2, Allowed::code, set_fifo_read_length},
    {"set_fifo_write_length", 2, 2, Allowed::code, set_fifo_write_length},
};

}  // namespace

void finish_fifos(Evaluator& e) {
  Unit& u = e.unit();
  for (size_t i = 0; i < u.tile.fifos.size(); ++i) {
    MirFifo& fifo = u.tile.fifos[i];
    if (fifo.dsr < 0) fifo.dsr = free_dsr(e.machine(), u);
    if (fifo.dsr < 0) {
      e.fail(fifo.loc, "no DSR is free for this FIFO", "use fewer FIFOs or fewer numbers in @get_dsr");
      return;
    }
    u.used_dsrs.insert(fifo.dsr);
    for (uint8_t file : {0, 2}) {  // the descriptor is in both of its registers
      DsrInit init{.file = file, .index = uint8_t(fifo.dsr)};
      isa::encode(descriptor(i), init.words);
      u.tile.dsrs.push_back({init, {}});
    }
  }
  for (const Unit::FifoTask& t : u.fifo_tasks) {
    const int id = task_id_of(e, t.task, t.loc);
    FifoBinding& b = u.tile.fifos[t.fifo].binding;
    (t.push ? b.activate_push : b.activate_pop) = int8_t(id);
  }
}

std::span<const BuiltinRow> fifo_builtins() { return kRows; }

}  // namespace cs::csl
