// Vector operations: DSR loads and the instruction that is the whole loop.
#pragma once

#include <vector>

#include "compiler/csl/eval.h"

namespace cs::csl {

class ConfigFields;

// The operands in the order of the row's form. `config` may be null.
Value emit_vector(Evaluator&, isa::Op, std::vector<Value> operands, ConfigFields* config, SourceLoc);
// Reads async, activate, unblock, on_control, priority, ut_id … of an operation or of @load_to_dsr.
bool read_dsr_config(Evaluator&, ConfigFields&, isa::DsrConfig& out);
Value dfilt_builtin(Evaluator&, const ast::Builtin&, const Type*);
// DSR numbers from here on belong to asynchronous operations.
int first_async_dsr(const Machine&);
// One DSR load.
void load_dsr(Evaluator&, isa::OperandKind file, int index, const DsdValue&, const Type*,
              const isa::DsrConfig&, SourceLoc);

// The microthread of an asynchronous operation with these operands; -1 and an error if there is none.
int microthread_of(Evaluator&, const std::vector<Value>& operands, const isa::DsrConfig&, SourceLoc);

}  // namespace cs::csl
