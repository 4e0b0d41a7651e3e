// The syntax tree of one CSL file.
//
// Types are expressions, as in Zig: `[4]f32`, `*i16` and `fn (i16) void` are Expr nodes, and names of built-in types
// are plain identifiers. A node is one of three families with a kind to switch on: Expr, Stmt, Decl (a Decl is also a
// statement through StmtKind::decl). `as<T>(node)` casts after a look at the kind. Nodes live as long as their File and
// never change; `id` is dense in the file, so that later phases can keep side tables.
//
// loc is where a caret helps most: the operator of a binary or an assignment, the name of a field access, the first
// character of everything else.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/support/diag.h"

namespace cs::csl::ast {

struct Node {
  SourceLoc loc;
  uint32_t id = 0;
  virtual ~Node() = default;
};

// ---- expressions ---------------------------------------------------------------------------------------------------

enum class ExprKind : uint8_t {
  integer, floating, string, boolean, undefined, null, identifier, enum_literal,
  builtin, call, index, field, deref, address_of, unary, binary, comptime_expr,
  if_expr, switch_expr, block_expr, init, tensor_access,
  array_type, pointer_type, function_type, struct_type, enum_type,
};

enum class UnaryOp : uint8_t { negate, logical_not, bit_not };

enum class BinaryOp : uint8_t {
  add, sub, mul, div, rem, bit_and, bit_or, bit_xor, shl, shr,
  eq, ne, lt, le, gt, ge, logical_and, logical_or,
};

struct Expr : Node {
  ExprKind kind;
  explicit Expr(ExprKind k) : kind(k) {}
};

struct Stmt;
struct Block;
struct Prong;

template <ExprKind K>
struct ExprOf : Expr {
  static constexpr ExprKind kKind = K;
  ExprOf() : Expr(K) {}
};

struct Integer : ExprOf<ExprKind::integer> {   // 12  0xff  0b1010_0001  0o17  'a'
  unsigned __int128 value = 0;
  std::string text;                            // as written
};
struct Floating : ExprOf<ExprKind::floating> {
  double value = 0;
  std::string text;
};
struct String : ExprOf<ExprKind::string> { std::string value; };  // escapes resolved; may hold zero bytes
struct Boolean : ExprOf<ExprKind::boolean> { bool value = false; };
struct Undefined : ExprOf<ExprKind::undefined> {};
struct Null : ExprOf<ExprKind::null> {};
struct Identifier : ExprOf<ExprKind::identifier> { std::string name; };
struct EnumLiteral : ExprOf<ExprKind::enum_literal> { std::string name; };  // .name

struct Builtin : ExprOf<ExprKind::builtin> {   // @name(args)
  std::string name;                            // without the @
  std::vector<const Expr*> args;
};
struct Call : ExprOf<ExprKind::call> {
  const Expr* callee = nullptr;
  std::vector<const Expr*> args;
};
struct Index : ExprOf<ExprKind::index> {       // base[i]  base[i, j]
  const Expr* base = nullptr;
  std::vector<const Expr*> indices;
};
struct Field : ExprOf<ExprKind::field> {       // base.name
  const Expr* base = nullptr;
  std::string name;
};
struct Deref : ExprOf<ExprKind::deref> { const Expr* base = nullptr; };            // base.*
struct AddressOf : ExprOf<ExprKind::address_of> { const Expr* operand = nullptr; };  // &operand
struct Unary : ExprOf<ExprKind::unary> {
  UnaryOp op{};
  const Expr* operand = nullptr;
};
struct Binary : ExprOf<ExprKind::binary> {
  BinaryOp op{};
  const Expr* left = nullptr;
  const Expr* right = nullptr;
};
struct ComptimeExpr : ExprOf<ExprKind::comptime_expr> { const Expr* operand = nullptr; };  // comptime operand

struct IfExpr : ExprOf<ExprKind::if_expr> {    // if (condition) then else otherwise
  const Expr* condition = nullptr;
  const Expr* then = nullptr;
  const Expr* otherwise = nullptr;   // may be null: no value (void) if the condition is false
};
// The body of a prong is an ExprStmt (whose value is the prong's), or any other statement (no value).
struct SwitchExpr : ExprOf<ExprKind::switch_expr> {
  const Expr* subject = nullptr;
  std::vector<const Prong*> prongs;
};
struct BlockExpr : ExprOf<ExprKind::block_expr> {  // label: { ... break :label value; ... }
  const Block* block = nullptr;                    // block->label is not empty
};

// .{ .a = 1 }  .{ 1, 2 }  .{}  S { .a = 1 }  [2]i16 { 1, 2 }. Either all elements have a name or none has.
struct InitElement {
  std::string name;   // empty: positional
  const Expr* value = nullptr;
  SourceLoc loc;
};
struct Init : ExprOf<ExprKind::init> {
  const Expr* type = nullptr;   // null for .{...}
  std::vector<InitElement> elements;
};

struct TensorAccess : ExprOf<ExprKind::tensor_access> {   // |i, j|{4, 5} -> a[i, 2 * j + 1]
  std::vector<std::string> variables;
  std::vector<const Expr*> extents;                       // as many as variables
  const Expr* body = nullptr;
};

struct ArrayType : ExprOf<ExprKind::array_type> {   // [n, m]T; a single dimension `_` is inferred: an Identifier "_"
  std::vector<const Expr*> dimensions;
  const Expr* element = nullptr;
};
struct PointerType : ExprOf<ExprKind::pointer_type> {   // *T  *const T  [*]T  [*]const T
  bool many = false, is_const = false;
  const Expr* alignment = nullptr;                      // *align(4) T; may be null
  const Expr* element = nullptr;
};
struct Param {                // of a function or function type
  std::string name;           // empty in function types without names
  const Expr* type = nullptr; // null: any type (written `anytype`)
  bool is_comptime = false;
  SourceLoc loc;
};
struct FunctionType : ExprOf<ExprKind::function_type> {   // fn (i16, x: f32) void   task () void
  bool is_task = false;
  std::vector<Param> params;
  const Expr* result = nullptr;
};
struct Member {               // of a struct, union or enum
  std::string name;
  const Expr* type = nullptr;     // struct, union
  const Expr* value = nullptr;    // default of a field, number of an enumerator; may be null
  SourceLoc loc;
};
enum class StructLayout : uint8_t { plain, external, packed };
struct StructType : ExprOf<ExprKind::struct_type> {
  bool is_union = false;
  StructLayout layout = StructLayout::plain;   // struct, extern struct, packed struct
  const Expr* tag = nullptr;                   // packed struct(u16); may be null
  std::vector<Member> members;
};
struct EnumType : ExprOf<ExprKind::enum_type> {
  const Expr* tag = nullptr;                   // enum(u16); may be null
  std::vector<Member> members;
};

// ---- statements ----------------------------------------------------------------------------------------------------

enum class StmtKind : uint8_t {
  block, decl, expr, assign, if_stmt, while_stmt, for_stmt, switch_stmt, return_stmt, break_stmt, continue_stmt,
};

struct Stmt : Node {
  StmtKind kind;
  explicit Stmt(StmtKind k) : kind(k) {}
};

template <StmtKind K>
struct StmtOf : Stmt {
  static constexpr StmtKind kKind = K;
  StmtOf() : Stmt(K) {}
};

struct Decl;

struct Block : StmtOf<StmtKind::block> {
  std::string label;               // "blk" of `blk: {`, may be empty
  bool is_comptime = false;        // comptime { ... }
  std::vector<const Stmt*> body;
  SourceLoc end;                   // the closing brace
};
struct DeclStmt : StmtOf<StmtKind::decl> { const Decl* decl = nullptr; };   // const or var
struct ExprStmt : StmtOf<StmtKind::expr> { const Expr* expr = nullptr; };
struct Assign : StmtOf<StmtKind::assign> {       // target = value; target += value
  const Expr* target = nullptr;
  bool compound = false;
  BinaryOp op{};                                 // if compound
  const Expr* value = nullptr;
};
struct If : StmtOf<StmtKind::if_stmt> {
  const Expr* condition = nullptr;
  const Stmt* then = nullptr;
  const Stmt* otherwise = nullptr;               // may be null
};
struct While : StmtOf<StmtKind::while_stmt> {
  std::string label;
  bool is_inline = false;
  const Expr* condition = nullptr;
  const Stmt* step = nullptr;                    // continue expression: an Assign or ExprStmt; may be null
  const Stmt* body = nullptr;
};
struct For : StmtOf<StmtKind::for_stmt> {        // for (range) |value, index| body
  std::string label;
  bool is_inline = false;
  const Expr* range = nullptr;
  std::string value, index;                      // index may be empty
  bool value_is_pointer = false;                 // |*value|
  const Stmt* body = nullptr;
};
struct Switch : StmtOf<StmtKind::switch_stmt> {
  const Expr* subject = nullptr;
  std::vector<const Prong*> prongs;
};
struct Prong : Node {                            // 1, 3...5 => body,
  struct Item {
    const Expr* first = nullptr;
    const Expr* last = nullptr;                  // null: a single value; else inclusive range
  };
  std::vector<Item> items;                       // empty: else
  const Stmt* body = nullptr;
};
struct Return : StmtOf<StmtKind::return_stmt> { const Expr* value = nullptr; };   // may be null
struct Break : StmtOf<StmtKind::break_stmt> {
  std::string label;                             // may be empty
  const Expr* value = nullptr;                   // break :label value; may be null
};
struct Continue : StmtOf<StmtKind::continue_stmt> { std::string label; };

// ---- declarations --------------------------------------------------------------------------------------------------

enum class DeclKind : uint8_t { variable, function, layout, comptime_block };

struct Decl : Node {
  DeclKind kind;
  explicit Decl(DeclKind k) : kind(k) {}
};

template <DeclKind K>
struct DeclOf : Decl {
  static constexpr DeclKind kKind = K;
  DeclOf() : Decl(K) {}
};

enum class Linkage : uint8_t { internal, exported, external };

struct Attributes {
  Linkage linkage = Linkage::internal;     // export, extern
  const Expr* alignment = nullptr;         // align(n)
  const Expr* link_name = nullptr;         // linkname("x")
  const Expr* link_section = nullptr;      // linksection(".x")
};

enum class VariableKind : uint8_t { constant, variable, parameter };   // const, var, param

struct Variable : DeclOf<DeclKind::variable> {
  VariableKind variable_kind{};
  bool is_comptime = false;      // comptime var, in functions
  std::string name;
  Attributes attributes;
  const Expr* type = nullptr;    // may be null
  const Expr* value = nullptr;   // may be null (param, extern)
};
struct Function : DeclOf<DeclKind::function> {
  bool is_task = false, is_inline = false;
  std::string name;
  Attributes attributes;
  std::vector<Param> params;
  const Expr* result = nullptr;  // never null
  const Block* body = nullptr;   // null: extern
};
struct Layout : DeclOf<DeclKind::layout> { const Block* body = nullptr; };
struct ComptimeBlock : DeclOf<DeclKind::comptime_block> { const Block* body = nullptr; };

// ---- a file --------------------------------------------------------------------------------------------------------

struct File {
  uint32_t source = 0;                      // index in Sources
  std::vector<const Decl*> decls;           // in order of the text
  uint32_t node_count = 0;                  // ids are below this
  std::vector<std::unique_ptr<Node>> nodes; // owner of everything

  template <typename T>
  T* make(SourceLoc loc) {
    auto owner = std::make_unique<T>();
    owner->loc = loc;
    owner->id = node_count++;
    T* node = owner.get();
    nodes.push_back(std::move(owner));
    return node;
  }
};

template <typename T, typename Base>
const T& as(const Base* node) {
  CS_CHECK(node && node->kind == T::kKind, "wrong kind of syntax node");
  return static_cast<const T&>(*node);
}
template <typename T, typename Base>
const T* try_as(const Base* node) {
  return node && node->kind == T::kKind ? static_cast<const T*>(node) : nullptr;
}

const char* spelling(BinaryOp);   // "+", "and"
const char* spelling(UnaryOp);    // "-", "!", "~"

// CSL text of a tree, one declaration or statement per line, fully parenthesised where precedence matters.
// Parsing it gives an equal tree: print(parse(print(x))) == print(x).
std::string print(const File&);
std::string print(const Expr*);
std::string print(const Stmt*);

}  // namespace cs::csl::ast

namespace cs::csl {

// Parses a text already registered in diag.sources. Reports every syntax error it can recover from; null if there was
// any.
std::unique_ptr<ast::File> parse(uint32_t source, Diag&);

}  // namespace cs::csl
