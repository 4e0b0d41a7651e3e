// What scalar instructions do to known and unknown values.
#include "compiler/csl/walk_state.h"

#include <algorithm>

#include "compiler/csl/mir_fold.h"

namespace cs::csl {

namespace {

bool is_move(isa::Op op) {
  switch (op) {
    case isa::Op::mov16:
    case isa::Op::mov32:
    case isa::Op::fmovh:
    case isa::Op::fmovs:
    case isa::Op::imov16:
    case isa::Op::imov32:
      return true;
    default:
      return false;
  }
}

// Floating point is not computed: what it decides is a guess anyway.
bool is_integer(const isa::Row& row) {
  return row.cost == isa::Cost::alu ||
         (row.cost == isa::Cost::divide && row.type != isa::Type::f32 && row.type != isa::Type::f16);
}

}  // namespace

WalkState::WalkState(const TileProgram& tile, const Machine& machine, const WalkOptions& options)
    : bytes_(kBytes, 0), known_(kBytes, 1), is_touched_(kBytes, 0), asked_(kBytes, 0) {
  const auto put = [&](uint32_t address, const std::vector<uint8_t>& data) {
    for (size_t i = 0; i < data.size() && address + i < kBytes; ++i) bytes_[address + i] = data[i];
  };
  for (const Segment& s : tile.segments) put(s.address, s.bytes);
  // What the host may have changed before.
  for (const Symbol& s : tile.symbols)
    if (s.is_mutable) forget(s.address, s.elements * uint32_t(data_type_bytes(s.type)));
  for (const Function& f : tile.functions)
    for (const Parameter& p : f.parameters) forget(p.address, uint32_t(data_type_bytes(p.type)));
  for (const Section& s : tile.sections)
    if (s.kind == SectionKind::noinit) forget(s.address, s.bytes);
  for (const auto& [address, data] : options.memory) {
    put(address, data);
    for (size_t i = 0; i < data.size() && address + i < kBytes; ++i) known_[address + i] = 1;
  }
  r_[size_t(isa::link_register(machine))] = uint16_t(isa::kReturnToScheduler);
  r_known_[size_t(isa::link_register(machine))] = true;
}

WalkState::Value WalkState::read(const isa::Operand& o, int bytes) const {
  if (o.kind == isa::OperandKind::imm || o.kind == isa::OperandKind::label)
    return bytes == 4 ? uint32_t(o.value) : uint32_t(uint16_t(o.value));
  const auto at = size_t(o.value);
  if (o.kind == isa::OperandKind::reg && at < r_.size()) return r_known_[at] ? Value(r_[at]) : std::nullopt;
  if (o.kind != isa::OperandKind::pair || at + 1 >= r_.size() || !r_known_[at]) return std::nullopt;
  if (bytes == 2) return r_[at];
  if (!r_known_[at + 1]) return std::nullopt;
  return uint32_t(r_[at]) | uint32_t(r_[at + 1]) << 16;
}

void WalkState::write(const isa::Operand& o, Value v) {
  const auto at = size_t(o.value);
  if (o.kind != isa::OperandKind::reg && o.kind != isa::OperandKind::pair) return;
  const size_t words = o.kind == isa::OperandKind::pair ? 2 : 1;
  for (size_t k = 0; k < words && at + k < r_.size(); ++k) {
    r_[at + k] = uint16_t(v.value_or(0) >> (16 * k));
    r_known_[at + k] = v.has_value();
  }
}

WalkState::Value WalkState::load(uint32_t address, int bytes) {
  for (int k = 0; k < bytes; ++k) asked_[(address + uint32_t(k)) & (kBytes - 1)] |= Asked::byte;
  return look(address, bytes);
}

WalkState::Value WalkState::look(uint32_t address, int bytes) const {
  uint32_t v = 0;
  for (int k = 0; k < bytes; ++k) {
    const uint32_t at = (address + uint32_t(k)) & (kBytes - 1);
    if (!known_[at]) return std::nullopt;
    v |= uint32_t(bytes_[at]) << (8 * k);
  }
  return v;
}

void WalkState::store(uint32_t address, int bytes, Value v) {
  for (int k = 0; k < bytes; ++k) {
    const uint32_t at = (address + uint32_t(k)) & (kBytes - 1);
    bytes_[at] = uint8_t(v.value_or(0) >> (8 * k));
    known_[at] = v.has_value();
    if (is_touched_[at & ~1u]) continue;
    is_touched_[at & ~1u] = 1;
    touched_.push_back(at & ~1u);
  }
}

void WalkState::forget(uint32_t address, uint32_t bytes) {
  for (uint32_t k = 0; k < std::min(bytes, kBytes); ++k) known_[(address + k) & (kBytes - 1)] = 0;
}

WalkAsked WalkState::asked() const {
  WalkAsked all;
  for (uint32_t at = 0; at < kBytes; ++at) {
    if ((asked_[at] & Asked::byte) != 0) all.bytes.push_back(at);
    if ((asked_[at] & Asked::descriptor_begins) != 0) all.descriptors.push_back(at);
  }
  return all;
}

isa::Dsd WalkState::load_descriptor(uint32_t address, bool& known) {
  asked_[address & (kBytes - 1)] |= Asked::descriptor_begins;
  return descriptor(address, known);
}

isa::Dsd WalkState::descriptor(uint32_t address, bool& known) const {
  std::array<uint16_t, isa::kDsdWords> words{};
  std::array<bool, isa::kDsdWords> have{};
  for (size_t k = 0; k < words.size(); ++k) {
    const Value v = look(address + uint32_t(2 * k), 2);
    have[k] = v.has_value();
    words[k] = uint16_t(v.value_or(0));
  }
  const isa::Dsd d = isa::decode(words);
  known = std::all_of(have.begin(), have.begin() + d.bytes() / 2, [](bool h) { return h; });
  return d;
}

void WalkState::memory_access(const isa::Inst& inst, const isa::Row& row) {
  const bool loads = row.cost == isa::Cost::load;
  const int bytes = inst.op == isa::Op::ld8 || inst.op == isa::Op::st8     ? 1
                    : inst.op == isa::Op::ld16 || inst.op == isa::Op::st16 ? 2
                                                                           : 4;
  const size_t base = loads ? 1 : 0;
  const Value from = read(inst.args[base], 2);
  const Value value = loads ? std::nullopt : read(inst.args[2], bytes);
  if (from) {
    const uint32_t address = (*from + uint32_t(inst.args[base + 1].value)) & 0xFFFF;
    if (!loads) return store(address, bytes, value);
    return write(inst.args[0], load(address, bytes));
  }
  // A store to an unknown place is taken to miss what is known.
  if (loads) forget(inst.args[0]);
}

void WalkState::scalar(const isa::Inst& inst) {
  const isa::Row& row = isa::row(inst.op);
  if (row.cost == isa::Cost::load || row.cost == isa::Cost::store) return memory_access(inst, row);
  // A move reads as much as it writes, of a literal too, which has no width of its own.
  if (is_move(inst.op)) return write(inst.args[0], read(inst.args[1], isa::operand_bytes(inst.op, 0)));
  const bool selects = inst.op == isa::Op::select16 || inst.op == isa::Op::select32;
  if (!is_integer(row) && !selects) return forget(inst.args[0]);
  std::array<int32_t, 3> args{};
  for (size_t k = 1; k < row.form.size() && k < inst.args.size(); ++k) {
    const int bytes = isa::operand_bytes(inst.op, int(k));
    const Value v = read(inst.args[k], bytes);
    if (!v) return forget(inst.args[0]);
    args[k - 1] = mir::normal(int32_t(*v), bytes == 4);
  }
  const auto result = mir::fold(inst.op, args);
  write(inst.args[0], result ? Value(uint32_t(*result)) : std::nullopt);
}

uint64_t WalkState::signature() const {
  uint64_t sum = 0;  // whatever the order
  for (const uint32_t at : touched_) {
    const uint64_t word =
        known_[at] && known_[at + 1] ? uint64_t(bytes_[at]) | uint64_t(bytes_[at + 1]) << 8 : 1 << 16;
    uint64_t h = (uint64_t(at) << 20 | word) * 0x9E3779B97F4A7C15;
    h ^= h >> 29;
    sum += h * 0xBF58476D1CE4E5B9;
  }
  return sum;
}

}  // namespace cs::csl
