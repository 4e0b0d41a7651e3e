// Pass `literals`: a store, and a vector instruction that fills, take a register: what they name as a literal
// or as an address is moved to one first (decision 34). Stores that follow each other share it; behind a DSR
// load, a vector instruction, a call or a label every value is moved anew. A pair that is set to a literal is
// a literal of 32 bits, in two halves (decision 38).
//
// Comes after everything else: passes that ask what is stored want to see the literal.
#include <vector>

#include "compiler/csl/mir_flow.h"
#include "compiler/csl/mir_passes.h"

namespace cs::csl::mir {
namespace {

using isa::Operand;

struct Moved {
  Operand what;
  bool pair = false;
  Operand reg;
};

class Literals {
 public:
  explicit Literals(Code& code) : code_(code), edit_(code) {}

  bool run() {
    for (const Block& b : find_blocks(code_)) {
      moved_.clear();
      for (uint32_t i = b.first; i < b.last; ++i) {
        edit_.begin(i);
        Line line = code_.lines[i];
        const bool vector = line.inst.is_vector();
        if (is_store(line.inst.op)) take(line, 2, access_bytes(line.inst.op) == 4);
        if (vector && is_fill(line.inst.op)) take(line, 1, is_pair_move(line.inst.op));
        if (!vector && is_pair_move(line.inst.op) && is_literal(line.inst.args[1])) {
          line.inst.op = isa::Op::imov32;
          changed_ = true;
        }
        edit_.push(line);
        if (vector || is_dsr_load(line.inst.op) || line.call >= 0) moved_.clear();
      }
    }
    edit_.finish();
    return changed_;
  }

 private:
  static bool is_value(const Operand& o) { return is_literal(o) || is_symbol(o); }

  static bool is_pair_move(isa::Op op) { return op == isa::Op::mov32 || op == isa::Op::fmovs; }
  static bool is_fill(isa::Op op) { return op == isa::Op::mov16 || op == isa::Op::fmovh || is_pair_move(op); }

  void take(Line& line, size_t at, bool pair) {
    Operand& o = line.inst.args[at];
    if (!is_value(o)) return;
    changed_ = true;
    for (const Moved& m : moved_)
      if (m.what == o && m.pair == pair) {
        o = m.reg;
        return;
      }
    const Operand reg{pair ? isa::OperandKind::pair : isa::OperandKind::reg, code_.next_virtual++, 0};
    Line move{.loc = line.loc};
    move.inst.op = pair ? isa::Op::imov32 : isa::Op::imov16;
    move.inst.args = {reg, o, {}, {}};
    edit_.push(move);
    moved_.push_back({o, pair, reg});
    o = reg;
  }

  Code& code_;
  Edit edit_;
  std::vector<Moved> moved_;  // since the last instruction of another kind
  bool changed_ = false;
};

}  // namespace

bool move_literals(Context&, MirFunction&, Code& code) { return Literals(code).run(); }

}  // namespace cs::csl::mir
