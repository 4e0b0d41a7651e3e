// The CTC loss: minus the logarithm of the probability of all paths through the time steps that spell the
// target, with blanks between its labels and labels repeated.
//
// The forward recursion is written out, a few steps of the table for every time step, so that its gradient
// (the backward recursion) is that of the steps. States are kept in two tensors: `blanks`, in the blank
// before label i (or behind the last), and `labels`, in label i. Logarithms of 0 are a large negative number,
// so that no difference of infinities arises, and become infinity at the end.
//
// Probabilities are normalised first. That changes nothing where they come out of log_softmax, and makes the
// gradient what it is there: softmax minus occupancy.
#include <fmt/format.h>

#include "runtime/ops/losses.h"
#include "runtime/ops/rows.h"
#include "runtime/ops/rules.h"
#include "runtime/ops/steps.h"

namespace cs::ops {

namespace {

constexpr double kNever = -1e30;  // log 0
constexpr double kBeyond = 1e29;  // a loss that large is infinite

struct Sizes {
  int64_t steps = 0, batch = 1, classes = 0, labels = 0;
  bool one_sample = false;        // no batch dimension
  bool one_behind_other = false;  // targets of all samples in one list
};

bool sizes_of(const ShapeContext& c, Sizes& s, std::string& error) {
  const TensorType &p = *c.inputs[0], &t = *c.inputs[1];
  const Shape lengths = p.rank() == 2 ? Shape{} : Shape{p.rank() == 3 ? p.shape[1] : 0};
  if (!data_type_is_float(p.dtype) || (p.rank() != 2 && p.rank() != 3) || (t.rank() != 1 && t.rank() != 2) ||
      (t.rank() == 2 && (p.rank() != 3 || t.shape[0] != p.shape[1])))
    return fail(
        error,
        fmt::format("log_probs {} and targets {} must be (T, N, C) and (N, S) or a list, or (T, C) and (S)",
                    type_text(p), type_text(t)));
  s.one_sample = p.rank() == 2;
  s.one_behind_other = p.rank() == 3 && t.rank() == 1;
  s.steps = p.shape[0];
  s.batch = s.one_sample ? 1 : p.shape[1];
  s.classes = p.shape.back();
  s.labels = t.shape.back();
  for (size_t k = 1; k < 4; ++k) {
    if (data_type_is_float(c.inputs[k]->dtype) ||
        (k > 1 && c.inputs[k]->shape != lengths && c.inputs[k]->elements() != s.batch))
      return fail(error, fmt::format("operand '{}' is {}; it must hold integers, lengths one for each sample",
                                     c.op.operands[k], type_text(*c.inputs[k])));
  }
  const int64_t blank = attr_int(c.op, c.attrs, "blank");
  if (blank < 0 || blank >= s.classes)
    return fail(error, fmt::format("blank {} is not one of {} classes", blank, s.classes));
  if (s.steps < 1 || s.labels < 1)
    return fail(error,
                fmt::format("log_probs {} and targets {} must not be empty", type_text(p), type_text(t)));
  const std::string reduction = attr_text(c.op, c.attrs, "reduction");
  if (reduction != "mean" && reduction != "sum" && reduction != "none")
    return fail(error, "reduction must be mean, sum or none");
  return true;
}

bool shape_ctc(const ShapeContext& c, std::vector<TensorType>& outputs, std::string& error) {
  Sizes s;
  if (!sizes_of(c, s, error)) return false;
  const bool each = attr_text(c.op, c.attrs, "reduction") == "none" && !s.one_sample;
  outputs = {{c.inputs[0]->dtype, each ? Shape{s.batch} : Shape{}}};
  return true;
}

class Recursion {
 public:
  Recursion(const ShapeContext& c, const Sizes& sizes, std::vector<DecompositionStep>& steps)
      : c_(c), z_(sizes), s_(steps), dtype_(c.inputs[0]->dtype) {
    if (data_type_bytes(dtype_) == 2) dtype_ = DataType::f32;
  }

  void run() {
    prepare();
    const std::string first = s_.add("equal", {places(z_.labels + 1), zero()});
    blanks_ = s_.add("where", {first, blank_at(0), never_});
    labels_ = s_.add("where", {s_.add("equal", {places(z_.labels), zero()}), label_at(0), never_});
    for (int64_t t = 1; t < z_.steps; ++t) step(t);
    finish();
  }

 private:
  std::string number(double v) { return s_.constant(v, dtype_); }
  std::string zero() { return s_.constant(0, index_); }
  std::string cast(const std::string& v, DataType to) {
    return s_.add("cast", {v}, {{"to", std::string(data_type_name(to))}});
  }
  std::string whole(const std::string& operand, const Shape& shape) {
    return cast(s_.reshape(operand, shape), index_);
  }
  std::string places(int64_t count, const Shape& before = {}) {
    std::vector<double> numbers;
    for (int64_t k = 0; k < count; ++k) numbers.push_back(double(k));
    Shape shape = before;
    shape.push_back(count);
    return s_.constant(std::move(numbers), shape, index_);
  }
  std::string part(const std::string& x, int64_t axis, int64_t from, int64_t to) {
    using Ints = std::vector<int64_t>;
    return s_.add("slice", {x}, {{"starts", Ints{from}}, {"ends", Ints{to}}, {"axes", Ints{axis}}});
  }
  std::string sum(const std::string& x, int64_t axis) {
    return s_.add("reduce_sum", {x}, {{"axes", std::vector<int64_t>{axis}}, {"keepdims", int64_t(0)}});
  }
  // log Σ exp of two or three tensors, element by element.
  std::string added(const std::vector<std::string>& x) {
    std::string most = x[0];
    for (size_t k = 1; k < x.size(); ++k) most = s_.add("max", {most, x[k]});
    std::string total;
    for (const std::string& v : x) {
      const std::string e = s_.add("exp", {s_.add("sub", {v, most})});
      total = total.empty() ? e : s_.add("add", {total, e});
    }
    return s_.add("add", {most, s_.add("log", {total})});
  }

  // Labels [N, S], lengths [N, 1], and the logarithms of the probabilities of blank [T, N, 1] and of every
  // label [T, N, S].
  void prepare() {
    never_ = number(kNever);
    lengths_ = whole("input_lengths", {z_.batch, 1});
    target_lengths_ = whole("target_lengths", {z_.batch, 1});
    std::string targets = "targets";
    if (z_.one_behind_other) {
      const std::string begins =
          s_.add("cum_sum", {target_lengths_}, {{"axis", int64_t(0)}, {"exclusive", int64_t(1)}});
      const std::string at = s_.add(
          "min", {s_.add("add", {begins, places(z_.labels)}), s_.constant(double(z_.labels - 1), index_)});
      targets = s_.add("gather", {targets, at}, {{"axis", int64_t(0)}});
    }
    targets = whole(targets, {z_.batch, z_.labels});
    std::string p = "log_probs";
    if (c_.inputs[0]->dtype != dtype_) p = cast(p, dtype_);
    p = s_.reshape(p, {z_.steps, z_.batch, 1, z_.classes});
    p = s_.add("log_softmax", {p}, {{"axis", int64_t(-1)}});
    const int64_t blank = attr_int(c_.op, c_.attrs, "blank");
    blank_ = s_.reshape(part(p, 3, blank, blank + 1), {z_.steps, z_.batch, 1});
    const std::string hit =
        s_.add("equal", {s_.reshape(targets, {z_.batch, z_.labels, 1}), places(z_.classes)});
    label_ = sum(s_.add("where", {hit, p, number(0)}), 3);
    if (z_.labels > 1) {
      const std::string same =
          s_.add("equal", {part(targets, 1, 1, z_.labels), part(targets, 1, 0, z_.labels - 1)});
      const std::string first =
          s_.add("constant_of_shape", {},
                 {{"shape", Shape{z_.batch, 1}}, {"value", 0.0}, {"dtype", std::string("bool")}});
      repeated_ = s_.add("concat", {first, same}, {{"axis", int64_t(1)}});
    }
    before_ = s_.add(
        "constant_of_shape", {},
        {{"shape", Shape{z_.batch, 1}}, {"value", kNever}, {"dtype", std::string(data_type_name(dtype_))}});
  }
  std::string at_step(const std::string& all, int64_t t, int64_t count) {
    return s_.reshape(part(all, 0, t, t + 1), {z_.batch, count});
  }
  std::string blank_at(int64_t t) { return at_step(blank_, t, 1); }
  std::string label_at(int64_t t) { return at_step(label_, t, z_.labels); }

  // A blank follows itself or the label before it; a label itself, the blank before it or, if it is another
  // one, the label before that.
  void step(int64_t t) {
    const std::string shifted = s_.add("concat", {before_, labels_}, {{"axis", int64_t(1)}});
    const std::string blanks = s_.add("add", {blank_at(t), added({blanks_, shifted})});
    std::vector<std::string> ways = {labels_, part(blanks_, 1, 0, z_.labels)};
    if (z_.labels > 1) ways.push_back(s_.add("where", {repeated_, never_, part(shifted, 1, 0, z_.labels)}));
    const std::string labels = s_.add("add", {label_at(t), added(ways)});
    const std::string runs = s_.add("less", {s_.constant(double(t), index_), lengths_});
    blanks_ = s_.add("where", {runs, blanks, blanks_});
    labels_ = s_.add("where", {runs, labels, labels_});
  }

  // A path ends in the last label or in the blank behind it.
  void finish() {
    const auto chosen = [&](const std::string& states, int64_t count, const std::string& index) {
      const std::string hit = s_.add("equal", {places(count), index});
      return sum(s_.add("where", {hit, states, number(0)}), 1);
    };
    const std::string last = s_.add("sub", {target_lengths_, s_.constant(1, index_)});
    const std::string count = s_.reshape(target_lengths_, {z_.batch});
    const std::string none = s_.add("equal", {count, zero()});
    const std::string label = s_.add("where", {none, never_, chosen(labels_, z_.labels, last)});
    std::string loss = s_.add("neg", {added({chosen(blanks_, z_.labels + 1, target_lengths_), label})});
    const bool zero_infinity = attr_int(c_.op, c_.attrs, "zero_infinity") != 0;
    loss =
        s_.add("where", {s_.add("greater", {loss, number(kBeyond)}), number(zero_infinity ? 0 : kInf), loss});
    const std::string reduction = attr_text(c_.op, c_.attrs, "reduction");
    if (reduction == "mean") {
      const std::string share = cast(s_.add("max", {count, s_.constant(1, index_)}), dtype_);
      loss = s_.add("reduce_mean", {s_.add("div", {loss, share})}, {{"keepdims", int64_t(0)}});
    } else if (reduction == "sum" || z_.one_sample) {
      loss = s_.add("reduce_sum", {loss}, {{"keepdims", int64_t(0)}});
    }
    s_.result("y", "cast", {loss}, {{"to", std::string(data_type_name(c_.inputs[0]->dtype))}});
  }

  const ShapeContext& c_;
  Sizes z_;
  Steps s_;
  DataType dtype_;
  DataType index_ = DataType::i32;
  std::string never_, lengths_, target_lengths_, blank_, label_, repeated_, before_, blanks_, labels_;
};

bool steps_ctc(const ShapeContext& c, std::vector<DecompositionStep>& steps, std::string& error) {
  Sizes sizes;
  if (!sizes_of(c, sizes, error)) return false;
  Recursion(c, sizes, steps).run();
  return true;
}

}  // namespace

void add_ctc(Rows& t) {
  OpDef d = by_steps(
      "ctc_loss", {}, {"log_probs", "targets", "input_lengths", "target_lengths"}, 0,
      {integer("blank", 0), integer("zero_infinity", 0), text("reduction", "mean"), integer(kUseAutogen, 0)},
      shape_ctc, steps_ctc);
  d.loss = true;
  t.push_back(noted(d, "every time step is written out; the gradient supposes log_probs of log_softmax"));
}

}  // namespace cs::ops
