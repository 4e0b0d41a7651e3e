// Pieces of roles that kinds share: columns of a rectangle with one role, queues and tasks, chains of partial
// sums.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "compiler/kernels/choice.h"

namespace cs::kernels {

struct Span {  // columns or rows of the rectangle with one role
  int first = 0, count = 1, step = 1;
};
struct Place {
  bool first = true, last = true;  // column of the rectangle
  int parity = 0;                  // of the column
  bool last_row = true;
  int turn = -1, turns = 1;  // of PEs that send in turns; -1: does not send
};

inline std::string flag(bool b) { return b ? "true" : "false"; }
inline std::string number(int64_t n) { return std::to_string(n); }
Need queue(bool output, const std::string& name, int color);
void add_tasks(ModuleUse&, std::initializer_list<const char*> names);

// First, middle (two: colours of chains alternate) and last columns.
std::vector<Span> columns(const Cut&);
Place column_place(const Span&, const Cut&);
std::string column_name(const Place&);
inline int n_here(const Place& p, const Cut& cut) { return p.last ? cut.n_last : cut.n_slice; }
inline std::string control(const Place& p) { return turn_control(p.turn, p.turns); }
// "96 elements on 4 PEs, at most 24 each"
std::string sharding_of_row(const Work&, const Cut&);

// Roles of the first, middle and last PEs of a row; `module` adds what runs there.
using AddModule = std::function<void(const Place&, Role&, InstanceRoles&)>;
void row_roles(const Choice&, const Setting&, bool turns, InstanceRoles&, const AddModule& module);
// The only role of a kernel on one PE between two streams.
void single_role(const Choice&, const Setting&, ModuleUse, InstanceRoles&);

// Constants of an expression as buffers and parameters of a module, each behind an unused element
// (autogen::kConstantPhase).
void add_constants(const Choice&, const Setting&, int n, ModuleUse&, Role&);
// x, the partial sums of the western neighbour, and what goes east. A library kernel names all of them,
// whether its role uses them or not; unused ones get what is certainly there.
void add_chain_queues(const Setting&, const Place&, bool library, ModuleUse&);

// The same values per element of a row of PEs, as their PEs hold them.
void pack_per_element(const PackedConstant&, const Cut&, std::vector<PackedPart>&);
struct CutPart {  // rows and columns of the rectangle with equal extents
  int row = 0, rows = 1, column = 0, columns = 1, m = 1, n = 1;
};
std::vector<CutPart> parts_of(const Cut&);

// ---- choosing

// The numbers of elementwise nodes, a chain of their own or an epilogue: their code, constants and flops. How
// many streams they read, and whether one instruction is all.
struct ChainStreams {
  int streams = 0;
  bool through = false;
};
ChainStreams add_chain_work(const graph::Graph&, std::span<const graph::NodeId>, const Machine&, Work&);
// The expression with streams first and constants after them; constants are packed.
void attach_expression(const graph::Graph&, const graph::Group&, std::span<const graph::NodeId> nodes,
                       bool epilogue, const Machine&, Choice&);

}  // namespace cs::kernels
