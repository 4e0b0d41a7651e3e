// The key `plan` of a graph's text.
#include <fmt/format.h>

#include "compiler/graph/graph_yaml.h"

namespace cs::graph {

PlanHeader plan_header(const YamlDoc& doc, Diag& diag) {
  PlanHeader plan;
  const YamlNode* node = doc.root().is_map() ? doc.root().find("plan") : nullptr;
  if (node == nullptr) return plan;
  YamlMap m(*node, "plan", diag);
  if (!m.valid()) return plan;
  m.required("policy", plan.policy);
  m.required("after", plan.after);
  m.optional("form", plan.form);
  m.optional("copies", plan.copies);
  if (plan.copies < 1 || plan.copies > kMostCopies)
    diag.error(m.child("copies")->loc(), fmt::format("'copies' is {}, must be from 1 to {}", plan.copies, kMostCopies));
  m.optional("pace", plan.pace);
  if (const YamlNode* pace = node->find("pace"); pace != nullptr && !(plan.pace > 0 && plan.pace <= 1))
    diag.error(pace->loc(), fmt::format("'pace' is {}, must be more than 0 and at most 1", plan.pace));
  m.finish();
  return plan;
}

}  // namespace cs::graph
