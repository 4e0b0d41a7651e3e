// MIR read back, line by line.
#include <fmt/format.h>

#include <charconv>

#include "compiler/csl/mir_passes.h"
#include "compiler/csl/mir_text.h"

namespace cs::csl::mir {
namespace {

using isa::Operand;
using isa::OperandKind;

constexpr uint32_t kMostLabels = 1'000'000;
constexpr int32_t kMostRegisters = 1'000'000;

// Words of one line; quoted texts are one word.
class Words {
 public:
  explicit Words(std::string_view rest) : rest_(rest) {}
  bool at_end() {
    skip();
    return rest_.empty();
  }
  std::string_view next() {
    skip();
    const size_t end = std::min(rest_.find(' '), rest_.size());
    const std::string_view word = rest_.substr(0, end);
    rest_.remove_prefix(end);
    return word;
  }
  bool take(std::string_view word) {
    skip();
    if (!rest_.starts_with(word)) return false;
    if (rest_.size() > word.size() && rest_[word.size()] != ' ') return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  // `prefix` and a number: "bytes=4".
  bool number(std::string_view prefix, uint32_t& value) {
    skip();
    if (!rest_.starts_with(prefix)) return false;
    const std::string_view digits = rest_.substr(prefix.size());
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc{}) return false;
    rest_.remove_prefix(prefix.size() + size_t(end - digits.data()));
    return rest_.empty() || rest_[0] == ' ';
  }
  bool quoted(std::string& out) {
    skip();
    if (rest_.empty() || rest_[0] != '"') return false;
    for (size_t i = 1; i < rest_.size(); ++i) {
      if (rest_[i] == '"') {
        rest_.remove_prefix(i + 1);
        return true;
      }
      if (rest_[i] == '\\' && i + 1 < rest_.size()) {
        ++i;
        out += rest_[i] == 'n' ? '\n' : rest_[i];
      } else {
        out += rest_[i];
      }
    }
    return false;
  }
  std::string_view rest() {
    skip();
    return rest_;
  }

 private:
  void skip() {
    while (!rest_.empty() && rest_[0] == ' ') rest_.remove_prefix(1);
  }
  std::string_view rest_;
};

class Reader {
 public:
  Reader(std::string text, const std::string& path, Diag& diag)
      : text_(std::move(text)), diag_(diag), file_(diag.sources.add(path, text_)) {}

  std::optional<MirTile> run() {
    const size_t errors = diag_.errors();
    std::string_view rest = text_;
    for (line_ = 1; !rest.empty() && !diag_.full(); ++line_) {
      const size_t end = rest.find('\n');
      const std::string_view line = rest.substr(0, end);
      rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
      if (line.empty()) continue;
      if (!one(line)) error(fmt::format("'{}' is not a line of MIR", line));
    }
    if (diag_.errors() == errors && check_numbers())
      if (const std::string bad = verify(tile_); !bad.empty()) diag_.error({file_, 1, 1}, bad);
    return diag_.errors() == errors ? std::optional(std::move(tile_)) : std::nullopt;
  }

 private:
  void error(std::string what) { diag_.error({file_, line_, 1}, std::move(what)); }

  bool one(std::string_view line) {
    if (line.starts_with("  ")) return inner(line.substr(2));
    if (line.starts_with(" @")) return label(line.substr(2));
    Words w(line);
    uint32_t n = 0;
    if (w.take("tile")) return w.quoted(tile_.name) && w.at_end();
    if (w.take("export")) {
      MirSymbol s;
      if (!w.quoted(s.name) || !w.number("global", s.global)) return false;
      s.is_mutable = w.take("mutable");
      uint32_t pointer = 0;
      if (w.number("pointer", pointer)) s.pointer = int(pointer);
      tile_.symbols.push_back(s);
      return w.at_end();
    }
    if (w.take("fifo")) {
      tile_.fifos.emplace_back();
      return w.number("global", tile_.fifos.back().global) && w.at_end();
    }
    if (w.take("base")) {
      tile_.dsrs.emplace_back();
      return operand(w.next(), tile_.dsrs.back().base) && w.at_end();
    }
    if (w.take("task")) {
      tile_.tasks.emplace_back();
      return w.number("fn", tile_.tasks.back().function) && w.at_end();
    }
    if (w.take("launch")) {
      tile_.exported_functions.emplace_back();
      return w.number("fn", tile_.exported_functions.back().function) && w.at_end();
    }
    if (w.number("global", n)) return global(w, n);
    const bool task = w.number("taskfn", n);
    return (task || w.number("fn", n)) && function(w, n, task);
  }

  bool global(Words& w, uint32_t n) {
    function_ = false;
    MirGlobal g;
    if (n != tile_.globals.size() || !w.quoted(g.name) || !w.number("bytes=", g.bytes) ||
        !w.number("align=", g.align))
      return false;
    g.constant = w.take("constant");
    g.noinit = w.take("noinit");
    g.is_dsd = w.take("dsd");
    tile_.globals.push_back(std::move(g));
    return w.at_end();
  }

  bool function(Words& w, uint32_t n, bool task) {
    function_ = true;
    MirFunction f;
    f.kind = task ? MirFunction::Kind::task : MirFunction::Kind::function;
    if (n != tile_.functions.size() || !w.quoted(f.name)) return false;
    while (!w.at_end() && !w.take("->")) {
      f.params.emplace_back();
      if (!operand(w.next(), f.params.back()) || !is_virtual(f.params.back())) return false;
    }
    if (!w.at_end() && (!operand(w.next(), f.result) || !is_virtual(f.result))) return false;
    tile_.functions.push_back(std::move(f));
    loc_ = {};
    return w.at_end();
  }

  bool label(std::string_view text) {
    uint32_t n = 0;
    const auto [end, bad] = std::from_chars(text.data(), text.data() + text.size(), n);
    const std::string_view rest(end, size_t(text.data() + text.size() - end));
    const bool kept = rest == ": loop";
    if (bad != std::errc{} || (rest != ":" && !kept) || !function_ || tile_.functions.empty() ||
        n > kMostLabels)
      return false;
    MirFunction& f = tile_.functions.back();
    if (n >= f.labels.size()) f.labels.resize(n + 1, ~0u);
    if (f.labels[n] != ~0u) return false;
    f.labels[n] = uint32_t(f.code.size());
    if (kept) f.kept.push_back(n);
    return true;
  }

  bool inner(std::string_view text) {
    if (!function_) return !tile_.globals.empty() && of_global(text);
    if (tile_.functions.empty()) return false;
    MirFunction& f = tile_.functions.back();
    Words w(text);
    uint32_t n = 0;
    if (w.number("slot", n)) {
      MirSlot s;
      if (n != f.slots.size() || !w.quoted(s.name) || !w.number("bytes=", s.bytes) ||
          !w.number("align=", s.align))
        return false;
      f.slots.push_back(std::move(s));
      return w.at_end();
    }
    if (const size_t at = text.find("  ; "); at != std::string_view::npos) {
      if (!position(text.substr(at + 4))) return false;
      text = text.substr(0, at);
    }
    if (!instruction(f, text)) return false;
    f.locs.push_back(loc_);
    return true;
  }

  bool of_global(std::string_view text) {
    MirGlobal& g = tile_.globals.back();
    Words w(text);
    if (w.take("init")) {
      const std::string_view digits = w.next();
      if (digits.size() != size_t(g.bytes) * 2 || !g.init.empty()) return false;
      for (size_t i = 0; i < digits.size(); i += 2) {
        uint8_t byte = 0;
        const auto [end, bad] = std::from_chars(digits.data() + i, digits.data() + i + 2, byte, 16);
        if (bad != std::errc{} || end != digits.data() + i + 2) return false;
        g.init.push_back(byte);
      }
      return w.at_end();
    }
    MirRelocation r;
    if (!w.number("at ", r.offset)) return false;
    Operand o;
    if (!operand(w.next(), o) || (o.kind != OperandKind::global && o.kind != OperandKind::function))
      return false;
    r.function = o.kind == OperandKind::function;
    r.target = uint32_t(o.value);
    r.addend = o.extra;
    g.relocations.push_back(r);
    return w.at_end() && uint64_t(r.offset) + 2 <= g.bytes;
  }

  // "file:line:column"
  bool position(std::string_view text) {
    uint32_t* parts[] = {&loc_.file, &loc_.line, &loc_.column};
    for (uint32_t* part : parts) {
      const auto [end, bad] = std::from_chars(text.data(), text.data() + text.size(), *part);
      if (bad != std::errc{}) return false;
      text.remove_prefix(size_t(end - text.data()));
      if (part != parts[2] && (text.empty() || text[0] != ':')) return false;
      if (part != parts[2]) text.remove_prefix(1);
    }
    return text.empty();
  }

  bool instruction(MirFunction& f, std::string_view text) {
    const Operand link{OperandKind::reg, isa::kLinkRegister, 0};
    Words w(text);
    isa::Inst inst;
    inst.args[0] = link;
    const bool tail = w.take("tail");
    if (text == "ret") {
      inst.op = isa::Op::jv;
      f.rets.push_back(uint32_t(f.code.size()));
    } else if (tail || w.take("call")) {
      if (!operand(w.next(), inst.args[1])) return false;
      inst.op = inst.args[1].kind == OperandKind::function ? isa::Op::jal : isa::Op::jalv;
      MirCall call{.inst = uint32_t(f.code.size())};
      call.is_tail = tail;
      while (!w.at_end() && !w.take("->"))
        if (!argument(w.next(), call)) return false;
      if (!w.at_end() && (!operand(w.next(), call.result) || !is_virtual(call.result) || !w.at_end()))
        return false;
      f.calls.push_back(std::move(call));
    } else {
      const auto read = isa::parse_inst(text, {file_, line_, 3}, diag_);
      if (!read) return true;  // reported
      inst = *read;
      for (const Operand& o : inst.args)
        if (is_register(o) && o.value >= kMostRegisters) return false;
    }
    f.code.push_back(inst);
    return true;
  }

  bool argument(std::string_view word, MirCall& call) {
    const bool wide = word.starts_with("wide:");
    if (wide) word.remove_prefix(5);
    Operand o;
    if (!operand(word, o) || (wide && is_register(o))) return false;
    if (!is_literal(o) && !is_virtual(o) && !is_symbol(o) && o.kind != OperandKind::function) return false;
    call.args.push_back(o);
    call.arg_is_pair.push_back(wide || o.kind == OperandKind::pair);
    return true;
  }

  bool operand(std::string_view word, Operand& out) {
    if (word.empty() || word.find(',') != std::string_view::npos || word[0] == '[') return false;
    Diag quiet;
    const auto inst = isa::parse_inst(fmt::format("mov16 r0, {}", word), {}, quiet);
    if (!inst) return false;
    out = inst->args[1];
    if (is_register(out) && out.value >= kMostRegisters) return false;
    return out.kind != OperandKind::none;
  }

  // Numbers of one part that another one names.
  bool check_numbers() {
    line_ = 1;
    const size_t errors = diag_.errors();
    const auto check = [&](size_t number, size_t count, const char* what) {
      if (number >= count) error(fmt::format("there is no {} {}", what, number));
    };
    for (const MirGlobal& g : tile_.globals)
      for (const MirRelocation& r : g.relocations)
        check(r.target, r.function ? tile_.functions.size() : tile_.globals.size(),
              r.function ? "function" : "global");
    for (const MirSymbol& s : tile_.symbols) {
      check(s.global, tile_.globals.size(), "global");
      if (s.pointer >= 0) check(uint32_t(s.pointer), tile_.globals.size(), "global");
    }
    for (const MirFifo& f : tile_.fifos) check(f.global, tile_.globals.size(), "global");
    for (const MirDsr& d : tile_.dsrs)
      if (d.base.kind != OperandKind::global)
        error("a base is no global");
      else
        check(size_t(d.base.value), tile_.globals.size(), "global");
    for (const MirTask& t : tile_.tasks) check(t.function, tile_.functions.size(), "function");
    for (const MirExportedFunction& e : tile_.exported_functions)
      check(e.function, tile_.functions.size(), "function");
    return diag_.errors() == errors;
  }

  const std::string text_;
  Diag& diag_;
  const uint32_t file_;
  uint32_t line_ = 0;
  MirTile tile_;
  bool function_ = false;  // inner lines belong to a function, not to a global
  SourceLoc loc_;
};

}  // namespace

std::optional<MirTile> read(std::string text, const std::string& path, Diag& diag) {
  return Reader(std::move(text), path, diag).run();
}

}  // namespace cs::csl::mir
