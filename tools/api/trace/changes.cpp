// The first node that differs is looked for by its line; what differs in it follows from its parts.
#include "tools/api/trace/changes.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "compiler/graph/yaml_values.h"

namespace cs::tracing {

namespace {

std::vector<const Line*> of_kind(const std::vector<Line>& lines, Line::Kind kind) {
  std::vector<const Line*> found;
  for (const Line& line : lines)
    if (line.kind == kind) found.push_back(&line);
  return found;
}

std::string find(const Signature& list, const std::string& name) {
  for (const auto& [key, type] : list)
    if (key == name) return type;
  return "absent";
}

std::string arguments(const Signature& before, const Signature& after) {
  std::string text;
  std::set<std::string> done;
  for (const Signature* list : {&before, &after}) {
    for (const auto& [name, type] : *list) {
      const std::string a = find(before, name), b = find(after, name);
      if (a != b && done.insert(name).second) text += fmt::format("\n  argument {}: {} -> {}", name, a, b);
    }
  }
  return text;
}

Signature inputs(const std::vector<Line>& lines) {
  Signature found;
  for (const Line* line : of_kind(lines, Line::Kind::input)) {
    const size_t colon = line->text.rfind(": ");
    found.emplace_back(line->text.substr(0, colon), line->text.substr(colon + 2));
  }
  return found;
}

std::string attr(const Attrs& attrs, const std::string& name) {
  const AttrValue* value = ops::find_attr(attrs, name);
  if (value == nullptr) return "absent";
  const std::string text = graph::attrs_text({{name, *value}});  // "{name: value}"
  return text.substr(name.size() + 3, text.size() - name.size() - 4);
}

// What differs in two nodes, in a word.
std::string what(const Line::Parts& a, const Line::Parts& b) {
  if (a.op != b.op) return fmt::format(", operator {} -> {}", a.op, b.op);
  std::string text;
  std::set<std::string> names;
  for (const Attrs* attrs : {&a.attrs, &b.attrs})
    for (const auto& [name, value] : *attrs) names.insert(name);
  for (const std::string& name : names)
    if (attr(a.attrs, name) != attr(b.attrs, name))
      text += fmt::format(", attribute {} {} -> {}", name, attr(a.attrs, name), attr(b.attrs, name));
  if (a.type != b.type) text += fmt::format(", shape {} -> {}", a.type, b.type);
  for (size_t k = 0; k < std::min(a.operands.size(), b.operands.size()); ++k)
    if (a.operands[k] != b.operands[k])
      text += fmt::format(", {} {} -> {}", a.constant[k] && b.constant[k] ? "constant" : "operand",
                          a.operands[k], b.operands[k]);
  return text;
}

// Beside inputs and nodes.
std::string others(const std::vector<Line>& before, const std::vector<Line>& after) {
  std::string text;
  const auto only = [&](const std::vector<Line>& in, const std::vector<Line>& out, const char* when) {
    for (const Line& line : in) {
      const bool there = std::any_of(out.begin(), out.end(), [&](const Line& other) {
        return other.kind == line.kind && other.text == line.text;
      });
      if (there || line.kind == Line::Kind::input || line.kind == Line::Kind::node) continue;
      const char* kind = line.kind == Line::Kind::weight     ? "weight"
                         : line.kind == Line::Kind::training ? "training"
                                                             : "outputs";
      text += fmt::format("\n  only {}: {} {}", when, kind, line.text);
    }
  };
  only(before, after, "in iteration 0");
  only(after, before, "now");
  return text;
}

std::string side(int64_t iteration, const Line* line) {
  const std::string place = line != nullptr ? line->parts.where.text() : "";
  return fmt::format("\n    iteration {}: {}{}", iteration, line != nullptr ? line->text : "ends before",
                     place.empty() ? "" : "   " + place);
}

}  // namespace

GraphChanged graph_changed(const std::string& step, int64_t iteration, const std::vector<Line>& before,
                           const std::vector<Line>& after) {
  std::string text =
      fmt::format("the graph of {}() has changed in iteration {}; it must stay that of iteration 0", step,
                  iteration) +
      arguments(inputs(before), inputs(after));
  const auto old = of_kind(before, Line::Kind::node), now = of_kind(after, Line::Kind::node);
  size_t k = 0;
  while (k < old.size() && k < now.size() && old[k]->text == now[k]->text) ++k;
  if (k == old.size() && k == now.size()) return {text + others(before, after), iteration};
  const Line* a = k < old.size() ? old[k] : nullptr;
  const Line* b = k < now.size() ? now[k] : nullptr;
  text += fmt::format("\n  first difference: node {}{}", k, a && b ? what(a->parts, b->parts) : "") +
          side(0, a) + side(iteration, b);
  if (old.size() != now.size()) text += fmt::format("\n  nodes: {} -> {}", old.size(), now.size());
  GraphChanged error(text, iteration);
  error.node = int64_t(k);
  if (a != nullptr) error.before = a->parts.where;
  if (b != nullptr) error.after = b->parts.where;
  return error;
}

GraphChanged arguments_changed(const std::string& step, int64_t iteration, const Signature& before,
                               const Signature& after, const std::vector<Line>& graph) {
  std::string text =
      fmt::format("the arguments of {}() have changed in iteration {}; a program is for one shape and type",
                  step, iteration) +
      arguments(before, after);
  Place first;
  int64_t number = -1, at = 0;
  for (const Line* line : of_kind(graph, Line::Kind::node)) {
    const auto& operands = line->parts.operands;
    const bool takes = std::any_of(operands.begin(), operands.end(), [&](const std::string& name) {
      return find(before, name) != find(after, name);
    });
    if (takes) {
      text += fmt::format("\n  first node that takes it: {}, {}, at {}", at, line->text,
                          line->parts.where.text());
      first = line->parts.where;
      number = at;
      break;
    }
    ++at;
  }
  GraphChanged error(text, iteration);
  error.node = number;
  error.before = first;
  return error;
}

}  // namespace cs::tracing
