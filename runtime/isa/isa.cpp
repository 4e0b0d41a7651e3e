// The instruction table, built from isa.def, and what follows from a row: operand widths, sizes, lookups.
#include "runtime/isa/isa.h"

#include <algorithm>

namespace cs::isa {
namespace {

constexpr std::array<Row, size_t(Op::count)> kTable{{
#define CS_ISA(id, mnemonic, form, type, cost, bytes2, bytes3, summary) \
  Row{#id, mnemonic, form, Type::type, Cost::cost, bytes2, bytes3, summary},
#include "runtime/isa/isa.def"
#undef CS_ISA
}};

// Mnemonics in alphabetical order, for lookup.
const std::array<Op, kTable.size()>& sorted_ops() {
  static const auto ops = [] {
    std::array<Op, kTable.size()> list{};
    for (size_t i = 0; i < list.size(); ++i) list[i] = Op(i);
    std::sort(list.begin(), list.end(), [](Op a, Op b) { return row(a).mnemonic < row(b).mnemonic; });
    return list;
  }();
  return ops;
}

constexpr std::array<std::string_view, size_t(ConfigReg::count)> kConfigNames{
    "tsc_low", "tsc_mid", "tsc_high", "tsc_enable", "coord_x", "coord_y", "command_stream_ready", "random",
    "test", "index", "main_priority", "transform_mask", "exceptions", "input_empty", "input_full", "output_empty",
    "output_full", "teardown_low", "teardown_high", "prng", "seed_low", "seed_high", "perf_low", "perf_mid",
    "perf_high", "perf_select",
    "print_text", "print_high", "print_dec32", "print_hex16", "print_hex32", "print_bin16", "print_bin32", "print_f16",
    "print_f32"};

struct Widths {
  uint8_t dst, a, b, s;
};

Widths widths(Op op) {
  // Mixed rows name their sources one by one.
  if (op == Op::faddhs) return {4, 2, 4, 0};
  if (op == Op::fmachs) return {4, 4, 2, 2};
  switch (row(op).type) {
    case Type::i32:
    case Type::f32:
      return {4, 4, 4, 4};
    case Type::f16_to_f32:
    case Type::i16_to_f32:
    case Type::u16_to_f32:
      return {4, 2, 2, 2};
    case Type::f32_to_f16:
    case Type::f32_to_i16:
    case Type::f32_to_u16:
      return {2, 4, 4, 4};
    case Type::i32_to_f32:
    case Type::f32_to_i32:
    case Type::u32_to_f32:
    case Type::f32_to_u32:
      return {4, 4, 4, 4};
    default:
      return {2, 2, 2, 2};
  }
}

uint8_t bytes_by_form(Op op, size_t index) {
  const std::string_view form = row(op).form;
  if (index >= form.size()) return 0;
  switch (form[index]) {
    case 'R':
    case 'r':
      return 2;
    case 'P':
    case 'p':
      return 4;
    case 'V':
      return widths(op).dst;
    case 'A':
      return widths(op).a;
    case 'B':
      return widths(op).b;
    case 'S':
      return widths(op).s;
    default:
      return 0;
  }
}

}  // namespace

const Row& row(Op op) { return kTable[size_t(op)]; }
const std::array<Row, size_t(Op::count)>& table() { return kTable; }

std::optional<Op> op_from_mnemonic(std::string_view mnemonic) {
  const auto& ops = sorted_ops();
  auto it = std::lower_bound(ops.begin(), ops.end(), mnemonic,
                             [](Op op, std::string_view name) { return row(op).mnemonic < name; });
  if (it == ops.end() || row(*it).mnemonic != mnemonic) return std::nullopt;
  return *it;
}

int bytes(Op op, Arch arch) { return arch == Arch::wse2 ? row(op).bytes_wse2 : row(op).bytes_wse3; }

int operand_bytes(Op op, int index) {
  using Bytes = std::array<uint8_t, 4>;
  static const auto bytes = [] {
    std::array<Bytes, kTable.size()> all{};
    for (size_t i = 0; i < all.size(); ++i)
      for (size_t k = 0; k < all[i].size(); ++k) all[i][k] = bytes_by_form(Op(i), k);
    return all;
  }();
  return index < 0 || size_t(index) >= Bytes{}.size() ? 0 : bytes[size_t(op)][size_t(index)];
}

bool has_vector_form(Op op) { return row(op).form.starts_with('V'); }

bool Inst::is_vector() const {
  if (!has_vector_form(op)) return false;
  return std::any_of(args.begin(), args.end(), [](const Operand& a) { return a.is_dsr(); });
}

bool names_config(const Inst& inst, size_t i) {
  return (inst.op == Op::ldcfg16 && i == 1) || (inst.op == Op::stcfg16 && i == 0);
}

std::string_view config_reg_name(ConfigReg reg) {
  return reg < ConfigReg::count ? kConfigNames[size_t(reg)] : std::string_view("unknown");
}

std::optional<ConfigReg> config_reg_from_name(std::string_view name) {
  for (size_t i = 0; i < kConfigNames.size(); ++i)
    if (kConfigNames[i] == name) return ConfigReg(i);
  return std::nullopt;
}

}  // namespace cs::isa
