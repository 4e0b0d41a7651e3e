// The back half's private structures: one tile program on its way from MIR to a TileProgram.
//
//  1. select_reachable   functions and globals that tasks, exported functions and exported symbols can reach
//  2. lower_conventions  parameters, calls and returns as moves to and from fixed registers
//  3. simplify           dead values, jumps (before and after registers)
//  4. allocate_registers virtual registers to all but the last; what does not fit lives in frame slots
//  5. read_halves        what takes a half of a pair reads its register
//  6. plan_memory        reserved, code, constants, data, frames (overlaid by call graph); 48 KB check
//  7. emit_tile          labels, addresses and entries resolved; sections, segments, symbols, line table
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "compiler/csl/mir.h"

namespace cs::csl::link {

inline constexpr int kFixed = widths::kRegisters;  // numbers below stand for registers of the machine

// What the registers of a machine are used for: r0, r1, ... carry arguments, then two for whoever starts a
// function, one that carries nothing, and the last one for return addresses. What has no room goes through
// memory.
struct Conventions {
  int arguments = 0, scratch = 0, nothing = 0, link = 0;
  explicit Conventions(const Machine& m)
      : arguments(std::min(8, m.core.registers - 4)),
        scratch(m.core.registers - 4),
        nothing(m.core.registers - 3),
        link(isa::link_register(m)) {}
};

struct Line {
  isa::Inst inst;
  SourceLoc loc;
  uint32_t reads = 0, clobbers = 0;  // registers beyond the operands': arguments of calls, results of returns
  bool is_call = false;
};

// Instructions that can be edited. labels[n] is the line that label n stands before (may be lines.size()).
struct Code {
  std::vector<Line> lines;
  std::vector<uint32_t> labels;
};

// Builds a new Code from an old one: begin(i) for each old line in order, then push what replaces it.
class Rewriter {
 public:
  explicit Rewriter(Code& code) : code_(code), starts_(code.lines.size() + 1, ~0u) {
    out_.reserve(code.lines.size());
  }
  void begin(size_t old) { starts_[old] = uint32_t(out_.size()); }
  void push(Line line) { out_.push_back(line); }
  void finish();  // lines that were never begun are gone; their labels stand before the next one

 private:
  Code& code_;
  std::vector<Line> out_;
  std::vector<uint32_t> starts_;
};

struct Slot {
  std::string name;
  uint32_t bytes = 0, align = 2;
  bool exclusive = false;  // never overlaid: an asynchronous operation may still use it
  uint32_t offset = 0;     // in the frame, or in the exclusive area
  uint32_t address = 0;    // final
};

struct Function {
  const MirFunction* mir = nullptr;
  uint32_t index = 0;      // in MirTile::functions
  bool ends_task = false;  // returns to the scheduler: a task, or launched by the host and called by nobody
  bool launched = false;   // the host starts it
  bool address_taken = false;
  bool calls_indirectly = false;
  std::vector<uint32_t> callees;  // direct, MIR indices, sorted
  Code code;
  std::vector<Line> stub;   // before the code, if the host and others start it
  std::vector<Slot> slots;  // those of MIR, then ours
  int next_virtual = 0;
  uint32_t frame_bytes = 0, frame_offset = 0;
  uint32_t first = 0;  // instruction index of its code
  uint32_t entry = 0;  // where calls go (behind the launch stub)
  uint32_t launch_entry = 0;
};

struct Global {
  MirGlobal mir;
  bool live = false;
  SectionKind section = SectionKind::data;
  int32_t same_as = -1;  // an equal constant, which this one is merged with
  uint32_t address = 0;
};

struct State {
  const MirTile& tile;
  const Machine& machine;
  const Sources& sources;
  Diag& diag;
  std::vector<Function> functions;       // live ones, in the order of MirTile
  std::vector<int32_t> function_of_mir;  // -1: not live
  std::vector<Global> globals;           // those of MIR, then ours
  std::vector<bool> fifo_live;           // per FIFO of MIR
  int32_t overflow_area = -1;            // our global for arguments beyond the registers
  uint32_t overflow_bytes = 0;
  std::map<uint32_t, std::vector<std::pair<int32_t, uint32_t>>>
      launch_params;  // MIR function -> (global, offset)
  uint32_t reserved_bytes = 0, code_address = 0, code_bytes = 0;
  uint32_t frames_address = 0, frames_bytes = 0, exclusive_bytes = 0;
  uint32_t too_many_bytes = 0;  // beyond the memory of a PE
};

// Where one argument travels.
struct ArgPlace {
  bool pair = false;
  int reg = -1;         // first register; -1: in the overflow area
  uint32_t offset = 0;  // there
};
// Arguments in order: registers while they last (pairs at even ones), then the overflow area. `bytes`: its
// size.
std::vector<ArgPlace> place_args(const std::vector<bool>& is_pair, const Conventions&,
                                 uint32_t& overflow_bytes);

void select_reachable(State&);
void lower_conventions(State&);
void simplify(Function&);
// False (with an error) if registers do not suffice, which no program should be able to cause.
bool allocate_registers(Function&, const Machine&, Diag&);
// Instructions that read a half of a pair read its register; true if one does now.
bool read_halves(Function&);
void layout_code(State&);
bool plan_memory(State&);
bool emit_tile(State&, TileProgram&);
// Ids, queues and colors of one role against the machine and what memcpy reserves.
bool check_role(const MirTile&, const Machine&, Diag&);
// Queues that live DSDs read or write must be bound to a color.
void check_queues(State&);

// ---- shared by the passes
// Calls visit(operand index, read, written) for every register operand.
template <typename Visit>
void for_each_register(const isa::Inst&, Visit visit);
isa::Operand reg(int number);
isa::Operand pair(int number);
isa::Operand imm(int32_t value);
isa::Inst make(isa::Op op, isa::Operand a = {}, isa::Operand b = {}, isa::Operand c = {},
               isa::Operand d = {});
bool is_pure(isa::Op);  // only writes its destination, reads no state that changes
bool falls_through(const isa::Inst&);
isa::Operand* jump_target(isa::Inst&);  // the label of jmp, jmpt, jmpf; null for others
bool is_memory(isa::Op);  // ld*, st*: a symbol in base or offset is an access, not an address taken

template <typename Visit>
void for_each_register(const isa::Inst& inst, Visit visit) {
  std::string_view form = isa::row(inst.op).form;
  bool vector = inst.is_vector();
  for (size_t i = 0; i < form.size() && i < inst.args.size(); ++i) {
    isa::OperandKind kind = inst.args[i].kind;
    if (kind != isa::OperandKind::reg && kind != isa::OperandKind::pair) continue;
    bool written = form[i] == 'V' || form[i] == 'R' || form[i] == 'P';
    // A vector instruction writes its register again and again while it reads the others: never share one.
    visit(i, !written || vector, written);
  }
}

}  // namespace cs::csl::link
