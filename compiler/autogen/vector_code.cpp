// Allocation and text: see vector_code.h.
#include "compiler/autogen/vector_code.h"

#include <algorithm>
#include <bit>
#include <limits>

#include <fmt/format.h>

#include "compiler/autogen/half_steps.h"
#include "compiler/autogen/vector_instruction.h"
#include "compiler/autogen/vector_slot.h"
#include "compiler/kernels/kernels.h"

namespace cs::autogen {

namespace {

class Coder {
 public:
  Coder(VectorProgram program, int root, std::span<const int> wanted, const VectorTarget& target,
        const Machine& m)
      : p_(std::move(program)), root_(root), target_(target), machine_(m) {
    keep_.assign(wanted.begin(), wanted.end());
    if (root >= 0) keep_.push_back(root);
    p_.fuse(keep_);
    uses_ = p_.uses(keep_);
    find_last_uses();
    at_.assign(p_.nodes.size(), {});
    slot_.assign(p_.nodes.size(), -1);
    part_ = root >= 0 && !target.one_part ? kernels::part_of(target.n) : target.n;
  }

  VectorCode run() {
    const bool one = count() <= 1 || part_ == target_.n;
    if (one) {
      part_ = target_.n;
      body(false);
    } else {
      in_parts();
    }
    declare();
    for (int k : keep_) {
      const VectorNode& n = node(k);
      code_.kept.push_back(n.kind == VectorKind::input ? target_.inputs[size_t(n.index)] : at_[size_t(k)]);
    }
    code_.in_parts = !one;
    if (!one) {
      const double moves = 3.0 * double(target_.inputs.size()) + machine_.core.jump_taken_cycles + 3;
      code_.per_run = (code_.per_run + moves) * ((target_.n + part_ - 1) / part_);  // NOLINT: whole parts
    }
    return std::move(code_);
  }

 private:
  const VectorNode& node(int i) const { return p_.node(i); }
  bool works(int i) const { return uses_[size_t(i)] > 0 && !p_.is_leaf(i); }
  int count() const {
    int n = 0;
    for (size_t i = 0; i < p_.nodes.size(); ++i) n += works(int(i)) ? 1 : 0;
    return n;
  }

  void find_last_uses() {
    last_.assign(p_.nodes.size(), -1);
    for (size_t i = 0; i < p_.nodes.size(); ++i) {
      if (!works(int(i))) continue;
      for (int o : {node(int(i)).a, node(int(i)).b, node(int(i)).c}) {
        if (o >= 0) last_[size_t(o)] = int(i);
      }
    }
    for (int k : keep_) last_[size_t(k)] = int(p_.nodes.size());
  }

  // ---- parts of a slice

  void in_parts() {
    const int whole = target_.n / part_ * part_;
    moved_ = true;
    line("var at: i16 = 0;");
    line(fmt::format("while (at < {}) : (at += {}) {{", whole, part_));
    indent_ += 2;
    move_buffers("at");
    body(false);
    indent_ -= 2;
    line("}");
    if (whole == target_.n) return;
    line("{");
    indent_ += 2;
    move_buffers(std::to_string(whole));
    const VectorCode before = code_;
    body(true);
    code_.per_element = before.per_element;
    code_.per_run = before.per_run;
    indent_ -= 2;
    line("}");
  }

  // Descriptors of operands and result from element `at` on.
  void move_buffers(const std::string& at) {
    auto move = [&](const Buffer& b, const std::string& name) {
      const std::string by = b.stride == 1 ? at : fmt::format("{} * {}", b.stride, at);
      line(fmt::format("const {} = @increment_dsd_offset({}, {}, f32);", name, b.descriptor, by));
    };
    for (size_t k = 0; k < target_.inputs.size(); ++k) {
      if (reads(int(k))) move(target_.inputs[k], moved_input(int(k)));
    }
    if (target_.fabric_out.empty()) move(target_.out, target_.temporary + "_y");
  }
  bool reads(int input) const {
    for (size_t i = 0; i < p_.nodes.size(); ++i) {
      if (uses_[i] > 0 && node(int(i)).kind == VectorKind::input && node(int(i)).index == input) return true;
    }
    return false;
  }
  std::string moved_input(int k) const { return fmt::format("{}_x{}", target_.temporary, k); }

  // ---- one pass over the nodes; `rest`: with descriptors of the shorter last part

  void body(bool rest) {
    rest_ = rest;
    for (VectorSlot& s : slots_) s.holds = -1;
    slot_.assign(p_.nodes.size(), -1);
    for (size_t i = 0; i < p_.nodes.size(); ++i) {
      if (works(int(i))) emit(int(i));
      if (node(int(i)).kind == VectorKind::uniform && uses_[i] > 0) emit_uniform(node(int(i)).index);
    }
    if (root_ >= 0 && p_.is_leaf(root_)) move_result({});
  }

  void emit_uniform(int index) {
    if (size_t(index) >= target_.uniform_lines.size()) return;
    for (const std::string& text : target_.uniform_lines[size_t(index)]) line(text);
  }

  // A sum goes to several accumulators (row_sum.csl), a maximum to a register.
  void emit_reduction(int i) {
    const VectorNode& n = node(i);
    const std::string name = fmt::format("{}_r{}", target_.temporary, n.index);
    const auto& core = machine_.core;
    if (n.kind == VectorKind::sum) {
      constexpr double kAccumulators = 4, kCall = 12;
      line(fmt::format("const {}: f32 = adder.sum({});", name, text(n.a)));
      code_.per_element +=
          (phase_of(n.a) == 1 ? core.bank_conflict_factor : 1) / elements_per_cycle("fadds", 2, machine_);
      code_.per_run += start_cycles(1, machine_) + start_cycles(3, machine_) + start_cycles(2, machine_) +
                       kAccumulators * (1 + core.reduction_cycles_per_element) + kCall;
    } else {
      line(fmt::format("var {}: f32 = {};", name, float_literal(-std::numeric_limits<double>::infinity())));
      line(fmt::format("@fmaxs(&{0}, {0}, {1});", name, text(n.a)));
      code_.per_element += 1;
      code_.per_run += start_cycles(1, machine_) + 1;
    }
    release(i, n);
  }

  void emit(int i) {
    const VectorNode& n = node(i);
    if (n.kind == VectorKind::sum || n.kind == VectorKind::largest) return emit_reduction(i);
    const VectorInstruction in = instruction_of(n.kind);
    if (in.halves) return emit_halves(i, in.mnemonic);
    std::vector<std::string> sources = {text(n.a)};
    std::vector<int> memory;
    if (!p_.is_number(n.a)) memory.push_back(n.a);
    if (n.kind == VectorKind::multiply_add && p_.is_number(n.a)) sources[0] = constant_slice(n.a);
    for (int o : {n.b, n.c}) {
      if (o < 0) continue;
      sources.push_back(text(o));
      if (!p_.is_number(o)) memory.push_back(o);
    }
    if (n.kind == VectorKind::scaled) sources.push_back(std::to_string(n.index));
    release(i, n);
    const std::string to = destination(i);
    line(fmt::format("@{}({}, {});", in.mnemonic, to, fmt::join(sources, ", ")));
    cost(in.mnemonic, memory, to == target_.fabric_out && !to.empty());
  }

  // Instructions on halves of words change a buffer in place: that of their first operand, or a copy of it.
  void emit_halves(int i, const char* mnemonic) {
    const VectorNode& n = node(i);
    const bool inverse = n.kind == VectorKind::inverse;
    const bool in_place = !inverse && slot_[size_t(n.a)] >= 0 && last_[size_t(n.a)] == i;
    if (in_place) {
      slot_[size_t(i)] = slot_[size_t(n.a)];
    } else {
      slot_[size_t(i)] = new_slot(i);
      line(fmt::format("@fmovs({}, {});", slot_text(slot_[size_t(i)]), text(n.a)));
      cost("fmovs", {n.a}, false);
    }
    VectorSlot& slot = slots_[size_t(slot_[size_t(i)])];
    slot.halves = true;
    slot.holds = i;
    change_halves(i, mnemonic);
    release(i, n);
    slots_[size_t(slot_[size_t(i)])].holds = i;
    at_[size_t(i)] = slot_buffer(slot_[size_t(i)]);
    if (i == root_) move_result({i});
  }

  // The instructions on the buffer of node i, which holds its first operand.
  void change_halves(int i, const char* mnemonic) {
    const VectorNode& n = node(i);
    const int s = slot_[size_t(i)];
    const std::string low = slot_text(s, "_low"), high = slot_text(s, "_high");
    const std::string second = needs_scratch(n.kind) ? slot_text(scratch(i), "_low") : "";
    const std::vector<HalfStep> steps = half_steps(n, {low, high}, second);
    for (const HalfStep& step : steps) {
      line(fmt::format("@{}({});", step.mnemonic, step.operands));
      cost_of_halves(step.mnemonic.c_str(), step.sources, 1);
    }
    if (!steps.empty()) return;
    const auto other = [&](const char* part) {
      slots_[size_t(slot_[size_t(n.b)])].halves = true;
      return slot_text(slot_[size_t(n.b)], part);
    };
    if (n.kind == VectorKind::raise) {
      line(fmt::format("@{0}({1}, {1}, {2});", mnemonic, high, other("_low")));
      return cost_of_halves(mnemonic, 2, 1);
    }
    if (p_.is_number(n.b)) {
      const auto bits = std::bit_cast<uint32_t>(float(node(n.b).value));
      for (const auto& [half, part] : {std::pair{high, bits >> 16}, std::pair{low, bits & 0xffff}}) {
        line(fmt::format("@{0}({1}, {1}, 0x{2:x});", mnemonic, half, part));
        cost_of_halves(mnemonic, 1, 1);
      }
      return;
    }
    const std::string words = slot_text(s, "_words");
    line(fmt::format("@{}({}, {}, {});", mnemonic, words, words, other("_words")));
    slots_[size_t(s)].words = slots_[size_t(slot_[size_t(n.b)])].words = true;
    cost_of_halves(mnemonic, 2, phase_of(i) == phase_of(n.b) ? 2 * machine_.core.bank_conflict_factor : 2);
  }

  // The root's value is somewhere else; `memory`: it, if it lies there.
  void move_result(const std::vector<int>& memory) {
    const bool fabric = !target_.fabric_out.empty();
    code_.to_fabric = fabric;
    line(fmt::format("@fmovs({}, {});", fabric ? target_.fabric_out : result_text(), text(root_)));
    cost("fmovs", memory, fabric);
  }

  // ---- buffers

  std::string result_text() const { return moved_ ? target_.temporary + "_y" : target_.out.descriptor; }

  std::string text(int i) {
    const VectorNode& n = node(i);
    if (n.kind == VectorKind::scalar) return float_literal(n.value);
    if (n.kind == VectorKind::uniform) return target_.uniforms[size_t(n.index)];
    if (n.kind == VectorKind::input)
      return moved_ ? moved_input(n.index) : target_.inputs[size_t(n.index)].descriptor;
    return slot_text(slot_[size_t(i)]);
  }
  std::string slot_text(int s, const char* part = "") const {
    return fmt::format("{}{}{}{}", target_.temporary, s, part, rest_ ? "_rest" : "_dsd");
  }
  Buffer slot_buffer(int s) const {
    const std::string name = target_.temporary + std::to_string(s);
    const int phase = slots_[size_t(s)].phase;
    return {fmt::format("{}[i{}]", name, phase == 0 ? "" : " + 1"), name + "_dsd", 1, phase};
  }

  int phase_of(int i) const {
    if (node(i).kind == VectorKind::input) return target_.inputs[size_t(node(i).index)].phase;
    return slot_[size_t(i)] >= 0 ? slots_[size_t(slot_[size_t(i)])].phase : -1;
  }

  // The kind of buffer in which node i meets the fewest of its own kind.
  int wanted_phase(int i) const {
    int votes[2] = {0, 0};
    vote(i, votes);
    return votes[1] > votes[0] ? 1 : 0;
  }
  void vote(int i, int (&votes)[2]) const {
    for (size_t j = size_t(i) + 1; j < p_.nodes.size(); ++j) {
      const VectorNode& user = node(int(j));
      if (!works(int(j)) || (user.a != i && user.b != i)) continue;
      if (user.kind == VectorKind::sum) ++votes[0];  // accumulators begin in the second half
      const bool in_place = instruction_of(user.kind).halves && user.kind != VectorKind::inverse;
      if (in_place && user.a == i) vote(int(j), votes);
      const int other = user.a == i ? user.b : user.a;
      if (other < 0 || p_.is_number(other)) continue;
      const int phase = phase_of(other);
      if (phase >= 0) ++votes[1 - phase];
    }
  }

  // Buffers whose value node i was the last to need.
  void release(int i, const VectorNode& n) {
    for (int o : {n.a, n.b, n.c}) {
      if (o < 0 || slot_[size_t(o)] < 0 || last_[size_t(o)] != i) continue;
      VectorSlot& slot = slots_[size_t(slot_[size_t(o)])];
      if (slot.holds == o) slot.holds = -1;
    }
  }

  int new_slot(int i) {
    const int phase = wanted_phase(i);
    for (size_t s = 0; s < slots_.size(); ++s) {
      if (slots_[s].holds < 0 && slots_[s].phase == phase) return int(s);
    }
    slots_.push_back({phase, -1, false});
    return int(slots_.size()) - 1;
  }

  // A buffer whose words have no value after node i; it is free again at once.
  int scratch(int i) {
    for (size_t s = 0; s < slots_.size(); ++s) {
      if (slots_[s].holds >= 0 || int(s) == slot_[size_t(i)]) continue;
      slots_[s].halves = true;
      return int(s);
    }
    slots_.push_back({0, -1, true});
    return int(slots_.size()) - 1;
  }

  std::string destination(int i) {
    if (i == root_) {
      code_.to_fabric = !target_.fabric_out.empty();
      at_[size_t(i)] = target_.out;
      return code_.to_fabric ? target_.fabric_out : result_text();
    }
    slot_[size_t(i)] = new_slot(i);
    slots_[size_t(slot_[size_t(i)])].holds = i;
    at_[size_t(i)] = slot_buffer(slot_[size_t(i)]);
    return slot_text(slot_[size_t(i)]);
  }

  // A number as the first addend of a multiply-add: one word that is read again and again.
  std::string constant_slice(int i) {
    const auto k = size_t(std::find(constants_.begin(), constants_.end(), i) - constants_.begin());
    const bool added = k == constants_.size();
    if (added) constants_.push_back(i);
    if (added && node(i).kind == VectorKind::uniform) {
      const std::string set = fmt::format("{}_numbers[{}] = {};", target_.temporary, k, text(i));
      if (moved_)
        code_.lines.insert(code_.lines.begin(), set);
      else
        line(set);
    }
    return fmt::format("{}_number{}{}", target_.temporary, k, rest_ ? "_rest" : "");
  }

  void declare() {
    std::vector<int> lengths = {part_};
    const int shorter = target_.n % part_;
    if (part_ < target_.n && shorter > 0) lengths.push_back(shorter);
    for (size_t s = 0; s < slots_.size(); ++s) {
      declare_slot(slots_[s], target_.temporary + std::to_string(s), lengths, code_.declarations);
      code_.words += part_ + slots_[s].phase;
    }
    if (constants_.empty()) return;
    std::vector<std::string> values;
    for (int i : constants_)
      values.push_back(node(i).kind == VectorKind::scalar ? float_literal(node(i).value) : "0.0");
    declare_numbers(target_.temporary, values, lengths, code_.declarations);
    code_.words += int64_t(values.size());
  }

  // ---- text and cycles

  void line(const std::string& t) { code_.lines.push_back(std::string(size_t(indent_), ' ') + t); }

  void cost(const char* mnemonic, const std::vector<int>& memory, bool fabric) {
    const auto& core = machine_.core;
    const bool conflict =
        memory.size() == 2 && phase_of(memory[0]) >= 0 && phase_of(memory[0]) == phase_of(memory[1]);
    code_.per_element += (conflict ? core.bank_conflict_factor : 1) /
                         (fabric ? 1 : elements_per_cycle(mnemonic, memory.size(), machine_));
    code_.per_run += start_cycles(memory.size() + 1, machine_);
  }

  // `sources` slices of halves, `halves` of each word.
  void cost_of_halves(const char* mnemonic, int sources, double halves) {
    code_.per_run += start_cycles(2, machine_);
    code_.per_element += halves / halves_per_cycle(mnemonic, sources, machine_);
  }

  VectorProgram p_;
  int root_;
  const VectorTarget& target_;
  const Machine& machine_;
  std::vector<int> keep_, uses_, last_;
  std::vector<VectorSlot> slots_;
  std::vector<int> slot_;  // of a node, -1 if none
  std::vector<Buffer> at_;
  std::vector<int> constants_;
  int part_ = 1, indent_ = 0;
  bool moved_ = false, rest_ = false;
  VectorCode code_;
};

}  // namespace

VectorCode vector_code(VectorProgram program, int root, std::span<const int> wanted,
                       const VectorTarget& target, const Machine& machine) {
  return Coder(std::move(program), root, wanted, target, machine).run();
}

}  // namespace cs::autogen
