// Calling conventions made explicit.
//
//  - Arguments: r0 and up (Conventions) in order, pairs at even registers; what does not fit goes through one
//  memory area shared by all
//    calls, which is safe because the callee copies it first and tasks do not interrupt each other.
//  - Results: r0 or p0. The last register holds the return address; a function that calls others saves it in
//  its frame. A call that may come back to its own function is its last instruction and leaves that register
//  to the callee.
//  - Tasks get wavelet data as TaskArgs says, which is the same as arguments in r0, r1. They end with
//  `yield`.
//  - A launched function: the host writes its arguments to memory. If nobody calls it, it loads them itself
//  and ends with
//    `yield`; otherwise a stub before it loads them, sets the link register to kReturnToScheduler and falls
//    into it.
#include <algorithm>

#include "compiler/csl/link.h"

namespace cs::csl::link {
namespace {

using isa::Op;
using isa::Operand;
using isa::OperandKind;

class Lowering {
 public:
  Lowering(State& state, Function& f)
      : state_(state), f_(f), rewriter_(f.code), registers_(state.machine), link_(reg(registers_.link)) {}

  void run() {
    const MirFunction& mir = *f_.mir;
    bool is_leaf = mir.calls.empty();
    if (!f_.ends_task && !is_leaf) {
      link_slot_ = int(f_.slots.size());
      f_.slots.push_back({"return address", 2, 2});
    }
    prologue();
    size_t next_call = 0, next_ret = 0;
    for (size_t i = 0; i < mir.code.size(); ++i) {
      rewriter_.begin(i);
      Line line = f_.code.lines[i];
      loc_ = line.loc;
      bool is_ret = next_ret < mir.rets.size() && mir.rets[next_ret] == i;
      if (is_ret) {
        ++next_ret;
        ret();
      } else if (next_call < mir.calls.size() && mir.calls[next_call].inst == i) {
        call(line, mir.calls[next_call++]);
      } else {
        rewriter_.push(std::move(line));
      }
    }
    rewriter_.finish();
  }

 private:
  void push(isa::Inst inst) { rewriter_.push({inst, loc_}); }
  Operand slot(int number) const { return {OperandKind::slot, number, 0}; }
  Operand overflow(uint32_t offset) const {
    return {OperandKind::global, state_.overflow_area, int32_t(offset)};
  }
  static Op move_op(bool is_pair) { return is_pair ? Op::mov32 : Op::mov16; }
  static Operand fixed(const ArgPlace& place) { return place.pair ? pair(place.reg) : reg(place.reg); }

  void prologue() {
    loc_ = f_.mir->loc;
    if (link_slot_ >= 0) push(make(Op::st16, slot(link_slot_), imm(0), link_));
    auto launch = state_.launch_params.find(f_.index);
    if (f_.ends_task && launch != state_.launch_params.end()) {
      for (size_t i = 0; i < f_.mir->params.size(); ++i) {
        auto [global, offset] = launch->second[i];
        bool is_pair = f_.mir->params[i].kind == OperandKind::pair;
        push(make(is_pair ? Op::ld32 : Op::ld16, f_.mir->params[i],
                  {OperandKind::global, global, int32_t(offset)}, imm(0)));
      }
      return;
    }
    std::vector<bool> pairs;
    for (const Operand& p : f_.mir->params) pairs.push_back(p.kind == OperandKind::pair);
    uint32_t bytes = 0;
    std::vector<ArgPlace> places = place_args(pairs, registers_, bytes);
    for (size_t i = 0; i < places.size(); ++i)
      if (places[i].reg >= 0) push(make(move_op(pairs[i]), f_.mir->params[i], fixed(places[i])));
    for (size_t i = 0; i < places.size(); ++i)
      if (places[i].reg < 0)
        push(make(pairs[i] ? Op::ld32 : Op::ld16, f_.mir->params[i], overflow(places[i].offset), imm(0)));
  }

  void call(const Line& line, const MirCall& call) {
    uint32_t bytes = 0;
    std::vector<ArgPlace> places = place_args(call.arg_is_pair, registers_, bytes);
    for (size_t i = 0; i < places.size(); ++i)
      if (places[i].reg < 0)
        push(make(places[i].pair ? Op::st32 : Op::st16, overflow(places[i].offset), imm(0), call.args[i]));
    // A call in a circle of functions is a jump: the callee finds the return address of this function in the
    // link register, its own one goes where nobody looks.
    if (call.is_tail) push(make(Op::ld16, link_, slot(link_slot_), imm(0)));
    Line jump = line;
    jump.inst.args[0] = call.is_tail ? reg(registers_.nothing) : link_;
    if (call.is_tail) jump.reads = 1u << registers_.link;
    for (size_t i = 0; i < places.size(); ++i) {
      if (places[i].reg < 0) continue;
      push(make(move_op(places[i].pair), fixed(places[i]), call.args[i]));
      jump.reads |= (places[i].pair ? 3u : 1u) << places[i].reg;
    }
    jump.is_call = true;
    jump.clobbers = (1u << registers_.link) - 1;
    rewriter_.push(std::move(jump));
    if (call.result.kind == OperandKind::pair) push(make(Op::mov32, call.result, pair(0)));
    if (call.result.kind == OperandKind::reg) push(make(Op::mov16, call.result, reg(0)));
  }

  void ret() {
    if (f_.ends_task) return push(make(Op::yield));
    const Operand& result = f_.mir->result;
    if (result.kind == OperandKind::pair) push(make(Op::mov32, pair(0), result));
    if (result.kind == OperandKind::reg) push(make(Op::mov16, reg(0), result));
    if (link_slot_ >= 0) push(make(Op::ld16, link_, slot(link_slot_), imm(0)));
    Line line{make(Op::jv, link_), loc_};
    line.reads = result.kind == OperandKind::pair ? 3 : result.kind == OperandKind::reg ? 1 : 0;
    rewriter_.push(std::move(line));
  }

  State& state_;
  Function& f_;
  Rewriter rewriter_;
  const Conventions registers_;
  const Operand link_;
  SourceLoc loc_;
  int link_slot_ = -1;
};

int32_t add_global(State& state, std::string name, uint32_t bytes, SourceLoc loc) {
  Global g;
  g.mir.name = std::move(name);
  g.mir.bytes = bytes;
  g.mir.align = 4;
  g.mir.loc = loc;
  g.live = true;
  g.section = SectionKind::frame;
  state.globals.push_back(std::move(g));
  return int32_t(state.globals.size()) - 1;
}

// Memory for the arguments that the host writes.
void place_launch_params(State& state) {
  for (const MirExportedFunction& e : state.tile.exported_functions) {
    if (e.params.empty() || state.launch_params.count(e.function)) continue;
    uint32_t bytes = 0;
    std::vector<std::pair<int32_t, uint32_t>> places;
    for (DataType type : e.params) {
      uint32_t size = uint32_t(data_type_bytes(type));
      bytes = (bytes + size - 1) / size * size;
      places.push_back({0, bytes});
      bytes += size;
    }
    const MirFunction& f = state.tile.functions[e.function];
    CS_CHECK(f.params.size() == e.params.size(), "parameters of an exported function");
    int32_t global = add_global(state, "arguments of " + e.name, bytes, f.loc);
    for (auto& [g, offset] : places) g = global;
    state.launch_params[e.function] = std::move(places);
  }
}

// Loads the host's arguments as a caller would have placed them.
void write_stub(State& state, Function& f) {
  auto push = [&](isa::Inst inst) { f.stub.push_back({inst, f.mir->loc}); };
  std::vector<bool> pairs;
  for (const Operand& p : f.mir->params) pairs.push_back(p.kind == OperandKind::pair);
  uint32_t bytes = 0;
  const Conventions registers(state.machine);
  std::vector<ArgPlace> places = place_args(pairs, registers, bytes);
  for (size_t i = 0; i < places.size(); ++i) {
    auto [global, offset] = state.launch_params.at(f.index)[i];
    int at = places[i].reg >= 0 ? places[i].reg : registers.scratch;
    Operand target = places[i].pair ? pair(at) : reg(at);
    push(make(places[i].pair ? Op::ld32 : Op::ld16, target, {OperandKind::global, global, int32_t(offset)},
              imm(0)));
    if (places[i].reg < 0)
      push(make(places[i].pair ? Op::st32 : Op::st16,
                {OperandKind::global, state.overflow_area, int32_t(places[i].offset)}, imm(0), target));
  }
  push(make(Op::imov16, reg(registers.link), imm(isa::kReturnToScheduler)));
}

}  // namespace

std::vector<ArgPlace> place_args(const std::vector<bool>& is_pair, const Conventions& registers,
                                 uint32_t& overflow_bytes) {
  std::vector<ArgPlace> out;
  int next = 0;
  overflow_bytes = 0;
  for (bool pair : is_pair) {
    ArgPlace place{pair, -1, 0};
    int size = pair ? 2 : 1;
    int at = pair ? (next + 1) / 2 * 2 : next;
    if (at + size <= registers.arguments) {
      place.reg = at;
      next = at + size;
    } else {
      uint32_t bytes = uint32_t(size) * 2;
      overflow_bytes = (overflow_bytes + bytes - 1) / bytes * bytes;
      place.offset = overflow_bytes;
      overflow_bytes += bytes;
    }
    out.push_back(place);
  }
  return out;
}

void lower_conventions(State& state) {
  place_launch_params(state);
  for (const Function& f : state.functions) {
    std::vector<bool> pairs;
    for (const Operand& p : f.mir->params) pairs.push_back(p.kind == OperandKind::pair);
    uint32_t bytes = 0;
    place_args(pairs, Conventions(state.machine), bytes);
    state.overflow_bytes = std::max(state.overflow_bytes, bytes);
  }
  if (state.overflow_bytes > 0)
    state.overflow_area = add_global(state, "arguments beyond the registers", state.overflow_bytes, {});
  for (Function& f : state.functions) {
    Lowering(state, f).run();
    if (f.launched && !f.ends_task) write_stub(state, f);
  }
}

}  // namespace cs::csl::link
