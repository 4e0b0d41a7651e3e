// What every MIR function must satisfy: passes are checked with it, and so is MIR that was read from text.
#include <fmt/format.h>

#include "compiler/csl/mir_passes.h"

namespace cs::csl::mir {
namespace {

using isa::Op;
using isa::Operand;
using isa::OperandKind;

class Verifier {
 public:
  Verifier(const MirTile& tile, const MirFunction& f, const Code& code, const RegisterSet* undefined)
      : tile_(tile), f_(f), code_(code), undefined_(undefined), uses_(size_t(code.next_virtual)) {}

  std::string run() {
    if (code_.lines.empty()) return "no code";
    for (const Operand& p : f_.params) {
      if (!is_virtual(p)) return "a parameter is not a virtual register";
      if (!see(p, false, true)) return wrong_;
    }
    for (size_t i = 0; i < code_.lines.size(); ++i) {
      std::string bad = of_call(code_.lines[i]);
      if (bad.empty()) bad = line(code_.lines[i]);
      if (!bad.empty()) return fmt::format("line {}, {}: {}", i, isa::print(code_.lines[i].inst), bad);
    }
    const Line& last = code_.lines.back();
    if (!ends_flow(last) && !(last.call >= 0 && f_.calls[size_t(last.call)].is_tail))
      return "the last instruction runs on";
    for (size_t r = 0; r < uses_.size(); ++r)
      if (uses_[r].read && !uses_[r].written && undefined_ != nullptr && !undefined_->has(int(r)))
        return fmt::format("register {} is read and never written", r);
    return {};
  }

 private:
  std::string of_call(const Line& line) const {
    const Op op = line.inst.op;
    if (line.ret && op != Op::jv) return "a return that is no jv";
    if (line.call < 0) return {};
    if (op != Op::jal && op != Op::jalv) return "a call that is no jal or jalv";
    const MirCall& call = f_.calls[size_t(line.call)];
    return call.args.size() == call.arg_is_pair.size() ? "" : "arguments without widths";
  }

  struct Use {
    OperandKind kind = OperandKind::none;
    bool read = false, written = false;
  };

  bool see(const Operand& o, bool read, bool written) {
    Use& use = uses_[size_t(o.value)];
    use.read |= read;
    use.written |= written;
    if (use.kind == OperandKind::none) use.kind = o.kind;
    if (use.kind == o.kind) return true;
    wrong_ = fmt::format("register {} is used with two widths", o.value);
    return false;
  }

  std::string line(const Line& line) {
    const isa::Inst& inst = line.inst;
    const std::string_view form = isa::row(inst.op).form;
    for (size_t i = 0; i < form.size(); ++i)
      if (std::string bad = operand(inst, i, form[i]); !bad.empty()) return bad;
    for (size_t i = form.size(); i < inst.args.size(); ++i)
      if (inst.args[i].kind != OperandKind::none) return "too many operands";
    std::string bad;
    for_each_register(f_, line, [&](const Operand& o, bool read, bool written) {
      if (o.value < isa::kFirstVirtual) return;
      if (!see(o, read, written)) bad = wrong_;
    });
    return bad;
  }

  std::string operand(const isa::Inst& inst, size_t i, char letter) const {
    const Operand& o = inst.args[i];
    const auto limit = [&](size_t count, const char* what) {
      return o.value < 0 || size_t(o.value) >= count ? fmt::format("there is no {} {}", what, o.value)
                                                     : std::string();
    };
    switch (o.kind) {
      case OperandKind::none:
        return "an operand is missing";
      case OperandKind::global:
        if (auto bad = limit(tile_.globals.size(), "global"); !bad.empty()) return bad;
        break;
      case OperandKind::slot:
        if (auto bad = limit(f_.slots.size(), "slot"); !bad.empty()) return bad;
        break;
      case OperandKind::function:
        if (auto bad = limit(tile_.functions.size(), "function"); !bad.empty()) return bad;
        break;
      case OperandKind::label:
        if (auto bad = limit(code_.labels.size(), "label"); !bad.empty()) return bad;
        if (code_.labels[size_t(o.value)] >= code_.lines.size()) return "a label behind the code";
        break;
      default:
        break;
    }
    const bool wide = isa::operand_bytes(inst.op, int(i)) == 4;
    const bool reg = o.kind == (wide ? OperandKind::pair : OperandKind::reg);
    const bool address = is_literal(o) || is_symbol(o) || o.kind == OperandKind::function;
    switch (letter) {
      case 'R':
      case 'P':
        return reg ? "" : "the result needs a register of its width";
      case 'V':
        return reg || o.is_dsr() ? "" : "the result needs a register of its width or a DSR";
      case 'A':
      case 'B':
        return reg || address || o.is_dsr() ? "" : "no value of this width";
      case 'S':
      case 'r':
      case 'p':
        return reg || address ? "" : "no value of this width";
      case 'M':
        return o.kind == OperandKind::reg || address ? "" : "no base of an address";
      case 'I':
        return address ? "" : "no literal";
      case 'C':
        return is_literal(o) ? "" : "no configuration";
      case 'L':
        return o.kind == OperandKind::label ? "" : "no label";
      case 'F':
        return o.kind == OperandKind::function ? "" : "no function";
      default:
        return o.is_dsr() ? "" : "no DSR";
    }
  }

  const MirTile& tile_;
  const MirFunction& f_;
  const Code& code_;
  const RegisterSet* undefined_;
  std::vector<Use> uses_;  // by register
  std::string wrong_;
};

}  // namespace

std::string verify(const MirTile& tile, const MirFunction& f, const Code& code, const RegisterSet* undefined) {
  return Verifier(tile, f, code, undefined).run();
}

std::string verify(const MirTile& tile) {
  for (const MirFunction& f : tile.functions)
    if (std::string bad = verify(tile, f, open(f)); !bad.empty()) return fmt::format("'{}': {}", f.name, bad);
  return {};
}

}  // namespace cs::csl::mir
