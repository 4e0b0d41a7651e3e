// The main thread of a walk: one instruction after the other, tasks by their events, and where the PE repeats
// itself.
#include "compiler/csl/walk.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <optional>
#include <unordered_map>

#include "compiler/csl/walk_events.h"
#include "compiler/csl/walk_thread.h"
#include "compiler/csl/walk_ways.h"
#include "runtime/isa/scalar_cycles.h"

namespace cs::csl {

namespace {

using isa::Op;
using isa::OperandKind;

constexpr uint64_t kSettled = 3;  // periods after which their length counts, however it differs

class Walker {
 public:
  Walker(const TileProgram& tile, const Machine& machine, const WalkOptions& options)
      : tile_(tile),
        machine_(machine),
        options_(options),
        core_(machine.core),
        state_(tile, machine, options),
        registers_(tile),
        datapath_(machine),
        events_(tile, machine, options.function.empty()),
        ways_(tile, machine),
        widths_(machine) {
    walked_.code.resize(tile.code.size());
    for (size_t i = 0; i < tile.tasks.size(); ++i)
      tasks_.push_back({tile.tasks[i].name, tile.tasks[i].entry});
    if (const Function* f = tile.function(options.function)) tasks_.push_back({f->name, f->entry});
    datapath_.retired = [this](const WalkOp& op, WalkCycle at, WalkCycle last) { retired(op, at, last); };
  }

  Walked run() {
    if (options_.entry >= 0) {
      tasks_.push_back({"", uint32_t(options_.entry)});
      alone(tasks_.size() - 1, 0);
    } else if (!options_.function.empty()) {
      if (tile_.function(options_.function) != nullptr) launched();
    } else {
      periods();
    }
    for (WalkedTask& t : tasks_)
      if (t.times > 0) walked_.tasks.push_back(t);
    walked_.moved = datapath_.async_cycles - moved_before_;
    walked_.rounds = 0;
    for (const WalkedTask& t : walked_.tasks) walked_.rounds = std::gcd(walked_.rounds, t.times);
    if (!walked_.repeats || walked_.rounds == 0) walked_.rounds = 1;
    walked_.asked = state_.asked();
    walked_.asked.place = asked_place_;
    return std::move(walked_);
  }

 private:
  // ---- what is walked

  void alone(size_t task, WalkCycle t) {
    task_ = task;
    begin_task(tasks_[task].entry, t);
    while (running_ && step()) {
    }
    walked_.cycles = ready_ - t;
  }

  // From its first instruction to the last element group of what it started.
  void launched() {
    alone(tasks_.size() - 1, 0);
    while (pick() && walked_.ended) {
      while (running_ && step()) {
      }
    }
    walked_.cycles = std::max(ready_, datapath_.last_group() + 1);
  }

  // Until the PE is where it has been before, twice in the same number of cycles.
  void periods() {
    std::unordered_map<uint64_t, WalkCycle> seen;
    std::optional<uint64_t> anchor;
    WalkCycle begun = 0, last = 0;
    uint64_t repeated = 0;
    while (walked_.ended && pick()) {
      const uint64_t here = signature();
      if (!anchor && !seen.emplace(here, begin_).second) anchor = here;
      if (anchor == here) {
        const WalkCycle period = begin_ - begun;
        if (repeated > 1 && (period == last || repeated > kSettled)) {
          walked_.cycles = period;
          walked_.repeats = true;
          undo_begin();
          return;
        }
        last = repeated > 0 ? period : 0;
        ++repeated;
        begun = begin_;
        clear();
      }
      while (running_ && step()) {
      }
    }
    walked_.cycles = std::max(ready_, datapath_.last_group() + 1);
  }
  // A new window begins with the task that has just been picked.
  void clear() {
    for (WalkedInstruction& i : walked_.code) i = {};
    for (WalkedTask& t : tasks_) t.times = t.cycles = t.datapath = 0;
    tasks_[task_].times = 1;
    moved_before_ = datapath_.async_cycles;
    walked_.received.clear();
  }
  void undo_begin() { --tasks_[task_].times; }

  uint64_t signature() const {
    uint64_t h = state_.signature() + registers_.signature() * 31 + datapath_.signature() * 17;
    h ^= events_.signature();
    return h * 1099511628211u + tasks_[task_].entry;
  }

  // ---- tasks

  void retired(const WalkOp& op, WalkCycle at, WalkCycle last) {
    events_.activate(op.config.activate, at, last);
    events_.unblock(op.config.unblock, at, last);
    if (op.thread == kWalkMain) last_group_ = last;
    ended_thread_ = op.thread;
    ended_at_ = at;
  }

  // The next task, when operations have come so far that none can be earlier. False if nothing can happen any
  // more.
  bool pick() {
    for (;;) {
      const WalkCycle first = events_.first(free_at_);
      if (datapath_.run(first)) continue;
      if (first == kWalkNever) return false;
      task_ = events_.take(first, free_at_);
      begin_task(tile_.tasks[task_].entry, first);
      return true;
    }
  }

  void begin_task(uint32_t entry, WalkCycle t) {
    state_.write({OperandKind::reg, isa::link_register(machine_)}, uint32_t(isa::kReturnToScheduler));
    pc_ = entry;
    running_ = true;
    begin_ = ready_ = t;
    main_before_ = datapath_.main_cycles;
    ++tasks_[task_].times;
    loops_.clear();
  }
  void end_task(WalkCycle t) {
    running_ = false;
    ready_ = t + 1;
    WalkedTask& task = tasks_[task_];
    task.cycles += ready_ - begin_;
    task.datapath += datapath_.main_cycles - main_before_;
    free_at_ = std::max(t + WalkCycle(std::max(1, core_.task_switch_cycles)), last_group_);
  }

  // ---- instructions

  bool step() {
    if (pc_ >= tile_.code.size() || ++instructions_ > options_.most_instructions)
      return walked_.ended = false;
    const uint32_t at = pc_;
    const isa::Inst& inst = tile_.code[at];
    const isa::Row& row = isa::row(inst.op);
    const isa::ScalarCycles cycles = isa::scalar_cycles(inst, core_);
    const WalkCycle before = ready_, t = operands_ready(inst, row, WalkCycle(cycles.condition));
    WalkedInstruction& count = walked_.code[at];
    ++count.times;
    ready_ = t + WalkCycle(std::max(1, core_.issue_cycles));
    ++pc_;
    if (row.cost == isa::Cost::jump) {
      jump(inst, t, count);
    } else if (row.cost == isa::Cost::dsr) {
      load_dsr(inst, t, count);
    } else if (row.cost == isa::Cost::task || row.cost == isa::Cost::config) {
      if (!scheduling(inst, t)) return false;
    } else if (inst.is_vector()) {
      vector(inst, t, at, count);
    } else {
      state_.scalar(inst);
      ready_ = t + WalkCycle(cycles.next);
      written(inst, row, t + WalkCycle(cycles.result));
    }
    walked_.code[at].cycles += ready_ - before;
    return true;
  }

  template <class Each>
  static void each_register(const isa::Operand& o, const Each& each) {
    if (o.kind != OperandKind::reg && o.kind != OperandKind::pair) return;
    each(size_t(o.value) % kRegisters);
    if (o.kind == OperandKind::pair) each((size_t(o.value) + 1) % kRegisters);
  }
  static bool is_written(char letter) { return letter == 'V' || letter == 'R' || letter == 'P'; }

  WalkCycle operands_ready(const isa::Inst& inst, const isa::Row& row, WalkCycle beyond) {
    WalkCycle t = ready_;
    for (size_t k = 0; k < row.form.size() && k < inst.args.size(); ++k) {
      if (!is_written(row.form[k]))
        each_register(inst.args[k], [&](size_t r) { t = std::max(t, register_ready_[r] + beyond); });
      if (inst.args[k].is_dsr() && row.cost != isa::Cost::dsr)
        t = std::max(t, registers_.at(inst.args[k]).ready);
    }
    return t;
  }
  void written(const isa::Inst& inst, const isa::Row& row, WalkCycle ready) {
    for (size_t k = 0; k < row.form.size() && k < inst.args.size(); ++k)
      if (is_written(row.form[k])) each_register(inst.args[k], [&](size_t r) { register_ready_[r] = ready; });
  }

  void load_dsr(const isa::Inst& inst, WalkCycle t, WalkedInstruction& count) {
    WalkDsr& d = registers_.at(inst.args[0]);
    const auto base = state_.read(inst.args[1], 2);
    d.known = base.has_value();
    d.dsd = state_.load_descriptor((base.value_or(0) + uint32_t(inst.args[2].value)) & 0xFFFF, d.known);
    d.known = d.known && base;
    d.config = isa::decode_config(inst.args[3].value);
    d.ready = t + WalkCycle(std::max(1, core_.dsr_load_use_cycles));
    ready_ = t + WalkCycle(std::max(1, core_.dsr_load_cycles));
    count.marked = count.marked || !base;
  }

  void vector(const isa::Inst& inst, WalkCycle t, uint32_t at, WalkedInstruction& count) {
    const WalkVector v = walk_vector(inst, registers_, tile_, machine_, widths_, main_priority_);
    count.marked = count.marked || !v.known;
    WalkOp op;
    while (datapath_.busy(v.thread)) {
      if (!datapath_.run(kWalkNever)) break;
      if (ended_thread_ == v.thread) t = std::max(t, ended_at_);
    }
    op.inst = at;
    op.thread = v.thread;
    op.rank = v.rank;
    op.cycles = v.cycles;
    op.holds = v.holds;
    op.issued = t;
    op.next = t + WalkCycle(std::max(1, core_.dsd_start_cycles));
    op.config = v.config;
    op.left = (v.elements + v.group - 1) / v.group;
    ready_ = t + WalkCycle(std::max(1, core_.issue_cycles));
    if (v.color >= 0) walked_.received[v.color] += v.elements;
    walk_effects(inst, v, registers_, state_);
    if (op.left == 0) {
      retired(op, t + 1, t);
    } else {
      datapath_.run(op.next);
      datapath_.add(op);
      if (op.thread != kWalkMain) return;
      while (datapath_.busy(kWalkMain)) datapath_.run(kWalkNever);
      ready_ = std::max(ready_, ended_at_);
    }
    written(inst, isa::row(inst.op), ready_);
  }

  // False at the end of the program.
  bool scheduling(const isa::Inst& inst, WalkCycle t) {
    const auto id = state_.read(inst.args[inst.op == Op::actvt ? 0 : 1], 2);
    const bool thread = inst.args[0].value == 1;
    switch (inst.op) {
      case Op::yield:
        end_task(t);
        return true;
      case Op::trap:
        end_task(t);
        return walked_.ended = false;
      case Op::actvt:
        if (id) events_.activate(int(*id), t);
        return true;
      case Op::blk:
        if (id && !thread) events_.block(int(*id));
        return true;
      case Op::ublk:
        if (id && !thread) events_.unblock(int(*id), t);
        return true;
      case Op::ldcfg16:
        read_config(inst, t);
        return true;
      default:
        if (const auto reg = state_.read(inst.args[0], 2); reg == uint32_t(isa::ConfigReg::main_priority))
          main_priority_ = int(std::min<uint32_t>(state_.read(inst.args[1], 2).value_or(0), 3));
        return true;
    }
  }
  void read_config(const isa::Inst& inst, WalkCycle t) {
    const auto reg = state_.read(inst.args[1], 2);
    WalkState::Value v;
    asked_place_ = asked_place_ || reg == uint32_t(isa::ConfigReg::coord_x) || reg == uint32_t(isa::ConfigReg::coord_y);
    if (reg == uint32_t(isa::ConfigReg::coord_x)) v = uint32_t(options_.at.x);
    if (reg == uint32_t(isa::ConfigReg::coord_y)) v = uint32_t(options_.at.y);
    if (reg == uint32_t(isa::ConfigReg::test)) v = 1;
    state_.write(inst.args[0], v);
    written(inst, isa::row(inst.op), t + WalkCycle(std::max(1, core_.result_cycles)));
  }

  // ---- jumps

  void jump(const isa::Inst& inst, WalkCycle t, WalkedInstruction& count) {
    std::optional<uint32_t> target;
    switch (inst.op) {
      case Op::jmp:
        target = uint32_t(inst.args[0].value);
        break;
      case Op::jmpt:
      case Op::jmpf:
        if (taken(inst, count)) target = uint32_t(inst.args[1].value);
        break;
      case Op::jal:
        state_.write(inst.args[0], pc_);
        target = uint32_t(inst.args[1].value);
        break;
      default: {  // jv, jalv
        const auto to = state_.read(inst.args[inst.op == Op::jalv ? 1 : 0], 2);
        if (inst.op == Op::jalv) state_.write(inst.args[0], pc_);
        count.marked = count.marked || !to;
        target = to.value_or(uint32_t(isa::kReturnToScheduler));
      }
    }
    written(inst, isa::row(inst.op), t + WalkCycle(std::max(1, core_.result_cycles)));
    if (!target) {
      ready_ = t + WalkCycle(std::max(1, core_.jump_not_taken_cycles));
      return;
    }
    if (*target == uint32_t(isa::kReturnToScheduler)) return end_task(t);
    pc_ = *target;
    ready_ = t + WalkCycle(std::max(1, core_.jump_taken_cycles));
  }

  bool taken(const isa::Inst& inst, WalkedInstruction& count) {
    const auto condition = state_.read(inst.args[0], 2);
    if (condition) return (*condition != 0) == (inst.op == Op::jmpt);
    count.marked = true;
    const uint32_t here = pc_ - 1, target = uint32_t(inst.args[1].value);
    const bool again = target <= here;  // goes round
    const bool leaves =
        !again && target >= 1 && target <= tile_.code.size() && is_jump_back(target - 1, here);
    if (!again && !leaves) return ways_.other_is_dearer(here, target);
    const auto asked = options_.trips.find(here);
    const uint32_t trips = asked != options_.trips.end() ? asked->second : 1;
    uint32_t& rounds = loops_[here];
    ++rounds;
    // In front of a round, or behind one.
    const bool stop = leaves ? rounds > trips : rounds >= trips;
    if (stop) rounds = 0;
    return leaves ? stop : !stop;
  }
  bool is_jump_back(uint32_t at, uint32_t to) const {
    const isa::Inst& inst = tile_.code[at];
    if (inst.op == Op::jmp) return uint32_t(inst.args[0].value) <= to;
    return (inst.op == Op::jmpt || inst.op == Op::jmpf) && uint32_t(inst.args[1].value) <= to;
  }

  static constexpr size_t kRegisters = 64;

  const TileProgram& tile_;
  const Machine& machine_;
  const WalkOptions& options_;
  const Machine::Core& core_;
  WalkState state_;
  WalkRegisters registers_;
  WalkDatapath datapath_;
  WalkEvents events_;
  const WalkWays ways_;
  const SimdWidths widths_;
  Walked walked_;
  std::vector<WalkedTask> tasks_;
  std::array<WalkCycle, kRegisters> register_ready_{};
  std::unordered_map<uint32_t, uint32_t> loops_;  // rounds so far, by the instruction that leaves
  uint64_t instructions_ = 0, moved_before_ = 0, main_before_ = 0;
  WalkCycle ready_ = 0, begin_ = 0, free_at_ = 0, last_group_ = 0, ended_at_ = 0;
  uint32_t pc_ = 0;
  size_t task_ = 0;
  int ended_thread_ = -1, main_priority_ = 0;
  bool running_ = false, asked_place_ = false;
};

}  // namespace

bool Walked::guessed() const {
  return std::any_of(code.begin(), code.end(),
                     [](const WalkedInstruction& i) { return i.times > 0 && i.marked; });
}

Walked walk_tile(const TileProgram& tile, const Machine& machine, const WalkOptions& options) {
  return Walker(tile, machine, options).run();
}

}  // namespace cs::csl
