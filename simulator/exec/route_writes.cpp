// Which colors' registers an instruction may write: config registers by their address, mapped ones by the literal that
// names them.
#include "simulator/exec/route_writes.h"

#include "simulator/exec/mapped_registers.h"

namespace cs::sim {
namespace {

// Literal `arg` and a register are summed, or joined in another way: an address that only the run knows.
bool added_to_register(const isa::Inst& inst, size_t arg) {
  const std::string_view form = isa::row(inst.op).form;
  for (size_t i = 0; i < form.size(); ++i) {
    const bool read = form[i] == 'M' || form[i] == 'A' || form[i] == 'B' || form[i] == 'r';
    const bool value = form[i] != 'M' && i + 1 == form.size() && form.find('M') != form.npos;  // what is stored
    if (i != arg && read && !value && inst.args[i].kind == isa::OperandKind::reg) return true;
  }
  return false;
}

}  // namespace

uint32_t routes_written(const isa::Inst& inst, const Machine& machine) {
  const uint32_t all = uint32_t((uint64_t(1) << machine.router.colors) - 1);
  if (inst.op == isa::Op::stcfg16) {
    const isa::Operand& address = inst.args[0];
    if (address.kind != isa::OperandKind::imm) return all;
    const int reg = address.value & 7;
    const bool opens = reg <= int(isa::ColorReg::pos3) || reg == int(isa::ColorReg::messages);
    return isa::is_color_config(uint32_t(address.value)) && opens ? 1u << ((address.value - isa::kColorConfig) / 8) : 0;
  }
  uint32_t colors = 0;
  if (machine.arch != Arch::wse2) return colors;
  for (size_t i = 0; i < inst.args.size(); ++i) {
    if (inst.args[i].kind != isa::OperandKind::imm) continue;
    const int color = mapped_color(uint16_t(inst.args[i].value));
    if (color >= 0) colors |= added_to_register(inst, i) ? all : 1u << color;
  }
  return colors;
}

}  // namespace cs::sim
