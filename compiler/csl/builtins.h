// The builtin functions of the language: one table, looked up by name.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/csl/eval.h"

namespace cs::csl {

// Where a builtin may be called.
enum class Allowed : uint8_t {
  anywhere,
  layout,  // while the layout is evaluated
  config,  // comptime blocks of tile programs
  code,    // functions and tasks
  either,  // comptime blocks of tile programs, functions and tasks
};

using BuiltinHandler = Value (*)(Evaluator&, const ast::Builtin&, const Type* want);

struct BuiltinRow {
  std::string_view name;
  int min_args, max_args;
  Allowed allowed;
  BuiltinHandler handler;
};

std::span<const BuiltinRow> layout_builtins();
std::span<const BuiltinRow> config_builtins();
std::span<const BuiltinRow> type_builtins();
std::span<const BuiltinRow> numeric_builtins();
std::span<const BuiltinRow> id_builtins();
std::span<const BuiltinRow> dsd_builtins();
std::span<const BuiltinRow> dsr_builtins();
std::span<const BuiltinRow> fifo_builtins();
std::span<const BuiltinRow> print_builtins();
std::span<const BuiltinRow> handler_builtins();
std::span<const BuiltinRow> library_builtins();
std::span<const BuiltinRow> symbol_builtins();
Value import_comptime_value(Evaluator&, const ast::Builtin&, const Type* want);
// Vector operations are rows of the ISA: @fadds, @mov16 … (clz, ctz and popcnt without their 16).
bool is_vector_builtin(std::string_view name);
Value vector_builtin(Evaluator&, const ast::Builtin&);

// Reads the fields of a configuration structure such as .{ .async = true }; what is not read is an error at
// the end.
class ConfigFields {
 public:
  ConfigFields(Evaluator& e, const Value& config, SourceLoc where) : e_(e), config_(config), where_(where) {}
  // From a syntax tree: fields of a literal are evaluated one by one, tensor accesses are left out.
  ConfigFields(Evaluator& e, const ast::Expr* literal);

  const Value* find(std::string_view name);
  bool flag(std::string_view name);  // false if absent
  // Known integer in a range; false if absent or wrong (reported).
  bool number(std::string_view name, int64_t low, int64_t high, int64_t& out);
  const Value* required(std::string_view name);  // reports its absence
  const ast::TensorAccess* tensor_access() const { return access_; }
  SourceLoc where() const { return where_; }
  bool good() const { return good_; }
  // The one of `names` that is true in the structure `name`: its position plus 1; 0 if there is none.
  int choice(std::string_view name, std::initializer_list<std::string_view> names);
  // Reports fields that nobody asked for.
  bool finish();

 private:
  Evaluator& e_;
  Value config_;
  SourceLoc where_;
  const ast::TensorAccess* access_ = nullptr;
  std::vector<std::string> asked_;
  bool good_ = true;
};

inline int queue_key(bool output, int queue) { return output ? -1 - queue : queue; }  // Unit::presumed_queues
// Says that an input queue serves a second color, and where the first was bound to it.
void shared_queue(Evaluator&, SourceLoc, int queue, int first, int color);
// After the comptime blocks: registers of FIFOs and the tasks that they activate.
// The field `priority`: .{ .low = true } and so on, 1 to 3; `out` stays as it is without one. False if it was wrong.
bool read_priority(Evaluator&, ConfigFields&, uint8_t& out);
void finish_fifos(Evaluator&);
void finish_queues(Evaluator&);
// The task that calls the handlers of @set_teardown_handler and @set_empty_queue_handler.
void finish_handlers(Evaluator&);
// Column and row of @set_tile_code and @set_color_config, their first two arguments.
bool coordinates(Evaluator&, const ast::Builtin&, int64_t& x, int64_t& y);
// Router configuration from the structure that @set_color_config takes.
bool read_route(Evaluator&, const Value& config, SourceLoc, RouteConfig& out);
// The task id behind an id, a color (WSE-2), an input queue (WSE-3) or a bound task; -1 and an error if there
// is none.
int task_id_of(Evaluator&, const Value&, SourceLoc);

}  // namespace cs::csl
