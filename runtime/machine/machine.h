// The machine description: every size, rate, latency and limit of a wafer-scale engine, read from
// configs/machines/*.yaml. Nothing in the code says "if wse3" where a field here can say it.
//
// Units are in the names. How the timing fields act is defined in docs/timing.md; where each number comes from
// is a comment in the YAML file. Fields that no source states are marked there as assumptions.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/support/diag.h"

namespace cs {

// The language and ISA dialect: decides which ids, queues and encodings exist in CSL (--arch).
enum class Arch : uint8_t { wse2, wse3 };
std::string_view arch_name(Arch);  // "wse2"

constexpr double kWaveletBytes = 4;

struct Machine {
  std::string name;  // "wse2", "wse3", "small"
  Arch arch = Arch::wse2;
  double clock_mhz = 850;

  struct Fabric {
    int width = 757, height = 996;    // PEs of the whole fabric
    int user_width = 750, user_height = 994;  // largest user rectangle
    bool operator==(const Fabric&) const = default;
  } fabric;

  struct Router {
    int colors = 24;
    std::vector<int> switchable_colors;   // colors whose switch may have positions 1..3
    int switch_positions = 4;
    bool single_rx = false;               // at most one input direction per color and position
    bool switch_sets_rx_and_tx = false;   // a position may set both (WSE-3)
    int hop_cycles = 1;                   // departure at a router -> landing at its neighbour
    int lane_depth_wavelets = 2;          // buffer per input port and color
    int switch_advance_cycles = 0;        // control wavelet departs -> new position in force, beyond the next cycle
    bool operator==(const Router&) const = default;
  } router;

  struct Ramp {
    int up_cycles = 2;        // element leaves the datapath -> may depart from the router
    int fp_cycles = 0;        // the same, beyond up_cycles, of what floating-point arithmetic has computed
    int down_cycles = 2;      // wavelet landed at the router -> an element may use it
    int wavelets_per_cycle = 1;
    bool operator==(const Ramp&) const = default;
  } ramp;

  struct Queues {
    std::vector<int> input_words;   // depth by input queue id
    std::vector<int> output_words;  // depth by output queue id
    bool data_task_on_queue = false;      // data tasks are bound to queues (WSE-3) or colors (WSE-2)
    bool output_queue_per_color = false;  // one output queue = one color (WSE-3)
    bool operator==(const Queues&) const = default;
  } queues;

  struct Core {
    int memory_bytes = 49152;
    int memory_banks = 8;
    int bank_bytes = 4;                 // that follow each other lie in one bank
    int bank_conflict_modulo = 4;       // two sources conflict if their banks are equal modulo this
    int bank_conflict_factor = 2;       // cycles per element group are multiplied by this
    int read_bytes_per_cycle = 16;
    int write_bytes_per_cycle = 8;
    int microthreads = 8;
    int dsrs_per_file = 16;
    int registers = 16;
    int issue_cycles = 1;               // one scalar instruction
    int result_cycles = 1;              // integer result -> dependent instruction may issue
    int fp_result_cycles = 2;           // floating-point result -> dependent instruction
    int load_result_cycles = 1;         // scalar load -> dependent instruction
    int wide_cycles = 2;                // issue slots of a scalar instruction on integers of 32 bits: two halves
    int condition_cycles = 3;           // condition -> the jump that reads it
    int jump_taken_cycles = 6;          // taken jump -> next instruction issues
    int jump_not_taken_cycles = 3;
    int dsr_load_cycles = 1;            // issue of one DSR load
    int dsr_load_use_cycles = 4;        // DSR load -> instruction that uses the DSR may issue
    int dsd_start_cycles = 4;           // DSD instruction issues -> its first element executes
    int reduction_cycles_per_element = 2;  // scalar-destination add reductions (dependent chain)
    int task_start_cycles = 3;          // event (activation, landing accepted by a task) -> first instruction
    int task_switch_cycles = 1;         // end of a task -> the picker may start another
    int fp32_divide_cycles = 50;        // software division
    int fp16_divide_cycles = 50;
    int int_divide_cycles = 50;
    bool automatic_microthread_ids = false;  // WSE-3: explicit .ut_id or chosen by the compiler
    bool operator==(const Core&) const = default;
  } core;

  struct TaskIds {
    int local_first = 0, local_last = 30;
    int control_first = 0, control_last = 63;
    bool operator==(const TaskIds&) const = default;
  } task_ids;

  // What the vendor's memcpy infrastructure takes away from a program that imports it.
  struct Memcpy {
    std::vector<int> colors{21, 22, 23};
    std::vector<int> local_task_ids{27, 28, 30};
    std::vector<int> control_task_ids{33, 34, 35, 36, 37};
    std::vector<int> input_queues{0};
    std::vector<int> output_queues{0};
    int memcpy_bytes = 4176;
    int command_cycles = 157;  // a command is there -> a function's first instruction, a first word
    int margin_west = 4, margin_east = 3, margin_north = 1, margin_south = 1;  // fabric - rectangle
    bool operator==(const Memcpy&) const = default;
  } memcpy;

  struct Host {
    int host_ports = 16;               // streams that may be open per edge
    double host_wavelets_per_cycle = 1.0;  // per port
    double system_gb_per_s = 150;      // all streams of one direction together
    double host_call_us = 171;         // a call of a host program: copy, launch; on its own clock
    double host_crossing_us = 10;      // a streamed value between a host operator and the edge of the wafer, one way
    int host_cores = 4;                // share what follows; an operator runs on one of them
    double host_op_us = 5;             // beside its operations and bytes
    double host_gflops = 50;
    double host_gb_per_s = 18.75;
    double link_gb_per_s = 3.4;        // copies: bytes at link rate
    bool operator==(const Host&) const = default;
  } host;

  struct Energy {
    double hop_pj = 1.6;               // wavelet leaves a router by one output
    double memory_pj_per_byte = 0.94;
    double fp32_pj = 0.85, fp16_pj = 0.25;  // one operation: mean of an addition and a multiplication
    double instruction_pj = 3.0;
    double idle_pj_per_cycle = 8.0;    // clock and leakage of one PE
    bool operator==(const Energy&) const = default;
  } energy;

  // SIMD width (elements per cycle) by vector instruction, "fadds: 2". Instructions not listed have 1.
  std::vector<std::pair<std::string, int>> simd_width;
  int simd(const std::string& mnemonic) const;  // width, 1 if not listed

  struct Calibration {
    bool silicon_calibration = false;   // on: multiply rates as below
    double move_rate_factor = 0.60;
    double fp16_rate_factor = 0.73;
    double wavelet_cycles = 1.125;
    bool operator==(const Calibration&) const = default;
  } calibration;

  // From the moment when a launch is at a PE and its command stream is ready to the function's first
  // instruction.
  int launch_cycles() const { return std::max(core.task_start_cycles, memcpy.command_cycles); }
  // Peak floating-point operations per cycle and PE of a dtype: 2 * fused multiply-adds per cycle.
  double peak_flops_per_cycle(bool half_precision) const;
  // Of all streams of one direction together, between the host and the edges of the wafer.
  double system_wavelets_per_cycle() const;
  bool operator==(const Machine&) const = default;
};

// A machine file has every key, or `base: NAME` of a shipped machine and the keys that differ from it.
// Reads a machine: `name_or_path` is a path, or a name in the machines directory. Every problem is reported.
std::optional<Machine> load_machine(const std::string& name_or_path, Diag&);
std::optional<Machine> parse_machine(std::string text, const std::string& name, Diag&);
// The full text form; parse_machine(machine_to_yaml(m)) == m.
std::string machine_to_yaml(const Machine&);
// "machine.router.hop_cycles=2" or "router.hop_cycles=2".
bool set_machine_value(Machine&, const std::string& key_equals_value, Diag&);
// The description checked against itself (queue counts, id ranges, units). Reports every contradiction.
bool verify_machine(const Machine&, Diag&);
// Every key of a machine file as section.key, for help texts and docs.
struct MachineKey {
  std::string key, unit, sentence;
};
std::vector<MachineKey> machine_keys();
// Names of the machines that ship with the tool, for messages.
std::vector<std::string> machine_names();
// Where configs/machines lies: beside the executable's folder, in the build tree and when installed.
std::string machines_directory();

}  // namespace cs
