// Modules and file-level declarations.
//
// An instance of a module is a file with parameter values; the same values give the same instance. Its
// declarations are evaluated when first used, at the latest in the order of the text; comptime blocks follow
// when all modules of the unit are there; function bodies are lowered last, when tasks have their ids.
#include <algorithm>

#include <fmt/format.h>

#include "compiler/csl/eval.h"
#include "compiler/csl/facts.h"
#include "compiler/csl/suggest.h"
#include "compiler/csl/warnings.h"

namespace cs::csl {

using isa::Operand;

namespace {

// "lib/time.csl" -> "time"
std::string stem(const std::string& path) {
  const size_t slash = path.find_last_of("/<");
  std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
  for (const char* end : {">", ".csl"})
    if (name.ends_with(end)) name.resize(name.size() - std::string(end).size());
  return name;
}

std::string_view name_of(const ast::Decl& d) {
  if (const auto* v = ast::try_as<ast::Variable>(&d)) return v->name;
  if (const auto* f = ast::try_as<ast::Function>(&d)) return f->name;
  return {};
}

const ast::Attributes& attributes_of(const ast::Decl& d) {
  const auto* v = ast::try_as<ast::Variable>(&d);
  return v ? v->attributes : static_cast<const ast::Function&>(d).attributes;
}

}  // namespace

ModuleInstance* Evaluator::instantiate(const LoadedModule* source, const Value& params, SourceLoc where) {
  for (const auto& m : unit_.modules)
    if (m->source == source && equal(m->params, params)) return m.get();
  if (int(unit_.modules.size()) > session_.options.comptime_depth_limit * 4) {
    fail(where, fmt::format("more than {} module instances", unit_.modules.size()),
         "a module that imports itself with changing parameters never ends");
    session_.stopped = true;
    return nullptr;
  }
  unit_.modules.push_back(std::make_unique<ModuleInstance>());
  ModuleInstance& m = *unit_.modules.back();
  m.source = source;
  m.params = params;
  if (unit_.modules.size() > 1) {
    const std::string name = stem(source->path);
    const int n = unit_.prefixes[name]++;
    m.prefix = n ? fmt::format("{}#{}.", name, n + 1) : name + ".";
  }
  for (const ast::Decl* d : source->file->decls) {
    const std::string_view name = name_of(*d);
    if (name.empty()) continue;
    const auto [it, inserted] = m.entries.try_emplace(name);
    if (inserted)
      it->second.decl = d;
    else {
      diag().error(d->loc, fmt::format("'{}' is declared twice", name));
      diag().note(it->second.decl->loc, "first here");
    }
  }
  if (params.is(ValueKind::aggregate) && params.aggregate().names) {
    std::vector<std::string> known;
    for (const ast::Decl* d : source->file->decls)
      if (const auto* v = ast::try_as<ast::Variable>(d);
          v && v->variable_kind == ast::VariableKind::parameter)
        known.push_back(v->name);
    for (std::string_view given : *params.aggregate().names)
      if (std::find(known.begin(), known.end(), given) == known.end())
        diag().warning(
            where, named("unknown-parameter", fmt::format("'{}' has no parameter '{}'", source->path, given)),
            did_you_mean(given, known));
  }
  evaluate_declarations(m);
  return &m;
}

void Evaluator::evaluate_declarations(ModuleInstance& m) {
  for (const ast::Decl* d : m.source->file->decls) {
    if (session_.stopped) return;
    const std::string_view name = name_of(*d);
    if (!name.empty()) {
      Entry& entry = m.entries.find(name)->second;
      const auto* v = ast::try_as<ast::Variable>(d);
      const bool unset =
          v && v->variable_kind == ast::VariableKind::parameter && !v->value && !named_item(m.params, name);
      // An unset parameter is wrong when it is used; what is extern may be in a module that is imported
      // later.
      if (entry.decl == d && !unset && attributes_of(*d).linkage != ast::Linkage::external)
        global_value(m, entry, d->loc);
    } else if (const auto* block = ast::try_as<ast::ComptimeBlock>(d)) {
      unit_.comptime_blocks.emplace_back(&m, block);
    } else if (!unit_.is_layout && &m == unit_.modules[0].get() && d->kind == ast::DeclKind::layout &&
               m.source != layout_->source) {
      fail(d->loc, "a tile program has no layout block", "@set_tile_code takes the file of a PE's program");
    }
  }
}

Value Evaluator::global_value(ModuleInstance& m, Entry& entry, SourceLoc use) {
  if (entry.state == Entry::State::done) return entry.value;
  if (entry.state == Entry::State::busy) {
    if (entry.decl->kind == ast::DeclKind::function) return entry.value;
    return fail(use, fmt::format("'{}' depends on itself", name_of(*entry.decl)));
  }
  entry.state = Entry::State::busy;
  {
    FrameScope scope(*this, m, nullptr, {});
    if (attributes_of(*entry.decl).linkage == ast::Linkage::external)
      entry.value = extern_value(m, *entry.decl, use);
    else if (const auto* v = ast::try_as<ast::Variable>(entry.decl))
      evaluate_variable(m, entry, *v);
    else
      entry.value = function_value(m, static_cast<const ast::Function&>(*entry.decl));
    if (entry.value.ok()) export_linkage(m, *entry.decl, entry.value);
  }
  entry.state = Entry::State::done;
  if (ValueObserver* observer = session_.options.observer) observer->declared(entry.decl->loc, entry.value);
  return entry.value;
}

Value Evaluator::function_value(ModuleInstance& m, const ast::Function& f) {
  const bool generic = std::any_of(f.params.begin(), f.params.end(),
                                   [](const ast::Param& p) { return p.is_comptime || !p.type; });
  std::vector<const Type*> params;
  const Type* any = types_.get(TypeKind::any);
  for (const ast::Param& p : f.params) {
    params.push_back(generic ? any : eval_type(p.type));
    if (!params.back()) return {};
  }
  const Type* result = generic ? any : eval_type(f.result);
  if (!result) return {};
  Value v(types_.function(std::move(params), result, f.is_task), ValueKind::function);
  v.object = std::make_shared<FunctionRef>(FunctionRef{&f, &m});
  return v;
}

void Evaluator::bind_param(ModuleInstance& m, Entry& entry, const ast::Variable& n) {
  const Type* t = n.type ? eval_type(n.type) : nullptr;
  if (n.type && !t) return;
  if (const Value* given = named_item(m.params, n.name)) {
    // The command line has numbers alone: they become colors and other ids of the layout.
    const bool id = t && t->is_id() && unit_.is_layout && &m == unit_.modules[0].get();
    if (id && given->is(ValueKind::integer) && given->type->is_int() && given->i >= 0 &&
        given->i < widths::kTaskIds)
      entry.value = Value::integer(t, given->i);
    else
      entry.value = t ? coerce(*given, t, n.loc, "parameter") : *given;
  } else if (n.value) {
    entry.value = t ? eval_as(n.value, t, "default value") : rvalue(n.value);
  } else if (&m == unit_.modules[0].get() && unit_.is_layout) {
    fail(n.loc, fmt::format("parameter '{}' has no value", n.name),
         fmt::format("give it: --params={}:value", n.name));
  } else {
    fail(n.loc, fmt::format("parameter '{}' of '{}' has no value", n.name, m.source->path),
         "add it to the parameters of @set_tile_code or @import_module, or give it a default");
  }
}

void Evaluator::evaluate_variable(ModuleInstance& m, Entry& entry, const ast::Variable& n) {
  if (n.variable_kind == ast::VariableKind::parameter) return bind_param(m, entry, n);
  const Type* t = n.type ? eval_type(n.type) : nullptr;
  if (n.type && !t) return;
  Value v = !n.value ? Value(t, ValueKind::undefined)
            : t      ? eval_as(n.value, t, "initial value")
                     : rvalue(n.value);
  if (!v.ok()) return;
  if (!n.value && !t) {
    fail(n.loc, fmt::format("'{}' needs a type or an initial value", n.name));
    return;
  }
  const bool is_const = n.variable_kind == ast::VariableKind::constant;
  if (!is_comptime(v)) {
    fail(n.loc, fmt::format("the initial value of '{}' is not known at comptime", n.name),
         "take the address of a variable with &, or compute it in a function");
    return;
  }
  if (is_const || unit_.is_layout) {
    entry.value = v;
    return;
  }
  if (v.type->bytes == 0 && v.type->kind != TypeKind::array) {
    fail(n.loc, fmt::format("a variable of type '{}' does not exist at run time", v.type->name),
         v.type->is_number() ? "write its type: var x: i16 = …" : "make it const");
    return;
  }
  const uint32_t global = add_global(m.prefix + n.name, v.type, v, false, n.loc);
  // Without an initial value memory is zero, and programs count on that; `undefined` says that they do not.
  unit_.tile.globals[global].noinit = n.value && v.is(ValueKind::undefined);
  if (n.attributes.alignment) {
    int64_t align = 0;
    if (eval_int(n.attributes.alignment, 1, 4096, "an alignment", align)) {
      if (align & (align - 1))
        fail(n.attributes.alignment->loc,
             fmt::format("an alignment must be a power of two, this is {}", align));
      else
        unit_.tile.globals[global].align = std::max(unit_.tile.globals[global].align, uint32_t(align));
    }
  }
  entry.value = Value::place(v.type, {isa::OperandKind::global, int32_t(global), 0, -1}, false);
}

// The name of an export or extern declaration among all modules of a PE.
std::string Evaluator::link_name(ModuleInstance& m, const ast::Decl& d) {
  const ast::Attributes& a = attributes_of(d);
  if (!a.link_name) return std::string(name_of(d));
  FrameScope scope(*this, m, nullptr, {});
  const Value given = eval_comptime(a.link_name, nullptr, "a link name");
  if (given.ok() && !given.is(ValueKind::text)) fail(a.link_name->loc, "a link name must be a string");
  return given.is(ValueKind::text) ? given.text() : std::string(name_of(d));
}

// What the export declaration of the same name stands for.
Value Evaluator::extern_value(ModuleInstance& m, const ast::Decl& d, SourceLoc use) {
  const std::string name = link_name(m, d);
  const auto* v = ast::try_as<ast::Variable>(&d);
  const Type* want = v ? (v->type ? eval_type(v->type) : nullptr)
                       : function_value(m, static_cast<const ast::Function&>(d)).type;
  if (!want) return {};
  for (size_t i = 0; i < unit_.modules.size(); ++i) {
    ModuleInstance& other = *unit_.modules[i];
    for (const ast::Decl* candidate : other.source->file->decls) {
      if (name_of(*candidate).empty() || attributes_of(*candidate).linkage != ast::Linkage::exported)
        continue;
      if (link_name(other, *candidate) != name) continue;
      Value found = global_value(other, other.entries.find(name_of(*candidate))->second, use);
      if (!found.ok() || found.type == want) return found;
      diag().error(d.loc, fmt::format("extern '{}' has type '{}', what is exported has '{}'", name,
                                      want->name, found.type->name));
      diag().note(candidate->loc, "exported here");
      return {};
    }
  }
  return fail(d.loc, fmt::format("no module of this PE exports '{}'", name),
              "export it: export var … or export fn …");
}

// `export var x` and `export fn f` are symbols for the host.
void Evaluator::export_linkage(ModuleInstance& m, const ast::Decl& d, const Value& v) {
  const ast::Attributes& a = attributes_of(d);
  if (a.linkage != ast::Linkage::exported || unit_.is_layout) return;
  const bool words =
      v.type->is_aggregate() && v.type->kind != TypeKind::array;  // read by the host as 16-bit words
  const Type* u16 = types_.integer(16, false);
  Value seen = v;
  if (words && v.is(ValueKind::place)) seen.type = types_.array(u16, {v.type->bytes / 2});
  export_symbol(seen, link_name(m, d), d.loc);
}

void Evaluator::run_comptime_blocks() {
  for (size_t i = 0; i < unit_.comptime_blocks.size() && !session_.stopped; ++i) {  // blocks may import more
    const auto [module, block] = unit_.comptime_blocks[i];
    FrameScope scope(*this, *module, nullptr, {});
    exec_body(*block->body);
  }
}

// ---- functions of the tile program

uint32_t Evaluator::function_index(const FunctionRef& ref, std::vector<Value> bound, SourceLoc where) {
  bound.resize(ref.decl->params.size());
  for (FunctionInstance& f : unit_.functions)
    if (f.ref.decl == ref.decl && f.ref.module == ref.module &&
        std::equal(bound.begin(), bound.end(), f.bound.begin(), [](const Value& a, const Value& b) {
          return a.ok() == b.ok() && (!a.ok() || equal(a, b));
        }))
      return f.index;
  FunctionInstance f{.ref = ref,
                     .bound = std::move(bound),
                     .index = uint32_t(unit_.tile.functions.size()),
                     .is_task = ref.decl->is_task};
  unit_.functions.push_back(std::move(f));
  MirFunction placeholder;
  placeholder.name = ref.module->prefix + ref.decl->name;
  placeholder.loc = ref.decl->loc;
  placeholder.kind = ref.decl->is_task ? MirFunction::Kind::task : MirFunction::Kind::function;
  unit_.tile.functions.push_back(std::move(placeholder));
  if (int(unit_.functions.size()) > 20000) {
    fail(where, "more than 20000 instances of functions");
    session_.stopped = true;
  }
  return unit_.functions.back().index;
}

void Evaluator::lower_functions() {
  for (size_t i = 0; i < unit_.functions.size() && !session_.stopped; ++i) lower(i);  // bodies may add more
}

void Evaluator::lower(size_t instance) {
  const FunctionRef ref = unit_.functions[instance].ref;
  const std::vector<Value> bound = unit_.functions[instance].bound;
  const uint32_t index = unit_.functions[instance].index;
  const ast::Function& decl = *ref.decl;
  if (!decl.body) {
    fail(decl.loc, fmt::format("extern function '{}' has no body", decl.name));
    return;
  }
  MirFunction& slot = unit_.tile.functions[index];
  FunctionBuilder builder(slot.name, decl.loc, slot.kind);
  FrameScope scope(*this, *ref.module, &decl, {});
  Frame& f = scope.frame;
  builder_ = &builder;
  f.addressed = &facts(decl).addressed;
  calls_.push_back(&decl);
  f.result_type = eval_type(decl.result);
  bool good = f.result_type != nullptr;
  for (size_t i = 0; i < decl.params.size() && good; ++i) {
    if (bound[i].ok()) {
      declare(decl.params[i].name, bound[i], true);
      continue;
    }
    const Type* t = decl.params[i].type ? eval_type(decl.params[i].type) : nullptr;
    if (!t || !t->is_scalar()) {
      if (t)
        fail(decl.params[i].loc,
             fmt::format("'{}' cannot be a parameter of a function that the host or a wavelet starts",
                         t->name));
      good = false;
      break;
    }
    const Operand r = builder.temp(t);
    builder.function().params.push_back(r);
    Value v = Value::scalar(t, r);
    if (f.addressed->contains(decl.params[i].name)) {
      f.emitting = true;
      Value place = Value::place(t, builder.slot(decl.params[i].name, t->bytes, t->align), false);
      store(place, v, decl.loc);
      f.emitting = false;
      place.is_const = true;
      v = place;
    }
    declare(decl.params[i].name, v, true);
  }
  if (good) {
    f.emitting = true;
    const size_t errors = diag().errors();
    const Flow flow = exec_body(*decl.body);
    const bool is_void = f.result_type->kind == TypeKind::void_;
    if (flow == Flow::next && !is_void && diag().errors() == errors && !session_.stopped)
      fail(decl.body->end, fmt::format("'{}' ends without returning '{}'", decl.name, f.result_type->name));
    if (f.has_result && !is_void && f.result.is(ValueKind::scalar))
      builder.function().result = f.result.location.operand();
    else if (f.has_result && !is_void && f.result.ok())
      fail(decl.loc, fmt::format("'{}' cannot be returned to the host", f.result_type->name));
    builder.loc = decl.body->end;
  }
  calls_.pop_back();
  builder_ = nullptr;
  unit_.tile.functions[index] = builder.finish();
  unit_.functions[instance].done = true;
}

}  // namespace cs::csl
