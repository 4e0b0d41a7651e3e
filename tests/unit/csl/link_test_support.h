// Builds MIR from assembly text, and runs what the back half makes of it with the engine's instruction
// semantics.
#pragma once

#include <gtest/gtest.h>

#include <set>

#include "compiler/csl/mir.h"
#include "simulator/exec/exec.h"

namespace cs::csl::test {

// A function from assembly lines. "LABEL:" names the next line for "@LABEL"; "call fnN ARG,... -> RESULT" and
// "ret" are calls and returns; everything else is isa::parse_inst.
struct FunctionText {
  std::string name;
  std::vector<std::string> params;
  std::string result;
  std::vector<std::string> lines;
  std::vector<MirSlot> slots;
  MirFunction::Kind kind = MirFunction::Kind::function;
};

inline isa::Operand operand(const std::string& text) {
  if (text.empty()) return {};
  if (text[0] == 'r') return {isa::OperandKind::reg, std::stoi(text.substr(1)), 0};
  if (text[0] == 'p') return {isa::OperandKind::pair, std::stoi(text.substr(1)), 0};
  if (text.starts_with("slot")) return {isa::OperandKind::slot, std::stoi(text.substr(4)), 0};
  return {isa::OperandKind::imm, std::stoi(text), 0};
}

inline void add_call(MirFunction& f, const std::string& line) {
  MirCall call;
  call.inst = uint32_t(f.code.size());
  size_t arrow = line.find("->");
  std::string head = line.substr(5, arrow == std::string::npos ? std::string::npos : arrow - 5);
  if (arrow != std::string::npos) call.result = operand(line.substr(arrow + 3));
  size_t space = head.find(' ');
  std::string target = head.substr(0, space);
  for (size_t at = space; at != std::string::npos && at + 1 < head.size();) {
    size_t comma = head.find(',', at + 1);
    std::string arg = head.substr(at + 1, comma == std::string::npos ? std::string::npos : comma - at - 1);
    while (!arg.empty() && arg.back() == ' ') arg.pop_back();
    while (!arg.empty() && arg.front() == ' ') arg.erase(0, 1);
    if (!arg.empty()) {
      bool pair = arg[0] == 'p';
      if (arg[0] == '#') pair = true, arg.erase(0, 1);  // "#5": a 32-bit literal
      call.args.push_back(operand(arg));
      call.arg_is_pair.push_back(pair);
    }
    at = comma;
  }
  isa::Inst inst;
  bool direct = target.starts_with("fn");
  inst.op = direct ? isa::Op::jal : isa::Op::jalv;
  inst.args[0] = {isa::OperandKind::reg, isa::kLinkRegister, 0};
  inst.args[1] =
      direct ? isa::Operand{isa::OperandKind::function, std::stoi(target.substr(2)), 0} : operand(target);
  f.calls.push_back(call);
  f.code.push_back(inst);
}

inline MirFunction build(const FunctionText& text) {
  MirFunction f;
  f.name = text.name;
  f.kind = text.kind;
  f.slots = text.slots;
  for (const std::string& p : text.params) f.params.push_back(operand(p));
  f.result = operand(text.result);
  std::map<std::string, int> labels;
  for (const std::string& line : text.lines)
    if (line.back() == ':') labels.emplace(line.substr(0, line.size() - 1), int(labels.size()));
  f.labels.resize(labels.size());
  for (std::string line : text.lines) {
    if (line.back() == ':') {
      f.labels[size_t(labels.at(line.substr(0, line.size() - 1)))] = uint32_t(f.code.size());
    } else if (line.starts_with("call ")) {
      add_call(f, line);
    } else if (line == "ret") {
      f.rets.push_back(uint32_t(f.code.size()));
      isa::Inst inst;
      inst.op = isa::Op::jv;
      inst.args[0] = {isa::OperandKind::reg, isa::kLinkRegister, 0};
      f.code.push_back(inst);
    } else {
      size_t at = line.find('@');
      if (at != std::string::npos)
        line = line.substr(0, at + 1) + std::to_string(labels.at(line.substr(at + 1)));
      Diag diag;
      auto inst = isa::parse_inst(line, {}, diag);
      EXPECT_TRUE(inst) << line << "\n" << diag.to_string();
      if (inst) f.code.push_back(*inst);
    }
  }
  f.locs.resize(f.code.size());
  return f;
}

inline Machine machine(const std::string& name = "wse2") {
  Diag diag;
  auto m = load_machine(name, diag);
  EXPECT_TRUE(m) << diag.to_string();
  return m.value_or(Machine{});
}

inline TileProgram link(const MirTile& tile, const Machine& m = machine()) {
  Diag diag;
  TileProgram out;
  EXPECT_TRUE(link_tile(tile, m, out, diag.sources, diag)) << diag.to_string();
  return out;
}

// One PE's core without timing.
struct Runner {
  const TileProgram& tile;
  std::vector<uint8_t> memory = std::vector<uint8_t>(49152, 0);
  sim::Registers registers;

  explicit Runner(const TileProgram& t) : tile(t) {
    for (const Segment& s : t.segments) std::copy(s.bytes.begin(), s.bytes.end(), memory.begin() + s.address);
  }
  uint16_t half(uint32_t address) const { return uint16_t(memory[address] | memory[address + 1] << 8); }
  uint32_t word(uint32_t address) const {
    return uint32_t(half(address)) | uint32_t(half(address + 2)) << 16;
  }
  void set(uint32_t address, uint32_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) memory[address + uint32_t(i)] = uint8_t(value >> (8 * i));
  }
  uint32_t symbol(const std::string& name) const {
    const Symbol* s = tile.symbol(name);
    EXPECT_NE(s, nullptr) << name;
    return s ? s->address : 0;
  }

  // Runs until the task ends; the number of instructions executed.
  int run(uint32_t entry) {
    int32_t pc = int32_t(entry);
    for (int steps = 1; steps < 1'000'000; ++steps) {
      if (pc < 0 || pc >= int32_t(tile.code.size())) {
        ADD_FAILURE() << "left the code at " << pc;
        return steps;
      }
      const isa::Inst& inst = tile.code[size_t(pc)];
      if (inst.op == isa::Op::yield) return steps;
      if (isa::row(inst.op).cost == isa::Cost::jump) {
        pc = sim::jump_target(inst, registers, pc + 1).value_or(pc + 1);
        if (pc == isa::kReturnToScheduler) return steps;
        continue;
      }
      if (isa::row(inst.op).cost == isa::Cost::config) {  // no counters and coordinates here
        ++pc;
        continue;
      }
      sim::ScalarResult r = sim::execute_scalar(inst, registers, memory, Fp16Format::f16);
      EXPECT_EQ(r.fault, sim::ExecFault::none) << isa::print(inst);
      if (r.fault != sim::ExecFault::none) return steps;
      ++pc;
    }
    ADD_FAILURE() << "does not end";
    return 0;
  }
};

inline MirGlobal global(const std::string& name, uint32_t bytes, std::vector<uint8_t> init = {},
                        bool constant = false) {
  MirGlobal g;
  g.name = name;
  g.bytes = bytes;
  g.align = 4;
  g.init = std::move(init);
  g.constant = constant;
  return g;
}

// A tile whose only task is function 0, local task 8, and whose global 0 is exported as "out".
inline MirTile tile_of(std::vector<FunctionText> functions, uint32_t out_bytes = 64) {
  MirTile tile;
  tile.name = "test.csl";
  functions[0].kind = MirFunction::Kind::task;
  for (const FunctionText& f : functions) tile.functions.push_back(build(f));
  tile.globals.push_back(global("out", out_bytes));
  tile.symbols.push_back({"out", 0, 0, DataType::u16, out_bytes / 2, true});
  tile.tasks.push_back({TaskKind::local, 8, 0, TaskArgs::none});
  return tile;
}

}  // namespace cs::csl::test
