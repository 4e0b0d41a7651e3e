// Sequences and optionals of ONNX: lists of names while the model is read, not values of the graph.
#include <gmock/gmock.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "compiler/frontend/frontend.h"
#include "tests/unit/graph/onnx_bytes.h"

namespace cs::frontend {
namespace {

using namespace onnx_bytes;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string attr_graph(const std::string& name, const std::string& graph) {
  return bytes(5, bytes(1, name) + bytes(6, graph + bytes(2, name)) + number(20, 5));
}
// The type of what is not an input is not read.
std::string any(int field, const std::string& name) { return value(field, name, {}); }

const std::string kInputs = input("a", {"4"}) + input("b", {"4"}) + input("c", {"4"});

struct Import {
  Diag diag;
  std::optional<graph::Graph> g;
  explicit Import(const std::string& graph) { g = import_onnx(model(graph, 16), "m.onnx", {}, diag); }
  // "relu(x) -> y" of each node.
  std::vector<std::string> nodes() const {
    std::vector<std::string> lines;
    if (!g) return {diag.to_string()};
    auto names = [&](const std::vector<graph::ValueId>& values) {
      std::vector<std::string> list;
      for (const graph::ValueId v : values) list.push_back(g->value(v).name);
      return list;
    };
    for (const graph::NodeId id : g->topological()) {
      const graph::Node& n = g->node(id);
      lines.push_back(fmt::format("{}({}) -> {}", n.op, fmt::join(names(n.inputs), ", "),
                                  fmt::join(names(n.outputs), ", ")));
    }
    return lines;
  }
  std::vector<std::string> outputs() const {
    std::vector<std::string> list;
    if (!g) return {diag.to_string()};
    for (const graph::ValueId v : g->outputs)
      list.push_back(g->value(v).name + ": " + ops::type_text(g->value(v).type));
    return list;
  }
};

// (a, b) -> (c, a, b) -> (c, a): element -1 is a.
TEST(OnnxSequences, ArePickedFromWithoutNodes) {
  const Import m(kInputs + integers("front", {0}) + integers("last", {-1}) +
                 node("SequenceConstruct", "s", {"a", "b"}, {"s0"}) +
                 node("SequenceInsert", "i", {"s0", "c", "front"}, {"s1"}) +
                 node("SequenceErase", "e", {"s1", "last"}, {"s2"}) +
                 node("SequenceAt", "at", {"s2", "last"}, {"y"}) + any(12, "y"));
  EXPECT_THAT(m.nodes(), ElementsAre("identity(a) -> y"));
}

TEST(OnnxSequences, HaveALengthThatIsAConstant) {
  const Import m(
      kInputs + node("SequenceEmpty", "s", {}, {"s0"}) + node("SequenceInsert", "i", {"s0", "a"}, {"s1"}) +
      node("SequenceInsert", "j", {"s1", "b"}, {"s2"}) + node("SequenceLength", "l", {"s2"}, {"n"}) +
      node("Cast", "f", {"n"}, {"nf"}, attr_int("to", 1)) + node("Add", "p", {"nf", "a"}, {"y"}) +
      any(12, "y"));
  ASSERT_TRUE(m.g) << m.diag.to_string();
  const graph::NodeId cast = m.g->topological()[0];
  ASSERT_EQ(m.g->node(cast).op, "cast");
  const ops::Tensor* n = m.g->constant_of(m.g->node(cast).inputs[0]);
  ASSERT_NE(n, nullptr);
  EXPECT_EQ(n->get_int(0), 2);
}

TEST(OnnxSequences, SplitAndJoin) {
  const std::string x = input("x", {"5", "2"});
  auto split = [&](const std::string& operands, const std::string& attrs, const std::string& join) {
    std::vector<std::string> in = {"x"};
    if (!operands.empty()) in.push_back(operands);
    return Import(x + integers("list", {1, 4}) + integers("wrong", {1, 3}) +
                  bytes(5, tensor_body("two", {}, 7, std::string("\2\0\0\0\0\0\0\0", 8))) +
                  node("SplitToSequence", "s", in, {"s0"}, attrs) + join);
  };
  const std::string out = any(12, "s0");
  EXPECT_THAT(split("list", "", out).outputs(), ElementsAre("s0_0: f32[1, 2]", "s0_1: f32[4, 2]"));
  EXPECT_THAT(split("two", "", out).outputs(),
              ElementsAre("s0_0: f32[2, 2]", "s0_1: f32[2, 2]", "s0_2: f32[1, 2]"));
  EXPECT_THAT(split("", attr_int("axis", -1), out).outputs(),
              ElementsAre("s0_0: f32[5, 1]", "s0_1: f32[5, 1]"));
  EXPECT_THAT(split("", attr_int("axis", 1) + attr_int("keepdims", 0), out).outputs(),
              ElementsAre("s0_0: f32[5]", "s0_1: f32[5]"));
  const std::string join = node("ConcatFromSequence", "j", {"s0"}, {"y"}, attr_int("axis", 0)) + any(12, "y");
  EXPECT_THAT(split("two", "", join).outputs(), ElementsAre("y: f32[5, 2]"));
  const std::string stack =
      node("ConcatFromSequence", "j", {"s0"}, {"y"}, attr_int("axis", 0) + attr_int("new_axis", 1)) +
      any(12, "y");
  EXPECT_THAT(split("", attr_int("axis", 1), stack).outputs(), ElementsAre("y: f32[2, 5, 1]"));
  EXPECT_THAT(split("wrong", "", out).diag.to_string(), HasSubstr("not those of dimension 0 of f32[5, 2]"));
}

// Three trips of s = s + (a * trip): three outputs.
TEST(OnnxSequences, GoThroughLoops) {
  const std::string body = any(11, "trip") + any(11, "go") + any(11, "in") +
                           node("Cast", "f", {"trip"}, {"t"}, attr_int("to", 1)) +
                           node("Mul", "m", {"a", "t"}, {"p"}) +
                           node("SequenceInsert", "i", {"in", "p"}, {"out"}) +
                           node("Identity", "g", {"go"}, {"go_on"}) + any(12, "go_on") + any(12, "out");
  const Import m(kInputs + integers("trips", {3}) + node("SequenceEmpty", "e", {}, {"none"}) +
                 node("Loop", "l", {"trips", "", "none"}, {"s"}, attr_graph("body", body)) + any(12, "s"));
  EXPECT_THAT(m.outputs(), ElementsAre("s_0: f32[4]", "s_1: f32[4]", "s_2: f32[4]"));
}

TEST(OnnxSequences, GoThroughBranchesAndBodies) {
  const std::string yes = bytes(5, tensor_body("yes", {}, 9, std::string(1, '\1')));
  const std::string branch = node("Relu", "r", {"a"}, {"h"}) + node("Optional", "o", {"h"}, {"held"}) +
                             any(12, "held"),
                    other = node("Optional", "o", {}, {"held"}) + any(12, "held");
  const Import m(
      kInputs + yes +
      node("If", "i", {"yes"}, {"o"}, attr_graph("then_branch", branch) + attr_graph("else_branch", other)) +
      node("OptionalGetElement", "g", {"o"}, {"y"}) + any(12, "y"));
  EXPECT_THAT(m.outputs(), ElementsAre("y: f32[4]"));
  const std::string each =
      any(11, "e") + any(11, "k") + node("Add", "p", {"e", "k"}, {"sum"}) + any(12, "sum");
  const Import mapped(kInputs + node("SequenceConstruct", "s", {"a", "b"}, {"s0"}) +
                      node("SequenceMap", "m", {"s0", "c"}, {"s1"}, attr_graph("body", each)) +
                      any(12, "s1"));
  EXPECT_THAT(mapped.nodes(), ElementsAre("add(a, c) -> m/0/sum", "add(b, c) -> m/1/sum",
                                          "identity(m/0/sum) -> s1_0", "identity(m/1/sum) -> s1_1"));
}

TEST(OnnxSequences, OptionalsAreThereOrNot) {
  auto has = [](const std::string& made) {
    const Import m(kInputs + made + node("OptionalHasElement", "h", {"o"}, {"y"}) + any(12, "y"));
    const ops::Tensor* t = m.g ? m.g->constant_of(m.g->node(m.g->topological().back()).inputs[0]) : nullptr;
    return t != nullptr ? int(t->get(0)) : -1;
  };
  EXPECT_EQ(has(node("Optional", "n", {"a"}, {"o"})), 1);
  EXPECT_EQ(has(node("Optional", "n", {}, {"o"})), 0);
  EXPECT_EQ(has(node("SequenceEmpty", "n", {}, {"s"}) + node("Optional", "p", {"s"}, {"o"})), 1);
  EXPECT_EQ(has(node("Optional", "n", {}, {"q"}) + node("Identity", "p", {"q"}, {"o"})), 0);
}

TEST(OnnxSequences, SayWhatIsWrong) {
  const std::string pair = node("SequenceConstruct", "s", {"a", "b"}, {"s0"}), y = any(12, "y");
  auto error = [&](const std::string& graph) { return Import(kInputs + graph + y).diag.to_string(); };
  EXPECT_THAT(error(pair + integers("two", {2}) + node("SequenceAt", "t", {"s0", "two"}, {"y"})),
              HasSubstr("node t (SequenceAt): error: position 2 does not exist in a sequence of 2"));
  EXPECT_THAT(error(pair + node("Relu", "r", {"s0"}, {"y"})),
              HasSubstr("operand 's0' is a sequence or an optional, Relu takes tensors"));
  EXPECT_THAT(error(node("SequenceLength", "l", {"a"}, {"y"})),
              HasSubstr("operand 0 ('a') is not a sequence"));
  EXPECT_THAT(error(node("Optional", "n", {}, {"o"}) + node("OptionalGetElement", "g", {"o"}, {"y"})),
              HasSubstr("operand 0 ('o') is an optional without a value"));
  EXPECT_THAT(error(node("SequenceEmpty", "e", {}, {"y"})),
              HasSubstr("output 'y' is a sequence without elements"));
  EXPECT_THAT(error(pair + node("SequenceConstruct", "t", {"a"}, {"s0"})),
              HasSubstr("two values are called 's0'"));
  EXPECT_THAT(error(node("ConcatFromSequence", "j", {"nothing"}, {"y"}, attr_int("axis", 0))),
              HasSubstr("operand 0 ('nothing') is not a sequence"));
  // ValueInfoProto: type 2 { sequence_type 4 { elem_type 1 { tensor_type 1 } } }
  const std::string in = bytes(11, bytes(1, "q") + bytes(2, bytes(4, bytes(1, bytes(1, number(1, 1))))));
  EXPECT_THAT(error(in + node("SequenceLength", "l", {"q"}, {"y"})), HasSubstr("input 'q' is a sequence"));
}

}  // namespace
}  // namespace cs::frontend
