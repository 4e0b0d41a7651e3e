// Inputs and outputs that cross the edge in pieces: the values of the model, in every place, form and number.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

#include "runtime/host/npz.h"
#include "tests/e2e/run_tool.h"

namespace cs::e2e {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

using Shape = std::vector<int64_t>;
// By the place in the array, first dimension first.
using Element = std::function<double(const Shape& at)>;

NamedArray array(const std::string& name, const Shape& shape, const Element& element,
                 DataType type = DataType::f32) {
  NamedArray a{name, ops::Tensor({type, shape})};
  Shape at(shape.size(), 0);
  for (int64_t i = 0; i < a.tensor.elements(); ++i) {
    a.tensor.set(i, element(at));
    for (size_t d = shape.size(); d-- > 0 && ++at[d] == shape[d];) at[d] = 0;
  }
  return a;
}

// Small numbers of both signs that differ along every dimension; f16 has them exactly, and their doubles.
double x_of(const Shape& at) {
  int64_t n = 0;
  for (const int64_t i : at) n = 7 * n + i;
  return double(n % 31) - 15;
}

class Pieces : public Scratch {
 protected:
  std::string npz(const std::string& name, const std::vector<NamedArray>& arrays) const {
    Diag diag;
    EXPECT_TRUE(write_npz(path(name), arrays, diag)) << diag.to_string();
    return path(name);
  }
  std::string compile(const std::string& model, std::vector<std::string> more = {}) const {
    more.insert(more.begin(),
                {write("model.yaml", model), "--no-baselines", "--no-advice", "-q", "-o", path("p.csp")});
    const ChildResult made = run("cs-compile", more);
    EXPECT_EQ(made.exit_code, 0) << made.err;
    return run("cs-objdump", {path("p.csp"), "--text"}).out;
  }
  void expect(const std::vector<NamedArray>& in, const std::vector<NamedArray>& out,
              int iterations = 0) const {
    std::vector<std::string> args{path("p.csp"),     "-q",       "--inputs",
                                  npz("in.npz", in), "--expect", npz("out.npz", out)};
    if (iterations > 0) args.insert(args.end(), {"--iterations", std::to_string(iterations)});
    const ChildResult r = run("cs-sim", args);
    EXPECT_EQ(r.exit_code, 0) << r.err;
  }
};

// a = -x and b = x + x of x[samples, 4, 6], one behind the other along a dimension.
std::string two_parts(int axis, const std::string& type, const std::string& outputs,
                      const std::string& more = "") {
  return fmt::format(
      "graph: parts\ninputs:\n  - {{name: x, type: \"{}[1, 4, 6]\", sample_dim: 0}}\nnodes:\n"
      "  - {{name: a, op: neg, inputs: [x]}}\n  - {{name: b, op: add, inputs: [x, x]}}\n"
      "  - {{name: y, op: concat, inputs: [a, b], attrs: {{axis: {}}}}}\n{}outputs: [{}]\n",
      type, axis, more, outputs);
}
NamedArray joined(int64_t samples, size_t axis, DataType type = DataType::f32) {
  Shape shape{samples, 4, 6};
  const int64_t extent = shape[axis];
  shape[axis] *= 2;
  return array(
      "y", shape,
      [&](Shape at) {
        const bool second = at[axis] >= extent;
        at[axis] %= extent;
        return second ? 2 * x_of(at) : -x_of(at);
      },
      type);
}

TEST_F(Pieces, AnOutputAlongTheLastAxis) {
  EXPECT_THAT(compile(two_parts(2, "f32", "y")),
              HasSubstr("stride: 12, pieces: [{tensor: a, first: 0, length: 6}"));
  expect({array("x", {5, 4, 6}, x_of)}, {joined(5, 2)});
}

TEST_F(Pieces, AnOutputAlongTheMiddleAxisOnBothMachinesInHalfPrecision) {
  for (const std::string machine : {"wse2", "wse3"}) {
    EXPECT_THAT(compile(two_parts(1, "f16", "y"), {"-m", machine}),
                HasSubstr("stride: 48, pieces: [{tensor: a, first: 0, length: 24}"));
    expect({array("x", {5, 4, 6}, x_of, DataType::f16)}, {joined(5, 1, DataType::f16)});
  }
}

// No dimension counts samples: y is a[4, 6] and then b[4, 6].
TEST_F(Pieces, AnOutputAlongTheFirstAxis) {
  const std::string text = compile(
      "graph: parts\ninputs:\n  - {name: x, type: \"f32[4, 6]\"}\nnodes:\n  - {name: a, op: neg, inputs: "
      "[x]}\n"
      "  - {name: b, op: add, inputs: [x, x]}\n  - {name: y, op: concat, inputs: [a, b], attrs: {axis: 0}}\n"
      "outputs: [y]\n");
  EXPECT_THAT(text, HasSubstr("stride: 48, pieces: [{tensor: a, first: 0, length: 24}"));
  EXPECT_THAT(text, HasSubstr("out_y[24:48 of 48]"));
  expect({array("x", {4, 6}, x_of)}, {array("y", {8, 6}, [](Shape at) {
           const bool second = at[0] >= 4;
           at[0] %= 4;
           return second ? 2 * x_of(at) : -x_of(at);
         })});
}

// One part is an output by itself, the other one in another shape; the whole is there flat.
TEST_F(Pieces, APartThatIsAnotherOutputCrossesOnce) {
  const std::string views =
      "  - {name: bf, op: flatten, inputs: [b]}\n  - {name: yf, op: flatten, inputs: [y]}\n";
  const std::string text = compile(two_parts(1, "f32", "bf, yf, a", views));
  EXPECT_THAT(text, HasSubstr("stride: 48, pieces:"));
  size_t receives = 0;
  for (size_t at = text.find("kind: receive"); at != std::string::npos;
       at = text.find("kind: receive", at + 1))
    ++receives;
  EXPECT_EQ(receives, 2u);
  NamedArray flat = joined(5, 1);
  flat.name = "yf";
  flat.tensor.type.shape = {5, 48};
  expect({array("x", {5, 4, 6}, x_of)},
         {flat, array("a", {5, 4, 6}, [](const Shape& at) { return -x_of(at); }),
          array("bf", {5, 24}, [](const Shape& at) {
            return 2 * x_of({at[0], at[1] / 6, at[1] % 6});
          })});
}

// x[samples, 4, 9] in columns of 2, 3 and 4, of which the last ones are taken in another shape, and not at
// all.
TEST_F(Pieces, AnInputInThree) {
  const std::string model =
      "graph: cut\ninputs:\n  - {name: x, type: \"f32[1, 4, 9]\", sample_dim: 0}\nnodes:\n"
      "  - {name: s, op: split, inputs: [x], outputs: [p, q, r], attrs: {axis: 2, split: [2, 3, 4]}}\n"
      "  - {name: a, op: neg, inputs: [p]}\n  - {name: b, op: add, inputs: [q, q]}\n"
      "  - {name: f, op: flatten, inputs: [r]}\n  - {name: c, op: neg, inputs: [f]}\noutputs: [a, b, c]\n";
  const std::string text = compile(model);
  EXPECT_THAT(
      text,
      HasSubstr("stride: 9, pieces: [{tensor: p, first: 0, length: 2}, {tensor: q, first: 2, length: 3}, "
                "{tensor: r, first: 5, length: 4}]"));
  EXPECT_THAT(text, HasSubstr("in_x[2:5 of 9]"));
  const std::vector<NamedArray> in{array("x", {5, 4, 9}, x_of)};
  const std::vector<NamedArray> out{array("a", {5, 4, 2}, [](const Shape& at) { return -x_of(at); }),
                                    array("b", {5, 4, 3},
                                          [](const Shape& at) {
                                            return 2 * x_of({at[0], at[1], at[2] + 2});
                                          }),
                                    array("c", {5, 16}, [](const Shape& at) {
                                      return -x_of({at[0], at[1] / 4, at[1] % 4 + 5});
                                    })};
  expect(in, out);
  EXPECT_THAT(compile(model, {"--without", "pieces"}), Not(HasSubstr("pieces:")));
  expect(in, out);
}

// Rows 1 and 2 by a slice, row 3 by its index, row 1 and 2 again; nobody takes row 0.
TEST_F(Pieces, RangesOfAnInput) {
  const std::string text = compile(
      "graph: cut\ninputs:\n  - {name: x, type: \"f32[1, 4, 9]\", sample_dim: 0}\n"
      "constants:\n  - {name: three, type: \"i64[]\", value: [3]}\nnodes:\n"
      "  - {name: p, op: slice, inputs: [x], attrs: {starts: [-3], ends: [3], axes: [1]}}\n"
      "  - {name: q, op: gather, inputs: [x, three], attrs: {axis: 1}}\n"
      "  - {name: r, op: slice, inputs: [x], attrs: {starts: [1], ends: [3], axes: [1]}}\n"
      "  - {name: a, op: neg, inputs: [p]}\n  - {name: b, op: add, inputs: [q, q]}\n"
      "  - {name: c, op: relu, inputs: [r]}\n  - {name: d, op: add, inputs: [a, c]}\noutputs: [b, d]\n");
  EXPECT_THAT(
      text,
      HasSubstr(
          "stride: 36, pieces: [{tensor: p, first: 9, length: 18}, {tensor: q, first: 27, length: 9}]"));
  expect({array("x", {5, 4, 9}, x_of)}, {array("b", {5, 9},
                                               [](const Shape& at) {
                                                 return 2 * x_of({at[0], 3, at[1]});
                                               }),
                                         array("d", {5, 2, 9}, [](Shape at) {
                                           ++at[1];
                                           return std::max(x_of(at), 0.0) - x_of(at);
                                         })});
}

// Every copy has ports of its own for the pieces, and takes the samples in turn.
TEST_F(Pieces, InCopiesOfTheNetwork) {
  for (const int copies : {2, 3}) {
    const std::string text = compile(two_parts(2, "f32", "y"), {"--copies", std::to_string(copies)});
    EXPECT_THAT(text, HasSubstr("stride: 12, pieces:"));
    EXPECT_THAT(text, HasSubstr("out_y[0:6 of 12]_copy1"));
    expect({array("x", {7, 4, 6}, x_of)}, {joined(7, 2)});
  }
}

// What overlaps, what the model has already, and what is taken as a whole too crosses as it is.
TEST_F(Pieces, OnlyWhereEveryStreamHasItsOwnPart) {
  const std::string head = "graph: no\ninputs:\n  - {name: x, type: \"f32[1, 8]\", sample_dim: 0}\nnodes:\n";
  const auto slice = [](const std::string& name, int from, int to) {
    return fmt::format(
        "  - {{name: {}, op: slice, inputs: [x], attrs: {{starts: [{}], ends: [{}], axes: [1]}}}}\n", name,
        from, to);
  };
  const std::string overlap =
      head + slice("p", 0, 7) + slice("q", 1, 8) + "  - {name: y, op: sub, inputs: [q, p]}\noutputs: [y]\n";
  EXPECT_THAT(compile(overlap), Not(HasSubstr("pieces:")));
  expect({array("x", {5, 8}, x_of)}, {array("y", {5, 7}, [](const Shape& at) {
           return x_of({at[0], at[1] + 1}) - x_of(at);
         })});
  const std::string given = head + "  - {name: a, op: neg, inputs: [x]}\n" +
                            "  - {name: y, op: concat, inputs: [x, a], attrs: {axis: 1}}\noutputs: [y]\n";
  EXPECT_THAT(compile(given), Not(HasSubstr("pieces:")));
  const std::string taken = head + slice("p", 0, 4) + "  - {name: a, op: neg, inputs: [x]}\n" +
                            "  - {name: b, op: neg, inputs: [p]}\noutputs: [a, b]\n";
  EXPECT_THAT(compile(taken), Not(HasSubstr("pieces:")));
  // A part of the input in pieces is none of the output in pieces: that would be a copy on the host.
  const std::string through = head + slice("p", 0, 4) + slice("q", 4, 8) +
                              "  - {name: a, op: neg, inputs: [q]}\n" +
                              "  - {name: y, op: concat, inputs: [a, p], attrs: {axis: 1}}\noutputs: [y]\n";
  compile(through);
  expect({array("x", {5, 8}, x_of)}, {array("y", {5, 8}, [](const Shape& at) {
           return at[1] < 4 ? -x_of({at[0], at[1] + 4}) : x_of({at[0], at[1] - 4});
         })});
}

// A plan says which; one that cannot be done says why.
TEST_F(Pieces, OfAPlan) {
  compile(two_parts(2, "f32", "y"));
  const std::string model = path("model.yaml");
  const std::string direct = slurp(path("p.csp/program.fb"));
  for (const std::string stop : {"pieces", "regions"}) {
    ASSERT_EQ(run("cs-compile", {model, "--stop-after", stop, "-q", "-o", path("plan.yaml")}).exit_code, 0);
    std::string plan = slurp(path("plan.yaml"));
    EXPECT_THAT(
        plan,
        HasSubstr("origin: host, kernel: pieces, reason: \"beneficial: y crosses the edge in 2 pieces"));
    ASSERT_EQ(run("cs-compile",
                  {"--start-from", path("plan.yaml"), "--no-baselines", "-q", "-o", path("again.csp")})
                  .exit_code,
              0);
    EXPECT_EQ(slurp(path("again.csp/program.fb")), direct) << stop;
    // The second operand is the model's input now, and what it was an output.
    const std::string operands = "inputs: [a, b]";
    ASSERT_NE(plan.find(operands), std::string::npos) << plan;
    plan.replace(plan.find(operands), operands.size(), "inputs: [a, x]");
    write("plan.yaml", plan + "  - {name: b, sample_dim: 0}\n");
    const ChildResult r = run("cs-compile", {"--start-from", path("plan.yaml"), "-o", path("no.csp")});
    EXPECT_EQ(r.exit_code, 1);
    EXPECT_THAT(
        r.err,
        HasSubstr("concat 'y' is to cross the edge in pieces, but its operand x is not made on the wafer"));
  }
}

// The slowest stream is a piece of half the words: no kernel stands behind it, and the report names its port.
TEST_F(Pieces, TheReportNamesThem) {
  compile(two_parts(1, "f32", "y"));
  const ChildResult r =
      run("cs-sim", {path("p.csp"), "-q", "--json", "--iterations", "8", "--report", path("report")});
  ASSERT_EQ(r.exit_code, 0) << r.err;
  const auto stats = nlohmann::json::parse(slurp(path("report/stats.json")));
  bool op = false;
  for (const auto& row : stats.at("ops"))
    if (row.at("name") == "y") {
      op = true;
      EXPECT_EQ(row.at("origin"), "primitive");
      EXPECT_TRUE(row.at("kernels").empty());
    }
  EXPECT_TRUE(op);
  for (const auto& row : stats.at("kernels")) EXPECT_NE(row.at("origin"), "host");
  EXPECT_FALSE(stats.at("critical_path").empty());
}

}  // namespace
}  // namespace cs::e2e
