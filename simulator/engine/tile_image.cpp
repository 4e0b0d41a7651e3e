// Preparing a tile program: decode each instruction once, fill the task tables, lay out initial memory.
// Algorithm: for every instruction walk the letters of its form to find registers read and written, then take
// latencies from the machine by cost class; then tasks, queues, segments.

#include "simulator/engine/tile_image.h"
#include "simulator/exec/route_writes.h"

#include <algorithm>

#include "runtime/isa/scalar_cycles.h"

namespace cs::sim {
namespace {

uint32_t registers_of(const isa::Operand& a) {
  if (a.kind == isa::OperandKind::reg) return 1u << a.value;
  if (a.kind == isa::OperandKind::pair) return 3u << a.value;
  return 0;
}

void decode_registers(const isa::Inst& inst, const isa::Row& row, Decoded& d) {
  for (size_t i = 0; i < row.form.size() && i < inst.args.size(); ++i) {
    char letter = row.form[i];
    bool written = letter == 'V' || letter == 'R' || letter == 'P';
    (written ? d.writes : d.reads) |= registers_of(inst.args[i]);
  }
}

InstKind kind_of(const isa::Inst& inst, const isa::Row& row) {
  switch (inst.op) {
    case isa::Op::yield:
      return InstKind::yield;
    case isa::Op::trap:
      return InstKind::trap;
    case isa::Op::actvt:
      return InstKind::activate;
    case isa::Op::blk:
      return InstKind::block;
    case isa::Op::ublk:
      return InstKind::unblock;
    case isa::Op::ldcfg16:
      return InstKind::read_config;
    case isa::Op::stcfg16:
      return InstKind::write_config;
    default:
      break;
  }
  if (row.cost == isa::Cost::jump) return InstKind::jump;
  if (row.cost == isa::Cost::dsr) return InstKind::load_dsr;
  return inst.is_vector() ? InstKind::vector : InstKind::scalar;
}

void decode_cycles(const isa::Inst& inst, const Machine::Core& core, Decoded& d) {
  const isa::ScalarCycles c = isa::scalar_cycles(inst, core);
  d.next = uint16_t(c.next);
  d.latency = uint16_t(c.result);
  d.condition = uint16_t(c.condition);
}

Decoded decode(const isa::Inst& inst, const TileProgram& tile, const Machine& machine) {
  const isa::Row& row = isa::row(inst.op);
  Decoded d;
  d.kind = kind_of(inst, row);
  decode_registers(inst, row, d);
  decode_cycles(inst, machine.core, d);
  d.half = row.type == isa::Type::f16;
  if (d.kind == InstKind::scalar) {
    d.plan = plan_scalar(inst, tile.fp16);
    const uint64_t flops = d.plan.kind == ScalarPlan::Kind::value ? d.plan.flops : 0;
    d.counts = d.plan.bytes | flops << Decoded::kCountBits | (d.half ? flops : 0) << 2 * Decoded::kCountBits;
  }
  if (d.kind == InstKind::vector) {
    d.element = &element_op(inst.op, tile.fp16);
    d.flops = d.element->flops;
    d.width = uint8_t(std::clamp(machine.simd(std::string(row.mnemonic)), 1, 255));
    d.reduction = is_reduction(inst);
  }
  return d;
}

// Registers may be named by the addresses of their lengths too; where that is possible, all below a used one are used.
void place_dsrs(const TileProgram& tile, TileImage& image) {
  std::array<std::array<bool, widths::kDsrs>, 3> used{};
  bool lengths = false;
  for (const isa::Inst& inst : tile.code) {
    for (const isa::Operand& a : inst.args)
      if (a.is_dsr()) used[size_t(a.kind) - size_t(isa::OperandKind::dest)][size_t(a.value)] = true;
    const bool read = inst.op == isa::Op::ldcfg16, written = inst.op == isa::Op::stcfg16;
    const isa::Operand& address = inst.args[read ? 1 : 0];
    if (read || written)
      lengths |= address.kind != isa::OperandKind::imm || isa::is_dsr_length(uint32_t(address.value));
  }
  for (const DsrInit& d : tile.dsrs) used[d.file][d.index] = true;
  for (size_t file = 0; file < 3; ++file) {
    image.dsr_place[file].fill(TileImage::kNoDsr);
    size_t end = used[file].size();
    while (end > 0 && !used[file][end - 1]) --end;
    for (size_t i = 0; i < end; ++i)
      if (lengths || used[file][i]) image.dsr_place[file][i] = image.dsrs++;
  }
}

// Instructions whose own cycle matters to others than the main thread: the host, the router, microthreads.
bool seen_by_others(const Decoded& d, const TileImage& image) {
  switch (d.kind) {
    case InstKind::scalar:  // a register that is shown as memory
      return image.reroutes != 0 && d.plan.kind != ScalarPlan::Kind::value;
    case InstKind::jump:
    case InstKind::vector:
    case InstKind::load_dsr:
    case InstKind::yield:
      return false;
    default:
      return true;
  }
}

// How many instructions come between each one and the next that others see, at least; `kFar` where the task
// ends first. Where a register says how it goes on, that is 0.
void find_seen(const TileProgram& tile, TileImage& image) {
  constexpr uint8_t kFar = 255;
  std::vector<uint8_t> until(tile.code.size() + 1, kFar);  // from this instruction on, it included
  const auto from = [&](int64_t at) {
    if (at == isa::kReturnToScheduler) return kFar;
    return at >= 0 && size_t(at) < tile.code.size() ? until[size_t(at)] : uint8_t(0);
  };
  const auto behind = [&](size_t i) {
    const isa::Inst& inst = tile.code[i];
    switch (inst.op) {
      case isa::Op::jmp:
        return from(inst.args[0].value);
      case isa::Op::jal:
        return from(inst.args[1].value);
      case isa::Op::jmpt:
      case isa::Op::jmpf:
        return std::min(from(inst.args[1].value), from(int64_t(i) + 1));
      case isa::Op::yield:
        return kFar;
      default:
        return image.code[i].kind == InstKind::jump ? uint8_t(0) : from(int64_t(i) + 1);
    }
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = tile.code.size(); i-- > 0;) {
      const uint8_t rest = behind(i);
      image.code[i].seen_after = rest;
      const uint8_t more = rest == kFar ? kFar : uint8_t(std::min(rest + 1, kFar - 1));
      const uint8_t here = seen_by_others(image.code[i], image) ? 0 : more;
      changed |= here != until[i];
      until[i] = here;
    }
  }
}

void add_slot(TileImage& image, int id) {
  if (image.slot[size_t(id)] < 0) image.slot[size_t(id)] = int8_t(image.slots++);
}

void fill_tasks(const TileProgram& tile, const Machine& machine, TileImage& image) {
  image.data_task.fill(-1);
  image.control_task.fill(-1);
  image.local_task.fill(-1);
  image.slot.fill(-1);
  uint64_t bound = 0;
  for (size_t i = 0; i < tile.tasks.size(); ++i) {
    const TaskBinding& task = tile.tasks[i];
    const size_t id = task.id;
    auto& table = task.kind == TaskKind::data      ? image.data_task
                  : task.kind == TaskKind::control ? image.control_task
                                                   : image.local_task;
    table[id] = int16_t(i);
    if (task.kind != TaskKind::control) bound |= uint64_t(1) << id;
    if (task.kind == TaskKind::local) image.local_ids |= uint64_t(1) << id;
    add_slot(image, int(id));
  }
  // Data ids without a task start blocked.
  int data_ids =
      machine.queues.data_task_on_queue ? int(machine.queues.input_words.size()) : machine.router.colors;
  for (int id = 0; id < data_ids; ++id)
    if (!(bound >> id & 1)) image.blocked |= uint64_t(1) << id;
  for (uint8_t id : tile.unblocked) image.blocked &= ~(uint64_t(1) << id);
  for (uint8_t id : tile.blocked_threads) image.threads_blocked |= uint16_t(1u << id);
  for (uint8_t id : tile.blocked) image.blocked |= uint64_t(1) << id;
  for (uint8_t id : tile.activated) image.activated |= uint64_t(1) << id;
}

void fill_queues(const TileProgram& tile, const Machine& machine, TileImage& image) {
  for (const QueueBinding& q : tile.queues) {
    if (q.output) {
      image.settings.output_color[q.queue] = int8_t(q.color);
    } else {
      image.inputs.push_back(q);
      add_slot(image, machine.queues.data_task_on_queue ? q.queue : q.color);
    }
  }
  std::sort(image.inputs.begin(), image.inputs.end(),
            [](const QueueBinding& a, const QueueBinding& b) { return a.queue < b.queue; });
}

void fill_memory(const TileProgram& tile, const Machine& machine, TileImage& image) {
  const uint32_t full = uint32_t(machine.core.memory_bytes);
  uint32_t low = full, end = 0;
  const auto needs = [&](uint32_t address, uint32_t bytes) {
    if (bytes != 0) low = std::min(low, address);
    end = std::max(end, address + bytes);
  };
  for (const Section& s : tile.sections) {
    const bool data = s.kind != SectionKind::reserved && s.kind != SectionKind::code;
    needs(data ? s.address : s.address + s.bytes, data ? s.bytes : 0);
  }
  for (const Segment& s : tile.segments) needs(s.address, uint32_t(s.bytes.size()));
  for (const Symbol& s : tile.symbols) needs(s.address, s.elements * uint32_t(data_type_bytes(s.type)));
  for (const Function& f : tile.functions)
    for (const Parameter& p : f.parameters) needs(p.address, uint32_t(data_type_bytes(p.type)));
  end = std::min((end + 7) & ~7u, full);
  image.memory_low = std::min(low, end) & ~7u;
  image.memory.assign(end - image.memory_low, 0);
  for (const Segment& s : tile.segments)
    for (size_t i = 0; i < s.bytes.size() && s.address + i < end; ++i)
      image.memory[s.address + i - image.memory_low] = s.bytes[i];
}

}  // namespace

TileImage make_tile_image(const TileProgram& tile, const Machine& machine) {
  TileImage image;
  image.program = &tile;
  image.code.reserve(tile.code.size());
  for (const isa::Inst& inst : tile.code) {
    image.code.push_back(decode(inst, tile, machine));
    image.reroutes |= routes_written(inst, machine);
  }
  place_dsrs(tile, image);
  find_seen(tile, image);
  fill_tasks(tile, machine, image);
  fill_queues(tile, machine, image);
  for (const ConfigInit& c : tile.config) set_config(image.settings, c.address, c.value);
  fill_memory(tile, machine, image);
  image.guard = MemoryGuard(tile);
  return image;
}

}  // namespace cs::sim
