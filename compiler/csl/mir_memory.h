// What loads, stores and other instructions do to memory.
//
// A global or slot whose address is never taken is reached by nothing but the loads, stores and DSR loads
// that name it (an access that names a variable stays in it). Everything else may be reached through pointers
// and descriptors.
#pragma once

#include <vector>

#include "compiler/csl/mir_code.h"

namespace cs::csl::mir {

// Which variables pointers, descriptors, the host or tables may reach.
class Reached {
 public:
  explicit Reached(const MirTile&);
  void see(const MirFunction&, const Code&);  // slots of the function at hand
  bool is_reached(const isa::Operand& symbol) const {
    return symbol.kind == isa::OperandKind::global ? globals_[size_t(symbol.value)]
                                                   : slots_[size_t(symbol.value)];
  }
  bool is_exported(int32_t global) const { return exported_[size_t(global)]; }
  // A DSR is loaded from it.
  bool is_descriptor(int32_t global) const { return descriptors_[size_t(global)]; }

 private:
  std::vector<bool> globals_, slots_, exported_, descriptors_;
};

// Symbols that are pointers stay so only where something may change the pointer.
void drop_fixed_pointers(MirTile&);

// Where an access goes. `index`: what identifies the value of the register that is added (a register number,
// a value number); equal ones mean equal addresses.
struct Place {
  enum class Kind : uint8_t { variable, element, pointer, fixed } kind = Kind::fixed;
  isa::Operand symbol;  // of a variable or an element of it; `extra` is 0
  int64_t index = -1;   // element, pointer
  int32_t offset = 0;
  int32_t bytes = 0;
  bool operator==(const Place&) const = default;
};

// Base and offset operands of an access; registers are identified by `index_of(operand)`.
template <typename IndexOf>
Place place_of(const isa::Operand& base, const isa::Operand& offset, int bytes, IndexOf index_of) {
  Place p;
  p.bytes = bytes;
  const isa::Operand& symbol = is_symbol(base) ? base : offset;
  const isa::Operand& other = is_symbol(base) ? offset : base;
  if (is_symbol(symbol)) {
    p.symbol = {symbol.kind, symbol.value, 0};
    p.offset = symbol.extra;
    if (is_literal(other)) {
      p.kind = Place::Kind::variable;
      p.offset += other.value;
    } else if (is_register(other)) {
      p.kind = Place::Kind::element;
      p.index = index_of(other);
    } else {
      p.kind = Place::Kind::fixed;  // two symbols: anything
    }
    return p;
  }
  if (is_register(base) && is_literal(offset)) {
    p.kind = Place::Kind::pointer;
    p.index = index_of(base);
    p.offset = offset.value;
  }
  return p;
}

bool may_meet(const Place&, const Place&, const Reached&);
// A vector instruction or anything else that writes memory through a descriptor or pointer may change it.
bool is_reached(const Place&, const Reached&);

}  // namespace cs::csl::mir
