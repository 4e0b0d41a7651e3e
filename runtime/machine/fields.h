// The one list of machine fields: key, field, unit, smallest and largest sensible value, one sentence.
//
// Reading, writing, --set, range checks and the reference table all walk it. A visitor is called as
//   v(key, field, unit, low, high, sentence)      for numbers and lists of numbers (low, high bound each item)
//   v(key, field, sentence)                       for switches (bool)
// and v.section(key, visit_function) descends into a struct.
#pragma once

#include "runtime/machine/field_widths.h"
#include "runtime/machine/machine.h"

namespace cs::machine_fields {

template <typename S, typename V>
void fabric(S& s, V& v) {
  v("width", s.width, "PEs", 1, 4096, "columns of the whole fabric");
  v("height", s.height, "PEs", 1, 4096, "rows of the whole fabric");
  v("user_width", s.user_width, "PEs", 1, 4096, "columns of the largest user rectangle");
  v("user_height", s.user_height, "PEs", 1, 4096, "rows of the largest user rectangle");
}

template <typename S, typename V>
void router(S& s, V& v) {
  v("colors", s.colors, "colors", 1, widths::kColors, "routable colors, ids from 0");
  v("switchable_colors", s.switchable_colors, "color ids", 0, widths::kColors - 1,
    "colors whose switch may have positions 1 to 3");
  v("switch_positions", s.switch_positions, "positions", 1, widths::kSwitchPositions,
    "switch positions of a switchable color");
  v("single_rx", s.single_rx, "at most one input direction per color and position");
  v("switch_sets_rx_and_tx", s.switch_sets_rx_and_tx, "a switch position may set inputs and outputs");
  v("hop_cycles", s.hop_cycles, "cycles", 1, 64, "departure at a router to landing at its neighbour");
  v("lane_depth_wavelets", s.lane_depth_wavelets, "wavelets", 1, 64, "buffer per input port and color");
  v("switch_advance_cycles", s.switch_advance_cycles, "cycles", 0, 1000,
    "departure of a control wavelet to the new position, beyond the next cycle");
}

template <typename S, typename V>
void ramp(S& s, V& v) {
  v("up_cycles", s.up_cycles, "cycles", 0, 64, "element left the datapath to landed in the router's ramp lane");
  v("fp_cycles", s.fp_cycles, "cycles", 0, 64,
    "by which results of floating-point arithmetic land there later");
  v("down_cycles", s.down_cycles, "cycles", 1, 64, "departure to the ramp to use by an element");
  v("wavelets_per_cycle", s.wavelets_per_cycle, "wavelets/cycle", 1, widths::kRampWavelets,
    "rate of the ramp per direction");
}

template <typename S, typename V>
void queues(S& s, V& v) {
  v("input_words", s.input_words, "words of 32 bits", 1, 64, "depth of each input queue, by id");
  v("output_words", s.output_words, "words of 32 bits", 1, 64, "depth of each output queue, by id");
  v("data_task_on_queue", s.data_task_on_queue, "data tasks are bound to input queues, else to colors");
  v("output_queue_per_color", s.output_queue_per_color, "an output queue serves one color");
}

template <typename S, typename V>
void core_memory(S& s, V& v) {
  v("memory_bytes", s.memory_bytes, "bytes", 1024, widths::kMemoryBytes, "memory of a PE: code, data and constants");
  v("memory_banks", s.memory_banks, "banks", 1, 64, "banks of the memory");
  v("bank_bytes", s.bank_bytes, "bytes", 1, 64, "consecutive pieces of this size lie in consecutive banks");
  v("bank_conflict_modulo", s.bank_conflict_modulo, "banks", 1, 64, "two sources conflict if banks agree modulo this");
  v("bank_conflict_factor", s.bank_conflict_factor, "factor", 1, 16, "cycles of an element group under a conflict");
  v("read_bytes_per_cycle", s.read_bytes_per_cycle, "bytes/cycle", 1, 256, "reads of one element group");
  v("write_bytes_per_cycle", s.write_bytes_per_cycle, "bytes/cycle", 1, 256, "writes of one element group");
  v("microthreads", s.microthreads, "microthreads", 1, widths::kMicrothreads,
    "hardware microthreads beside the main thread");
  v("dsrs_per_file", s.dsrs_per_file, "DSRs", 4, widths::kDsrs, "entries of each of the files dest, src0, src1");
  v("registers", s.registers, "registers", 8, widths::kRegisters, "16-bit registers");
}

template <typename S, typename V>
void core(S& s, V& v) {
  core_memory(s, v);
  v("issue_cycles", s.issue_cycles, "cycles", 1, 64, "issue slot of a scalar instruction");
  v("result_cycles", s.result_cycles, "cycles", 1, 64, "integer result to a dependent instruction");
  v("fp_result_cycles", s.fp_result_cycles, "cycles", 1, 64, "floating-point result to a dependent instruction");
  v("load_result_cycles", s.load_result_cycles, "cycles", 1, 64, "scalar load to a dependent instruction");
  v("wide_cycles", s.wide_cycles, "cycles", 1, 64, "issue slots of a scalar on integers of 32 bits");
  v("condition_cycles", s.condition_cycles, "cycles", 1, 64, "condition to the jump that reads it");
  v("jump_taken_cycles", s.jump_taken_cycles, "cycles", 1, 64, "taken jump to the next instruction");
  v("jump_not_taken_cycles", s.jump_not_taken_cycles, "cycles", 1, 64, "jump that falls through to the next one");
  v("dsr_load_cycles", s.dsr_load_cycles, "cycles", 1, 64, "issue of a DSR load");
  v("dsr_load_use_cycles", s.dsr_load_use_cycles, "cycles", 1, 64, "DSR load to an instruction that uses the DSR");
  v("dsd_start_cycles", s.dsd_start_cycles, "cycles", 1, 64, "issue of a vector instruction to its first element");
  v("reduction_cycles_per_element", s.reduction_cycles_per_element, "cycles", 1, 64,
    "add reduction into a register, per element");
  v("task_start_cycles", s.task_start_cycles, "cycles", 1, 64, "event to first instruction of the task");
  v("task_switch_cycles", s.task_switch_cycles, "cycles", 0, 64, "end of a task to the start of the next");
  v("fp32_divide_cycles", s.fp32_divide_cycles, "cycles", 1, 10000, "32-bit float division, in software");
  v("fp16_divide_cycles", s.fp16_divide_cycles, "cycles", 1, 10000, "16-bit float division, in software");
  v("int_divide_cycles", s.int_divide_cycles, "cycles", 1, 10000,
    "integer division and 32-bit multiplication, in software");
  v("automatic_microthread_ids", s.automatic_microthread_ids, "the compiler chooses microthreads, or .ut_id does");
}

template <typename S, typename V>
void task_ids(S& s, V& v) {
  v("local_first", s.local_first, "task id", 0, widths::kLocalTaskIds - 1, "first id of local tasks");
  v("local_last", s.local_last, "task id", 0, widths::kLocalTaskIds - 1, "last id of local tasks");
  v("control_first", s.control_first, "task id", 0, widths::kTaskIds - 1, "first id of control tasks");
  v("control_last", s.control_last, "task id", 0, widths::kTaskIds - 1, "last id of control tasks");
}

template <typename S, typename V>
void memcpy_part(S& s, V& v) {
  v("colors", s.colors, "color ids", 0, widths::kColors - 1, "colors that memcpy reserves");
  v("local_task_ids", s.local_task_ids, "task ids", 0, widths::kLocalTaskIds - 1,
    "local task ids that memcpy reserves");
  v("control_task_ids", s.control_task_ids, "task ids", 0, widths::kTaskIds - 1,
    "control task ids that memcpy reserves");
  v("input_queues", s.input_queues, "queue ids", 0, widths::kQueues - 1,
    "input queues that memcpy reserves");
  v("output_queues", s.output_queues, "queue ids", 0, widths::kQueues - 1,
    "output queues that memcpy reserves");
  v("memcpy_bytes", s.memcpy_bytes, "bytes", 0, widths::kMemoryBytes - 1, "memory that memcpy takes on every PE");
  v("command_cycles", s.command_cycles, "cycles", 0, 1000000,
    "from the arrival of a command of the host to its first instruction or word");
  v("margin_west", s.margin_west, "PEs", 0, 1000, "columns west of the user rectangle");
  v("margin_east", s.margin_east, "PEs", 0, 1000, "columns east of the user rectangle");
  v("margin_north", s.margin_north, "PEs", 0, 1000, "rows north of the user rectangle");
  v("margin_south", s.margin_south, "PEs", 0, 1000, "rows south of the user rectangle");
}

template <typename S, typename V>
void host(S& s, V& v) {
  v("host_ports", s.host_ports, "ports", 1, 4096, "streams that may be open per edge");
  v("host_wavelets_per_cycle", s.host_wavelets_per_cycle, "wavelets/cycle", 1e-6, 1.0, "rate of one stream");
  v("system_gb_per_s", s.system_gb_per_s, "GB/s", 1e-6, 1e9, "rate of all streams of one direction together");
  v("host_call_us", s.host_call_us, "microseconds", 0.0, 1e9, "the host's own time for a copy or launch");
  v("host_crossing_us", s.host_crossing_us, "microseconds", 0.0, 1e9,
    "latency of a streamed value between a host operator and the wafer's edge, one way");
  v("host_cores", s.host_cores, "cores", 1, 4096, "host operators that run at a time");
  v("host_op_us", s.host_op_us, "microseconds", 0.0, 1e9, "fixed time of a host operator on its core");
  v("host_gflops", s.host_gflops, "Gflop/s", 1e-6, 1e9, "rate of all host cores together");
  v("host_gb_per_s", s.host_gb_per_s, "GB/s", 1e-6, 1e9, "memory rate of all host cores together");
  v("link_gb_per_s", s.link_gb_per_s, "GB/s", 1e-6, 1e9, "rate of copies between host and wafer");
}

// Energy of what happens in a run (docs/machine.md); nothing of it has an influence on values or cycles.
template <typename S, typename V>
void energy(S& s, V& v) {
  v("hop_pj", s.hop_pj, "pJ", 0.0, 1e6, "a wavelet leaves a router by one output");
  v("memory_pj_per_byte", s.memory_pj_per_byte, "pJ/byte", 0.0, 1e6, "a byte is read from or written to a PE's memory");
  v("fp32_pj", s.fp32_pj, "pJ", 0.0, 1e6, "one floating-point operation in 32 bits");
  v("fp16_pj", s.fp16_pj, "pJ", 0.0, 1e6, "one floating-point operation in 16 bits");
  v("instruction_pj", s.instruction_pj, "pJ", 0.0, 1e6, "an instruction is fetched and issued, a vector one once");
  v("idle_pj_per_cycle", s.idle_pj_per_cycle, "pJ/cycle", 0.0, 1e6, "clock and leakage of one PE, always");
}

template <typename S, typename V>
void calibration(S& s, V& v) {
  v("silicon_calibration", s.silicon_calibration, "apply the factors below: silicon instead of the vendor's simulator");
  v("move_rate_factor", s.move_rate_factor, "factor", 0.01, 1.0, "rate of copies on silicon over simulator");
  v("fp16_rate_factor", s.fp16_rate_factor, "factor", 0.01, 1.0, "rate of 16-bit arithmetic, likewise");
  v("wavelet_cycles", s.wavelet_cycles, "cycles", 1.0, 100.0, "cycles per wavelet of a stream on silicon");
}

// The sections in file order. name, arch and simd_width are not numbers and are handled by the callers.
template <typename M, typename V>
void all(M& m, V& v) {
  v("clock_mhz", m.clock_mhz, "MHz", 1.0, 100000.0, "clock that converts cycles to time");
  v.section("fabric", [&] { fabric(m.fabric, v); });
  v.section("router", [&] { router(m.router, v); });
  v.section("ramp", [&] { ramp(m.ramp, v); });
  v.section("queues", [&] { queues(m.queues, v); });
  v.section("core", [&] { core(m.core, v); });
  v.section("task_ids", [&] { task_ids(m.task_ids, v); });
  v.section("memcpy", [&] { memcpy_part(m.memcpy, v); });
  v.section("host", [&] { host(m.host, v); });
  v.section("energy", [&] { energy(m.energy, v); });
  v.section("calibration", [&] { calibration(m.calibration, v); });
}

}  // namespace cs::machine_fields
