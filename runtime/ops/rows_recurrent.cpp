// Recurrent layers: RNN, GRU, LSTM.
//
// What depends on the input alone (x · wᵀ + bias of all steps) is one product before the recurrence; then a
// block of as many steps as the sequence has adds h · rᵀ, applies the activations and moves the state. Each
// direction is a recurrence of its own; the backward one walks the steps from the last to the first, so a
// shorter sequence waits with its initial state until its last step comes.
#include <algorithm>

#include <fmt/format.h>

#include "runtime/ops/activations.h"
#include "runtime/ops/rows.h"
#include "runtime/ops/rules.h"
#include "runtime/ops/steps.h"

namespace cs::ops {

namespace {

constexpr const char* kLstmActivations = "Sigmoid Tanh Tanh";

enum Operand { kX, kW, kR, kB, kLengths, kH, kC, kPeephole };

int gates_of(const OpDef& op) { return op.name == "rnn" ? 1 : op.name == "gru" ? 3 : 4; }

bool shape_recurrent(const ShapeContext& c, std::vector<TensorType>& outputs, std::string& error) {
  const TensorType &x = *c.inputs[kX], &w = *c.inputs[kW], &r = *c.inputs[kR];
  std::string direction = attr_text(c.op, c.attrs, "direction");
  bool both = direction == "bidirectional";
  if (!both && direction != "forward" && direction != "reverse")
    return fail(error, fmt::format("direction '{}' is none of forward, reverse, bidirectional", direction));
  int64_t layout = attr_int(c.op, c.attrs, "layout"), gates = gates_of(c.op), ways = both ? 2 : 1;
  if (x.rank() != 3 || w.rank() != 3 || r.rank() != 3 || layout < 0 || layout > 1)
    return fail(error, fmt::format("operands {}, {}, {} must have 3 dimensions, layout {} must be 0 or 1",
                                   type_text(x), type_text(w), type_text(r), layout));
  int64_t steps = x.shape[layout ? 1 : 0], batch = x.shape[layout ? 0 : 1], hidden = r.shape[2];
  auto is = [&](size_t k, const Shape& want) {
    const TensorType* t = c.input(k);
    return t == nullptr || t->shape == want ||
           fail(error, fmt::format("operand '{}' is {}, must be {}", c.op.operands[k], type_text(*t),
                                   dims_text(want)));
  };
  Shape state = layout ? Shape{batch, ways, hidden} : Shape{ways, batch, hidden};
  if (!is(kW, {ways, gates * hidden, x.shape[2]}) || !is(kR, {ways, gates * hidden, hidden}) ||
      !is(kB, {ways, 2 * gates * hidden}) || !is(kLengths, {batch}) || !is(kH, state))
    return false;
  if (c.op.name == "lstm" && (!is(kC, state) || !is(kPeephole, {ways, 3 * hidden}))) return false;
  int64_t stated = attr_int(c.op, c.attrs, "hidden_size");
  if (stated != 0 && stated != hidden)
    return fail(error,
                fmt::format("hidden_size is {}, the weights {} have {}", stated, type_text(r), hidden));
  if (!activations_of(c, error)) return false;
  outputs = {{x.dtype, layout ? Shape{batch, steps, ways, hidden} : Shape{steps, ways, batch, hidden}},
             {x.dtype, state}};
  if (c.op.name == "lstm") outputs.push_back({x.dtype, state});
  return true;
}

// A view without one of its dimensions.
LoopView chosen(const LoopView& v, int dim, int64_t index) {
  LoopView out = v.sliced(dim, index, 1);
  out.shape.erase(out.shape.begin() + dim);
  out.strides.erase(out.strides.begin() + dim);
  return out;
}

// One direction of a layer while its program is written.
class Direction {
 public:
  Direction(LoopBuilder& b, const ShapeContext& c, int way, bool backward,
            const std::vector<std::string>& activations)
      : b_(b), c_(c), way_(way), backward_(backward), act_(activations) {
    const int batch_first[] = {1, 0, 2}, batch_first_y[] = {1, 2, 0, 3};
    bool layout = attr_int(c.op, c.attrs, "layout") != 0;
    x_ = b.operand(kX);
    if (layout) x_ = x_.permuted(batch_first);
    w_ = chosen(b.operand(kW), 0, way);
    r_ = chosen(b.operand(kR), 0, way);
    steps_ = x_.shape[0];
    batch_ = x_.shape[1];
    hidden_ = r_.shape[1];
    y_ = b.result(0);
    if (layout) y_ = y_.permuted(batch_first_y);
    y_ = chosen(y_, 1, way);
    layout_ = layout;
  }

  void run() {
    project();
    h_ = state("h", kH);
    if (c_.op.name == "lstm") cell_ = state("c", kC);
    b_.begin_block(steps_);
    gates_ = temporary("gates", {batch_, w_.shape[0]});
    b_.statement(gates_.shape, gates_.access(), {now(projected_)}, "x0");
    if (c_.op.name == "rnn") rnn_step();
    if (c_.op.name == "gru") gru_step();
    if (c_.op.name == "lstm") lstm_step();
    b_.begin_block(1);
    give(1, h_);
    if (c_.op.name == "lstm") give(2, cell_);
  }

 private:
  LoopView temporary(const std::string& name, const Shape& shape) {
    return b_.temporary(fmt::format("{}{}", name, way_), c_.inputs[kX]->dtype, shape);
  }
  // What a tensor of all steps, [steps, ...], has at the step of the block.
  LoopAccess now(const LoopView& all) const {
    LoopAccess a = chosen(all, 0, backward_ ? steps_ - 1 : 0).access();
    a.step = backward_ ? -all.strides[0] : all.strides[0];
    return a;
  }
  LoopView gate(int64_t k, int64_t count = 1) const { return gates_.sliced(1, k * hidden_, count * hidden_); }
  LoopView state_view(const LoopView& v) const {
    const int batch_first[] = {1, 0, 2};
    return chosen(layout_ ? v.permuted(batch_first) : v, 0, way_);
  }
  LoopView state(const std::string& name, int operand) {
    LoopView v = temporary(name, {batch_, hidden_});
    if (b_.has_operand(operand)) {
      b_.copy(v, state_view(b_.operand(operand)));
    } else {
      b_.fill(v, 0);
    }
    return v;
  }
  void give(int result, const LoopView& v) {
    if (b_.has_result(result)) b_.copy(state_view(b_.result(result)), v);
  }

  // y[..., m] += Σ k a[..., k] w[m, k], for a of two or three dimensions.
  void multiply(const LoopView& y, const LoopView& a, const LoopView& w) {
    std::vector<int> dims_y, dims_a, dims_w;
    for (int d = 0; d + 1 < int(y.shape.size()); ++d) {
      dims_y.push_back(d);
      dims_a.push_back(d);
      dims_w.push_back(-1);
    }
    int last = int(y.shape.size()) - 1;
    dims_y.insert(dims_y.end(), {last, -1});
    dims_a.insert(dims_a.end(), {-1, last});
    dims_w.insert(dims_w.end(), {0, 1});
    std::vector<int64_t> extents = y.shape;
    extents.push_back(w.shape[1]);
    b_.statement(extents, y.access(dims_y), {a.access(dims_a), w.access(dims_w)}, "x0 * x1", Combine::add);
  }

  bool reset_late() const {
    return c_.op.name == "gru" && attr_int(c_.op, c_.attrs, "linear_before_reset") != 0;
  }

  void project() {
    projected_ = temporary("projected", {steps_, batch_, w_.shape[0]});
    if (b_.has_operand(kB)) {
      LoopView bias = chosen(b_.operand(kB), 0, way_);
      int64_t n = w_.shape[0], late = reset_late() ? hidden_ : 0;
      LoopView of_w = bias.sliced(0, 0, n), of_r = bias.sliced(0, n, n - late);
      b_.copy(projected_, of_w);
      // A GRU that resets late keeps the recurrent bias of its last gate for the step.
      LoopView part = projected_.sliced(2, 0, n - late);
      b_.elementwise(part, {part, of_r}, "x0 + x1");
    } else {
      b_.fill(projected_, 0);
    }
    multiply(projected_, x_, w_);
  }

  // out = activation k of the sum that gate holds.
  void activate(const LoopView& out, int k) {
    double clip = attr_real(c_.op, c_.attrs, "clip");
    std::string x = clip > 0 ? fmt::format("min(max(x0, {}), {})", -clip, clip) : "x0";
    b_.elementwise(out, {out}, activation_text(act_[size_t(k)], x));
  }

  // The state takes what the step made, as far as the sequence goes on; so does y.
  void move(const LoopView& to, const LoopView& made, bool is_y) {
    auto go = [&](const LoopAccess& out, const std::string& otherwise, const LoopView& old) {
      if (!b_.has_operand(kLengths)) {
        b_.statement(made.shape, out, {made.access()}, "x0");
        return;
      }
      LoopView lengths = b_.operand(kLengths);
      LoopAccess length = lengths.access();
      length.strides.push_back(0);
      LoopAccess time = counter(backward_ ? steps_ - 1 : 0, {0, 0}, backward_ ? -1 : 1);
      b_.statement(made.shape, out, {made.access(), old.access(), length, time},
                   fmt::format("select(x3 < x2, x0, {})", otherwise));
    };
    go(to.access(), "x1", to);
    if (is_y) go(now(y_), "0", made);
  }

  void rnn_step() {
    multiply(gates_, h_, r_);
    activate(gates_, 0);
    move(h_, gates_, true);
  }

  void gru_step() {
    LoopView late = r_.sliced(0, 2 * hidden_, hidden_), candidate = gate(2);
    multiply(gate(0, 2), h_, r_.sliced(0, 0, 2 * hidden_));
    activate(gate(0, 2), 0);
    LoopView part = temporary("part", {batch_, hidden_});
    if (reset_late()) {
      if (b_.has_operand(kB)) {
        b_.copy(part, chosen(b_.operand(kB), 0, way_).sliced(0, 5 * hidden_, hidden_));
      } else {
        b_.fill(part, 0);
      }
      multiply(part, h_, late);
      b_.elementwise(candidate, {candidate, gate(1), part}, "x0 + x1 * x2");
    } else {
      b_.elementwise(part, {gate(1), h_}, "x0 * x1");
      multiply(candidate, part, late);
    }
    activate(candidate, 1);
    b_.elementwise(part, {gate(0), candidate, h_}, "(1 - x0) * x1 + x0 * x2");
    move(h_, part, true);
  }

  // sum of a gate += weights of the cell, number k, times a cell state.
  void peep(const LoopView& sum, int64_t k, const LoopView& cell) {
    if (!b_.has_operand(kPeephole)) return;
    LoopView weights = chosen(b_.operand(kPeephole), 0, way_).sliced(0, k * hidden_, hidden_);
    b_.elementwise(sum, {sum, weights, cell}, "x0 + x1 * x2");
  }

  void lstm_step() {
    LoopView in = gate(0), out = gate(1), forget = gate(2), candidate = gate(3);
    multiply(gates_, h_, r_);
    peep(in, 0, cell_);
    peep(forget, 2, cell_);
    const bool coupled = attr_int(c_.op, c_.attrs, "input_forget") != 0;
    // The three gates lie beside each other: one vector, unless the last needs what the others make.
    const bool together = !coupled && !b_.has_operand(kPeephole);
    if (together) {
      activate(gate(0, 3), 0);
    } else {
      activate(in, 0);
      if (!coupled) activate(forget, 0);
    }
    if (coupled) b_.elementwise(forget, {in}, "1 - x0");
    activate(candidate, 1);
    LoopView cell = temporary("cell", {batch_, hidden_}), h = temporary("out", {batch_, hidden_});
    b_.elementwise(cell, {forget, cell_, in, candidate}, "x0 * x1 + x2 * x3");
    peep(out, 1, cell);
    if (!together) activate(out, 0);
    b_.elementwise(h, {out, cell}, "x0 * " + activation_text(act_[2], "x1"));
    move(cell_, cell, false);
    move(h_, h, true);
  }

  LoopBuilder& b_;
  const ShapeContext& c_;
  int way_;
  bool backward_, layout_ = false;
  std::vector<std::string> act_;
  LoopView x_, w_, r_, y_, projected_, gates_, h_, cell_;
  int64_t steps_ = 0, batch_ = 0, hidden_ = 0;
};

bool loops_recurrent(const ShapeContext& c, std::span<const TensorType> outputs, LoopProgram& p,
                     std::string& error) {
  std::optional<std::vector<std::string>> activations = activations_of(c, error);
  if (!activations) return false;
  LoopBuilder b(p, c.inputs, outputs);
  std::string direction = attr_text(c.op, c.attrs, "direction");
  int ways = direction == "bidirectional" ? 2 : 1;
  size_t each = activations->size() / size_t(ways);
  for (int way = 0; way < ways; ++way) {
    std::vector<std::string> own(activations->begin() + int64_t(each) * way,
                                 activations->begin() + int64_t(each) * (way + 1));
    Direction(b, c, way, way == 1 || direction == "reverse", own).run();
  }
  return true;
}

// A single step of an LSTM as its textbook primitives, which stand beside the kernel that is made of it.
bool primitives_of_lstm(const ShapeContext& c, std::vector<DecompositionStep>& steps, std::string& error) {
  const TensorType &x = *c.inputs[kX], &r = *c.inputs[kR];
  const bool plain = r.shape[0] == 1 && x.shape[0] == 1 && attr_int(c.op, c.attrs, "layout") == 0 &&
                     attr_int(c.op, c.attrs, "input_forget") == 0 && attr_real(c.op, c.attrs, "clip") == 0 &&
                     attr_text(c.op, c.attrs, "activations") == kLstmActivations &&
                     c.input(kLengths) == nullptr && c.input(kPeephole) == nullptr;
  if (!plain) return fail(error, "only one step in one direction has primitives");
  const int64_t batch = x.shape[1], hidden = r.shape[2];
  Steps s(steps);
  const auto product = [&](const std::string& a, int64_t k, const std::string& weights) {
    return s.add("gemm", {s.reshape(a, {batch, k}), s.reshape(weights, {4 * hidden, k})},
                 {{"trans_b", int64_t(1)}});
  };
  const auto part = [&](const std::string& v, int64_t k, int64_t count) {
    return s.add("slice", {v},
                 {{"starts", Shape{k * hidden}}, {"ends", Shape{(k + count) * hidden}}, {"axes", Shape{1}}});
  };
  std::string sum = product("x", x.shape[2], "w");
  if (c.input(kH) != nullptr) sum = s.add("add", {sum, product("initial_h", hidden, "r")});
  if (c.input(kB) != nullptr) sum = s.add("add", {sum, s.add("add", {part("b", 0, 4), part("b", 4, 4)})});
  std::string cell = s.add("mul", {s.add("sigmoid", {part(sum, 0, 1)}), s.add("tanh", {part(sum, 3, 1)})});
  if (c.input(kC) != nullptr) {
    const std::string before = s.reshape("initial_c", {batch, hidden});
    cell = s.add("add", {s.add("mul", {s.add("sigmoid", {part(sum, 2, 1)}), before}), cell});
  }
  const std::string h = s.add("mul", {s.add("sigmoid", {part(sum, 1, 1)}), s.add("tanh", {cell})});
  s.result("y", "reshape", {h}, {{"shape", Shape{1, 1, batch, hidden}}});
  s.result("y_h", "reshape", {h}, {{"shape", Shape{1, batch, hidden}}});
  s.result("y_c", "reshape", {cell}, {{"shape", Shape{1, batch, hidden}}});
  return true;
}

OpDef recurrent(std::string_view name, std::string_view onnx, std::string activations, AttrDefs more) {
  AttrDefs attrs = {text("direction", "forward"),
                    integer("hidden_size", 0),
                    text("activations", std::move(activations)),
                    {"activation_alpha", AttrKind::reals, std::vector<double>{}, false},
                    {"activation_beta", AttrKind::reals, std::vector<double>{}, false},
                    real("clip", 0),
                    integer("layout", 0),
                    integer("output_sequence", 1)};
  for (AttrDef& a : more) attrs.push_back(std::move(a));
  OpDef d = by_loops(OpKind::loops, name, {onnx}, {"x", "w", "r", "b", "sequence_lengths", "initial_h"}, 3,
                     attrs, shape_recurrent, loops_recurrent);
  d.results = {"y", "y_h"};
  d.optional_results = 1;
  return d;
}

}  // namespace

void add_recurrences(Rows& t) {
  t.push_back(recurrent("rnn", "RNN", "Tanh", {}));
  t.push_back(recurrent("gru", "GRU", "Sigmoid Tanh", {integer("linear_before_reset", 0)}));
  OpDef lstm = recurrent("lstm", "LSTM", kLstmActivations, {integer("input_forget", 0)});
  lstm.operands.push_back("initial_c");
  lstm.operands.push_back("p");
  lstm.optional_operands = 5;
  lstm.results.push_back("y_c");
  lstm.optional_results = 2;
  lstm.primitives = primitives_of_lstm;
  t.push_back(lstm);
}

}  // namespace cs::ops
