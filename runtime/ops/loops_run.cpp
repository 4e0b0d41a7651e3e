// Interpreter of loop programs on the host.
//
// Buffers hold double. An odometer walks the axes of a statement and keeps the address of every access up to
// date, so that the inner step costs an addition per access.
#include <cmath>

#include <fmt/format.h>

#include "runtime/ops/loops.h"

namespace cs::ops {

namespace {

using Memory = std::vector<std::vector<double>>;

double combined(Combine c, double a, double v) {
  switch (c) {
    case Combine::assign:
      return v;
    case Combine::add:
      return a + v;
    case Combine::multiply:
      return a * v;
    case Combine::max:
      return std::isnan(a) || a > v ? a : v;
    case Combine::min:
      return std::isnan(a) || a < v ? a : v;
  }
  return v;
}

class Statement {
 public:
  Statement(const LoopProgram& p, const LoopStatement& s, Memory& memory)
      : program_(p), s_(s), memory_(memory), values_(s.loads.size()) {
    for (const LoopAccess& a : s.loads) accesses_.push_back(&a);
    accesses_.push_back(&s.out);
  }

  bool run(int64_t step, std::string& error) {
    std::vector<int64_t> address, counter(s_.extents.size(), 0);
    for (const LoopAccess* a : accesses_) address.push_back(a->offset + a->step * step);
    for (;;) {
      if (!point(address, error)) return false;
      size_t d = s_.extents.size();
      for (; d-- > 0;) {
        for (size_t k = 0; k < accesses_.size(); ++k) address[k] += accesses_[k]->strides[d];
        if (++counter[d] < s_.extents[d]) break;
        for (size_t k = 0; k < accesses_.size(); ++k) address[k] -= accesses_[k]->strides[d] * s_.extents[d];
        counter[d] = 0;
      }
      if (d == size_t(-1)) return true;
    }
  }

 private:
  bool indexed(const LoopAccess& a, int64_t& address, std::string& error) {
    if (a.index < 0) return true;
    int64_t index = int64_t(values_[size_t(a.index)]);
    if (index < -a.index_extent || index >= a.index_extent) {
      error = fmt::format("index {} is out of range, there are {} values", index, a.index_extent);
      return false;
    }
    address += (index < 0 ? index + a.index_extent : index) * a.index_stride;
    return true;
  }

  bool point(const std::vector<int64_t>& address, std::string& error) {
    for (size_t k = 0; k < s_.loads.size(); ++k) {
      int64_t at = address[k];
      if (!indexed(s_.loads[k], at, error)) return false;
      values_[k] =
          s_.loads[k].buffer == kCounter ? double(at) : memory_[size_t(s_.loads[k].buffer)][size_t(at)];
    }
    int64_t at = address.back();
    if (!indexed(s_.out, at, error)) return false;
    double value = expr_value<double>(s_.value, values_, scratch_);
    double& out = memory_[size_t(s_.out.buffer)][size_t(at)];
    out = combined(s_.combine, out, value);
    DataType type = program_.buffers[size_t(s_.out.buffer)].type.dtype;
    if (type == DataType::boolean) {
      out = out != 0 ? 1 : 0;
    } else if (!data_type_is_float(type)) {
      out = std::trunc(out);
    }
    return true;
  }

  const LoopProgram& program_;
  const LoopStatement& s_;
  Memory& memory_;
  std::vector<const LoopAccess*> accesses_;  // loads, then out
  std::vector<double> values_, scratch_;
};

}  // namespace

bool evaluate_loops(const LoopProgram& p, std::span<const Tensor* const> operands, std::span<Tensor> results,
                    std::string& error) {
  if (!check_loops(p, error)) return false;
  Memory memory(p.buffers.size());
  size_t operand = 0;
  for (size_t b = 0; b < p.buffers.size(); ++b) {
    memory[b].assign(size_t(p.buffers[b].type.elements()), 0.0);
    if (p.buffers[b].kind != BufferKind::operand) continue;
    const Tensor* t = operands[operand++];
    for (int64_t i = 0; t != nullptr && i < t->elements(); ++i) memory[b][size_t(i)] = t->get(i);
  }
  for (const LoopBlock& block : p.blocks) {
    for (int64_t step = 0; step < block.steps; ++step) {
      for (const LoopStatement& s : block.statements) {
        if (!Statement(p, s, memory).run(step, error)) return false;
      }
    }
  }
  size_t result = 0;
  for (size_t b = 0; b < p.buffers.size(); ++b) {
    if (p.buffers[b].kind != BufferKind::result) continue;
    Tensor& t = results[result++];
    for (int64_t i = 0; i < t.elements(); ++i) t.set(i, memory[b][size_t(i)]);
  }
  return true;
}

}  // namespace cs::ops
