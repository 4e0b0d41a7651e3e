// Gradients of recurrences: the steps in time written out as products and elementwise rows, and those
// differentiated.
#include <algorithm>

#include <fmt/format.h>

#include "runtime/ops/gradient_steps.h"
#include "runtime/ops/rules.h"

namespace cs::ops {

namespace {

enum Operand : size_t { kX, kW, kR, kB, kLengths, kH, kC, kPeephole };

// What is written out here; other forms are named.
bool plain(const GradientCall& c, std::string& error) {
  const auto refuse = [&](std::string_view what) {
    return fail(error, fmt::format("with {} there is no rule", what));
  };
  const AttrValue* activations = find_attr(c.attrs, "activations");
  if (activations != nullptr && std::get<std::string>(*activations) != attr_text(c.op, {}, "activations"))
    return refuse("activations other than its own");
  if (attr_real(c.op, c.attrs, "clip") != 0) return refuse("clip");
  if (attr_int(c.op, c.attrs, "layout") != 0) return refuse("layout = 1");
  if (c.op.name == "lstm" && attr_int(c.op, c.attrs, "input_forget") != 0) return refuse("input_forget");
  if (c.input(kLengths) != nullptr) return refuse("sequence_lengths");
  if (c.op.name == "lstm" && c.input(kPeephole) != nullptr) return refuse("peepholes");
  return true;
}

// One direction, over names of the row's operands.
class Unrolled {
 public:
  Unrolled(const GradientCall& c, Steps& s, int64_t way) : c_(c), s_(s), way_(way) {
    steps_ = c.inputs[kX]->shape[0];
    batch_ = c.inputs[kX]->shape[1];
    hidden_ = c.inputs[kR]->shape[2];
    gates_ = c.inputs[kR]->shape[1] / hidden_;
  }

  struct Ends {
    std::string y, h, c;  // [steps, 1, batch, hidden] and [1, batch, hidden]
  };

  Ends run(bool backwards) {
    const int64_t rows = gates_ * hidden_, width = c_.inputs[kX]->shape[2];
    weights_ = s_.reshape(own("r"), {rows, hidden_});
    // The products with x of all steps are one.
    std::vector<std::string> product = {s_.reshape("x", {steps_ * batch_, width}),
                                        s_.reshape(own("w"), {rows, width})};
    if (c_.input(kB) != nullptr) {
      const std::string b = s_.reshape(own("b"), {2 * rows});
      product.push_back(part(b, 0, 0, rows));
      bias_ = part(b, 0, rows, 2 * rows);
    }
    const std::string all = s_.add("gemm", product, {{"trans_b", int64_t(1)}});
    std::string h = state(kH, "initial_h"), cell = c_.op.name == "lstm" ? state(kC, "initial_c") : "";
    std::vector<std::string> y(static_cast<size_t>(steps_));
    for (int64_t k = 0; k < steps_; ++k) {
      const int64_t t = backwards ? steps_ - 1 - k : k;
      const std::string x = part(all, 0, t * batch_, (t + 1) * batch_);
      h = c_.op.name == "rnn" ? rnn(x, h) : c_.op.name == "gru" ? gru(x, h) : lstm(x, h, cell);
      y[size_t(t)] = s_.reshape(h, {1, 1, batch_, hidden_});
    }
    return {joined(s_, y, 0), s_.reshape(h, {1, batch_, hidden_}),
            cell.empty() ? "" : s_.reshape(cell, {1, batch_, hidden_})};
  }

  static std::string joined(Steps& s, const std::vector<std::string>& parts, int64_t axis) {
    return parts.size() == 1 ? parts[0] : s.add("concat", parts, {{"axis", axis}});
  }

 private:
  std::string part(const std::string& v, int64_t axis, int64_t start, int64_t end) {
    return s_.add("slice", {v}, {{"starts", Shape{start}}, {"ends", Shape{end}}, {"axes", Shape{axis}}});
  }
  std::string own(const std::string& v) { return part(v, 0, way_, way_ + 1); }
  std::string gate(const std::string& v, int64_t k) { return part(v, 1, k * hidden_, (k + 1) * hidden_); }
  std::string sum(const std::string& a, const std::string& b) { return s_.add("add", {a, b}); }
  std::string times(const std::string& a, const std::string& b) { return s_.add("mul", {a, b}); }

  std::string state(size_t operand, const std::string& name) {
    const TensorType type{c_.inputs[kX]->dtype, {batch_, hidden_}};
    return c_.input(operand) != nullptr ? s_.reshape(own(name), type.shape)
                                        : s_.add("constant_of_shape", {}, fill(0, type));
  }

  // h R' + b
  std::string recurrent(const std::string& h, const std::string& weights, const std::string& bias) {
    std::vector<std::string> operands = {h, weights};
    if (!bias.empty()) operands.push_back(bias);
    return s_.add("gemm", operands, {{"trans_b", int64_t(1)}});
  }

  std::string rnn(const std::string& x, const std::string& h) {
    return s_.add("tanh", {sum(x, recurrent(h, weights_, bias_))});
  }

  std::string lstm(const std::string& x, const std::string& h, std::string& cell) {
    const std::string a = sum(x, recurrent(h, weights_, bias_));
    const std::string in = s_.add("sigmoid", {gate(a, 0)}), out = s_.add("sigmoid", {gate(a, 1)}),
                      forget = s_.add("sigmoid", {gate(a, 2)}), fresh = s_.add("tanh", {gate(a, 3)});
    cell = sum(times(forget, cell), times(in, fresh));
    return times(out, s_.add("tanh", {cell}));
  }

  std::string gru(const std::string& x, const std::string& h) {
    const std::string a = recurrent(h, weights_, bias_);
    const std::string update = s_.add("sigmoid", {sum(gate(x, 0), gate(a, 0))}),
                      reset = s_.add("sigmoid", {sum(gate(x, 1), gate(a, 1))});
    const int64_t rows = 3 * hidden_;
    const std::string before = attr_int(c_.op, c_.attrs, "linear_before_reset") != 0
                                   ? times(reset, gate(a, 2))
                                   : recurrent(times(reset, h), part(weights_, 0, 2 * hidden_, rows),
                                               bias_.empty() ? "" : part(bias_, 0, 2 * hidden_, rows));
    const std::string fresh = s_.add("tanh", {sum(gate(x, 2), before)});
    return sum(fresh, times(update, s_.add("sub", {h, fresh})));
  }

  const GradientCall& c_;
  Steps& s_;
  int64_t way_, steps_ = 0, batch_ = 0, hidden_ = 0, gates_ = 0;
  std::string weights_, bias_;
};

}  // namespace

bool gradient_of_recurrence(const GradientCall& c, std::vector<DecompositionStep>& steps,
                            std::string& error) {
  if (!plain(c, error)) return false;
  std::vector<DecompositionStep> forward;
  Steps s(forward);
  const std::string direction = attr_text(c.op, c.attrs, "direction");
  std::vector<std::string> y, h, cell;
  for (int64_t way = 0; way < c.inputs[kW]->shape[0]; ++way) {
    const Unrolled::Ends ends = Unrolled(c, s, way).run(way == 1 || direction == "reverse");
    y.push_back(ends.y);
    h.push_back(ends.h);
    cell.push_back(ends.c);
  }
  s.result("y", "identity", {Unrolled::joined(s, y, 1)});
  s.result("y_h", "identity", {Unrolled::joined(s, h, 0)});
  if (c.op.name == "lstm") s.result("y_c", "identity", {Unrolled::joined(s, cell, 0)});
  const std::vector<std::string> operands(c.op.operands.begin(), c.op.operands.end());
  return gradient_of_steps(c, forward, operands, {c.op.results.begin(), c.op.results.end()}, false, steps,
                           error);
}

}  // namespace cs::ops
