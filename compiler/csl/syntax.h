// A file as its author wrote it: tree, tokens, comments, and what the parser took each token for. For the
// formatter and the language server; the compiler itself needs the tree alone.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "compiler/csl/ast.h"
#include "compiler/csl/lexer.h"

namespace cs::csl {

// Bits of Syntax::marks: what the token's text does not say.
namespace mark {
enum : uint16_t {
  begin = 1,           // first token of a declaration, statement, field, enumerator or switch case
  block = 2,           // braces by what they hold: statements,
  prongs = 4,          //   switch cases,
  members = 8,         //   fields or enumerators,
  list = 16,           //   elements of an initialiser,
  extents = 32,        //   extents of a tensor access
  prefix = 64,         // operator of one operand, or * of a pointer type
  tight = 128,         // parenthesis of a call, bracket of an index, dot of an access
  capture_open = 256,  // the bars around loop or index variables
  capture_close = 512,
  body = 1024,  // first token of what if, else, for or while governs
};
}  // namespace mark

struct Syntax {
  std::unique_ptr<ast::File> file;  // null: syntax errors were reported
  std::unique_ptr<ast::File> rest;  // then: declarations without errors at their level; nodes may lack parts
  std::vector<Token> tokens;        // the last one is `end`
  std::vector<Comment> comments;
  std::vector<uint16_t> marks;  // one per token
};

Syntax parse_syntax(uint32_t source, Diag&);

// The token that stands at a position or touches it from the left; tokens.size(): none.
size_t token_at(const std::vector<Token>&, uint32_t line, uint32_t column);
uint32_t width_of(const Token&);  // columns, a builtin with its @

}  // namespace cs::csl
