// @set_color_config: the router configuration of one color at one PE, and loops that give it to many.
//
// A layout says the same of thousands of PEs, so what was read before is not read again: a configuration that
// names nothing but constants, or one local integer, has a number for each value of that.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "compiler/csl/ast.h"

namespace cs::csl {

class Evaluator;
struct ModuleInstance;
struct Type;
struct Value;

// Lookup only.
struct KnownConfigs {
  // What an expression consists of, if only of literals, structures, names and operators.
  struct Parts {
    bool plain = true;
    std::vector<std::string_view> names;
  };
  // An expression where it may be known: in this module, its only local with this value.
  struct Use {
    const ast::Expr* expr = nullptr;
    const ModuleInstance* module = nullptr;
    const Type* type = nullptr;  // null: it names no local
    int64_t value = 0;
    bool operator==(const Use&) const = default;
  };
  struct UseHash {
    size_t operator()(const Use&) const;
  };
  // Of an expression in a module: whether its value depends on one local at most, and which.
  struct Local {
    bool at_most_one = false;
    std::string_view name;  // empty: none
  };

  std::unordered_map<const ast::Expr*, Parts> parts;
  std::unordered_map<Use, Local, UseHash> locals;  // by expression and module
  std::unordered_map<Use, uint32_t, UseHash> numbers;
};

Value set_color_config(Evaluator&, const ast::Builtin&, const Type* want);

}  // namespace cs::csl
