// Pass `unroll`: innermost loops of one block whose number of trips is known become straight code, if they
// are short.
//
// Which loops is what published cycles show of the field's compiler. With a vector instruction: @map and
// `for`, 8 to 25 trips (MeshGEMM, MeshGEMV, single-tile-matvec: decisions 22, 28). Scalar ones: what a trip
// does, the step included, the comparison and the jump not, times the trips (a sum of two arrays of 16, a
// transposition of 8³, but not a product of 16³, and no fill: decision 38). What is around such a loop stays
// one (MeshGEMM, tiles of 2: decision 34), and so do 256 trips and bodies with branches (Shift, two trips). A
// loop of one trip is no loop, whatever it does. What a PE's memory has no room for stays a loop too, and is
// reported.
#include <algorithm>
#include <map>

#include "compiler/csl/mir_flow.h"
#include "compiler/csl/mir_fold.h"
#include "compiler/csl/mir_passes.h"

namespace cs::csl::mir {
namespace {

using isa::Op;
using isa::Operand;
using isa::OperandKind;

constexpr uint32_t kMostInstructions = 150, kMostVectorTrips = 32;
constexpr uint32_t kMostTrips = kMostInstructions / 2;  // a trip has a step and something to do

// Of a scalar trip the step counts; of all of them the comparison and the jump once.
constexpr uint32_t kStep = 1, kEnd = 2;

// One virtual register that a loop counts in.
struct Counter {
  int32_t reg = -1;
  uint32_t line = 0;  // where it steps
  int32_t first = 0, step = 0;
};

class Unroller {
 public:
  Unroller(Context& c, MirFunction& f, Code& code) : c_(c), f_(f), code_(code) {}

  bool run() {
    bool changed = false;
    // Each one moves the lines behind it: look again, for as many loops as there were.
    for (size_t rounds = find_loops(code_).size(), done = 0; done < rounds; ++done) {
      const std::vector<Loop> loops = find_loops(code_);
      if (std::none_of(loops.begin(), loops.end(), [&](const Loop& l) { return unroll(l); })) break;
      changed = true;
    }
    return changed;
  }

 private:
  bool unroll(const Loop& loop) {
    if (!loop.innermost || !loop.single_exit) return false;
    const uint32_t trips = count_trips(loop);
    if (trips == 1 && steps_always(loop)) return drop_jump(loop);
    if (trips == 0 || !is_block(loop) || is_kept(loop)) return false;
    const bool vector = has_vector(loop);
    if (!vector && (!is_scalar(loop) || only_moves(loop))) return false;
    const uint32_t body = loop.back - loop.top;
    // The step and the comparison are literals once the loop is straight.
    const uint32_t rest = body > control_ ? body - control_ : 0;
    if (vector ? trips > kMostVectorTrips || trips * rest > kMostInstructions
               : trips * (rest + kStep) + kEnd >= kMostInstructions)
      return false;
    const uint32_t bytes = (trips - 1) * rest * kInstructionBytes;
    if (bytes > c_.code_budget) {
      const SourceLoc loc = code_.lines[loop.back].loc;
      const auto same = [&](const NotUnrolled& n) { return n.loc == loc; };
      if (std::none_of(c_.not_unrolled.begin(), c_.not_unrolled.end(), same))
        c_.not_unrolled.push_back({loc, trips, trips * rest});
      return false;
    }
    c_.code_budget -= bytes;
    keep_around(loop);
    repeat(loop, trips);
    return true;
  }

  // No path comes to the jump back without the counter's step.
  bool steps_always(const Loop& loop) const {
    for (uint32_t i = step_line_ + 1; i <= loop.back; ++i)
      if (is_target(i)) return false;
    return true;
  }

  // One trip, whatever it does: the jump back is never taken.
  bool drop_jump(const Loop& loop) {
    Edit edit(code_);
    for (uint32_t i = 0; i < code_.lines.size(); ++i) {
      edit.begin(i);
      if (i != loop.back) edit.push(code_.lines[i]);
    }
    edit.finish();
    return true;
  }

  uint32_t label_of(const Loop& loop) const { return uint32_t(target_label(code_.lines[loop.back].inst)); }

  // A loop around one that has become straight code.
  bool is_kept(const Loop& loop) const {
    return std::find(f_.kept.begin(), f_.kept.end(), label_of(loop)) != f_.kept.end();
  }

  void keep_around(const Loop& inner) {
    for (const Loop& loop : find_loops(code_))
      if (loop.top <= inner.top && loop.back > inner.back && !is_kept(loop))
        f_.kept.push_back(label_of(loop));
  }

  bool is_block(const Loop& loop) const {
    for (uint32_t i = loop.top; i < loop.back; ++i)
      if (target_label(code_.lines[i].inst) >= 0 || ends_flow(code_.lines[i])) return false;
    return true;
  }

  bool has_vector(const Loop& loop) const {
    return std::any_of(code_.lines.begin() + loop.top, code_.lines.begin() + loop.back,
                       [](const Line& l) { return l.inst.is_vector(); });
  }

  // Values, loads and stores. Nothing published has anything else in a short loop without vector
  // instructions.
  bool is_scalar(const Loop& loop) const {
    return std::all_of(code_.lines.begin() + loop.top, code_.lines.begin() + loop.back, [](const Line& l) {
      return l.call < 0 && (is_value(l.inst, false) || is_load(l.inst.op) || is_store(l.inst.op));
    });
  }

  // Fills words that follow each other, or copies them: what compilers make a call of.
  bool only_moves(const Loop& loop) const {
    std::map<int32_t, int32_t> steps{{counter_.reg, counter_.step}};  // registers that step with the counter
    const auto step_of = [&](const Operand& o) {
      const auto it = is_register(o) ? steps.find(o.value) : steps.end();
      return it == steps.end() ? 0 : it->second;
    };
    bool moves = false;
    for (uint32_t i = loop.top; i < loop.back; ++i) {
      const isa::Inst& inst = code_.lines[i].inst;
      if (i == counter_.line || (control_ == 2 && i == test_line_)) continue;
      const bool load = is_load(inst.op);
      if (load || is_store(inst.op)) {
        if (std::abs(step_of(inst.args[load ? 1 : 0])) != access_bytes(inst.op)) return false;
        moves = true;
        continue;
      }
      const int32_t a = step_of(inst.args[1]), b = step_of(inst.args[2]);
      if (inst.op == Op::sll16 && a != 0 && is_literal(inst.args[2]))
        steps[inst.args[0].value] = a << (inst.args[2].value & 15);
      else if (inst.op == Op::add16 && a != 0 && stays(inst.args[2], loop))
        steps[inst.args[0].value] = a;
      else if (inst.op == Op::add16 && b != 0 && stays(inst.args[1], loop))
        steps[inst.args[0].value] = b;
      else
        return false;
    }
    return moves;
  }

  // A literal, or a register that no line of a loop writes.
  bool stays(const Operand& o, const Loop& loop) const {
    bool written = false;
    for (uint32_t i = loop.top; i < loop.back; ++i)
      for_each_register(f_, code_.lines[i],
                        [&](const Operand& r, bool, bool w) { written |= w && r.value == o.value; });
    return is_literal(o) || (is_register(o) && !written);
  }

  // ---- how often
  uint32_t count_trips(const Loop& loop) {
    const isa::Inst& jump = code_.lines[loop.back].inst;
    if (!is_virtual(jump.args[0])) return 0;
    const int32_t condition = jump.args[0].value;
    // The counter itself, or a comparison of it with a literal.
    if (const auto counter = find_counter(loop, condition)) {
      control_ = 1;
      counter_ = *counter;
      return simulate(*counter, jump, nullptr);
    }
    const isa::Inst* test = nullptr;
    for (uint32_t i = loop.top; i < loop.back; ++i)
      for_each_register(f_, code_.lines[i], [&](const Operand& o, bool, bool written) {
        if (!written || o.value != condition) return;
        test = test ? &jump : &code_.lines[i].inst;  // written twice: no
        test_line_ = i;
      });
    if (!test || test == &jump) return 0;
    const bool compares = test->op == Op::lt16 || test->op == Op::ltu16 || test->op == Op::lte16 ||
                          test->op == Op::lteu16 || test->op == Op::eq16;
    const bool left = is_virtual(test->args[1]) && is_literal(test->args[2]);
    const bool right = is_virtual(test->args[2]) && is_literal(test->args[1]);
    if (!compares || (!left && !right)) return 0;
    const auto counter = find_counter(loop, test->args[left ? 1 : 2].value);
    if (!counter || test_line_ < counter->line) return 0;
    control_ = 2;
    counter_ = *counter;
    return simulate(*counter, jump, test);
  }

  std::optional<Counter> find_counter(const Loop& loop, int32_t reg) {
    Counter c{.reg = reg};
    int writes = 0;
    for (uint32_t i = loop.top; i < loop.back; ++i)
      for_each_register(f_, code_.lines[i], [&](const Operand& o, bool, bool written) {
        if (written && o.value == reg) ++writes, c.line = i;
      });
    if (writes != 1) return std::nullopt;
    const isa::Inst& step = code_.lines[c.line].inst;
    const Operand self{OperandKind::reg, reg, 0};
    if ((step.op != Op::add16 && step.op != Op::sub16) || !(step.args[0] == self) ||
        !(step.args[1] == self) || !is_literal(step.args[2]))
      return std::nullopt;
    c.step = step.op == Op::add16 ? step.args[2].value : -step.args[2].value;
    // The value at the start: the last write before the loop, in the code that runs into it.
    for (uint32_t i = loop.top; i-- > 0;) {
      if (ends_flow(code_.lines[i])) return std::nullopt;
      bool written = false;
      for_each_register(f_, code_.lines[i],
                        [&](const Operand& o, bool, bool w) { written |= w && o.value == reg; });
      if (written) {
        const isa::Inst& inst = code_.lines[i].inst;
        if ((inst.op != Op::mov16 && inst.op != Op::imov16) || !is_literal(inst.args[1])) return std::nullopt;
        c.first = inst.args[1].value;
        step_line_ = c.line;
        return c;
      }
      if (is_target(i)) return std::nullopt;
    }
    return std::nullopt;
  }

  bool is_target(uint32_t line) const {
    return std::any_of(code_.lines.begin(), code_.lines.end(), [&](const Line& l) {
      const int32_t label = target_label(l.inst);
      return label >= 0 && code_.labels[size_t(label)] == line;
    });
  }

  static uint32_t simulate(const Counter& c, const isa::Inst& jump, const isa::Inst* test) {
    int32_t value = normal(c.first, false);
    for (uint32_t trips = 1; trips <= kMostTrips; ++trips) {
      value = normal(value + c.step, false);
      int32_t truth = value;
      if (test) {
        const bool left = !is_literal(test->args[1]);
        const auto result =
            fold(test->op, {left ? value : test->args[1].value, left ? test->args[2].value : value, 0});
        if (!result) return 0;
        truth = *result;
      }
      if ((truth != 0) != (jump.op == Op::jmpt)) return trips;
    }
    return 0;
  }

  // ---- straight code
  void repeat(const Loop& loop, uint32_t trips) {
    const std::vector<int32_t> own = own_registers(loop);
    Edit edit(code_);
    for (uint32_t i = 0; i < code_.lines.size(); ++i) {
      if (i >= loop.top && i <= loop.back) {
        if (i > loop.top) continue;
        edit.begin(i);
        for (uint32_t trip = 0; trip < trips; ++trip) copy_body(edit, loop, own, trip);
        continue;
      }
      edit.begin(i);
      edit.push(code_.lines[i]);
    }
    edit.finish();
  }

  void copy_body(Edit& edit, const Loop& loop, const std::vector<int32_t>& own, uint32_t trip) {
    std::map<int32_t, int32_t> registers;
    if (trip > 0)
      for (int32_t r : own) registers[r] = code_.next_virtual++;
    for (uint32_t i = loop.top; i < loop.back; ++i) {
      Line line = code_.lines[i];
      if (trip > 0) rename(line, registers);
      edit.push(line);
    }
  }

  void rename(Line& line, const std::map<int32_t, int32_t>& registers) {
    if (line.call >= 0) {
      f_.calls.push_back(f_.calls[size_t(line.call)]);
      line.call = int32_t(f_.calls.size()) - 1;
    }
    for_each_register(f_, line, [&](Operand& o, bool, bool) {
      if (const auto it = registers.find(o.value); it != registers.end()) o.value = it->second;
    });
  }

  // Registers that the body fills before it reads them and that nobody reads behind it: every trip gets its
  // own.
  std::vector<int32_t> own_registers(const Loop& loop) const {
    const std::vector<Block> blocks = find_blocks(code_);
    const Liveness live = find_live(f_, code_, blocks);
    RegisterSet shared(code_.next_virtual);
    for (size_t b = 0; b < blocks.size(); ++b) {
      if (blocks[b].first == loop.top) shared.merge(live.in[b]);
      if (blocks[b].first < loop.top || blocks[b].last > loop.back + 1) continue;
      for (uint32_t s : blocks[b].successors)
        if (blocks[s].first < loop.top || blocks[s].first > loop.back) shared.merge(live.in[s]);
    }
    std::vector<int32_t> own;
    RegisterSet seen(code_.next_virtual);
    for (uint32_t i = loop.top; i < loop.back; ++i) {
      for_each_register(f_, code_.lines[i], [&](const Operand& o, bool, bool written) {
        if (!written || !is_virtual(o) || shared.has(o.value) || seen.has(o.value)) return;
        seen.add(o.value);
        own.push_back(o.value);
      });
    }
    return own;
  }

  Context& c_;
  MirFunction& f_;
  Code& code_;
  Counter counter_;                                       // of the loop at hand
  uint32_t control_ = 0, test_line_ = 0, step_line_ = 0;  // the same
};

}  // namespace

bool unroll_loops(Context& c, MirFunction& f, Code& code) { return Unroller(c, f, code).run(); }

}  // namespace cs::csl::mir
