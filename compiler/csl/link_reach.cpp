// What of a tile program is needed.
//
// A worklist from the roots (tasks, exported functions, exported symbols) over the operands of instructions
// and the relocations of globals. On the way: who calls whom, whose address is taken, which slots must not be
// overlaid.
#include <algorithm>
#include <set>

#include "compiler/csl/link.h"
#include "runtime/isa/dsd.h"

namespace cs::csl::link {
namespace {

using isa::Op;
using isa::OperandKind;

class Reach {
 public:
  explicit Reach(State& state) : state_(state), seen_(state.tile.functions.size(), false), taken_(seen_) {}

  void run() {
    for (const MirTask& task : state_.tile.tasks) reach_function(task.function, false);
    for (const MirExportedFunction& f : state_.tile.exported_functions) reach_function(f.function, false);
    for (const MirSymbol& s : state_.tile.symbols) {
      reach_global(s.global);
      if (s.pointer >= 0) reach_global(uint32_t(s.pointer));
    }
    for (const MirDsr& d : state_.tile.dsrs) visit(d.base, false);
    state_.fifo_live.assign(state_.tile.fifos.size(), false);
    do drain();
    while (reach_fifos());
  }

  bool seen(size_t f) const { return seen_[f]; }
  bool taken(size_t f) const { return taken_[f]; }

 private:
  // A FIFO is needed if code that runs names its register.
  bool reach_fifos() {
    bool more = false;
    for (size_t i = 0; i < state_.tile.fifos.size(); ++i) {
      if (state_.fifo_live[i] || !dsrs_.contains(state_.tile.fifos[i].dsr)) continue;
      state_.fifo_live[i] = more = true;
      reach_global(state_.tile.fifos[i].global);
    }
    return more;
  }

  void drain() {
    while (!functions_.empty() || !globals_.empty()) {
      if (!functions_.empty()) {
        uint32_t next = functions_.back();
        functions_.pop_back();
        scan(state_.tile.functions[next]);
      } else {
        uint32_t next = globals_.back();
        globals_.pop_back();
        for (const MirRelocation& r : state_.globals[next].mir.relocations)
          r.function ? reach_function(r.target, true) : reach_global(r.target);
      }
    }
  }

  void reach_function(uint32_t f, bool address) {
    CS_CHECK(f < seen_.size(), "function index");
    if (address) taken_[f] = true;
    if (seen_[f]) return;
    seen_[f] = true;
    functions_.push_back(f);
  }

  void reach_global(uint32_t g) {
    CS_CHECK(g < state_.globals.size(), "global index");
    if (state_.globals[g].live) return;
    state_.globals[g].live = true;
    globals_.push_back(g);
  }

  void visit(const isa::Operand& a, bool called) {
    if (a.kind == OperandKind::function) reach_function(uint32_t(a.value), !called);
    if (a.kind == OperandKind::global) reach_global(uint32_t(a.value));
    if (a.is_dsr()) dsrs_.insert(a.value);
  }

  void scan(const MirFunction& f) {
    for (const isa::Inst& inst : f.code)
      for (const isa::Operand& a : inst.args) visit(a, inst.op == Op::jal);
    for (const MirCall& call : f.calls)
      for (const isa::Operand& a : call.args) visit(a, false);
  }

  State& state_;
  std::vector<bool> seen_, taken_;
  std::vector<uint32_t> functions_, globals_;
  std::set<int> dsrs_;  // numbers that live code names
};

bool is_async_load(const isa::Inst& inst) {
  if (inst.op != Op::ldds && inst.op != Op::lds0 && inst.op != Op::lds1) return false;
  return isa::decode_config(inst.args[3].value).async;
}

// Slots whose address becomes a value: descriptors may point to them after the function has returned.
void mark_escaping(Function& f) {
  auto escape = [&](const isa::Operand& a) {
    if (a.kind == OperandKind::slot) f.slots[size_t(a.value)].exclusive = true;
  };
  for (const isa::Inst& inst : f.mir->code) {
    std::string_view form = isa::row(inst.op).form;
    for (size_t i = 0; i < form.size(); ++i)
      if (form[i] != 'M' && !(is_memory(inst.op) && form[i] == 'I')) escape(inst.args[i]);
  }
  for (const MirCall& call : f.mir->calls)
    for (const isa::Operand& a : call.args) escape(a);
}

void describe_calls(Function& f) {
  for (const isa::Inst& inst : f.mir->code) {
    if (inst.op == Op::jalv) f.calls_indirectly = true;
    if (inst.op == Op::jal) f.callees.push_back(uint32_t(inst.args[1].value));
  }
  std::sort(f.callees.begin(), f.callees.end());
  f.callees.erase(std::unique(f.callees.begin(), f.callees.end()), f.callees.end());
}

void copy_code(Function& f) {
  const MirFunction& mir = *f.mir;
  CS_CHECK(mir.locs.size() == mir.code.size(), "one location per instruction");
  f.code.labels = mir.labels;
  for (uint32_t label : mir.labels) CS_CHECK(label <= mir.code.size(), "label beyond the code");
  f.code.lines.resize(mir.code.size());
  f.next_virtual = isa::kFirstVirtual;
  auto count = [&](const isa::Operand& a) {
    if (a.kind == OperandKind::reg || a.kind == OperandKind::pair)
      f.next_virtual = std::max(f.next_virtual, a.value + 1);
  };
  for (size_t i = 0; i < mir.code.size(); ++i) {
    f.code.lines[i].inst = mir.code[i];
    f.code.lines[i].loc = mir.locs[i];
    for (const isa::Operand& a : mir.code[i].args) count(a);
  }
  for (const isa::Operand& a : mir.params) count(a);
  for (const MirCall& call : mir.calls) {
    count(call.result);
    for (const isa::Operand& a : call.args) count(a);
  }
  count(mir.result);
}

}  // namespace

void select_reachable(State& state) {
  const MirTile& tile = state.tile;
  for (const MirGlobal& g : tile.globals) {
    Global global;
    global.mir = g;
    global.section = g.constant ? SectionKind::constants : SectionKind::data;
    state.globals.push_back(std::move(global));
  }
  Reach reach(state);
  reach.run();
  bool any_async = false;
  state.function_of_mir.assign(tile.functions.size(), -1);
  for (uint32_t i = 0; i < tile.functions.size(); ++i) {
    if (!reach.seen(i)) continue;
    state.function_of_mir[i] = int32_t(state.functions.size());
    Function f;
    f.mir = &tile.functions[i];
    f.index = i;
    f.address_taken = reach.taken(i);
    f.ends_task = f.mir->kind == MirFunction::Kind::task;
    for (const MirSlot& s : f.mir->slots) f.slots.push_back({s.name, s.bytes, s.align});
    copy_code(f);
    describe_calls(f);
    for (const isa::Inst& inst : f.mir->code) any_async |= is_async_load(inst);
    state.functions.push_back(std::move(f));
  }
  if (any_async)
    for (Function& f : state.functions) mark_escaping(f);
  // A function that only the host starts can end the task itself.
  std::vector<bool> called(tile.functions.size(), false);
  for (const Function& f : state.functions)
    for (uint32_t callee : f.callees) called[callee] = true;
  for (const MirExportedFunction& e : tile.exported_functions) {
    Function& f = state.functions[size_t(state.function_of_mir[e.function])];
    f.launched = true;
    if (!called[e.function] && !f.address_taken) f.ends_task = true;
  }
}

}  // namespace cs::csl::link
