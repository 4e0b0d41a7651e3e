// What a plan says beside its nodes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/graph/graph_yaml.h"

namespace cs::graph {
namespace {

using testing::HasSubstr;

PlanHeader read(const std::string& keys, Diag& diag) {
  const auto doc =
      YamlDoc::parse_text("graph: g\nplan: {policy: medium, after: size" + keys + "}\n", "plan.yaml", diag);
  return doc ? plan_header(*doc, diag) : PlanHeader{};
}

TEST(PlanHeader, ReadsBackWhatWasChosen) {
  Graph g;
  g.name = "g";
  const GraphText text = graph_text(g, "g.bin", {"medium", "size", "library", 3, 0.5});
  EXPECT_THAT(text.yaml, HasSubstr("form: library, copies: 3, pace: 0.5}"));
  Diag diag;
  const PlanHeader plan = read(", form: library, copies: 3, pace: 0.5", diag);
  EXPECT_TRUE(diag.ok()) << diag.to_string();
  EXPECT_EQ(plan.form, "library");
  EXPECT_EQ(plan.copies, 3);
  EXPECT_EQ(plan.pace, 0.5);
  EXPECT_EQ(read("", diag).pace, 0);  // the usual one, of which the text says nothing
  EXPECT_THAT(graph_text(g, "g.bin", {"medium", "size", "", 1, 0}).yaml,
              HasSubstr("plan: {policy: medium, after: size}"));
}

TEST(PlanHeader, PacesAreShares) {
  for (const std::string pace : {"0", "-0.5", "1.1", ".inf", ".nan"}) {
    Diag diag;
    read(", pace: " + pace, diag);
    EXPECT_THAT(diag.to_string(), HasSubstr("must be more than 0 and at most 1")) << pace;
  }
}

}  // namespace
}  // namespace cs::graph
