// What a loop's counter may be, from its start, its step and the test of the jump back.
#include "compiler/csl/mir_counters.h"

#include <algorithm>

namespace cs::csl::mir {
namespace {

using isa::Op;
using isa::Operand;
using isa::OperandKind;

constexpr int32_t kMost = 32767;  // where signed and unsigned numbers of 16 bits are the same

// The trip goes on if the counter, behind its step, is at least `low` and at most `high`.
struct Test {
  int32_t reg = -1;
  int32_t low = -32768, high = 65535;
  bool is_signed = true;
};

std::optional<Test> invert(Test t) {
  if (t.low > -32768 && t.high == 65535) return Test{t.reg, -32768, t.low - 1, t.is_signed};
  if (t.low == -32768 && t.high < 65535) return Test{t.reg, t.high + 1, 65535, t.is_signed};
  return std::nullopt;
}

std::optional<Test> read_test(const isa::Inst& compare) {
  const bool strict = compare.op == Op::lt16 || compare.op == Op::ltu16;
  const bool is_signed = compare.op == Op::lt16 || compare.op == Op::lte16;
  if (!strict && !is_signed && compare.op != Op::lteu16) return std::nullopt;
  const auto number = [&](const Operand& o) {
    return is_signed ? int32_t(int16_t(o.value)) : uint16_t(o.value);
  };
  const Operand &a = compare.args[1], &b = compare.args[2];
  if (is_virtual(a) && is_literal(b)) return Test{a.value, -32768, number(b) - strict, is_signed};
  if (is_literal(a) && is_virtual(b)) return Test{b.value, number(a) + strict, 65535, is_signed};
  return std::nullopt;
}

class Counters {
 public:
  Counters(const MirFunction& f, const Code& code, const Loop& loop) : f_(f), code_(code), loop_(loop) {}

  // By how much a line counts.
  int32_t step(uint32_t line) const {
    const isa::Inst& inst = code_.lines[line].inst;
    const int32_t by = int16_t(inst.args[2].value);
    return inst.op == Op::add16 ? by : -by;
  }

  // The line that counts, if it is the only one that writes the register.
  std::optional<uint32_t> step_line(int32_t reg) const {
    std::optional<uint32_t> line;
    for (uint32_t i = loop_.top; i <= loop_.back; ++i)
      for (const int32_t written : written_by(i)) {
        if (written != reg) continue;
        if (line) return std::nullopt;
        line = i;
      }
    if (!line || is_skipped(code_, loop_, *line)) return std::nullopt;
    const isa::Inst& step = code_.lines[*line].inst;
    const bool counts = (step.op == Op::add16 || step.op == Op::sub16) && step.args[1] == step.args[0] &&
                        is_literal(step.args[2]);
    return counts ? line : std::nullopt;
  }

  // What the jump back asks of the counter that it tests.
  std::optional<Test> test() const {
    const isa::Inst& jump = code_.lines[loop_.back].inst;
    const Operand& condition = jump.args[0];
    for (uint32_t i = loop_.back; i-- > loop_.top;) {
      if (target_label(code_.lines[i].inst) >= 0 || ends_flow(code_.lines[i])) return std::nullopt;
      const std::vector<int32_t> written = written_by(i);
      if (std::find(written.begin(), written.end(), condition.value) == written.end()) continue;
      if (is_skipped(code_, loop_, i)) return std::nullopt;
      auto t = read_test(code_.lines[i].inst);
      if (t && jump.op == Op::jmpf) t = invert(*t);
      return t ? behind_step(*t, i) : std::nullopt;
    }
    return std::nullopt;
  }

 private:
  // A test in front of the step, as one of what comes behind it.
  std::optional<Test> behind_step(Test t, uint32_t line) const {
    const auto counts = step_line(t.reg);
    if (!counts) return std::nullopt;
    if (*counts < line) return t;
    if (t.low > -32768) t.low += step(*counts);
    if (t.high < 65535) t.high += step(*counts);
    return t;
  }

  std::vector<int32_t> written_by(uint32_t line) const {
    std::vector<int32_t> registers;
    for_each_register(f_, code_.lines[line], [&](const Operand& o, bool, bool written) {
      if (written) registers.push_back(o.value);
    });
    return registers;
  }

  const MirFunction& f_;
  const Code& code_;
  const Loop& loop_;
};

}  // namespace

std::vector<Bounds> find_bounds(const MirFunction& f, const Code& code, const Loop& loop,
                                const std::function<std::optional<int32_t>(int32_t reg)>& start) {
  const Counters counters(f, code, loop);
  const auto test = counters.test();
  if (!test) return {};
  const auto first = start(test->reg);
  if (!first || *first > kMost) return {};
  const int32_t step = counters.step(*counters.step_line(test->reg));
  // One end is where it starts, the other one what the test lets pass; the step from there must not wrap.
  Bounds bounds{test->reg, *first, *first};
  if (step > 0) {
    bounds.high = std::max(*first, test->high);
    if (test->high > kMost || bounds.high + step > kMost) return {};
  } else {
    bounds.low = std::min(*first, test->low);
    const int32_t least = test->is_signed ? -32768 : 0;
    if (bounds.low < 0 || bounds.low + step < least) return {};
  }
  return {bounds};
}

}  // namespace cs::csl::mir
