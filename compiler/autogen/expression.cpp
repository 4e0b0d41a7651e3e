// Scheduling of an expression: see expression.h for the steps.
#include "compiler/autogen/expression.h"

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>

#include "compiler/autogen/functions.h"
#include "compiler/autogen/loop_key.h"
#include "compiler/autogen/memo.h"
#include "runtime/isa/scalar_cycles.h"

namespace cs::autogen {

namespace {

using ops::Expr;
using ops::ExprKind;
using ops::ExprNode;

class Scheduler {
 public:
  // `functions`: they may be vector instructions.
  Scheduler(const Expr& e, const ExpressionTarget& target, const Machine& m, bool functions)
      : e_(e), target_(target), machine_(m), ranges_(ranges_of(e)) {
    place_.assign(e.nodes.size(), Place::unused);
    mark(e.root);
    for (size_t i = 0; i < e_.nodes.size(); ++i) {
      if (place_[i] != Place::unused) place_[i] = place(int(i), functions);
    }
  }

  ExpressionResult run() {
    ExpressionResult result;
    const bool loop = place_[size_t(e_.root)] == Place::loop;
    const std::vector<int> wanted = loop ? made_for_loop() : std::vector<int>{};
    build(loop, wanted);
    std::vector<int> kept;
    for (int i : wanted) kept.push_back(at_[size_t(i)]);
    const VectorTarget target{target_.inputs,    numbers_,  target_.out,     loop ? "" : target_.fabric_out,
                              target_.temporary, target_.n, target_.one_part};
    const VectorCode vector = vector_code(program_, loop ? -1 : at_[size_t(e_.root)], kept, target, machine_);
    code_.lines.insert(code_.lines.end(), vector.lines.begin(), vector.lines.end());
    code_.declarations = vector.declarations;
    code_.words = vector.words;
    code_.in_parts = vector.in_parts;
    code_.cycles_per_element += vector.per_element;
    code_.cycles_per_run += vector.per_run;
    if (loop) emit_loop(wanted, vector.kept);
    result.to_fabric = vector.to_fabric;
    result.code = std::move(code_);
    return result;
  }

 private:
  enum class Place : uint8_t { unused, number, vector, loop };

  const ExprNode& node(int i) const { return e_.nodes[size_t(i)]; }
  static std::vector<int> operands(const ExprNode& n) {
    std::vector<int> list;
    for (int o : {n.a, n.b, n.c}) {
      if (o >= 0) list.push_back(o);
    }
    return list;
  }

  void mark(int i) {
    if (place_[size_t(i)] != Place::unused) return;
    place_[size_t(i)] = Place::vector;
    for (int o : operands(node(i))) mark(o);
  }

  Place place(int i, bool functions) const {
    const ExprNode& n = node(i);
    if (n.kind == ExprKind::constant) return Place::number;
    if (n.kind == ExprKind::input) {
      const bool number = size_t(n.index) < target_.numbers.size() && target_.numbers[size_t(n.index)];
      return number ? Place::number : Place::vector;
    }
    bool all_numbers = true, any_loop = false;
    for (int o : operands(n)) {
      all_numbers = all_numbers && place_[size_t(o)] == Place::number;
      any_loop = any_loop || place_[size_t(o)] == Place::loop;
    }
    if (all_numbers) return Place::number;
    const bool vector = has_vector_form(e_, i, ranges_) && (functions || !is_function(n.kind));
    return any_loop || !vector ? Place::loop : Place::vector;
  }

  // ---- the vector program

  // Vector nodes that the loop reads and that are not operands.
  std::vector<int> made_for_loop() const {
    std::vector<int> list;
    for (size_t i = 0; i < e_.nodes.size(); ++i) {
      if (place_[i] != Place::vector || e_.nodes[i].kind == ExprKind::input) continue;
      for (size_t j = i + 1; j < e_.nodes.size(); ++j) {
        const std::vector<int> o = operands(e_.nodes[j]);
        if (place_[j] != Place::loop || std::find(o.begin(), o.end(), int(i)) == o.end()) continue;
        list.push_back(int(i));
        break;
      }
    }
    return list;
  }

  void build(bool loop, const std::vector<int>& wanted) {
    std::vector<bool> needed(e_.nodes.size(), false);
    if (!loop) needed[size_t(e_.root)] = true;
    for (int i : wanted) needed[size_t(i)] = true;
    for (size_t i = e_.nodes.size(); i-- > 0;) {
      if (!needed[i] || place_[i] != Place::vector) continue;
      for (int o : operands(e_.nodes[i])) needed[size_t(o)] = true;
    }
    at_.assign(e_.nodes.size(), -1);
    for (size_t i = 0; i < e_.nodes.size(); ++i) {
      if (!needed[i]) continue;
      const ExprNode& n = e_.nodes[i];
      if (place_[i] == Place::number) {
        at_[i] = number(int(i));
      } else if (n.kind == ExprKind::input) {
        at_[i] = program_.input(n.index);
      } else {
        at_[i] = build_vector_form(program_, e_, int(i), ranges_, at_);
      }
    }
  }

  // A constant, or what scalars compute from operands that are numbers.
  int number(int i) {
    if (node(i).kind == ExprKind::constant) return program_.scalar(node(i).value);
    std::vector<ScalarInput> inputs;
    for (const Buffer& b : target_.inputs) inputs.push_back({b.element, ScalarType::f32});
    Expr part = e_;
    part.root = i;
    const std::string name = fmt::format("{}_u{}", target_.temporary, i);
    ScalarCode scalar = scalar_code(part, inputs, ScalarType::f32, machine_, name + "_");
    code_.lines.insert(code_.lines.end(), scalar.lines.begin(), scalar.lines.end());
    code_.lines.push_back(fmt::format("const {}: f32 = {};", name, scalar.value));
    add_helpers(scalar);
    code_.cycles_per_run += scalar.cycles + machine_.core.load_result_cycles + 2;
    numbers_.push_back(name);
    return program_.uniform(int(numbers_.size()) - 1);
  }

  void add_helpers(const ScalarCode& scalar) {
    code_.uses_math = code_.uses_math || scalar.uses_math;
    code_.uses_round = code_.uses_round || scalar.uses_round;
    code_.uses_power = code_.uses_power || scalar.uses_power;
  }

  // ---- the loop: its nodes as an expression of their own; what vectors made, and operands, are its inputs

  void emit_loop(const std::vector<int>& wanted, const std::vector<Buffer>& made) {
    Expr loop;
    std::vector<ScalarInput> inputs;
    std::vector<int> number(e_.nodes.size(), -1);
    for (size_t i = 0; i < e_.nodes.size(); ++i) {
      const ExprNode& n = e_.nodes[i];
      const auto of = [&](int o) { return o < 0 ? -1 : number[size_t(o)]; };
      if (n.kind == ExprKind::constant) {
        number[i] = loop.constant(n.value);
      } else if (n.kind == ExprKind::input) {
        number[i] = loop.input(int(inputs.size()));
        inputs.push_back({target_.inputs[size_t(n.index)].element, ScalarType::f32});
      } else if (place_[i] == Place::loop || place_[i] == Place::number) {
        number[i] = loop.make(n.kind, of(n.a), of(n.b), of(n.c));
      } else if (auto it = std::find(wanted.begin(), wanted.end(), int(i)); it != wanted.end()) {
        number[i] = loop.input(int(inputs.size()));
        inputs.push_back({made[size_t(it - wanted.begin())].element, ScalarType::f32});
      }
    }
    loop.root = number[size_t(e_.root)];
    ScalarCode scalar = scalar_code(loop, inputs, ScalarType::f32, machine_);
    code_.in_loop = true;
    code_.lines.push_back("var i: i16 = 0;");
    code_.lines.push_back(fmt::format("while (i < {}) : (i += 1) {{", target_.n));
    for (const std::string& line : scalar.lines) code_.lines.push_back("  " + line);
    code_.lines.push_back(fmt::format("  {} = {};", target_.out.element, scalar.value));
    code_.lines.push_back("}");
    add_helpers(scalar);
    // The loop, the address and the store of the result; an address and a load for each operand.
    const Machine::Core& t = machine_.core;
    code_.cycles_per_element += t.jump_taken_cycles + isa::condition_wait(t) + 3 + t.wide_cycles +
                                (1 + t.wide_cycles) * double(inputs.size()) + scalar.cycles;
  }

  const Expr& e_;
  const ExpressionTarget& target_;
  const Machine& machine_;
  std::vector<Range> ranges_;
  std::vector<Place> place_;
  std::vector<int> at_;  // node of the vector program
  std::vector<std::string> numbers_;
  VectorProgram program_;
  ExpressionCode code_;
};

double total(const ExpressionResult& r, int n) {
  return r.code.cycles_per_run + n * r.code.cycles_per_element;
}

void add(const Buffer& b, LoopKey& key) {
  key.text(b.element);
  key.text(b.descriptor);
  key.number(b.stride);
  key.number(b.phase);
}

std::string key_of(const ops::Expr& e, const ExpressionTarget& target) {
  LoopKey key;
  key.expression(e);
  key.number(int64_t(target.inputs.size()));
  for (const Buffer& b : target.inputs) add(b, key);
  key.number(int64_t(target.numbers.size()));
  for (const bool b : target.numbers) key.number(int64_t(b));
  add(target.out, key);
  key.text(target.fabric_out);
  key.text(target.temporary);
  key.number(target.n);
  key.number(int64_t(target.one_part));
  return key.bytes();
}

ExpressionResult write_expression(const ops::Expr& e, const ExpressionTarget& target,
                                  const Machine& machine) {
  const Expr rewritten = rewrite_for_vectors(e, target.numbers);
  ExpressionResult result = Scheduler(rewritten, target, machine, true).run();
  const bool functions = std::any_of(rewritten.nodes.begin(), rewritten.nodes.end(),
                                     [](const ExprNode& n) { return is_function(n.kind); });
  if (functions) {
    ExpressionResult scalars = Scheduler(rewritten, target, machine, false).run();
    if (total(scalars, target.n) < total(result, target.n)) result = std::move(scalars);
  }
  result.code.text = ops::expr_text(rewritten);
  return result;
}

kernels::ChainCost find_chain_cost(const ops::Expr& e, const std::vector<int>& phases, const Machine& machine,
                                   bool in_place) {
  const Expr rewritten = rewrite_for_vectors(e);
  ExpressionTarget target;
  for (const int phase : phases) target.inputs.push_back({"", "", 1, phase});
  if (phases.empty()) target.inputs.emplace_back();
  if (in_place)
    target.out = target.inputs[0];
  else
    target.fabric_out = "out";
  target.n = kernels::part_of(INT16_MAX);
  const ExpressionResult vectors = Scheduler(rewritten, target, machine, true).run();
  const ExpressionResult scalars = Scheduler(rewritten, target, machine, false).run();
  kernels::ChainCost cost;
  cost.per_element = vectors.code.cycles_per_element;
  cost.per_part = vectors.code.cycles_per_run;
  cost.by_scalars = scalars.code.in_loop ? scalars.code.cycles_per_element : 0;
  cost.temporaries = int(vectors.code.words / target.n);
  cost.loop = vectors.code.in_loop;
  cost.to_fabric = vectors.to_fabric;
  return cost;
}

}  // namespace

bool expression_supported(const ops::Expr& e, std::string& why) {
  for (const ExprNode& n : e.nodes) {
    if (n.kind == ExprKind::attr) {
      why = fmt::format("attribute '{}' has no value", n.name);
      return false;
    }
  }
  return true;
}

ExpressionResult generate_expression(const ops::Expr& e, const ExpressionTarget& target,
                                     const Machine& machine) {
  thread_local Memo<ExpressionResult> known;
  return known.of(machine, key_of(e, target), [&] { return write_expression(e, target, machine); });
}

kernels::ChainCost chain_cost(const ops::Expr& e, const std::vector<int>& phases, const Machine& machine,
                              bool in_place) {
  thread_local Memo<kernels::ChainCost> known;
  LoopKey key;
  key.expression(e);
  for (const int phase : phases) key.number(phase);
  key.number(int64_t(in_place));
  return known.of(machine, key.bytes(), [&] { return find_chain_cost(e, phases, machine, in_place); });
}

bool passes_through(const ops::Expr& e, const Machine& machine) {
  ExpressionTarget target;
  for (int i = 0; i < std::max(1, e.inputs()); ++i)
    target.inputs.push_back({"", i == 0 ? "stream" : fmt::format("memory{}", i)});
  target.fabric_out = "out";
  ExpressionResult result = generate_expression(e, target, machine);
  if (!result.to_fabric || result.code.lines.size() != 1) return false;
  const std::string& line = result.code.lines[0];
  size_t first = line.find("stream");
  return first != std::string::npos && line.find("stream", first + 1) == std::string::npos;
}

}  // namespace cs::autogen
