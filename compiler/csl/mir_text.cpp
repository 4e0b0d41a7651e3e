// MIR printed. One line per global, function, slot, label and instruction; docs/csl.md describes the form.
#include "compiler/csl/mir_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "compiler/csl/mir_code.h"

namespace cs::csl::mir {
namespace {

using isa::Operand;
using isa::OperandKind;

// An operand outside of an instruction: an argument, a result, a base.
std::string operand(const Operand& o) {
  isa::Inst inst{.op = isa::Op::mov16};
  inst.args[0] = {OperandKind::reg, 0, 0};
  inst.args[1] = o;
  return isa::print(inst).substr(std::string_view("mov16 r0, ").size());
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n') {
      out += "\\n";
      continue;
    }
    out += c;
  }
  return out + "\"";
}

std::string hex(const std::vector<uint8_t>& bytes) {
  std::string out;
  for (uint8_t b : bytes) out += fmt::format("{:02x}", b);
  return out;
}

class Printer {
 public:
  explicit Printer(const MirTile& tile) : tile_(tile) {}

  std::string run() {
    out_ = fmt::format("tile {}\n", quoted(tile_.name));
    for (size_t i = 0; i < tile_.globals.size(); ++i) global(i);
    for (const MirSymbol& s : tile_.symbols)
      out_ +=
          fmt::format("export {} global{}{}{}\n", quoted(s.name), s.global, s.is_mutable ? " mutable" : "",
                      s.pointer < 0 ? "" : fmt::format(" pointer{}", s.pointer));
    for (const MirFifo& f : tile_.fifos) out_ += fmt::format("fifo global{}\n", f.global);
    for (const MirDsr& d : tile_.dsrs)
      if (d.base.kind == OperandKind::global) out_ += fmt::format("base {}\n", operand(d.base));
    for (const MirTask& t : tile_.tasks) out_ += fmt::format("task fn{}\n", t.function);
    for (const MirExportedFunction& e : tile_.exported_functions)
      out_ += fmt::format("launch fn{}\n", e.function);
    for (size_t i = 0; i < tile_.functions.size(); ++i) function(i);
    return std::move(out_);
  }

 private:
  void global(size_t i) {
    const MirGlobal& g = tile_.globals[i];
    out_ += fmt::format("global{} {} bytes={} align={}{}{}{}\n", i, quoted(g.name), g.bytes, g.align,
                        g.constant ? " constant" : "", g.noinit ? " noinit" : "", g.is_dsd ? " dsd" : "");
    if (!g.init.empty()) out_ += fmt::format("  init {}\n", hex(g.init));
    for (const MirRelocation& r : g.relocations)
      out_ += fmt::format("  at {} {}{}{}\n", r.offset, r.function ? "fn" : "global", r.target,
                          r.addend != 0 ? fmt::format(":{}", r.addend) : "");
  }

  void function(size_t i) {
    const MirFunction& f = tile_.functions[i];
    out_ += fmt::format("{}{} {}", f.kind == MirFunction::Kind::task ? "taskfn" : "fn", i, quoted(f.name));
    for (const Operand& p : f.params) out_ += " " + operand(p);
    if (f.result.kind != OperandKind::none) out_ += " -> " + operand(f.result);
    out_ += "\n";
    for (size_t s = 0; s < f.slots.size(); ++s)
      out_ += fmt::format("  slot{} {} bytes={} align={}\n", s, quoted(f.slots[s].name), f.slots[s].bytes,
                          f.slots[s].align);
    const Code code = open(f);
    std::set<int32_t> used;
    for (const Line& line : code.lines)
      if (const int32_t label = target_label(line.inst); label >= 0) used.insert(label);
    SourceLoc last;
    for (uint32_t at = 0; at < code.lines.size(); ++at) {
      for (int32_t label : used)
        if (code.labels[size_t(label)] == at)
          out_ += fmt::format(" @{}:{}\n", label, is_kept(f, uint32_t(label)) ? " loop" : "");
      out_ += "  " + text(f, code.lines[at]);
      const SourceLoc& loc = code.lines[at].loc;
      if (!(loc == last)) out_ += fmt::format("  ; {}:{}:{}", loc.file, loc.line, loc.column);
      last = loc;
      out_ += "\n";
    }
  }

  static bool is_kept(const MirFunction& f, uint32_t label) {
    return std::find(f.kept.begin(), f.kept.end(), label) != f.kept.end();
  }

  static std::string text(const MirFunction& f, const Line& line) {
    if (line.ret) return "ret";
    if (line.call < 0) return isa::print(line.inst);
    const MirCall& call = f.calls[size_t(line.call)];
    std::string out = (call.is_tail ? "tail " : "call ") + operand(line.inst.args[1]);
    for (size_t i = 0; i < call.args.size(); ++i)  // a literal does not say its width
      out += fmt::format(" {}{}", call.arg_is_pair[i] && !is_register(call.args[i]) ? "wide:" : "",
                         operand(call.args[i]));
    if (call.result.kind != OperandKind::none) out += " -> " + operand(call.result);
    return out;
  }

  const MirTile& tile_;
  std::string out_;
};

}  // namespace

std::string print(const MirTile& tile) { return Printer(tile).run(); }

}  // namespace cs::csl::mir
