// The Program: what the compiler hands to the simulator and the host.
//
// Machine part: tile programs (code, data, tasks, queues, symbols), the rectangles that run them, routes per color.
// Host part (host_part.h): tensors, weights, host steps, kernel table; absent for anyone's own CSL program.
// A Program is plain data. On disk it is a folder: program.fb (FlatBuffers, program.fbs), weights.bin (mapped),
// manifest.json. Two Programs are equal exactly if their bytes are.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/isa/dsd.h"
#include "runtime/isa/isa.h"
#include "runtime/numerics/data_type.h"
#include "runtime/numerics/fp16_format.h"
#include "runtime/program/host_part.h"
#include "runtime/support/geometry.h"

namespace cs {

// ---- routes -------------------------------------------------------------------------------------------------

enum class PopMode : uint8_t { no_pop, always_pop, pop_on_advance, pop_on_advance_nop };

struct SwitchPosition {
  bool valid = false;
  PortSet rx = 0, tx = 0;
  bool operator==(const SwitchPosition&) const = default;
};

// What of a color's traffic to the ramp reaches the core (docs/timing.md, filters).
enum class FilterKind : uint8_t { none, counter, sparse_counter, range };
struct FilterConfig {
  FilterKind kind = FilterKind::none;
  bool count_data = false, count_control = false, filter_control = false;
  uint16_t init_counter = 0, max_counter = 0, limit1 = 0, limit2 = 0;
  uint16_t min_index = 0, max_index = 0;
  bool operator==(const FilterConfig&) const = default;
};

// The router configuration of one color at one PE. positions[0] is `routes`.
struct RouteConfig {
  std::array<SwitchPosition, 4> positions{};
  uint8_t current = 0;
  bool ring_mode = false;
  PopMode pop_mode = PopMode::no_pop;
  bool teardown = false;
  bool swap_x = false, swap_y = false;  // what comes in along the axis on this color has color ^ 1 within
  FilterConfig filter;
  bool operator==(const RouteConfig&) const = default;
};

struct RouteRun {  // every PE of the rectangle has this configuration for the color
  Rect rect;
  uint8_t color = 0;
  RouteConfig config;
  bool operator==(const RouteRun&) const = default;
};

// ---- one tile program, shared by all PEs with the same file and parameters ------------------------------------

enum class TaskKind : uint8_t { data, control, local };
enum class TaskArgs : uint8_t { none, word, half, half_and_index };  // data in r0:r1 / r0 / r0 and r1

struct TaskBinding {
  TaskKind kind = TaskKind::local;
  uint8_t id = 0;        // data: color (WSE-2) or input queue (WSE-3); local and control: task id
  uint32_t entry = 0;    // instruction index
  TaskArgs args = TaskArgs::none;
  std::string name;
  bool operator==(const TaskBinding&) const = default;
};

struct QueueBinding {
  bool output = false;
  uint8_t queue = 0, color = 0;
  uint8_t priority = 0;  // as isa::Dsd::priority; WSE-2 input queues: of the microthread
  bool operator==(const QueueBinding&) const = default;
};

// What an operation does at the end of a FIFO that it cannot pass.
enum class FifoAction : uint8_t { test_or_suspend, terminate, suspend, fault };

struct FifoBinding {  // a ring in memory between two operations; FIFO DSDs name it by its index
  uint16_t address = 0, bytes = 0;
  int8_t activate_push = -1, activate_pop = -1;  // local task ids, -1: none
  FifoAction full = FifoAction::test_or_suspend, empty = FifoAction::test_or_suspend;
  uint8_t priority = 0;  // as isa::Dsd::priority
  isa::SimdMode simd = isa::SimdMode::automatic;
  bool operator==(const FifoBinding&) const = default;
};

struct DsrInit {  // contents of a DSR at cycle 0
  uint8_t file = 0, index = 0;  // file: 0 destination, 1 source 0, 2 source 1
  std::array<uint16_t, isa::kDsdWords> words{};
  int32_t config = 0;
  bool operator==(const DsrInit&) const = default;
};

struct ConfigInit {  // contents of a configuration register at cycle 0
  uint16_t address = 0, value = 0;
  bool operator==(const ConfigInit&) const = default;
};

struct Segment {  // initial memory contents at cycle 0
  uint16_t address = 0;
  std::vector<uint8_t> bytes;
  bool operator==(const Segment&) const = default;
};

// noinit: data that the program declares as `undefined`; reading it before anything was written is a fault.
enum class SectionKind : uint8_t { reserved, code, constants, data, frame, noinit };
struct Section {  // the memory map, for breakdowns: everything that occupies memory, in address order
  std::string name;
  SectionKind kind = SectionKind::data;
  uint16_t address = 0;
  uint32_t bytes = 0;
  bool operator==(const Section&) const = default;
};

struct Symbol {  // exported variable, reachable by the host
  std::string name;
  DataType type = DataType::f32;
  uint16_t address = 0;
  uint32_t elements = 0;
  bool is_mutable = true;
  int32_t pointer = -1;  // address of the pointer that every copy follows; -1: the elements stay at `address`
  bool operator==(const Symbol&) const = default;
};

struct Parameter {
  DataType type = DataType::i16;
  uint16_t address = 0;  // where the host writes the argument before the launch
  bool operator==(const Parameter&) const = default;
};

struct Function {  // exported function, launched by the host
  std::string name;
  uint32_t entry = 0;
  std::vector<Parameter> parameters;
  bool operator==(const Function&) const = default;
};

struct LineEntry {  // instructions from `first` on come from this line (file: index into TileProgram::files)
  uint32_t first = 0;
  uint32_t file = 0, line = 0, column = 0;
  bool operator==(const LineEntry&) const = default;
};

struct TileProgram {
  std::string name;                      // file and parameters, for messages
  Fp16Format fp16 = Fp16Format::f16;
  std::vector<isa::Inst> code;
  uint16_t code_address = 0;
  std::vector<Segment> segments;
  std::vector<Section> sections;
  std::vector<TaskBinding> tasks;
  std::vector<QueueBinding> queues;
  std::vector<FifoBinding> fifos;
  std::vector<DsrInit> dsrs;
  std::vector<ConfigInit> config;
  std::vector<uint8_t> blocked;          // task ids blocked at cycle 0 (beyond unbound data ids)
  std::vector<uint8_t> unblocked;        // data task ids without a task, which would start blocked
  std::vector<uint8_t> blocked_threads;  // microthreads blocked at cycle 0
  std::vector<uint8_t> activated;        // local task ids activated at cycle 0
  std::vector<Symbol> symbols;
  std::vector<Function> functions;
  std::vector<std::string> files;
  std::vector<LineEntry> lines;
  bool operator==(const TileProgram&) const = default;

  const Symbol* symbol(const std::string& name) const;
  const Function* function(const std::string& name) const;
  // "pe.csl:12" of an instruction, empty if unknown.
  std::string where(uint32_t inst) const;
};

struct TileRect {
  Rect rect;
  uint32_t tile = 0;  // index into Program::tiles
  bool operator==(const TileRect&) const = default;
};

// A stream between the host and an edge of the fabric: wavelets of `color` enter (input) the edge PE's router
// from outside, or leave it there (output).
struct HostPort {
  std::string name;
  bool input = true;
  Port side = Port::west;
  int position = 0;      // row for west and east, column for north and south, in fabric coordinates
  uint8_t color = 0;
  bool operator==(const HostPort&) const = default;
};

// A color that the host streams on by <memcpy>: at the PEs that configure it from RAMP to RAMP, the host feeds the
// ramp (input), or takes what the core sends (output).
struct HostStream {
  uint8_t color = 0;
  bool input = true;
  bool operator==(const HostStream&) const = default;
};

struct ExportedName {  // @export_name of the layout: what the host may ask for
  std::string name;
  bool is_function = false;
  DataType type = DataType::f32;
  bool is_mutable = true;
  bool operator==(const ExportedName&) const = default;
};

struct Program {
  static constexpr int kFormatVersion = 3;
  std::string name;
  std::string machine;                   // name of the machine it was compiled for
  std::string machine_text;              // machine_to_yaml of it: every value
  Arch arch = Arch::wse2;
  int fabric_width = 0, fabric_height = 0;   // PEs the simulator has to build; coordinates below are in it
  Rect user;                             // the rectangle of @set_rectangle, placed in the fabric
  bool memcpy = false;                   // imports <memcpy>: the host may copy and launch
  std::vector<TileProgram> tiles;
  std::vector<TileRect> rects;           // disjoint; PEs in none run nothing but route
  std::vector<RouteRun> routes;          // disjoint per color
  std::vector<HostPort> ports;
  std::vector<HostStream> streams;       // by color
  std::vector<ExportedName> exports;
  std::optional<HostPart> host;
  bool operator==(const Program&) const = default;
};

// The PE whose router a port at this place of an edge belongs to.
Coord edge_of(const Program&, Port side, int position);

// Says in the Program what it was compiled for: name, arch and the whole description.
void set_program_machine(Program&, const Machine&);
// The machine a Program was compiled for; reported if its description is not one.
std::optional<Machine> program_machine(const Program&, Diag&);

// Everything a consumer relies on: indices, ids, overlaps, addresses, bytes, symbols, host part. Reports all.
bool verify(const Program&, const Machine&, Diag&);
// What needs the size of weights.bin: that every constant lies inside.
bool verify_weights(const Program&, uint64_t weights_bytes, Diag&);

// The folder form. Written to a temporary name and renamed when complete. `weights` are raw bytes.
struct Manifest {
  std::string tool_version, command;     // command: the options that matter, no paths, no times
  std::vector<std::pair<std::string, std::string>> entries;  // hashes, options; sorted
};
bool write_program(const std::string& folder, const Program&, const std::vector<uint8_t>& weights,
                   const Manifest&, Diag&);
struct LoadedProgram {
  Program program;
  std::vector<uint8_t> weights;
};
// Reads and verifies; every kind of damage (truncated, wrong version, wrong index) is a diagnostic, never a crash.
std::optional<LoadedProgram> read_program(const std::string& folder, Diag&);

// The text form (.csptext) of everything, tile code as assembly; parse_program_text(program_text(p)) == p.
std::string program_text(const Program&);
std::optional<Program> parse_program_text(std::string text, const std::string& name, Diag&);

// The bytes of program.fb and back, without verification.
std::string program_bytes(const Program&);
std::optional<Program> parse_program_bytes(std::string_view bytes, const std::string& name, Diag&);

// Words of the text forms: "f32", "east", "local", "half_and_index", "pop_on_advance", "code".
std::string_view port_name(Port);
std::string_view task_kind_name(TaskKind);
std::string_view task_args_name(TaskArgs);
std::string_view pop_mode_name(PopMode);
std::string_view filter_kind_name(FilterKind);
std::string_view fifo_action_name(FifoAction);
std::string_view section_kind_name(SectionKind);
// "W>ER" (inputs > outputs), "-" if the position is not valid.
std::string switch_position_text(const SwitchPosition&);

}  // namespace cs
