// Core: what one PE does in the cycles in which it is looked at. A short-lived view on (block, PE, cycle).
//
// run():
//   1. datapath  at most one element group, of the thread that is served next (core_vector.cpp)
//   2. main      the instructions of the main thread that are due; tasks start here (core_issue.cpp,
//   core_tasks.cpp)
//   3. sleep     find out when to look again, and as what the cycles until then count (core_tasks.cpp)
// Nothing outside can touch what scalar code and memory vectors touch, except the microthreads of the same
// core. So the main thread runs ahead of the block's time, each instruction charged its own cycle: up to
// World::horizon, or up to the first cycle in which a microthread could do something (core_ahead.cpp).
#pragma once

#include <algorithm>
#include <bit>

#include "simulator/engine/block.h"
#include "simulator/exec/mapped_registers.h"

namespace cs::sim {

class Core {
 public:
  Core(Block& block, Pe& pe, Cycle now) : block_(block), pe_(pe), world_(block.world), now_(now) {}
  void run();

  void enter_teardown(int color);

  // The run stops before `now_ + 1`, but the core has run ahead of that: back, and again up to the stop.
  void rewind();

 private:
  // ---- core_issue.cpp
  void run_main();
  bool issue(Cycle t);  // false: it has to wait
  void issue_scalar(const isa::Inst&, const Decoded&, Cycle t);
  bool scalars_are_plain() const;
  void run_scalars();  // core_scalar.cpp
  ColorRegisters mapped_color_registers(uint32_t address, Cycle t);
  void issue_mapped(const isa::Inst&, const Decoded&, uint32_t address, Cycle t);
  void issue_jump(const isa::Inst&, const Decoded&, Cycle t);
  bool issue_vector(const isa::Inst&, const Decoded&, Cycle t);
  void load_dsr(const isa::Inst&, const Decoded&, Cycle t);
  void print(isa::ConfigReg, uint16_t value, Cycle);
  void print_byte(char, Cycle);
  bool is_mapped_access(const isa::Inst&, const Decoded&) const;  // of a register that is shown as memory
  Cycle operands_ready(const isa::Inst&, const Decoded&, Cycle t) const;
  Cycle registers_ready(const Decoded& d, Cycle t) const {
    if (pe_.results.latest() + d.condition > t)
      for (uint32_t rest = d.reads; rest != 0; rest &= rest - 1)
        t = std::max(t, pe_.results.of(size_t(std::countr_zero(rest))) + d.condition);
    return t;
  }
  void set_result(const Decoded& d, Cycle ready) {
    if (d.writes != 0) pe_.results.set(d.writes, ready);
  }
  Dsr& dsr(const isa::Operand&);
  uint16_t value16(const isa::Operand& o) const { return uint16_t(operand_value(o, pe_.regs, 2)); }
  bool check_id(int id, int limit, const char* what, Cycle t);
  bool grow_memory(uint32_t from, uint32_t to) {
    return pe_.memory.holds(from, to) || grow_memory_slow(from, to);
  }
  bool grow_memory_slow(uint32_t from, uint32_t to);

  // ---- core_config.cpp
  void read_config(const isa::Inst&, Cycle t);
  bool sees_fabric(const isa::Inst&) const;
  void write_config(const isa::Inst&, Cycle t);
  std::optional<uint16_t> read_named(isa::ConfigReg, Cycle t);
  void write_named(isa::ConfigReg, uint16_t value, Cycle t);
  Dsr* dsr_of_length(uint16_t address);
  std::optional<uint16_t> read_filter(uint16_t address);
  bool write_filter(uint16_t address, uint16_t value);
  uint16_t read_queue(uint16_t address) const;
  void write_queue(uint16_t address, uint16_t value);
  uint32_t take_teardowns(uint32_t mask);
  Lane* output_lane(int queue) const;
  void bind_input(int queue, int color);
  uint16_t queue_bits(bool output, bool full) const;
  bool queue_empty(int bit) const;
  int taken_at_start(const Lane& l) const { return l.count + (l.last_pop == uint32_t(now_)); }
  void check_flush();
  uint16_t random_bits();
  uint64_t timestamp(Cycle t) const;

  // ---- core_ahead.cpp
  bool can_issue_at(Cycle t);
  bool may_run_ahead(Cycle t);
  Cycle ahead_limit() const;
  Cycle may_act_at(const VectorOp&) const;
  Cycle memory_op_limit(const VectorOp&, bool watched) const;
  bool can_go_back() const;
  bool is_ahead() const { return ahead_until() > now_ + 1; }
  Cycle ahead_until() const;
  bool is_watched() const;
  bool stream_is_taken() const { return !pe_.command_ready || pe_.next_command < pe_.commands.size(); }
  void remember();
  void log_memory(uint32_t address, uint32_t bytes);
  void log_vector(const VectorOp&, uint32_t count);

  // ---- core_tasks.cpp
  int control_task_of(const InputQueue&, Entry) const;
  void activate(int id, Cycle at, Cycle not_before = 0);
  void unblock(int id, Cycle at, Cycle not_before = 0);

  // ---- core_vector.cpp
  void run_datapath();
  bool group_ready(VectorOp&, int thread);
  bool input_ready(VectorOp&, int thread, Cursor&);
  bool output_ready(VectorOp&, Cursor&);
  bool take_control(VectorOp&, int thread, Cursor&);
  bool drop_element(VectorOp&, int thread, Cursor&, bool control);
  bool drop_header(VectorOp&, Cursor&);
  void end_of_message(VectorOp&);
  uint32_t ramp_limit(const VectorOp&, uint32_t count) const;
  void execute_group(VectorOp&, int thread);
  int8_t input_color(const Cursor&) const;
  static int8_t output_color(const Cursor&);
  void run_memory_op(VectorOp&);
  void count_elements(VectorOp&, uint32_t count);
  void account_groups(const VectorOp&, uint64_t groups);
  void retire(int thread, Cycle last_group);
  void set_group(VectorOp&, const isa::Inst&, const Decoded&);
  int microthread_of(const VectorOp&) const;
  uint8_t rank_of(const VectorOp&, int thread) const;
  bool claim_queues(VectorOp&, int thread, Cycle t);

  // ---- core_fifo.cpp
  bool fifo_ready(VectorOp&, int thread, const Cursor&, bool push);
  uint32_t fifo_limit(const VectorOp&, uint32_t count) const;
  void fifo_moved(const VectorOp&);
  uint32_t read_fifo(VectorOp&, const Cursor&);
  void write_fifo(VectorOp&, const Cursor&, uint32_t value);
  const FifoBinding& fifo_binding(const Cursor& c) const { return pe_.tile->program->fifos[c.queue]; }

  // ---- core_guard.cpp
  bool check_access(const VectorOp&, const Cursor&, bool read, uint32_t element);
  bool check_memory(const VectorOp&, int32_t address, int bytes);
  bool leaves_variable(const VectorOp&, const Cursor&, int64_t address, uint32_t element, Cycle at);
  bool reads_unwritten(int64_t low, int64_t high, uint32_t inst, Cycle at);
  bool guard_vector(const VectorOp&, uint32_t count, bool& by_element);
  bool guard_scalar(const isa::Inst&, const ScalarPlan&, Cycle t);

  // ---- core_operands.cpp
  bool make_operands(VectorOp&, const isa::Inst&, const Decoded&);
  bool make_cursor(VectorOp&, Cursor&, const isa::Operand&, int bytes, int position);
  bool make_fabric_cursor(Cursor&, const isa::Dsd&, bool destination);
  void advance_cursor(Cursor&, Walk&);
  bool read_element(VectorOp&, Cursor&, int position, uint32_t element, uint32_t& value);
  bool write_element(VectorOp&, uint32_t value, uint32_t element);
  Cycle landing(const Cursor&);
  void write_fabric(Cursor&, uint32_t word, bool last);
  uint32_t transformed(Entry) const;
  void execute_elements(VectorOp&, uint32_t count);
  bool run_memory_fast(VectorOp&, uint32_t count);

  // ---- core_rows.cpp
  template <class Row>
  void each_row(Cursor&, Walk&, uint32_t count, const Row&);
  void gather_rows(Cursor&, Walk&, uint32_t count, uint8_t* out);
  void scatter_rows(Cursor&, Walk&, uint32_t count, const uint8_t* in);
  bool rows_are_plain(const VectorOp&, const Cursor&, uint32_t count, bool& rises, bool& stands);
  bool run_memory_rows(VectorOp&, uint32_t count);
  void rows_chunk(VectorOp&, uint32_t count, bool running);

  // ---- core_operands.cpp
  void save_addresses(VectorOp&);
  void step_registers(const VectorOp&);

  // ---- core_tasks.cpp
  bool pick_task();
  void start_task(int kind, int id, size_t queue);
  void start_function();
  void pop_input(size_t queue);
  void end_task(Cycle t);
  Cycle queue_ready(const InputQueue&, int& kind, int& id) const;
  Cycle command_ready() const;
  Cycle next_task();
  bool needs_datapath(const VectorOp&) const;
  void sleep();
  int slot(int id) const { return pe_.tile->slot[size_t(id)]; }

  // ---- accounting: every cycle at most once
  void account_gap(Cycle until, int why, int thread = -1, int queue = -1, uint32_t inst = 0);
  void account_busy(Cycle t, Work what = Work::issue, uint64_t cycles = 1);

  void raise(const char* name, Cycle at, uint32_t inst, const std::string& what);

  Block& block_;
  Pe& pe_;
  World& world_;
  Cycle now_;
  bool faulted_ = false;
  bool logging_ = false;  // what is overwritten goes into Pe::ahead
  std::array<isa::Dsd, 3> dsds_;  // of the operation that issues: destination, a, b
};

inline void run_core(Block& block, Pe& pe, Cycle now) { Core(block, pe, now).run(); }

}  // namespace cs::sim
