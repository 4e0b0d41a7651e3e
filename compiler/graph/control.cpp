// Every copy is a scope; what names stand for is looked up when all of them are known, so that the order of
// lines does not matter.
#include "compiler/graph/control.h"

#include <algorithm>
#include <cmath>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "compiler/graph/yaml_values.h"

namespace cs::graph {

namespace {

constexpr size_t kMostNodes = 100'000;  // of one text, when all is written out
constexpr int64_t kMostCopies = 10'000;

bool number_of(const YamlNode& node, double& value) {
  if (!node.is_scalar()) return false;
  const std::string& text = node.text();
  if (text == "true" || text == "false") {
    value = text == "true" ? 1 : 0;
    return true;
  }
  const auto number = parse_number(text);
  if (number) value = *number;
  return number.has_value();
}

bool compare(double a, const std::string& sign, double b, bool& holds) {
  if (sign == "==") return holds = a == b, true;
  if (sign == "!=") return holds = a != b, true;
  if (sign == "<") return holds = a < b, true;
  if (sign == "<=") return holds = a <= b, true;
  if (sign == ">") return holds = a > b, true;
  if (sign == ">=") return holds = a >= b, true;
  return false;
}

}  // namespace

Control::Control(const YamlNode& root, const HostValues& given, Diag& diag) : diag_(diag), scopes_(1) {
  const YamlNode* constants = root.is_map() ? root.find("constants") : nullptr;
  if (constants != nullptr && constants->is_sequence()) {
    for (const YamlNode& item : constants->items()) {
      const YamlNode* name = item.is_map() ? item.find("name") : nullptr;
      const YamlNode* value = item.is_map() ? item.find("value") : nullptr;
      double number = 0;
      if (name != nullptr && name->is_scalar() && value != nullptr && value->is_sequence() &&
          value->items().size() == 1 && number_of(value->items()[0], number))
        values_[name->text()] = number;
    }
  }
  const YamlNode* values = root.is_map() ? root.find("values") : nullptr;
  if (values == nullptr || values->is_null()) return;
  if (!values->is_map()) {
    diag.error(values->loc(), "'values' must be a map of names to numbers");
    return;
  }
  std::vector<std::string> names;
  for (const auto& [name, value] : values->entries()) {
    double number = 0;
    if (number_of(value, number))
      values_[name.text()] = number;
    else
      diag.error(value.loc(), fmt::format("the value '{}' must be a number, true or false", name.text()));
    names.push_back(name.text());
  }
  for (const auto& [name, value] : given) {
    if (values->find(name) != nullptr) {
      values_[name] = double(value);
      continue;
    }
    const std::string near = nearest(name, names);
    diag.error(values->loc(), fmt::format("there is no value '{}' to be given", name),
               near.empty() ? "" : fmt::format("did you mean '{}'?", near));
  }
}

std::vector<Control::Item> Control::resolve(const YamlNode& list) {
  emit(list, 0);
  return std::move(items_);
}

std::string Control::defined_in(int scope, const std::string& name) const {
  return name + scopes_[size_t(scope)].suffix;
}

std::string Control::seen_in(int scope, const std::string& name) const {
  Place at{scope, name};
  // Each step leaves a scope or goes to an earlier copy; names that stand for each other in a circle have no
  // value.
  for (size_t steps = 0; steps <= 4 * scopes_.size(); ++steps) {
    const Scope& s = scopes_[size_t(at.scope)];
    if (const auto found = s.elsewhere.find(at.name); found != s.elsewhere.end()) {
      at = found->second;
    } else if (s.defined.contains(at.name) || s.parent < 0) {
      return defined_in(at.scope, at.name);
    } else {
      at.scope = s.parent;
    }
  }
  return name;
}

void Control::emit(const YamlNode& list, int scope) {
  if (list.is_null()) return;
  if (!list.is_sequence()) {
    diag_.error(list.loc(), "nodes must be a list");
    return;
  }
  for (const YamlNode& item : list.items()) {
    if (diag_.full()) return;
    if (item.is_map() && item.find("if") != nullptr)
      emit_if(item, scope);
    else if (item.is_map() && item.find("repeat") != nullptr)
      emit_repeat(item, scope);
    else
      emit_node(item, scope);
  }
}

void Control::emit_node(const YamlNode& node, int scope) {
  if (items_.size() > kMostNodes) return;
  const YamlNode* outputs = node.is_map() ? node.find("outputs") : nullptr;
  const YamlNode* name = node.is_map() ? node.find("name") : nullptr;
  std::map<std::string, bool>& defined = scopes_[size_t(scope)].defined;
  if (name != nullptr && name->is_scalar()) defined[name->text()] = true;
  if (outputs != nullptr && outputs->is_sequence()) {
    for (const YamlNode& item : outputs->items())
      if (item.is_scalar()) defined[item.text()] = true;
  }
  items_.push_back({node, scope});
}

void Control::note(const YamlNode& at, const std::string& what, size_t nodes_before) {
  const size_t nodes = items_.size() - nodes_before;
  taken_.push_back(fmt::format("line {}: {}: {} node{}", at.loc().line, what, nodes, nodes == 1 ? "" : "s"));
}

void Control::emit_if(const YamlNode& node, int scope) {
  YamlMap m(node, "if", diag_);
  const YamlNode* asked = m.child("if");
  const YamlNode* yes = m.child("then");
  const YamlNode* no = m.child("else");
  m.finish();
  bool holds = false;
  if (yes == nullptr) diag_.error(node.loc(), "'if' needs 'then', the nodes that it stands before");
  if (yes == nullptr || !condition(*asked, holds)) return;
  const size_t at = taken_.size(), before = items_.size();
  if (holds)
    emit(*yes, scope);
  else if (no != nullptr)
    emit(*no, scope);
  note(*asked, fmt::format("if {} is {}", asked->text(), holds), before);
  std::rotate(taken_.begin() + long(at), taken_.end() - 1, taken_.end());  // before those within it
}

bool Control::read_next(YamlMap& m, std::map<std::string, std::string>& next) {
  const YamlNode* map = m.child("next");
  if (map == nullptr || map->is_null()) return true;
  if (!map->is_map()) {
    diag_.error(map->loc(), "'next' must be a map: {value: what it is in the next copy}");
    return false;
  }
  for (const auto& [name, value] : map->entries()) {
    if (!value.is_scalar()) {
      diag_.error(value.loc(), fmt::format("what '{}' is next must be the name of a value", name.text()));
      return false;
    }
    next[name.text()] = value.text();
  }
  return true;
}

void Control::emit_repeat(const YamlNode& node, int scope) {
  YamlMap m(node, "repeat", diag_);
  const YamlNode* asked = m.child("repeat");
  const YamlNode* body = m.child("nodes");
  std::map<std::string, std::string> next;
  const bool good = read_next(m, next);
  m.finish();
  if (body == nullptr) diag_.error(node.loc(), "'repeat' needs 'nodes', what is to be repeated");
  double count = 0;
  if (!good || body == nullptr || !asked->is_scalar() || !operand(*asked, asked->text(), count)) {
    if (!asked->is_scalar()) diag_.error(asked->loc(), "'repeat' must be a number of copies");
    return;
  }
  if (count != std::floor(count) || count < 0 || count > double(kMostCopies)) {
    diag_.error(asked->loc(),
                fmt::format("'repeat' is {}, must be a whole number from 0 to {}", count, kMostCopies));
    return;
  }
  const size_t at = taken_.size(), before = items_.size();
  size_t within = at;
  int last = scope;
  for (int64_t k = 0; k < int64_t(count); ++k) {
    if (items_.size() > kMostNodes || scopes_.size() > kMostNodes) {
      diag_.error(asked->loc(),
                  fmt::format("the graph has more than {} nodes or copies when all is repeated", kMostNodes));
      return;
    }
    const int copy = int(scopes_.size());
    scopes_.push_back({scope, fmt::format("{}_{}", scopes_[size_t(scope)].suffix, k), {}, {}});
    for (const auto& [name, then] : next)
      scopes_.back().elsewhere[name] = k == 0 ? Place{scope, name} : Place{last, then};
    emit(*body, copy);
    for (const auto& [name, then] : next) {
      if (!scopes_[size_t(copy)].defined.contains(name)) continue;
      diag_.error(asked->loc(), fmt::format("'{}' is one of the copy's own nodes and under 'next' too", name),
                  "give the node another name, and say under 'next' that it is that in the next copy");
      return;
    }
    if (k == 0) within = taken_.size();
    taken_.resize(within);  // what is within a copy is the same in all of them
    last = copy;
  }
  Scope& outside = scopes_[size_t(scope)];
  if (last == scope) {
    for (const auto& [name, then] : next)
      if (!next.contains(then)) outside.elsewhere[then] = {scope, name};
  } else {
    for (const auto& [name, own] : scopes_[size_t(last)].defined) outside.elsewhere[name] = {last, name};
    for (const auto& [name, place] : scopes_[size_t(last)].elsewhere)
      if (!next.contains(name)) outside.elsewhere[name] = {last, name};
  }
  note(*asked, fmt::format("repeat {}: {} copies", asked->text(), int64_t(count)), before);
  std::rotate(taken_.begin() + long(at), taken_.end() - 1, taken_.end());
}

bool Control::operand(const YamlNode& at, const std::string& word, double& value) {
  if (word == "true" || word == "false") {
    value = word == "true" ? 1 : 0;
    return true;
  }
  if (const auto number = parse_number(word)) {
    value = *number;
    return true;
  }
  if (const auto found = values_.find(word); found != values_.end()) {
    value = found->second;
    return true;
  }
  std::vector<std::string> names;
  for (const auto& [name, number] : values_) names.push_back(name);
  const std::string near = nearest(word, names);
  diag_.error(
      at.loc(),
      fmt::format("'{}' has no value when the graph is read: a static graph depends on numbers, `values` and "
                  "constants of one element, not on what it computes",
                  word),
      near.empty() ? "" : fmt::format("did you mean '{}'?", near));
  return false;
}

// A word, `not` a word, or two words with a sign between them.
bool Control::condition(const YamlNode& at, bool& holds) {
  if (!at.is_scalar()) {
    diag_.error(at.loc(), "'if' must be a number, a value's name, or two of them with a sign between");
    return false;
  }
  std::istringstream text(at.text());
  std::vector<std::string> words;
  for (std::string word; text >> word;) words.push_back(word);
  double a = 0, b = 0;
  if (words.size() == 1 || (words.size() == 2 && words[0] == "not")) {
    if (!operand(at, words.back(), a)) return false;
    holds = (a != 0) == (words.size() == 1);
    return true;
  }
  if (words.size() == 3 && compare(0, words[1], 0, holds))
    return operand(at, words[0], a) && operand(at, words[2], b) && compare(a, words[1], b, holds);
  diag_.error(at.loc(), fmt::format("'{}' is no condition", at.text()),
              "write NAME, not NAME, or two of them with ==, !=, <, <=, > or >= between");
  return false;
}

}  // namespace cs::graph
