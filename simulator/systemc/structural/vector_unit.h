// VectorUnit: operations of the main thread and the microthreads, and the datapath that they share: one element group
// per cycle (docs/timing.md §6, §7).
#pragma once

#include <optional>

#include "simulator/systemc/structural/core_state.h"

namespace cs::sim::structural {

class VectorUnit {
 public:
  explicit VectorUnit(CoreState& core) : core_(core) {}

  bool busy(int thread) const { return threads_[size_t(thread)].has_value(); }
  bool any() const;
  // The main thread issues a vector instruction at `t`; false: it has to wait, or the program has ended.
  bool issue(const Instruction&, Cycle t);
  void step();  // the datapath's cycle

 private:
  // ---- issue (vector_issue.cpp)
  bool make_operands(Operation&);
  bool make_operand(Operation&, size_t position, const isa::Operand&, int bytes);
  bool make_output(Operation&, Operand&);
  bool make_input(Operand&);
  uint32_t least_extent(const Operation&, bool output) const;
  int microthread_of(const Operation&) const;
  int rank_of(const Operation&, int thread) const;
  bool claim_queues(Operation&, int thread, Cycle t);
  void set_group(Operation&) const;
  void add_banks(Operation&, int reading, int moving) const;
  const FifoBinding& binding(const Operand& o) const { return core_.tile.program->fifos[size_t(o.queue)]; }

  // ---- a cycle (vector_unit.cpp)
  bool group_ready(Operation&, int thread);
  bool input_ready(Operation&, int thread, Operand&);
  bool output_ready(const Operation&, const Operand&);
  bool drop(Operation&, int thread, const Operand&, bool control);
  bool take_control(Operation&, int thread, const Operand&);
  bool fifo_ready(Operation&, int thread, Operand&, bool push);
  uint32_t elements_there(const Operation&) const;
  void execute(Operation&, int thread);
  void fifo_moved(const Operation&);
  void end_of_message(Operation&);
  void retire(int thread, Cycle last_group);
  void save_addresses(const Operation&);

  // ---- elements (vector_elements.cpp)
  bool execute_element(Operation&);
  bool read(Operation&, Operand&, uint32_t& value);
  bool write(Operation&, uint32_t value);
  bool check_memory(const Operation&, const Operand&, bool read);
  bool check_address(const Operation&, int64_t address, int bytes);
  bool read_fifo(const Operation&, const Operand&, uint32_t& value);
  bool write_fifo(const Operation&, const Operand&, uint32_t value);
  uint32_t received(const Operand&, const Wavelet&) const;
  void send(const Operand&, uint32_t word, bool last);
  void write_output(Operand&, uint32_t value, bool last);

  CoreState& core_;
  std::array<std::optional<Operation>, kThreads> threads_;
  Cycle datapath_free_ = 0;
};

}  // namespace cs::sim::structural
