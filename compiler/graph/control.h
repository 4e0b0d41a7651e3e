// `if` and `repeat` among the nodes of a graph's text. A static graph has neither: both are resolved when the
// text is read, by numbers that stand in it or are given with it.
//
//   values: {deep: true, layers: 3}      # --dim layers=4 gives one another value
//   nodes:
//     - if: deep                         # or a number, a constant of one element, `not deep`, `layers > 2`
//       then: [{name: h, op: relu, inputs: [x]}]
//       else: [{name: h, op: tanh, inputs: [x]}]
//     - repeat: layers
//       next: {h: r}                     # h is the one outside in the first copy, then r of the copy before
//       nodes: [{name: r, op: relu, inputs: [h]}]
//   outputs: [r]                         # of the last copy; with no copies it is h
//
// Only the branch that is taken is read. Copy k of a node r is called r_k; within the copy r is its own,
// behind the copies that of the last one. Both may stand within each other.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "runtime/support/diag.h"
#include "runtime/support/yaml.h"

namespace cs::graph {

using HostValues = std::vector<std::pair<std::string, int64_t>>;

class Control {
 public:
  // Reads `values` and constants of one element of the graph's text; `given` are values from outside.
  Control(const YamlNode& root, const HostValues& given, Diag&);

  struct Item {
    YamlNode node;
    int scope = 0;  // in which copies it stands
  };
  // Nodes that are left, in the order of the text; all problems are in the Diag.
  std::vector<Item> resolve(const YamlNode& list);

  // What a node or result of this name is called that stands in the scope.
  std::string defined_in(int scope, const std::string& name) const;
  // What an operand of this name stands for there; scope 0 is outside of all copies.
  std::string seen_in(int scope, const std::string& name) const;

  // "line 7: if deep (true): 2 nodes", one for each that was resolved.
  const std::vector<std::string>& taken() const { return taken_; }

 private:
  struct Place {
    int scope = 0;
    std::string name;
  };
  struct Scope {
    int parent = -1;
    std::string suffix;
    std::map<std::string, bool> defined;
    std::map<std::string, Place> elsewhere;  // what a name stands for that is not the scope's own
  };

  void emit(const YamlNode& list, int scope);
  void emit_node(const YamlNode& node, int scope);
  void emit_if(const YamlNode& node, int scope);
  void emit_repeat(const YamlNode& node, int scope);
  bool read_next(YamlMap&, std::map<std::string, std::string>& next);
  bool operand(const YamlNode& at, const std::string& word, double& value);
  bool condition(const YamlNode& at, bool& holds);
  void note(const YamlNode& at, const std::string& what, size_t nodes_before);

  Diag& diag_;
  std::map<std::string, double> values_;
  std::vector<Scope> scopes_;
  std::vector<Item> items_;
  std::vector<std::string> taken_;
};

}  // namespace cs::graph
