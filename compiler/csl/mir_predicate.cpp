// Pass `predicate`: short branches become straight code that chooses between values.
//
// The body of `if` (and of `else`) is carried out in any case, into registers of its own; what it leaves is
// selected by the condition. That pays where the body and the selections take less than a jump does, by the
// machine's cycles. Bodies compute, load what may be loaded anyway, and store where the code before has
// stored (then the old value is stored again). A condition of two parts with `or` between them becomes one
// first.
#include <algorithm>
#include <map>

#include "compiler/csl/mir_flow.h"
#include "compiler/csl/mir_passes.h"
#include "runtime/isa/scalar_cycles.h"

namespace cs::csl::mir {
namespace {

using isa::Op;
using isa::Operand;
using isa::OperandKind;

class Predicate {
 public:
  Predicate(Context& c, MirFunction& f, Code& code) : c_(c), f_(f), code_(code), carries_(reads_carry(code)) {
    c_.reached.see(f, code);
    any_noinit_ = std::any_of(c.tile.globals.begin(), c.tile.globals.end(),
                              [](const MirGlobal& g) { return g.noinit; });
  }

  // One branch; the caller tries again until there is none left.
  bool run() {
    const auto branches = [&](const Line& line) {
      return (line.inst.op == Op::jmpt || line.inst.op == Op::jmpf) &&
             code_.labels[size_t(target_label(line.inst))] > size_t(&line - code_.lines.data()) + 1;
    };
    if (std::none_of(code_.lines.begin(), code_.lines.end(), branches)) return false;
    count_targets();
    blocks_ = find_blocks(code_);
    live_ = find_live(f_, code_, blocks_);
    for (uint32_t j = 0; j + 1 < code_.lines.size(); ++j) {
      const Op op = code_.lines[j].inst.op;
      if (op != Op::jmpt && op != Op::jmpf) continue;
      if (join_or(j) || convert(j)) return true;
    }
    return false;
  }

 private:
  // Jumps to each line.
  void count_targets() {
    targets_.assign(code_.lines.size() + 1, 0);
    for (const Line& line : code_.lines)
      if (const int32_t label = target_label(line.inst); label >= 0) ++targets_[code_.labels[size_t(label)]];
  }
  uint32_t target(uint32_t line) const { return code_.labels[size_t(target_label(code_.lines[line].inst))]; }

  // jmpt a, X; values; jmpf b, Y; X: …  becomes  values; jmpf a | b, Y; X: …
  bool join_or(uint32_t j) {
    const uint32_t x = target(j);
    if (code_.lines[j].inst.op != Op::jmpt || x <= j + 1 || x - j > 8) return false;
    const isa::Inst& second = code_.lines[x - 1].inst;
    if (second.op != Op::jmpf || target(x - 1) <= x) return false;
    const Operand a = code_.lines[j].inst.args[0], b = second.args[0];
    if (!is_virtual(a) || !is_register(b) || targets_[x] != 1) return false;
    RegisterSet after = live_at(x);
    for (uint32_t i = j + 1; i < x; ++i) {
      if (targets_[i] != 0) return false;
      if (i == x - 1) break;
      const isa::Inst& inst = code_.lines[i].inst;
      // What is computed now and was not before must not be seen where the jump went.
      if (!is_value(inst, carries_) || cost(inst.op) == isa::Cost::divide || inst.args[0] == a ||
          after.has(inst.args[0].value))
        return false;
    }
    const int words = int(x - j - 2);
    if (words > c_.machine.core.jump_taken_cycles) return false;
    Edit edit(code_);
    const Operand both{OperandKind::reg, code_.next_virtual++, 0};
    for (uint32_t i = 0; i < code_.lines.size(); ++i) {
      if (i == j) continue;
      edit.begin(i);
      Line line = code_.lines[i];
      if (i == x - 1) {
        Line either = line;
        either.inst = isa::Inst{.op = Op::or16};
        either.inst.args = {both, a, b, {}};
        edit.push(either);
        line.inst.args[0] = both;
      }
      edit.push(line);
    }
    edit.finish();
    return true;
  }

  RegisterSet live_at(uint32_t line) const {
    for (size_t b = 0; b < blocks_.size(); ++b) {
      if (line < blocks_[b].first || line >= blocks_[b].last) continue;
      RegisterSet now = live_.out[b];
      for (uint32_t i = blocks_[b].last; i-- > line;) step_back(f_, code_.lines[i], now);
      return now;
    }
    return RegisterSet(code_.next_virtual);
  }

  struct Body {
    uint32_t first = 0, last = 0;  // lines [first, last)
  };

  // Lines without jumps, entered at the top alone.
  bool plain(const Body& body, uint32_t branch) const {
    for (uint32_t i = body.first; i < body.last; ++i) {
      const Line& line = code_.lines[i];
      if (i != body.first && targets_[i] != 0) return false;
      const isa::Inst& inst = line.inst;
      if (is_load(inst.op) ? !may_load(inst, branch) : is_store(inst.op) ? !may_store(inst, branch) : false)
        return false;
      if (!is_load(inst.op) && !is_store(inst.op) &&
          (!is_value(inst, carries_) || cost(inst.op) == isa::Cost::divide || !is_virtual(inst.args[0])))
        return false;
    }
    return true;
  }

  static int64_t index(const Operand& o) { return o.value; }
  static Place place(const isa::Inst& inst) {
    const size_t base = is_load(inst.op) ? 1 : 0;
    return place_of(inst.args[base], inst.args[base + 1], access_bytes(inst.op), index);
  }

  // Calls visit(instruction) for the accesses of the block before a branch whose index register still has its
  // value.
  template <typename Visit>
  bool any_access_before(uint32_t branch, const Place& p, Visit visit) const {
    for (uint32_t i = branch; i-- > 0;) {
      const Line& line = code_.lines[i];
      if (ends_flow(line) || line.call >= 0)
        return false;  // a conditional jump that was not taken leads here too
      if ((is_load(line.inst.op) || is_store(line.inst.op)) && visit(line.inst)) {
        // A load may fill its own index.
        if (!is_load(line.inst.op) || line.inst.args[0].value != p.index) return true;
      }
      bool moved = false;
      for_each_register(
          f_, line, [&](const Operand& o, bool, bool written) { moved |= written && o.value == p.index; });
      if (moved || targets_[i] != 0) return false;
    }
    return false;
  }

  bool is_noinit(const Place& p) const {
    return p.symbol.kind == OperandKind::slot ||
           (p.symbol.kind == OperandKind::global && c_.tile.globals[size_t(p.symbol.value)].noinit);
  }

  // It reads memory that exists: a variable, or close below what the code before has used with the same
  // index.
  bool may_load(const isa::Inst& inst, uint32_t branch) const {
    const Place p = place(inst);
    if (p.kind == Place::Kind::fixed) return false;
    if (p.kind == Place::Kind::variable && !is_noinit(p)) return true;
    return any_access_before(branch, p, [&](const isa::Inst& before) {
      const Place q = place(before);
      constexpr int kNear = 64;
      const bool same = q.kind == p.kind && q.symbol == p.symbol && q.index == p.index;
      const bool near = !any_noinit_ && p.kind == Place::Kind::element && p.offset <= q.offset &&
                        q.offset - p.offset <= kNear;
      return same && (near || (q.offset == p.offset && q.bytes >= p.bytes)) && (q.offset - p.offset) % 2 == 0;
    });
  }

  bool may_store(const isa::Inst& inst, uint32_t branch) const {
    const Place p = place(inst);
    if (p.kind == Place::Kind::fixed || p.bytes == 1) return false;
    if (p.kind == Place::Kind::variable && !is_reached(p, c_.reached) && !is_noinit(p)) return true;
    return any_access_before(
        branch, p, [&](const isa::Inst& before) { return is_store(before.op) && place(before) == p; });
  }

  // What a body takes without the branch: its lines, a selection for every value that is read behind it, and
  // the old value of every word that it stores to.
  int words(const Body& body, const RegisterSet& after) const {
    int n = int(body.last - body.first);
    RegisterSet seen(code_.next_virtual);
    for (uint32_t i = body.first; i < body.last; ++i) {
      const isa::Inst& inst = code_.lines[i].inst;
      if (is_store(inst.op)) {
        n += 1;
        continue;
      }
      const int r = inst.args[0].value;
      if ((inst.op == Op::mov16 || inst.op == Op::mov32) && is_literal(inst.args[1]))
        --n;  // the literal is selected
      if (after.has(r) && !seen.has(r)) ++n;
      seen.add(r);
    }
    return n;
  }

  bool convert(uint32_t j) {
    const uint32_t t = target(j);
    if (t <= j + 1 || t - j > 16 || !is_virtual(code_.lines[j].inst.args[0])) return false;
    Body then{j + 1, t}, otherwise{t, t};
    uint32_t end = t;
    const Line& last = code_.lines[t - 1];
    const bool two =
        last.inst.op == Op::jmp && target(t - 1) > t && target(t - 1) - t < 16 && targets_[t] == 1;
    if (two) {
      then.last = t - 1;
      otherwise.last = end = target(t - 1);
    }
    if (targets_[j + 1] != 0 || end >= code_.lines.size() || !plain(then, j) || !plain(otherwise, j))
      return false;
    const RegisterSet after = live_at(end);
    const Machine::Core& core = c_.machine.core;
    const int a = int(then.last - then.first), b = int(otherwise.last - otherwise.first);
    const int with_jumps =
        two ? core.jump_not_taken_cycles + a + core.jump_taken_cycles + core.jump_taken_cycles + b
            : core.jump_not_taken_cycles + a + core.jump_taken_cycles;
    // Either way waits for the condition.
    const int waits = 2 * isa::condition_wait(core);
    if (2 * (words(then, after) + words(otherwise, after)) > with_jumps + waits) return false;
    rewrite(j, then, otherwise, end, after);
    return true;
  }

  void rewrite(uint32_t j, const Body& then, const Body& otherwise, uint32_t end, const RegisterSet& after) {
    const isa::Inst& jump = code_.lines[j].inst;
    Edit edit(code_);
    for (uint32_t i = 0; i < code_.lines.size(); ++i) {
      if (i >= j && i < end) {
        if (i != j) continue;
        edit.begin(i);
        condition_ = jump.args[0];
        loc_ = code_.lines[j].loc;
        std::map<int32_t, Operand> first, second;  // register -> its value behind the body
        // jmpf goes past the body where the condition does not hold.
        on_true_ = jump.op == Op::jmpf;
        carry_out(edit, then, first);
        on_true_ = !on_true_;
        carry_out(edit, otherwise, second);
        on_true_ = jump.op == Op::jmpf;
        join(edit, first, second, after);
        continue;
      }
      edit.begin(i);
      edit.push(code_.lines[i]);
    }
    edit.finish();
  }

  Operand fresh(const Operand& like) { return {like.kind, code_.next_virtual++, 0}; }

  Line choose(const Operand& to, Operand yes, Operand no) const {
    if (!on_true_) std::swap(yes, no);
    Line line{.loc = loc_};
    line.inst.op = to.kind == OperandKind::pair ? Op::select32 : Op::select16;
    line.inst.args = {to, condition_, yes, no};
    return line;
  }

  void carry_out(Edit& edit, const Body& body, std::map<int32_t, Operand>& values) {
    for (uint32_t i = body.first; i < body.last; ++i) {
      Line line = code_.lines[i];
      const bool store = is_store(line.inst.op);
      for (size_t k = store ? 0 : 1; k < line.inst.args.size(); ++k)
        if (const auto it = values.find(line.inst.args[k].value);
            is_register(line.inst.args[k]) && it != values.end())
          line.inst.args[k] = it->second;
      if (store) {
        const bool wide = access_bytes(line.inst.op) == 4;
        const Operand like{wide ? OperandKind::pair : OperandKind::reg, 0, 0};
        Line old = line;
        const Operand before = fresh(like), chosen = fresh(like);
        old.inst = isa::Inst{.op = wide ? Op::ld32 : Op::ld16};
        old.inst.args = {before, line.inst.args[0], line.inst.args[1], {}};
        edit.push(old);
        edit.push(choose(chosen, line.inst.args[2], before));
        line.inst.args[2] = chosen;
        edit.push(line);
        continue;
      }
      const Operand to = line.inst.args[0];
      if ((line.inst.op == Op::mov16 || line.inst.op == Op::mov32) && is_literal(line.inst.args[1])) {
        values[to.value] = line.inst.args[1];
        continue;
      }
      line.inst.args[0] = fresh(to);
      values[to.value] = line.inst.args[0];
      edit.push(line);
    }
  }

  void join(Edit& edit, const std::map<int32_t, Operand>& first, const std::map<int32_t, Operand>& second,
            const RegisterSet& after) {
    std::map<int32_t, bool> written;  // register -> pair
    for (const auto* values : {&first, &second})
      for (const auto& [r, value] : *values) written[r] = is_pair(r);
    std::vector<std::pair<int32_t, bool>> order(written.begin(), written.end());
    // The condition itself is overwritten last.
    std::stable_sort(order.begin(), order.end(), [&](const auto& a, const auto& b) {
      return (a.first == condition_.value) < (b.first == condition_.value);
    });
    for (const auto& [number, pair] : order) {
      const int32_t r = number;
      if (!after.has(r)) continue;
      const Operand to{pair ? OperandKind::pair : OperandKind::reg, r, 0};
      const auto value = [&](const std::map<int32_t, Operand>& values) {
        const auto it = values.find(r);
        return it == values.end() ? to : it->second;
      };
      edit.push(choose(to, value(first), value(second)));
    }
  }

  bool is_pair(int32_t r) const {
    for (const Line& line : code_.lines)
      if (is_register(line.inst.args[0]) && line.inst.args[0].value == r)
        return line.inst.args[0].kind == OperandKind::pair;
    return false;
  }

  Context& c_;
  MirFunction& f_;
  Code& code_;
  const bool carries_;
  bool any_noinit_ = false;
  std::vector<uint32_t> targets_;
  std::vector<Block> blocks_;
  Liveness live_;
  Operand condition_;
  SourceLoc loc_;
  bool on_true_ = true;  // the body at hand counts where the condition is not 0
};

}  // namespace

bool predicate_branches(Context& c, MirFunction& f, Code& code) {
  bool changed = false;
  while (Predicate(c, f, code).run()) changed = true;
  return changed;
}

}  // namespace cs::csl::mir
