// Names of one file: what is declared where, and which declaration every name in the text means. For tools
// that lead from one to the other; what lies behind a dot is for them to resolve, since it may be in another
// file.
//
// Works on a tree with errors too (Syntax::rest).
#pragma once

#include <string>
#include <vector>

#include "compiler/csl/syntax.h"

namespace cs::csl {

enum class NameKind : uint8_t {
  constant,
  variable,
  parameter,
  function,
  task,  // declarations of a file
  argument,
  local_constant,
  local_variable,
  loop_variable,
  label,
  field,
  enumerator,
};

struct DeclaredName {
  std::string name;
  NameKind kind{};
  SourceLoc loc;                     // of the name
  SourceLoc from, to;                // where it can be used; the whole file if invalid
  const ast::Node* node = nullptr;   // Variable or Function; null for all others
  const ast::Expr* type = nullptr;   // as written, or null; of a function its result
  const ast::Expr* value = nullptr;  // initial value or default, or null
  const ast::Expr* owner = nullptr;  // field, enumerator: the struct or enum type
};

enum class UseKind : uint8_t {
  name,     // `declared` says which, -1: unknown, a type of the language or an error
  member,   // base.name
  element,  // .name = … in an initialiser: base is the Init
  literal,  // .name
};

struct NameUse {
  UseKind kind{};
  std::string name;
  SourceLoc loc;
  int declared = -1;
  const ast::Expr* base = nullptr;
  const ast::Expr* type = nullptr;  // element: of the initialiser as its place says it, or null
};

struct FileIndex {
  std::vector<DeclaredName> names;
  std::vector<NameUse> uses;                  // in no order
  std::vector<const ast::Builtin*> builtins;  // all that are called
  std::vector<const ast::Call*> calls;
  int find_global(const std::string& name) const;  // -1: none
};

FileIndex index_names(const ast::File&, const std::vector<Token>&);

}  // namespace cs::csl
