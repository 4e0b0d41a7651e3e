// Assembly: one instruction per line, printed and read back.
//
// Printing walks the row's form; a memory base and the offset behind it become one "[base+offset]". Reading
//   1. takes the mnemonic and splits the rest at commas,
//   2. reads one operand per part, a memory part giving two,
//   3. says what is wrong at the column where it is.
// Any operand kind may stand anywhere: whether it fits the row is verify()'s question, not the grammar's.
#include <charconv>

#include <fmt/format.h>

#include "runtime/isa/dsd.h"
#include "runtime/isa/isa.h"

namespace cs::isa {
namespace {

struct Prefix {
  std::string_view text;
  OperandKind kind;
};
// Longer prefixes first where one begins another.
constexpr Prefix kPrefixes[] = {
    {"global", OperandKind::global}, {"slot", OperandKind::slot}, {"fn", OperandKind::function},
    {"s0_", OperandKind::src0},      {"s1_", OperandKind::src1},  {"r", OperandKind::reg},
    {"p", OperandKind::pair},        {"d", OperandKind::dest},    {"@", OperandKind::label},
};

bool float_literal(Op op, char letter) {
  return (letter == 'A' || letter == 'B' || letter == 'S') && row(op).type == Type::f32;
}

std::string print_symbol(const Operand& a) {
  for (const Prefix& p : kPrefixes)
    if (p.kind == a.kind) {
      std::string text = fmt::format("{}{}", p.text, a.value);
      if (a.extra != 0) text += fmt::format(":{}", a.extra);
      return text;
    }
  return "-";  // kind none
}

std::string print_operand(const Inst& inst, size_t index) {
  const Operand& a = inst.args[index];
  const char letter = row(inst.op).form[index];
  if (a.kind == OperandKind::label && a.value == kReturnToScheduler && a.extra == 0) return "@end";
  if (a.kind != OperandKind::imm) return print_symbol(a);
  if (letter == 'C') return "{" + print(decode_config(a.value)) + "}";
  if (names_config(inst, index) && a.value >= 0 && a.value < int(ConfigReg::count))
    return std::string(config_reg_name(ConfigReg(a.value)));
  if (float_literal(inst.op, letter)) return fmt::format("0x{:08x}", uint32_t(a.value));
  return std::to_string(a.value);
}

std::string print_memory(const Inst& inst, size_t index) {
  const Operand& offset = inst.args[index + 1];
  std::string text = "[" + print_operand(inst, index);
  if (offset.kind == OperandKind::imm && offset.value == 0) return text + "]";
  if (offset.kind == OperandKind::imm && offset.value < 0) return text + std::to_string(offset.value) + "]";
  return text + "+" + print_operand(inst, index + 1) + "]";
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r'))
    text.remove_suffix(1);
  return text;
}

// A whole number that fits 32 bits, signed or unsigned: 12, -3, 0x3f800000.
std::optional<int32_t> parse_number(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  const bool hex = text.starts_with("0x");
  if (hex) text.remove_prefix(2);
  uint64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, hex ? 16 : 10);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  if (value > (negative ? 0x80000000u : 0xFFFFFFFFu)) return std::nullopt;
  return int32_t(negative ? 0 - uint32_t(value) : uint32_t(value));
}

// "global3:4" after its prefix. Only compiler operands have a byte offset.
std::optional<Operand> parse_symbol(OperandKind kind, std::string_view digits) {
  Operand a{kind, 0, 0};
  if (const size_t colon = digits.find(':'); colon != std::string_view::npos) {
    const auto extra = parse_number(digits.substr(colon + 1));
    if (!extra) return std::nullopt;
    a.extra = *extra;
    digits = digits.substr(0, colon);
  }
  const auto value = parse_number(digits);
  if (!value || *value < 0) return std::nullopt;
  a.value = *value;
  return a;
}

std::optional<Operand> parse_operand(std::string_view text) {
  if (text == "-") return Operand{};
  if (text == "@end") return Operand{OperandKind::label, kReturnToScheduler, 0};
  if (text.starts_with('{') && text.ends_with('}') && text.size() >= 2) {
    const auto config = parse_config(text.substr(1, text.size() - 2));
    if (!config) return std::nullopt;
    return Operand{OperandKind::imm, encode(*config), 0};
  }
  if (auto number = parse_number(text)) return Operand{OperandKind::imm, *number, 0};
  if (auto reg = config_reg_from_name(text)) return Operand{OperandKind::imm, int32_t(*reg), 0};
  for (const Prefix& p : kPrefixes)
    if (text.starts_with(p.text)) return parse_symbol(p.kind, text.substr(p.text.size()));
  return std::nullopt;
}

// "[base]", "[base+offset]", "[base-4]". The sign of a number and of a byte offset (":-4") does not split.
bool parse_memory(std::string_view text, Operand& base, Operand& offset) {
  text = text.substr(1, text.size() - 2);
  size_t split = text.find('+');
  size_t tail = split + 1;
  if (split == std::string_view::npos) {
    split = tail = text.rfind('-');
    if (split == 0 || (split != std::string_view::npos && text[split - 1] == ':'))
      split = std::string_view::npos;
  }
  const auto head = parse_operand(trim(text.substr(0, split)));
  if (!head) return false;
  base = *head;
  offset = Operand{OperandKind::imm, 0, 0};
  if (split == std::string_view::npos) return true;
  const auto last = parse_operand(trim(text.substr(tail)));
  if (last) offset = *last;
  return last.has_value();
}

struct Reader {
  SourceLoc where;
  Diag& diag;
  std::string_view line;

  // Reports and returns false, for the caller to return.
  bool error(std::string_view at, std::string message, std::string help = {}) const {
    SourceLoc loc = where;
    if (loc.column > 0) loc.column += uint32_t(at.data() - line.data());
    diag.error(loc, std::move(message), std::move(help));
    return false;
  }

  bool memory(std::string_view part, Inst& inst, size_t& n) const {
    if (n + 2 > inst.args.size()) return error(part, "too many operands: an instruction has at most 4");
    if (!part.ends_with(']') || !parse_memory(part, inst.args[n], inst.args[n + 1]))
      return error(part, fmt::format("'{}' is not a memory operand", part), "write [base] or [base+offset]");
    n += 2;
    return true;
  }

  bool operands(std::string_view rest, Inst& inst, size_t& n) const {
    while (!rest.empty()) {
      const size_t comma = std::min(rest.find(','), rest.size());
      const std::string_view part = trim(rest.substr(0, comma));
      if (part.starts_with('[')) {
        if (!memory(part, inst, n)) return false;
      } else {
        const auto operand = parse_operand(part);
        if (!operand) return error(part, fmt::format("'{}' is not an operand", part));
        if (n == inst.args.size()) return error(part, "too many operands: an instruction has at most 4");
        inst.args[n++] = *operand;
      }
      if (comma + 1 == rest.size()) return error(rest.substr(comma), "operand missing after ','");
      rest.remove_prefix(std::min(comma + 1, rest.size()));
    }
    return true;
  }
};

}  // namespace

std::string print(const Inst& inst) {
  const Row& r = row(inst.op);
  std::string text(r.mnemonic);
  for (size_t i = 0; i < r.form.size(); ++i) {
    text += i == 0 ? " " : ", ";
    if (r.form[i] == 'M') {
      text += print_memory(inst, i);
      ++i;
    } else {
      text += print_operand(inst, i);
    }
  }
  return text;
}

std::optional<Inst> parse_inst(std::string_view text, SourceLoc where, Diag& diag) {
  const Reader reader{where, diag, text};
  const std::string_view line = trim(text);
  const std::string_view mnemonic = line.substr(0, line.find_first_of(" \t"));
  const auto op = op_from_mnemonic(mnemonic);
  if (!op) {
    reader.error(line, fmt::format("unknown instruction '{}'", mnemonic),
                 "docs/isa.md lists all instructions");
    return std::nullopt;
  }
  Inst inst{*op, {}};
  size_t n = 0;
  if (!reader.operands(trim(line.substr(mnemonic.size())), inst, n)) return std::nullopt;
  if (n != row(*op).form.size()) {
    reader.error(line, fmt::format("{} needs {} operands, has {}", mnemonic, row(*op).form.size(), n));
    return std::nullopt;
  }
  return inst;
}

}  // namespace cs::isa
