// MIR: what the CSL front half (sema) hands to the back half (link) for one tile program.
//
// MIR code is tile ISA with virtual registers, numbered labels and symbolic addresses. The back half allocates
// registers, lays out memory, resolves symbols and builds a TileProgram.
//
// Conventions
//  - reg and pair operands with value >= isa::kFirstVirtual are virtual; a number is used with one width only.
//  - `label` operands number MirFunction::labels; labels[n] is the index of the instruction it stands before.
//  - Scalars live in virtual registers; arrays, structs, DSDs and address-taken locals live in frame slots.
//    Functions are not recursive (sema reports recursion), so every frame has a fixed address; frames of functions
//    that cannot be active together share memory.
//  - Calls: arguments are in `args` of a MirCall; 16-bit results come back in r0, 32-bit ones in p0. No register
//    survives a call. sema expresses a call as the instruction `jal LINK, FUNCTION` (or `jalv`) with an entry in
//    MirFunction::calls; the back half moves arguments and results.
//  - A task ends with `yield`; a function ends with `jv LINK`, which the back half inserts where `ret` says.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "runtime/isa/isa.h"
#include "runtime/program/program.h"

namespace cs::csl {

struct MirRelocation {   // 16-bit address (plus addend) of a global, or instruction index of a function
  uint32_t offset = 0;   // byte offset in the global's image
  bool function = false;
  uint32_t target = 0;
  int32_t addend = 0;
};

struct MirGlobal {
  std::string name;      // as in the source, with the module path for imported ones
  uint32_t bytes = 0, align = 2;
  bool noinit = false;   // declared with the value `undefined`
  bool constant = false; // read-only: shared section, may be merged with an equal one
  std::vector<uint8_t> init;            // empty: zero at cycle 0; else `bytes` long
  std::vector<MirRelocation> relocations;
  bool is_dsd = false;
  bool used = true;      // unreferenced globals are dropped unless exported
  SourceLoc loc;
};

struct MirSlot {
  std::string name;
  uint32_t bytes = 0, align = 2;
};

struct MirCall {         // belongs to the instruction at `inst` (a jal or jalv)
  uint32_t inst = 0;
  std::vector<isa::Operand> args;       // reg, pair or imm operands, in parameter order
  std::vector<bool> arg_is_pair;
  isa::Operand result;                  // kind none, reg or pair
  bool is_tail = false;                 // a jump: the callee returns to the caller of this function
};

struct MirFunction {
  std::string name;
  SourceLoc loc;
  enum class Kind : uint8_t { function, task } kind = Kind::function;
  // Virtual registers that hold the parameters at entry. Tasks: filled from the wavelet (TaskArgs).
  std::vector<isa::Operand> params;
  isa::Operand result;                  // where `ret` finds the value: kind none, reg or pair (virtual)
  std::vector<isa::Inst> code;
  std::vector<SourceLoc> locs;          // one per instruction
  std::vector<uint32_t> labels;         // label number -> instruction index
  std::vector<uint32_t> kept;           // labels of loops around straightened ones: they stay loops
  std::vector<MirSlot> slots;
  std::vector<MirCall> calls;           // in instruction order
  std::vector<uint32_t> rets;           // instruction indices of `jv LINK` that return from here
};

struct MirTask {
  TaskKind kind = TaskKind::local;
  uint8_t id = 0;
  uint32_t function = 0;
  TaskArgs args = TaskArgs::none;
};

struct MirSymbol {       // exported variable: the global itself, or a pointer global whose value is its address
  std::string name;
  uint32_t global = 0;
  uint32_t offset = 0;
  DataType type = DataType::f32;
  uint32_t elements = 0;
  bool is_mutable = true;
  int pointer = -1;  // global of the pointer that every copy follows, where the program may change it; -1: none
};

struct MirExportedFunction {
  std::string name;
  uint32_t function = 0;
  std::vector<DataType> params;
};

struct MirFifo {         // the ring is bytes of a global
  FifoBinding binding;                  // its address is the offset in the global
  uint32_t global = 0;
  SourceLoc loc;
  int dsr = -1;                         // its number in the destination and in the source-1 file
};

struct MirDsr {          // contents of a DSR at cycle 0
  DsrInit init;
  isa::Operand base;                    // kind global: its address is added to the base of the descriptor
};

// One tile program before register allocation and layout of memory.
struct MirTile {
  std::string name;                     // "pe.csl" plus parameters
  Fp16Format fp16 = Fp16Format::f16;
  std::vector<MirFunction> functions;
  std::vector<MirGlobal> globals;
  std::vector<MirTask> tasks;
  std::vector<QueueBinding> queues;
  std::vector<SourceLoc> queue_locs;    // as many as queues, or none
  std::vector<uint8_t> blocked, unblocked, blocked_threads, activated;
  std::vector<MirFifo> fifos;
  std::vector<MirDsr> dsrs;
  std::vector<ConfigInit> config;
  std::map<uint8_t, RouteConfig> routes;  // @set_local_color_config
  std::vector<HostStream> streams;        // streaming colors of <memcpy>; each has a route above
  std::map<uint8_t, SourceLoc> route_locs;
  bool reroutes = false;                // imports <tile_config>: routes may change at run time
  bool separate_control = false;        // control tasks have a table of their own
  std::vector<MirSymbol> symbols;
  std::vector<MirExportedFunction> exported_functions;
  bool memcpy = false;                  // imports <memcpy>
};

// What the layout block says, in coordinates of the user rectangle.
struct MirLayout {
  int width = 0, height = 0;
  std::vector<MirTile> tiles;
  std::vector<uint32_t> tile_of_pe;     // width * height entries, row-major; ~0u: none
  std::vector<RouteRun> routes;         // @set_color_config, already merged into rectangles
  std::vector<SourceLoc> route_locs;    // as many
  std::vector<ExportedName> exports;
  bool memcpy = false;
  std::vector<std::string> failed;      // files of tile programs with errors
};

// Back half: registers, memory, symbols. Reports memory that does not fit with its breakdown (need, have, users).
// `too_many`: bytes beyond the memory of a PE.
bool link_tile(const MirTile&, const Machine&, TileProgram& out, const Sources&, Diag&, uint32_t* too_many = nullptr);

}  // namespace cs::csl
