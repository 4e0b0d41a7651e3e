// Calls. At comptime the body is evaluated; in emitted code it is inlined when that is cheap or the only way
// (results and parameters that registers cannot hold), else it becomes a `jal` to an instance of the
// function.
#include <algorithm>

#include <fmt/format.h>

#include "compiler/csl/eval.h"
#include "compiler/csl/facts.h"

namespace cs::csl {

using isa::Operand;

namespace {

constexpr int kSmallFunction = 14;    // nodes; about what a call with its moves and two jumps costs
constexpr int kLocalFunction = 100;   // nodes of a function that gets the address of a local variable
constexpr int kFoldedFunction = 150;  // nodes of a function whose arguments are all known
constexpr int kOnceFunction = 4000;   // nodes of a function with one call

bool is_generic(const ast::Function& f) {
  return std::any_of(f.params.begin(), f.params.end(),
                     [](const ast::Param& p) { return p.is_comptime || !p.type; });
}

bool points_to_local(const Value& v) {
  return v.is(ValueKind::pointer) && v.location.kind == isa::OperandKind::slot;
}

bool passes_at_run_time(const Value& v) { return v.type->is_scalar(); }

}  // namespace

const FunctionFacts& Evaluator::facts(const ast::Function& f) {
  auto it = session_.facts.find(&f);
  if (it == session_.facts.end()) it = session_.facts.emplace(&f, function_facts(f)).first;
  return it->second;
}

int Evaluator::uses_of(const FunctionRef& ref) {
  const auto uses = [&](const ast::File* file) -> const NameUses& {
    auto it = session_.uses.find(file);
    if (it == session_.uses.end()) it = session_.uses.emplace(file, name_uses(*file)).first;
    return it->second;
  };
  const auto count = [&](const auto& map) {
    auto it = map.find(ref.decl->name);
    return it == map.end() ? 0 : it->second;
  };
  int n = count(uses(ref.module->source->file).names);
  std::set<const ast::File*> seen;
  for (const auto& m : unit_.modules)
    if (seen.insert(m->source->file).second) n += count(uses(m->source->file).members);
  return n;
}

bool Evaluator::should_inline(const FunctionRef& ref, const std::vector<Value>& args, const Type* result) {
  if (ref.decl->is_inline) return true;
  if (std::find(calls_.begin(), calls_.end(), ref.decl) != calls_.end()) return false;  // in a circle
  if (!result || (result->kind != TypeKind::void_ && !result->is_scalar())) return true;
  for (const Value& a : args)
    if (!is_comptime(a) && !passes_at_run_time(a)) return true;
  // Colors, queues and task ids are for places that take none but known ones.
  if (result->is_id() && std::all_of(args.begin(), args.end(), is_comptime)) return true;
  const FunctionFacts& f = facts(*ref.decl);
  if (f.nodes <= kSmallFunction) return true;
  // A local variable whose address is handed on lies in memory; taken in, it stays in registers. Time stamps
  // are calls all the same: windows of a few cycles are exact only so (docs/validation.md).
  if (f.nodes <= kLocalFunction && !f.configures && std::any_of(args.begin(), args.end(), points_to_local))
    return true;
  // An address alone folds nothing: only where it points to is known.
  const bool known =
      std::all_of(args.begin(), args.end(), is_comptime) &&
      std::any_of(args.begin(), args.end(), [](const Value& a) { return a.type->kind != TypeKind::pointer; });
  if (known && !f.has_loop && f.nodes <= kFoldedFunction) return true;
  auto it = ref.module->entries.find(ref.decl->name);
  return f.nodes <= kOnceFunction && it != ref.module->entries.end() && it->second.inlined == 0 &&
         uses_of(ref) <= 1;
}

bool Evaluator::check_depth(const FunctionRef& ref, SourceLoc where) {
  if (int(calls_.size()) < session_.options.comptime_depth_limit) return true;
  fail(where,
       fmt::format("calls of '{}' are nested more than {} deep", ref.decl->name,
                   session_.options.comptime_depth_limit),
       "recursion must end at comptime and does not exist at run time");
  session_.stopped = true;
  return false;
}

Value Evaluator::call(const Value& callee, std::vector<Value> args, const std::vector<SourceLoc>& where,
                      SourceLoc loc) {
  if (callee.type->kind != TypeKind::function)
    return fail(loc, fmt::format("a value of type '{}' cannot be called", callee.type->name));
  if (args.size() != callee.type->params.size())
    return fail(loc, fmt::format("this function takes {} argument{}, here are {}", callee.type->params.size(),
                                 callee.type->params.size() == 1 ? "" : "s", args.size()));
  if (callee.is(ValueKind::scalar) || callee.is(ValueKind::place))
    return call_pointer(callee, args, where, loc);
  if (!callee.is(ValueKind::function)) return fail(loc, "this function is not defined");
  const FunctionRef& ref = callee.as<FunctionRef>();
  if (ref.decl->is_task)
    return fail(loc, fmt::format("task '{}' cannot be called", ref.decl->name), "activate it: @activate(id)");
  if (!ref.decl->body) return fail(loc, fmt::format("extern function '{}' has no body", ref.decl->name));
  if (!emitting()) return call_comptime(ref, callee.type, args, where, loc);
  // Arguments of known types are converted before it is decided how to call.
  if (!is_generic(*ref.decl))
    for (size_t i = 0; i < args.size(); ++i) {
      args[i] = coerce(args[i], callee.type->params[i], where[i], "argument");
      if (!args[i].ok()) return {};
    }
  for (Value& a : args) a = load(a, loc);
  const Type* result = is_generic(*ref.decl) ? nullptr : callee.type->element;
  if (should_inline(ref, args, result)) return call_inlined(ref, callee.type, args, where, loc);
  return call_emitted(ref, callee.type, args, where, loc);
}

// Parameters become constants of the frame, in order, so that later types can use earlier ones.
bool Evaluator::bind_params(const FunctionRef& ref, std::vector<Value>& args,
                            const std::vector<SourceLoc>& where, SourceLoc loc) {
  for (size_t i = 0; i < args.size(); ++i) {
    const ast::Param& p = ref.decl->params[i];
    const Type* t = p.type ? eval_type(p.type) : types_.get(TypeKind::any);
    if (!t) return false;
    const SourceLoc at = i < where.size() ? where[i] : loc;
    const Value v = coerce(args[i], t, at, "argument");
    if (!v.ok()) return false;
    declare(p.name, v, true);
  }
  frame_->result_type = eval_type(ref.decl->result);
  return frame_->result_type != nullptr;
}

Value Evaluator::call_comptime(const FunctionRef& ref, const Type*, std::vector<Value>& args,
                               const std::vector<SourceLoc>& where, SourceLoc loc) {
  if (!check_depth(ref, loc)) return {};
  calls_.push_back(ref.decl);
  Value result = void_value();
  {
    FrameScope scope(*this, *ref.module, ref.decl, loc);
    const size_t errors = diag().errors();
    if (!bind_params(ref, args, where, loc))
      result = {};
    else {
      const Flow flow = exec_body(*ref.decl->body);
      if (scope.frame.has_result)
        result = scope.frame.result;
      else if (diag().errors() > errors || session_.stopped)
        result = {};
      else if (flow == Flow::next && scope.frame.result_type->kind != TypeKind::void_)
        result = fail(ref.decl->body->end, fmt::format("'{}' ends without returning '{}'", ref.decl->name,
                                                       scope.frame.result_type->name));
    }
  }
  calls_.pop_back();
  return result;
}

Value Evaluator::call_inlined(const FunctionRef& ref, const Type*, std::vector<Value>& args,
                              const std::vector<SourceLoc>& where, SourceLoc loc) {
  if (std::find(calls_.begin(), calls_.end(), ref.decl) != calls_.end())
    return fail(loc, fmt::format("'{}' calls itself: recursion does not exist at run time", ref.decl->name),
                "use a loop, or tasks");
  if (!check_depth(ref, loc)) return {};
  if (auto it = ref.module->entries.find(ref.decl->name); it != ref.module->entries.end())
    ++it->second.inlined;
  calls_.push_back(ref.decl);
  Value result = void_value();
  {
    FrameScope scope(*this, *ref.module, ref.decl, loc);
    Frame& f = scope.frame;
    const size_t errors = diag().errors();
    const bool bound = bind_params(ref, args, where, loc);
    f.emitting = true;
    f.inlined = true;
    f.addressed = &facts(*ref.decl).addressed;
    f.end_label = builder_->new_label();
    if (!bound)
      result = {};
    else {
      for (size_t i = f.locals; i < locals_.size(); ++i)  // a parameter whose address is taken needs one
        if (locals_[i].value.is(ValueKind::scalar) && f.addressed->contains(locals_[i].name)) {
          Value copy = Value::place(
              locals_[i].value.type,
              builder_->slot(std::string(locals_[i].name), locals_[i].value.type->bytes, 2), false);
          store(copy, locals_[i].value, loc);
          copy.is_const = true;
          locals_[i].value = copy;
        }
      const Flow flow = exec_body(*ref.decl->body);
      const bool is_void = f.result_type->kind == TypeKind::void_;
      if (diag().errors() > errors || session_.stopped)
        result = {};
      else if (flow == Flow::next && !is_void)
        result = fail(ref.decl->body->end,
                      fmt::format("'{}' ends without returning '{}'", ref.decl->name, f.result_type->name));
      else if (f.has_result && !is_void)
        result = f.result;
    }
    builder_->place(f.end_label);
  }
  calls_.pop_back();
  builder_->loc = loc;
  return result;
}

Value Evaluator::call_emitted(const FunctionRef& ref, const Type* type, std::vector<Value>& args,
                              const std::vector<SourceLoc>&, SourceLoc loc) {
  std::vector<Value> bound(args.size());
  std::vector<Operand> operands;
  std::vector<bool> pairs;
  for (size_t i = 0; i < args.size(); ++i) {
    if (!passes_at_run_time(args[i])) {  // exists at comptime only: an instance for this value
      bound[i] = args[i];
      continue;
    }
    operands.push_back(operand(args[i], loc));
    pairs.push_back(args[i].type->is_pair());
  }
  const uint32_t index = function_index(ref, std::move(bound), loc);
  builder_->loc = loc;
  const Type* t = type->element;
  if (t->kind == TypeKind::void_) {
    builder_->call(index, std::move(operands), std::move(pairs), {});
    return void_value();
  }
  const Operand result = builder_->temp(t);
  builder_->call(index, std::move(operands), std::move(pairs), result);
  return Value::scalar(t, result);
}

Value Evaluator::call_pointer(const Value& callee, std::vector<Value>& args,
                              const std::vector<SourceLoc>& where, SourceLoc loc) {
  if (!emitting()) return fail(loc, "this function is not known at comptime");
  const Operand target = operand(load(callee, loc), loc);
  std::vector<Operand> operands;
  std::vector<bool> pairs;
  for (size_t i = 0; i < args.size(); ++i) {
    const Value v = coerce(args[i], callee.type->params[i], where[i], "argument");
    if (!v.ok()) return {};
    if (!passes_at_run_time(v))
      return fail(where[i], fmt::format("'{}' cannot be passed through a function pointer", v.type->name));
    operands.push_back(operand(v, where[i]));
    pairs.push_back(v.type->is_pair());
  }
  const Type* t = callee.type->element;
  if (t->kind != TypeKind::void_ && !t->is_scalar())
    return fail(loc, fmt::format("'{}' cannot be returned through a function pointer", t->name));
  const Operand result = t->kind == TypeKind::void_ ? Operand{} : builder_->temp(t);
  builder_->call_indirect(target, std::move(operands), std::move(pairs), result);
  return t->kind == TypeKind::void_ ? void_value() : Value::scalar(t, result);
}

}  // namespace cs::csl
