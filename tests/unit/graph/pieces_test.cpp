// The pass pieces: which inputs and outputs cross the edge in pieces, where these lie, and for what benefit.
#include <gmock/gmock.h>

#include <fmt/format.h>

#include "compiler/frontend/frontend.h"
#include "compiler/graph/pieces.h"
#include "compiler/passes/passes.h"

namespace cs::passes {
namespace {

using graph::Graph;
using graph::InPieces;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string text_of(const std::string& nodes, const std::string& outputs,
                    const std::string& x = "f32[2, 6, 5]") {
  return "inputs:\n  - {name: x, type: \"" + x + "\"}\nconstants:\n" +
         "  - {name: up, type: \"i64[2]\", value: [-4, -3]}\n  - {name: odd, type: \"i64[2]\", value: [1, "
         "3]}\nnodes:\n" +
         nodes + "outputs: [" + outputs + "]\n";
}
std::string node(const std::string& name, const std::string& op, const std::string& inputs,
                 const std::string& attrs = "", const std::string& outputs = "") {
  return fmt::format("  - {{name: {}, op: {}, inputs: [{}]{}{}}}\n", name, op, inputs,
                     outputs.empty() ? "" : ", outputs: [" + outputs + "]",
                     attrs.empty() ? "" : ", attrs: {" + attrs + "}");
}

struct Bench {
  Machine machine;
  Diag diag;
  Graph g;
  PassContext context{machine, Policy::medium, {}, diag, {}};

  explicit Bench(const std::string& text) {
    machine = load_machine("wse2", diag).value_or(Machine{});
    std::optional<Graph> parsed = frontend::import_yaml(text, "g.yaml", ".", diag);
    EXPECT_TRUE(parsed) << diag.to_string();
    if (parsed) g = std::move(*parsed);
    EXPECT_TRUE(choose_origins(g, context)) << diag.to_string();
  }
  // "value first+length, ..." of every `stride`, or why there are none.
  std::string text(const std::optional<InPieces>& in, const std::string& why) const {
    if (!in) return why;
    std::string list;
    for (const graph::ValuePiece& p : in->pieces) {
      list += fmt::format("{}{} {}+{}", list.empty() ? "" : ", ", g.value(p.value).name, p.first, p.length);
      for (const graph::ValueId same : p.same) list += fmt::format(" = {}", g.value(same).name);
    }
    return fmt::format("{} x {}: {}", in->blocks, in->stride, list);
  }
  std::string of_input() {
    std::string why;
    const auto in = graph::input_in_pieces(g, g.inputs[0], why);
    return text(in, why);
  }
  std::string of_output(const std::string& name) {
    std::string why;
    const auto in = graph::output_in_pieces(g, *g.find_node(name), why);
    return text(in, why);
  }
  std::vector<std::string> taken() {
    EXPECT_TRUE(cross_in_pieces(g, context) && graph::verify(g, diag)) << diag.to_string();
    std::vector<std::string> names;
    for (const graph::NodeId id : g.topological())
      if (graph::is_in_pieces(g.node(id))) names.push_back(g.node(id).name);
    return names;
  }
};

const std::string kParts = node("a", "neg", "x") + node("b", "relu", "x");

// x[2, 6, 5]: along the first axis one block of 120 words, along the second two of 60, along the third twelve
// of 10.
TEST(OutputInPieces, LiesAsTheConcatenation) {
  const auto along = [](int axis) {
    return Bench(text_of(kParts + node("y", "concat", "a, b", fmt::format("axis: {}", axis)), "y"))
        .of_output("y");
  };
  EXPECT_EQ(along(0), "1 x 120: a 0+60, b 60+60");
  EXPECT_EQ(along(1), "2 x 60: a 0+30, b 30+30");
  EXPECT_EQ(along(-1), "12 x 10: a 0+5, b 5+5");
}

TEST(OutputInPieces, ViewsAreNoDifferenceAndAValueMayBeThereTwice) {
  const std::string nodes = kParts + node("f", "flatten", "a") + node("h", "flatten", "b") +
                            node("y", "concat", "f, h, f", "axis: 1") +
                            node("z", "reshape", "y", "shape: [-1]");
  EXPECT_EQ(Bench(text_of(nodes, "z, a")).of_output("y"), "2 x 90: a 0+30, b 30+30, a 60+30");
}

TEST(OutputInPieces, SaysWhyItIsNone) {
  const std::string y = node("y", "concat", "a, b", "axis: 1");
  EXPECT_EQ(Bench(text_of(kParts + y + node("z", "neg", "y"), "y, z")).of_output("y"),
            "something else takes it too");
  EXPECT_EQ(Bench(text_of(kParts + y + node("z", "neg", "y"), "z")).of_output("y"),
            "it is no output of the model");
  EXPECT_EQ(Bench(text_of(kParts + node("y", "concat", "a, x", "axis: 1"), "y, b")).of_output("y"),
            "its operand x is not made on the wafer");
  EXPECT_EQ(Bench(text_of(kParts, "a, b")).of_output("a"), "it is no concatenation");
}

TEST(InputInPieces, LiesAsTheRanges) {
  const std::string split = node("s", "split", "x", "axis: 1, split: [1, 2, 3]", "p, q, r");
  // Nobody takes q.
  EXPECT_EQ(Bench(text_of(split + node("a", "neg", "p") + node("b", "neg", "r"), "a, b")).of_input(),
            "2 x 30: p 0+5, r 15+15");
  const std::string slices = node("p", "slice", "x", "starts: [-2, 0], ends: [9, 2], axes: [2, 0]") +
                             node("q", "slice", "x", "starts: [1], ends: [3], axes: [2], steps: [1]") +
                             node("r", "slice", "x", "starts: [3], ends: [5], axes: [2]");
  EXPECT_EQ(Bench(text_of(slices + node("a", "add", "p, r") + node("b", "neg", "q"), "a, b")).of_input(),
            "12 x 5: q 1+2, p 3+2 = r");
  // Places 2 and 3 of the rows of a view with 12 of them, place 6 of each by itself.
  const std::string view =
      node("v", "reshape", "x", "shape: [12, 5]") + node("p", "gather", "v, up", "axis: 0");
  EXPECT_EQ(Bench(text_of(view + node("a", "neg", "p"), "a")).of_input(), "1 x 60: p 40+10");
}

TEST(InputInPieces, SaysWhyItIsNone) {
  const std::string p = node("p", "slice", "x", "starts: [0], ends: [3], axes: [1]") + node("a", "neg", "p");
  const auto why = [&](const std::string& more, const std::string& outputs) {
    return Bench(text_of(p + more, outputs)).of_input();
  };
  EXPECT_EQ(why(node("q", "slice", "x", "starts: [2], ends: [6], axes: [1]") + node("b", "neg", "q"), "a, b"),
            "what is taken of it overlaps");
  EXPECT_EQ(why(node("b", "neg", "x"), "a, b"), "b takes it by more than a range of one dimension");
  EXPECT_EQ(why(node("q", "gather", "x, odd", "axis: 1") + node("b", "neg", "q"), "a, b"),
            "q takes it by more than a range of one dimension");
  EXPECT_EQ(
      why(node("q", "slice", "x", "starts: [3], ends: [6], axes: [1], steps: [2]") + node("b", "neg", "q"),
          "a, b"),
      "q takes it by more than a range of one dimension");
  EXPECT_EQ(why(node("q", "slice", "x", "starts: [3, 1], ends: [6, 2], axes: [1, 0]") + node("b", "neg", "q"),
                "a, b"),
            "q takes it by more than a range of one dimension");
  EXPECT_EQ(why(node("q", "slice", "x", "starts: [3], ends: [6], axes: [1]"), "a, q"),
            "what q takes of it is used beside the wafer");
  EXPECT_EQ(why(node("q", "slice", "x", "starts: [4], ends: [5], axes: [2]") + node("b", "neg", "q"), "a, b"),
            "it is taken in blocks of different sizes");
  EXPECT_EQ(why("", "a, x"), "the model gives it too");
}

// The words of y are those of the slowest kernels; where sums over 4096 products are slower the single stream
// keeps up.
TEST(InPieces, WhereTheSingleStreamIsTheSlowest) {
  const std::string y = node("y", "concat", "a, b", "axis: 1");
  Bench fast(text_of(kParts + y, "y"));
  EXPECT_THAT(fast.taken(), ElementsAre("y"));
  EXPECT_THAT(
      fast.g.node(*fast.g.find_node("y")).assignment.reason,
      HasSubstr("beneficial: y crosses the edge in 2 pieces of at most 60 cycles; as one stream it takes "));
  Bench slow(text_of(kParts + y + node("big", "reduce_prod", "z", "axes: [1]"), "y, big")
                 .insert(8, "  - {name: z, type: \"f32[2, 4000]\"}\n"));
  EXPECT_THAT(slow.taken(), ElementsAre());
}

TEST(InPieces, OnlyWhereTheCompilerChooses) {
  const std::string text = text_of(kParts + node("y", "concat", "a, b", "axis: 1"), "y");
  for (const Policy policy : {Policy::disabled, Policy::aggressive}) {
    Bench other(text);
    other.context.policy = policy;
    EXPECT_THAT(other.taken(), ElementsAre());
  }
  Bench resident(text), forced(text), again(text);
  resident.context.map.resident = true;
  EXPECT_THAT(resident.taken(), ElementsAre());
  forced.context.map.force_width = forced.context.map.force_height = 1;
  EXPECT_THAT(forced.taken(), ElementsAre());
  // Where streams had no way it is one stream; that is one step, which is taken once.
  EXPECT_THAT(again.taken(), ElementsAre("y"));
  EXPECT_TRUE(again.context.fallbacks.step_down(again.g, {}));
  Bench whole(text);
  whole.context.fallbacks = again.context.fallbacks;
  EXPECT_THAT(whole.taken(), ElementsAre());
  EXPECT_FALSE(whole.context.fallbacks.step_down(whole.g, {}));
}

// A plan that says which kernel it has is followed.
TEST(InPieces, NotWhatAPlanHasDecided) {
  Bench first(text_of(kParts + node("y", "concat", "a, b", "axis: 1"), "y"));
  EXPECT_TRUE(choose_origins(first.g, first.context));
  EXPECT_THAT(first.taken(), ElementsAre());
}

TEST(InPieces, HaveABound) {
  const auto parts = [](int n) {
    std::string nodes = node("a", "neg", "x"), list = "a";
    for (int k = 1; k < n; ++k) list += ", a";
    return text_of(nodes + node("y", "concat", list, "axis: 1"), "y");
  };
  EXPECT_THAT(Bench(parts(16)).taken(), ElementsAre("y"));
  EXPECT_THAT(Bench(parts(17)).taken(), ElementsAre());
}

}  // namespace
}  // namespace cs::passes
