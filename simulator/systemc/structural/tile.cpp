// From the Program's tables to tables by id.
#include "simulator/systemc/structural/tile.h"

#include <algorithm>

#include "simulator/exec/route_writes.h"

namespace cs::sim::structural {
namespace {

using Kind = Instruction::Kind;

Kind kind_of(const isa::Inst& inst) {
  switch (inst.op) {
    case isa::Op::yield:
      return Kind::yield;
    case isa::Op::trap:
      return Kind::trap;
    case isa::Op::actvt:
      return Kind::activate;
    case isa::Op::blk:
      return Kind::block;
    case isa::Op::ublk:
      return Kind::unblock;
    case isa::Op::ldcfg16:
      return Kind::read_config;
    case isa::Op::stcfg16:
      return Kind::write_config;
    default:
      break;
  }
  const isa::Cost cost = isa::row(inst.op).cost;
  if (cost == isa::Cost::jump) return Kind::jump;
  if (cost == isa::Cost::dsr) return Kind::load_dsr;
  return inst.is_vector() ? Kind::vector : Kind::scalar;
}

uint32_t registers_of(const isa::Operand& a) {
  if (a.kind == isa::OperandKind::reg) return 1u << a.value;
  if (a.kind == isa::OperandKind::pair) return 3u << a.value;
  return 0;
}

Instruction read(const isa::Inst& inst, Fp16Format fp16, const Machine& m) {
  const isa::Row& row = isa::row(inst.op);
  Instruction i;
  i.inst = inst;
  i.kind = kind_of(inst);
  i.cycles = isa::scalar_cycles(inst, m.core);
  for (size_t k = 0; k < row.form.size() && k < inst.args.size(); ++k) {
    const bool written = row.form[k] == 'V' || row.form[k] == 'R' || row.form[k] == 'P';
    (written ? i.writes : i.reads) |= registers_of(inst.args[k]);
  }
  if (i.kind == Kind::scalar) i.plan = plan_scalar(inst, fp16);
  if (i.kind != Kind::vector) return i;
  i.element = &element_op(inst.op, fp16);
  i.simd_width = std::max(1, m.simd(std::string(row.mnemonic)));
  i.reduction = is_reduction(inst);
  return i;
}

}  // namespace

Tile::Tile(const TileProgram& p, const Machine& m) : program(&p), guard(p) {
  for (const isa::Inst& inst : p.code) {
    code.push_back(read(inst, p.fp16, m));
    opens_colors |= routes_written(inst, m);
  }
  data_task.fill(-1);
  control_task.fill(-1);
  local_task.fill(-1);
  output_color.fill(-1);
  uint64_t bound = 0;
  for (size_t i = 0; i < p.tasks.size(); ++i) {
    const TaskBinding& t = p.tasks[i];
    Tasks& table = t.kind == TaskKind::data ? data_task : t.kind == TaskKind::control ? control_task : local_task;
    table[t.id] = int(i);
    if (t.kind != TaskKind::control) bound |= uint64_t(1) << t.id;
    if (t.kind == TaskKind::local) local_ids |= uint64_t(1) << t.id;
  }
  // Ids of data tasks that nobody bound start blocked.
  const int data_ids = m.queues.data_task_on_queue ? int(m.queues.input_words.size()) : m.router.colors;
  for (int id = 0; id < data_ids; ++id)
    if (!(bound >> id & 1)) blocked |= uint64_t(1) << id;
  for (uint8_t id : p.unblocked) blocked &= ~(uint64_t(1) << id);
  for (uint8_t id : p.blocked) blocked |= uint64_t(1) << id;
  for (uint8_t id : p.activated) activated |= uint64_t(1) << id;
  for (uint8_t id : p.blocked_threads) threads_blocked |= 1u << id;
  for (const QueueBinding& q : p.queues) {
    if (q.output)
      output_color[q.queue] = q.color;
    else
      inputs.push_back(q);
  }
  std::sort(inputs.begin(), inputs.end(),
            [](const QueueBinding& a, const QueueBinding& b) { return a.queue < b.queue; });
}

}  // namespace cs::sim::structural
