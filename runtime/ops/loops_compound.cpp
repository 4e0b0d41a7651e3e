// Loops of a compound: those of its steps one after another, values between them being temporaries.
#include <map>

#include <fmt/format.h>

#include "runtime/ops/rules.h"

namespace cs::ops {

namespace {

struct Named {
  int buffer = -1;
  TensorType type;
};

class Joiner {
 public:
  Joiner(const OpDef& op, LoopProgram& p) : op_(op), p_(p) {}

  bool run(const Attrs& attrs, std::span<const TensorType* const> inputs, std::span<const TensorType> outputs,
           std::string& error) {
    for (size_t k = 0; k < inputs.size(); ++k) {
      if (inputs[k] == nullptr) continue;
      add(std::string(op_.operands[k]), BufferKind::operand, *inputs[k]);
    }
    std::vector<DecompositionStep> steps = decompose(op_, attrs);
    add(steps.back().result, BufferKind::result, outputs[0]);
    for (size_t i = 0; i < steps.size(); ++i) {
      if (!step(steps[i], i + 1 == steps.size(), error)) return false;
    }
    return true;
  }

 private:
  void add(const std::string& name, BufferKind kind, const TensorType& type) {
    values_[name] = {int(p_.buffers.size()), type};
    p_.buffers.push_back({name, kind, type});
  }

  bool step(const DecompositionStep& s, bool last, std::string& error) {
    const OpDef& row = *find_op(s.op);
    std::vector<const TensorType*> types;
    std::vector<int> to;
    for (const std::string& name : s.operands) {
      types.push_back(&values_.at(name).type);
      to.push_back(values_.at(name).buffer);
    }
    std::vector<TensorType> result;
    LoopProgram part;
    if (!infer_types(row, s.attrs, types, result, error) ||
        !loops_of(row, s.attrs, types, result, part, error)) {
      return false;
    }
    if (!last) add(s.result, BufferKind::temporary, result[0]);
    to.push_back(values_.at(s.result).buffer);
    for (size_t b = to.size(); b < part.buffers.size(); ++b) {
      add(fmt::format("{}_{}", s.result, part.buffers[b].name), BufferKind::temporary, part.buffers[b].type);
      to.push_back(int(p_.buffers.size()) - 1);
    }
    for (LoopBlock& block : part.blocks) {
      for (LoopStatement& statement : block.statements) {
        statement.out.buffer = to[size_t(statement.out.buffer)];
        for (LoopAccess& a : statement.loads)
          a.buffer = a.buffer == kCounter ? kCounter : to[size_t(a.buffer)];
      }
      p_.blocks.push_back(std::move(block));
    }
    return true;
  }

  const OpDef& op_;
  LoopProgram& p_;
  std::map<std::string, Named> values_;
};

}  // namespace

bool loops_of_steps(const OpDef& op, const Attrs& attrs, std::span<const TensorType* const> inputs,
                    std::span<const TensorType> outputs, LoopProgram& p, std::string& error) {
  return Joiner(op, p).run(attrs, inputs, outputs, error);
}

}  // namespace cs::ops
