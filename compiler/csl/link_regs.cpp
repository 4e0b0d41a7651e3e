// Register allocation.
//
// 1. A register that is live across a call either lives in memory, or is saved before and loaded after every
// such call,
//    whichever is less work by frequency.
// 2. Registers are placed one by one, those with the most accesses per length first, into the first of the
// machine's
//    but the last (even pairs) that is free in all their segments; a copy's other side is tried first, so
//    that the copy vanishes.
// 3. What finds no place moves to memory: every read gets a short-lived register loaded before, every write
// one stored
//    after (constants are made anew instead). Then again from 2; short-lived registers are placed first, so
//    this ends.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "compiler/csl/link_flow.h"

namespace cs::csl::link {
namespace {

using isa::Op;
using isa::Operand;
using isa::OperandKind;

constexpr double kPinned = std::numeric_limits<double>::infinity();

class Allocator {
 public:
  Allocator(Function& f, const Machine& m, Diag& diag)
      : f_(f), allocatable_(isa::link_register(m)), diag_(diag) {}

  bool run() {
    keep_over_calls();
    constexpr int kRounds = 64;
    for (int round = 0; round < kRounds; ++round) {
      std::set<int> spilled = place();
      if (failed_) return false;
      if (spilled.empty()) {
        rename();
        return true;
      }
      spill(spilled);
    }
    return fail("register allocation does not end");
  }

 private:
  bool fail(const std::string& why) {
    failed_ = true;
    diag_.error(f_.mir->loc, fmt::format("'{}': {}", f_.mir->name, why),
                "split the function into smaller ones");
    return false;
  }

  int slot_of(int number, bool is_pair) {
    auto [it, is_new] = slot_of_.try_emplace(number, int(f_.slots.size()));
    if (is_new)
      f_.slots.push_back({fmt::format("register {}", number), is_pair ? 4u : 2u, is_pair ? 4u : 2u});
    return it->second;
  }

  static Operand operand(int number, bool is_pair) { return is_pair ? pair(number) : reg(number); }
  isa::Inst load(int number, bool is_pair, int slot) {
    return make(is_pair ? Op::ld32 : Op::ld16, operand(number, is_pair), {OperandKind::slot, slot, 0},
                imm(0));
  }
  isa::Inst store(int number, bool is_pair, int slot) {
    return make(is_pair ? Op::st32 : Op::st16, {OperandKind::slot, slot, 0}, imm(0),
                operand(number, is_pair));
  }

  // ---- step 1
  void keep_over_calls() {
    Flow flow = analyse_flow(f_);
    if (flow.calls.empty()) return;
    std::vector<double> save_cost(flow.registers.size(), 0);
    for (size_t c = 0; c < flow.calls.size(); ++c)
      for (uint32_t r : flow.live_across[c]) save_cost[r] += 2 * flow.frequency[flow.calls[c]];
    std::set<int> to_memory;
    for (size_t r = kFixed; r < flow.registers.size(); ++r)
      if (save_cost[r] > 0 && flow.registers[r].weight <= save_cost[r])
        to_memory.insert(flow.registers[r].number);
    Rewriter rewriter(f_.code);
    size_t next = 0;
    for (size_t i = 0; i < f_.code.lines.size(); ++i) {
      rewriter.begin(i);
      bool is_call = next < flow.calls.size() && flow.calls[next] == i;
      SourceLoc loc = f_.code.lines[i].loc;
      auto keep = [&](bool after) {
        for (uint32_t r : flow.live_across[next]) {
          int number = flow.registers[r].number;
          bool is_pair = flow.registers[r].pair;
          if (to_memory.count(number)) continue;
          int slot = slot_of(number, is_pair);
          rewriter.push({after ? load(number, is_pair, slot) : store(number, is_pair, slot), loc});
        }
      };
      if (is_call) keep(false);
      rewriter.push(f_.code.lines[i]);
      if (is_call) keep(true), ++next;
    }
    rewriter.finish();
    if (!to_memory.empty()) spill(to_memory);
  }

  // ---- step 2
  bool is_free(int at, const Register& r) const {
    for (int unit = at; unit < at + (r.pair ? 2 : 1); ++unit) {
      const std::map<uint32_t, uint32_t>& busy = busy_[size_t(unit)];
      for (const Segment& s : r.segments) {
        auto next = busy.lower_bound(s.begin);
        if (next != busy.end() && next->first < s.end) return false;
        if (next != busy.begin() && std::prev(next)->second > s.begin) return false;
      }
    }
    return true;
  }

  void occupy(int at, const Register& r) {
    for (int unit = at; unit < at + (r.pair ? 2 : 1); ++unit)
      for (const Segment& s : r.segments) busy_[size_t(unit)][s.begin] = s.end;
  }

  // Copies join registers of equal width: where one is, the other would like to be.
  std::vector<std::vector<int>> find_friends(const Flow& flow) const {
    std::vector<std::vector<int>> friends(flow.registers.size());
    for (const Line& line : f_.code.lines) {
      const isa::Inst& inst = line.inst;
      bool is_copy =
          inst.op == Op::mov16 || inst.op == Op::mov32 || inst.op == Op::fmovs || inst.op == Op::fmovh;
      if (!is_copy || inst.args[0].kind != inst.args[1].kind) continue;
      if (inst.args[0].kind != OperandKind::reg && inst.args[0].kind != OperandKind::pair) continue;
      for (int side : {0, 1}) {
        int self = inst.args[size_t(side)].value;
        if (self >= isa::kFirstVirtual)
          friends[size_t(flow.dense[size_t(self)])].push_back(inst.args[size_t(1 - side)].value);
      }
    }
    return friends;
  }

  int choose(const Register& r, const std::vector<int>& friends) const {
    for (int other : friends) {
      auto it = other < isa::kFirstVirtual ? place_.end() : place_.find(other);
      int at = other < isa::kFirstVirtual ? other : it == place_.end() ? -1 : it->second;
      if (at >= 0 && at + (r.pair ? 2 : 1) <= allocatable_ && is_free(at, r)) return at;
    }
    if (r.pair) {
      for (int at = 0; at + 2 <= allocatable_; at += 2)
        if (is_free(at, r)) return at;
    } else {
      for (int at = allocatable_ - 1; at >= 0; --at)
        if (is_free(at, r)) return at;
    }
    return -1;
  }

  std::set<int> place() {
    Flow flow = analyse_flow(f_);
    place_.clear();
    busy_.assign(kFixed, {});
    for (int r = 0; r < kFixed; ++r) occupy(r, flow.registers[size_t(r)]);
    std::vector<std::vector<int>> friends = find_friends(flow);
    std::vector<std::pair<double, uint32_t>> order;
    for (uint32_t r = kFixed; r < flow.registers.size(); ++r) {
      const Register& one = flow.registers[r];
      uint32_t length = 1;
      for (const Segment& s : one.segments) length += s.end - s.begin;
      order.push_back({pinned_.count(one.number) ? kPinned : one.weight / length, r});
    }
    std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
      return a.first != b.first ? a.first > b.first : a.second < b.second;
    });
    std::set<int> spilled;
    for (const auto& [weight, index] : order) {
      const Register& r = flow.registers[index];
      int at = choose(r, friends[index]);
      if (at >= 0) {
        place_[r.number] = at;
        occupy(at, r);
      } else if (weight == kPinned) {
        fail(fmt::format("an instruction in line {} needs more registers than there are", line_of(r)));
        return {};
      } else {
        spilled.insert(r.number);
      }
    }
    return spilled;
  }

  uint32_t line_of(const Register& r) const {
    size_t line = r.segments.empty() ? 0 : r.segments[0].begin / 2;
    return line < f_.code.lines.size() ? f_.code.lines[line].loc.line : 0;
  }

  // ---- step 3
  // A register written once, by an instruction that loads a constant, is made anew instead of kept in memory.
  std::map<int, isa::Inst> find_constants(const std::set<int>& numbers) const {
    std::map<int, int> writes;
    std::map<int, isa::Inst> constants;
    for (const Line& line : f_.code.lines) {
      for_each_register(line.inst, [&](size_t a, bool, bool written) {
        int number = line.inst.args[a].value;
        if (!written || !numbers.count(number)) return;
        ++writes[number];
        OperandKind source = line.inst.args[1].kind;
        bool is_move = line.inst.op == Op::imov16 || line.inst.op == Op::imov32 ||
                       line.inst.op == Op::mov16 || line.inst.op == Op::mov32;
        bool is_constant = source == OperandKind::imm || source == OperandKind::global ||
                           source == OperandKind::slot || source == OperandKind::function;
        if (is_move && is_constant) constants[number] = line.inst;
      });
    }
    std::erase_if(constants, [&](const auto& entry) { return writes[entry.first] != 1; });
    return constants;
  }

  void spill(const std::set<int>& numbers) {
    std::map<int, isa::Inst> constants = find_constants(numbers);
    Rewriter rewriter(f_.code);
    for (size_t i = 0; i < f_.code.lines.size(); ++i) {
      rewriter.begin(i);
      Line line = f_.code.lines[i];
      std::map<int, int> renamed;
      std::vector<isa::Inst> before, after;
      bool is_remade = false;
      for_each_register(line.inst, [&](size_t a, bool read, bool written) {
        Operand& arg = line.inst.args[a];
        int number = arg.value;
        if (!numbers.count(number)) return;
        bool is_pair = arg.kind == OperandKind::pair;
        auto [it, is_new] = renamed.try_emplace(number, f_.next_virtual);
        if (is_new) pinned_.insert(f_.next_virtual++);
        arg.value = it->second;
        auto constant = constants.find(number);
        if (constant != constants.end()) {
          if (written) is_remade = true;
          if (!read || !is_new) return;
          isa::Inst again = constant->second;
          again.args[0].value = it->second;
          before.push_back(again);
          return;
        }
        int slot = slot_of(number, is_pair);
        if (read) before.push_back(load(it->second, is_pair, slot));
        if (written) after.push_back(store(it->second, is_pair, slot));
      });
      if (is_remade) continue;  // the constant's own definition
      for (const isa::Inst& inst : before) rewriter.push({inst, line.loc});
      rewriter.push(line);
      for (const isa::Inst& inst : after) rewriter.push({inst, line.loc});
    }
    rewriter.finish();
  }

  void rename() {
    for (Line& line : f_.code.lines) {
      isa::Inst& inst = line.inst;
      for_each_register(inst, [&](size_t a, bool, bool) {
        if (inst.args[a].value >= isa::kFirstVirtual) inst.args[a].value = place_.at(inst.args[a].value);
      });
    }
  }

  Function& f_;
  const int allocatable_;  // registers below
  Diag& diag_;
  bool failed_ = false;
  std::map<int, int> slot_of_;                      // virtual register -> frame slot
  std::set<int> pinned_;                            // short-lived ones, which must get a register
  std::map<int, int> place_;                        // virtual register -> first fixed register
  std::vector<std::map<uint32_t, uint32_t>> busy_;  // by fixed register: begin -> end of occupied segments
};

}  // namespace

bool allocate_registers(Function& f, const Machine& machine, Diag& diag) {
  return Allocator(f, machine, diag).run();
}

}  // namespace cs::csl::link
