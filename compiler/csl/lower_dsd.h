// DSDs at run time: their words, moving them, and the vector instructions that use them.
#pragma once

#include "compiler/csl/eval.h"

namespace cs::csl {

// What the DSDs of a type describe; none for other types.
isa::DsdKind dsd_kind_of(const Type&);
// A DSD value of any form as words; invalid input was reported before.
DsdValue dsd_value(const Value&);
// The element type behind a pointer or array value, and its address as a place; reported if it has none.
bool base_of(Evaluator&, const Value& given, SourceLoc, Value& place);
// Encoded words of a DSD known at comptime; the base address stays with `base`.
std::array<uint16_t, 10> dsd_words(const DsdValue&);
void store_dsd(Evaluator&, const Location& to, const Value&, SourceLoc);
// memory to memory, bytes even; elements of a run of equal scalars.
void copy_memory(Evaluator&, const Location& to, const Location& from, uint32_t bytes, SourceLoc);
void fill_memory(Evaluator&, const Location& to, const Value& element, uint64_t count, SourceLoc);
// The word at index `word` as an operand: literal, symbol or register.
isa::Operand dsd_word(Evaluator&, const DsdValue&, int word);
Value with_word(const Type*, DsdValue, int word, const isa::Operand&);

}  // namespace cs::csl
