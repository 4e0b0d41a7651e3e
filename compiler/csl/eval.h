// The evaluator: walks syntax trees, computes what is known at comptime and emits MIR for the rest.
//
// With a builder and Frame::emitting set, what is not known becomes instructions; without, it is an error. A
// branch whose condition is known is not looked at unless taken. Errors give poison values, which say nothing
// more.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "compiler/csl/unit.h"

namespace cs::csl {

enum class Flow : uint8_t { next, stopped, break_, continue_, return_ };
enum class Truth : uint8_t { no, yes, runtime };

struct Local {
  std::string_view name;
  Value value;                 // comptime: the value; run time: register or place
  std::shared_ptr<Value> box;  // comptime variable whose address was taken: the value is here
  bool is_const = true;
  bool is_comptime = false;    // comptime var: read and written while the code around it is emitted
  int depth = 0;               // run-time branches and loops around its declaration
  Value& cell() { return box ? *box : value; }
};

// Where break, continue and return lead.
struct Target {
  std::string_view label;
  bool is_loop = false, emitting = false;
  int break_label = -1, continue_label = -1;
  const Type* want = nullptr;  // labelled block expressions
  Value result;
  bool has_result = false;
  int depth = 0;  // runtime depth at entry
};

struct Frame {
  ModuleInstance* module = nullptr;
  const ast::Function* function = nullptr;
  SourceLoc call;
  size_t locals = 0, targets = 0;  // where this frame begins in the stacks
  bool emitting = false, inlined = false;
  const Type* result_type = nullptr;
  Value result;
  bool has_result = false;
  int end_label = -1;
  int depth = 0;  // enclosing run-time branches and loops, for returns that always happen
  const std::set<std::string_view>* addressed = nullptr;
  Frame* up = nullptr;
};

struct BuiltinRow;

class Evaluator {
 public:
  Evaluator(Session& s, Unit& u, LayoutState* layout = nullptr)
      : session_(s), types_(s.types), unit_(u), layout_(layout) {}
  Local* find_local(std::string_view name);  // null: no local has this name

  // ---- modules and declarations (modules.cpp)
  ModuleInstance* instantiate(const LoadedModule*, const Value& params, SourceLoc where);
  void evaluate_declarations(ModuleInstance&);
  void run_comptime_blocks();
  void run_layout_block(ModuleInstance&);
  void lower_functions();
  Value global_value(ModuleInstance&, Entry&, SourceLoc use);
  uint32_t function_index(const FunctionRef&, std::vector<Value> bound, SourceLoc where);
  uint32_t add_global(std::string name, const Type*, const Value& initial, bool constant, SourceLoc);
  bool write_image(const Value&, const Type*, MirGlobal&, uint32_t offset, SourceLoc);
  Location constant_place(const Value&, SourceLoc);
  void export_symbol(const Value&, const std::string& name, SourceLoc);
  void export_function(const FunctionRef&, const Type*, const std::string& name, SourceLoc);
  bool check_export(const std::string& name, const Type*, bool is_function, SourceLoc);

  // ---- expressions (eval_expr.cpp, eval_access.cpp, eval_init.cpp)
  Value eval(const ast::Expr*, const Type* want = nullptr);
  Value rvalue(const ast::Expr*, const Type* want = nullptr);      // loaded if it is a scalar in memory
  Value eval_as(const ast::Expr*, const Type*, const char* what);  // coerced
  Value eval_comptime(const ast::Expr*, const Type* want, const char* what);
  const Type* eval_type(const ast::Expr*);
  bool eval_int(const ast::Expr*, int64_t low, int64_t high, const char* what, int64_t& out);
  // Expressions with names bound to values, for tensor accesses.
  bool eval_with(const std::vector<std::string>& names, const std::vector<Value>& values,
                 const std::vector<const ast::Expr*>&, std::vector<Value>& out);
  Value load(const Value&, SourceLoc);
  Value locate(const ast::Expr*);  // as a place in memory if it has one
  Value* cell(const ast::Expr*);   // comptime variable to write, or null
  bool assign_packed(const ast::Expr* target, const Value&, SourceLoc);  // a field in one; false: not such a target
  Value element(const Value& base, const std::vector<Value>& indices, SourceLoc);
  Value member(const Value& base, std::string_view name, SourceLoc, bool quiet = false);
  Value dereference(const Value& pointer, SourceLoc);
  Value address_of(const Value& place, SourceLoc);
  Value keep(const Value&);                       // not a variable's register any more
  isa::Operand operand(const Value&, SourceLoc);  // register or literal of a scalar
  isa::Operand low_word(const Value&, SourceLoc);  // the same of an integer, of which one register is enough
  Location in_memory(const Value&, SourceLoc);    // place of an aggregate or DSD, copied if need be
  void store(const Value& place, const Value& value, SourceLoc);

  // ---- structures whose fields are bits (eval_packed.cpp)
  Value packed_member(const Value& base, const Field&, SourceLoc);
  Value load_part(const Value& place, SourceLoc);
  void store_part(const Value& place, const Value& v, SourceLoc);
  // A structure or union from the values of its fields; fields without a value (poison) are left out.
  Value finish_struct(const Type*, std::vector<Value> items, SourceLoc);
  Value from_bits(const Type*, unsigned __int128 bits) const;
  bool to_bits(const Value&, unsigned __int128& bits) const;  // of values known at comptime

  // ---- conversions (coerce.cpp)
  Value coerce(const Value&, const Type*, SourceLoc, const char* what);
  Value convert(const Value&, const Type*, SourceLoc);  // @as
  const Type* peer(const Value& a, const Value& b);     // null: none
  double round_to(const Type*, double) const;
  uint32_t float_bits(const Type*, double) const;

  // ---- operators (ops.cpp, ops_runtime.cpp)
  Value binary(ast::BinaryOp, Value a, Value b, SourceLoc);
  Value unary(ast::UnaryOp, const Value&, SourceLoc);
  Truth branch(const ast::Expr*, bool sense, int label);

  // ---- statements (eval_stmt.cpp, eval_loop.cpp)
  Flow exec(const ast::Stmt*);
  Flow exec_body(const ast::Block&);
  void assign(const ast::Expr* target, const Value&, SourceLoc);

  // ---- calls (eval_call.cpp)
  Value call(const Value& callee, std::vector<Value> args, const std::vector<SourceLoc>& where, SourceLoc);
  const FunctionFacts& facts(const ast::Function&);

  // ---- what builtins need
  Session& session() { return session_; }
  Unit& unit() { return unit_; }
  LayoutState* layout() { return layout_; }
  TypeTable& types() { return types_; }
  Diag& diag() { return session_.diag; }
  const Machine& machine() const { return session_.machine; }
  bool wse3() const { return machine().arch == Arch::wse3; }
  bool emitting() const { return frame_ && frame_->emitting; }
  Frame& frame() { return *frame_; }
  FunctionBuilder& builder() { return *builder_; }
  Value fail(SourceLoc, std::string message, std::string help = {});
  Value void_value() { return Value(types_.get(TypeKind::void_), ValueKind::void_); }
  bool step(SourceLoc);                           // counts; false when everything has to stop
  std::string suggestion(std::string_view name);  // names in scope

 private:
  friend class FrameScope;
  friend class ComptimeScope;

  // modules.cpp
  void bind_param(ModuleInstance&, Entry&, const ast::Variable&);
  Value extern_value(ModuleInstance&, const ast::Decl&, SourceLoc use);
  std::string link_name(ModuleInstance&, const ast::Decl&);
  void evaluate_variable(ModuleInstance&, Entry&, const ast::Variable&);
  Value function_value(ModuleInstance&, const ast::Function&);
  void lower(size_t instance);
  void export_linkage(ModuleInstance&, const ast::Decl&, const Value&);
  // eval_expr.cpp
  Value eval_node(const ast::Expr*, const Type* want);
  Value eval_literal(const ast::Expr*, const Type* want);
  Value eval_identifier(const ast::Identifier&);
  Value eval_binary(const ast::Binary&, const Type* want);
  Value eval_short_circuit(const ast::Binary&);
  Value eval_if(const ast::IfExpr&, const Type* want);
  Value eval_switch(const ast::Expr* subject, const std::vector<const ast::Prong*>&, const Type* want,
                    SourceLoc, bool is_statement, Flow& flow);
  Value eval_block(const ast::BlockExpr&, const Type* want);
  Value eval_init(const ast::Init&, const Type* want);
  Value eval_array_init(const ast::Init&, const Type*);
  Value eval_struct_init(const ast::Init&, const Type*);
  Value make_packed(const Type*, const std::vector<Value>& items, SourceLoc);
  Value variant(const Value& base, const Value& v, SourceLoc);
  bool check_variant(const Value& aggregate, int index, SourceLoc);
  Value eval_call(const ast::Call&);
  Value eval_address_of(const ast::AddressOf&);
  Value eval_builtin(const ast::Builtin&, const Type* want);
  Value eval_struct_type(const ast::StructType&);
  Value eval_enum_type(const ast::EnumType&);
  Value merge_result(Value& result, bool& has, const Value& v, const Type* want, SourceLoc);
  bool eval_indices(const ast::Index&, std::vector<Value>&);
  // eval_stmt.cpp
  Flow exec_node(const ast::Stmt*);
  Flow exec_decl(const ast::Variable&);
  Flow exec_comptime_decl(const ast::Variable&);
  Flow exec_assign(const ast::Assign&);
  Flow exec_if(const ast::If&);
  Flow exec_return(const ast::Return&);
  Flow exec_break(const ast::Break&);
  Flow exec_continue(const ast::Continue&);
  Flow exec_while(const ast::While&);
  Flow exec_runtime_while(const ast::While&);
  Flow exec_for(const ast::For&);
  Flow exec_comptime_while(const ast::While&);
  Flow exec_unrolled_for(const ast::For&, const Value& range, uint64_t count);
  Flow exec_runtime_for(const ast::For&, const Value& range);
  uint64_t repeat_color_config(const ast::For&, const RangeValue&, uint64_t count);  // color_configs.cpp
  void check_label(std::string_view label, SourceLoc);
  bool covers(const Type*, const std::vector<std::pair<__int128, __int128>>& cases) const;
  size_t push_loop(std::string_view label, bool emitting);
  Flow leave_loop(Flow, size_t target, bool& leave);
  void declare_for(const ast::For&, const Value& range, const Value& position, const Value& index);
  bool runtime_switch(const Value&, const std::vector<const ast::Prong*>&, const Type* want, SourceLoc,
                      Value& result, Flow&);
  bool prong_item(const ast::Prong::Item&, const Type*, Value& first, Value& last);
  Value run_prong(const ast::Prong&, const Type* want, Flow&);
  void declare(std::string_view name, Value, bool is_const);
  const Type* target_type(const ast::Assign&);
  int find_target(std::string_view label, bool loop);
  bool always_reached(size_t first_target) const;
  // eval_call.cpp
  Value call_comptime(const FunctionRef&, const Type*, std::vector<Value>&, const std::vector<SourceLoc>&,
                      SourceLoc);
  Value call_inlined(const FunctionRef&, const Type*, std::vector<Value>&, const std::vector<SourceLoc>&,
                     SourceLoc);
  Value call_emitted(const FunctionRef&, const Type*, std::vector<Value>&, const std::vector<SourceLoc>&,
                     SourceLoc);
  Value call_pointer(const Value&, std::vector<Value>&, const std::vector<SourceLoc>&, SourceLoc);
  bool bind_params(const FunctionRef&, std::vector<Value>&, const std::vector<SourceLoc>&, SourceLoc);
  bool should_inline(const FunctionRef&, const std::vector<Value>&, const Type* result);
  bool check_depth(const FunctionRef&, SourceLoc);
  int uses_of(const FunctionRef&);
  // ops
  Value comptime_binary(ast::BinaryOp, const Value&, const Value&, const Type*, SourceLoc);
  Value runtime_binary(ast::BinaryOp, const Value&, const Value&, const Type*, SourceLoc);
  Value runtime_int(ast::BinaryOp, const Value&, const Value&, const Type*, SourceLoc);
  Value runtime_float(ast::BinaryOp, const Value&, const Value&, const Type*, SourceLoc);
  Value by_power_of_two(ast::BinaryOp, const Value&, __int128, const Type*, bool& done);
  Value shift(ast::BinaryOp, const Value&, const Value&, SourceLoc);
  isa::Operand compare(ast::BinaryOp, const Value&, const Value&, const Type*, bool& inverted, SourceLoc);
  Value normalise(const Type*, const isa::Operand&);
  // ops_int64.cpp
  Value join_int64(const Type*, const Value& low, const Value& high);
  std::pair<Value, Value> split_int64(const Value&, SourceLoc);
  void store_int64(const Value& place, const Value&, SourceLoc);
  void step_int64(const Value& counter, const Value& step_value, SourceLoc);
  Value normalise_int64(const Type*, const isa::Operand& low, isa::Operand high);
  Value call_int64(const char* function, std::vector<Value> args, const Type* result, SourceLoc);
  Value add_int64(bool subtract, const Value&, const Value&, const Type*, SourceLoc);
  Value runtime_int64(ast::BinaryOp, const Value&, const Value&, const Type*, SourceLoc);
  isa::Operand compare_int64(ast::BinaryOp, const Value&, const Value&, bool is_signed, SourceLoc);
  Value shift_int64(bool left, const Value&, const Value& by, SourceLoc);
  Value unary_int64(ast::UnaryOp, const Value&, SourceLoc);
  Value convert_from_int64(const Value&, const Type*, SourceLoc);
  Value convert_to_int64(const Value&, const Type*, SourceLoc);
  Truth branch_compare(const ast::Binary&, bool sense, int label);
  Value runtime_convert(const Value&, const Type*, SourceLoc);
  Value convert_int(const Value&, const Type*);
  Value coerce_struct(const Value&, const Type*, SourceLoc);
  Value coerce_aggregate(const Value&, const Type*, SourceLoc, const char* what);
  Value coerce_pointer(const Value&, const Type*, SourceLoc, const char* what);
  Value coerce_number(const Value&, const Type*, SourceLoc, const char* what);

  Session& session_;
  TypeTable& types_;
  Unit& unit_;
  LayoutState* layout_;
  Frame* frame_ = nullptr;
  FunctionBuilder* builder_ = nullptr;
  std::vector<Local> locals_;
  std::vector<Target> targets_;
  std::vector<const ast::Function*> calls_;  // being evaluated, to report recursion
  size_t leaving_ = 0;                       // target of the last break or continue
};

// Evaluates what is inside at comptime although the function around it is being lowered.
class ComptimeScope {
 public:
  explicit ComptimeScope(Evaluator& e) : frame_(e.frame_), before_(frame_ && frame_->emitting) {
    if (frame_) frame_->emitting = false;
  }
  ~ComptimeScope() {
    if (frame_) frame_->emitting = before_;
  }

 private:
  Frame* frame_;
  bool before_;
};

// A function body or a file-level expression: its own locals and targets.
class FrameScope {
 public:
  FrameScope(Evaluator& e, ModuleInstance& module, const ast::Function* function, SourceLoc call) : e_(e) {
    frame.module = &module;
    frame.function = function;
    frame.call = call;
    frame.locals = e.locals_.size();
    frame.targets = e.targets_.size();
    frame.up = e.frame_;
    e.frame_ = &frame;
  }
  ~FrameScope() {
    e_.locals_.resize(frame.locals);
    e_.targets_.resize(frame.targets);
    e_.frame_ = frame.up;
  }
  FrameScope(const FrameScope&) = delete;
  Frame frame;

 private:
  Evaluator& e_;
};

}  // namespace cs::csl
