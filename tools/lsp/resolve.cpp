// Which declaration a name means, as far as the text alone says: names in scope, members of imported modules,
// fields of structures whose type is written down, parameters that a layout or an import sets.
#include <algorithm>

#include "tools/lsp/workspace.h"

namespace cs::lsp {

using namespace csl::ast;
using csl::DeclaredName;
using csl::NameKind;
using csl::NameUse;
using csl::UseKind;

namespace {

constexpr int kMostSteps = 32;  // from a name to what it stands for

// One of them. Declarations may lead in a circle.
struct Step {
  explicit Step(int& count) : count_(count) { ++count_; }
  ~Step() { --count_; }
  int& count_;
};

const Builtin* as_import(const Expr* e) {
  const auto* b = try_as<Builtin>(e);
  return b && b->name == "import_module" && !b->args.empty() && b->args[0] ? b : nullptr;
}

int find_declared(const csl::FileIndex& index, const Expr* owner, const std::string& name) {
  for (size_t i = 0; i < index.names.size(); ++i)
    if (index.names[i].owner == owner && index.names[i].name == name) return int(i);
  return -1;
}

int find_use(const csl::FileIndex& index, SourceLoc loc) {
  for (size_t i = 0; i < index.uses.size(); ++i)
    if (index.uses[i].loc.line == loc.line && index.uses[i].loc.column == loc.column) return int(i);
  return -1;
}

// The structures of parameters that an expression lists: itself, through @concat_structs and constants.
// `steps`: how many more may be taken, since declarations may lead in a circle.
void parameter_lists(const ParsedFile& f, const Expr* e, std::vector<const Expr*>& out, int& steps) {
  if (!e || --steps < 0) return;
  if (e->kind == ExprKind::init) out.push_back(e);
  if (const auto* b = try_as<Builtin>(e); b && b->name == "concat_structs")
    for (const Expr* arg : b->args) parameter_lists(f, arg, out, steps);
  if (e->kind != ExprKind::identifier) return;
  const int use = find_use(f.index, e->loc);
  if (use < 0 || f.index.uses[size_t(use)].declared < 0) return;
  parameter_lists(f, f.index.names[size_t(f.index.uses[size_t(use)].declared)].value, out, steps);
}

}  // namespace

const ParsedFile::Import* Workspace::import_of(const ParsedFile& f, const Expr* init) {
  for (const ParsedFile::Import& import : f.imports) {
    const size_t at = import.module ? 1 : 3;
    if (at >= import.builtin->args.size()) continue;
    std::vector<const Expr*> lists;
    int steps = 256;
    parameter_lists(f, import.builtin->args[at], lists, steps);
    if (std::find(lists.begin(), lists.end(), init) != lists.end()) return &import;
  }
  return nullptr;
}

Shape Workspace::shape_of_name(const ParsedFile& f, int name) {
  const DeclaredName& d = f.index.names[size_t(name)];
  if (d.type && d.kind != NameKind::function && d.kind != NameKind::task) {
    const Shape s = shape_of_type(f, d.type);
    if (s.kind != Shape::unknown) return s;
  }
  return shape_of(f, d.value);
}

Shape Workspace::shape_of_type(const ParsedFile& f, const Expr* e) {
  const Step step(steps_);
  if (!e || steps_ > kMostSteps) return {};
  switch (e->kind) {
    case ExprKind::struct_type:
    case ExprKind::enum_type:
      return {Shape::type, &f, e};
    case ExprKind::array_type:
      return shape_of_type(f, static_cast<const ArrayType&>(*e).element);
    case ExprKind::pointer_type:
      return shape_of_type(f, static_cast<const PointerType&>(*e).element);
    case ExprKind::identifier:
    case ExprKind::field:
      return shape_of(f, e);
    default:
      return {};
  }
}

Shape Workspace::shape_of(const ParsedFile& f, const Expr* e) {
  const Step step(steps_);
  if (!e || steps_ > kMostSteps) return {};
  switch (e->kind) {
    case ExprKind::struct_type:
    case ExprKind::enum_type:
      return {Shape::type, &f, e};
    case ExprKind::identifier:
    case ExprKind::field: {
      const int use = find_use(f.index, e->loc);
      const Target t = use < 0 ? Target{} : resolve(f, f.index.uses[size_t(use)]);
      return t.valid() && t.name >= 0 ? shape_of_name(*t.file, t.name) : Shape{};
    }
    case ExprKind::builtin: {
      const Builtin* import = as_import(e);
      if (!import || import->args[0]->kind != ExprKind::string) return {};
      const std::string path = resolve(static_cast<const String&>(*import->args[0]).value, f.path);
      const ParsedFile* module = path.empty() ? nullptr : file(path);
      return module ? Shape{Shape::module, module, nullptr} : Shape{};
    }
    case ExprKind::call: {
      const Expr* callee = static_cast<const Call&>(*e).callee;
      const int use = callee ? find_use(f.index, callee->loc) : -1;
      const Expr* named = callee && callee->kind == ExprKind::field ? callee : nullptr;
      const int at = named ? find_use(f.index, named->loc) : use;
      const Target t = at < 0 ? Target{} : resolve(f, f.index.uses[size_t(at)]);
      if (!t.valid() || t.name < 0 || t.declared().kind != NameKind::function) return {};
      const Shape s = shape_of_type(*t.file, t.declared().type);
      return s;
    }
    case ExprKind::init: {
      const auto& n = static_cast<const Init&>(*e);
      return n.type ? shape_of_type(f, n.type) : Shape{Shape::fields, &f, e};
    }
    case ExprKind::if_expr:
      return shape_of(f, static_cast<const IfExpr&>(*e).then);
    case ExprKind::comptime_expr:
      return shape_of(f, static_cast<const ComptimeExpr&>(*e).operand);
    case ExprKind::index:
      return shape_of(f, static_cast<const Index&>(*e).base);
    case ExprKind::deref:
      return shape_of(f, static_cast<const Deref&>(*e).base);
    case ExprKind::address_of:
      return shape_of(f, static_cast<const AddressOf&>(*e).operand);
    default:
      return {};
  }
}

Target Workspace::member_of(const Shape& shape, const std::string& name) {
  int found = -1;
  if (shape.kind == Shape::module) found = shape.file->index.find_global(name);
  if (shape.kind == Shape::type) found = find_declared(shape.file->index, shape.expr, name);
  return found >= 0 ? Target{shape.file, found} : Target{};
}

Target Workspace::resolve(const ParsedFile& f, const NameUse& use) {
  switch (use.kind) {
    case UseKind::name:
      return use.declared >= 0 ? Target{&f, use.declared} : Target{};
    case UseKind::member:
      return member_of(shape_of(f, use.base), use.name);
    case UseKind::literal:
      return use.type ? member_of(shape_of_type(f, use.type), use.name) : Target{};
    case UseKind::element: {
      if (use.type) {
        const Target t = member_of(shape_of_type(f, use.type), use.name);
        if (t.valid()) return t;
      }
      const ParsedFile::Import* import = import_of(f, use.base);
      const std::string path = import ? resolve(import->name, f.path) : std::string();
      const ParsedFile* module = path.empty() ? nullptr : file(path);
      const int found = module ? module->index.find_global(use.name) : -1;
      const bool parameter = found >= 0 && module->index.names[size_t(found)].kind == NameKind::parameter;
      return parameter ? Target{module, found} : Target{};
    }
  }
  return {};
}

Target Workspace::at(const ParsedFile& f, SourceLoc loc) {
  const size_t token = csl::token_at(f.syntax.tokens, loc.line, loc.column);
  if (token >= f.syntax.tokens.size()) return {};
  const SourceLoc begin = f.syntax.tokens[token].loc;
  for (size_t i = 0; i < f.index.names.size(); ++i)
    if (f.index.names[i].loc.line == begin.line && f.index.names[i].loc.column == begin.column)
      return {&f, int(i)};
  if (const int use = find_use(f.index, begin); use >= 0) return resolve(f, f.index.uses[size_t(use)]);
  for (const ParsedFile::Import& import : f.imports)
    if (import.loc.line == begin.line && import.loc.column == begin.column)
      if (const std::string path = resolve(import.name, f.path); !path.empty()) return {file(path), -1};
  return {};
}

std::vector<Workspace::Place> Workspace::references(const Target& target) {
  std::vector<Place> out;
  if (!target.valid() || target.name < 0) return out;
  const DeclaredName& d = target.declared();
  out.push_back({target.file, d.loc, uint32_t(d.name.size()), true});
  const bool local = d.from.valid();
  std::vector<std::string> all = local ? std::vector<std::string>{} : paths();
  if (std::find(all.begin(), all.end(), target.file->path) == all.end()) all.push_back(target.file->path);
  const std::string home = target.file->path;
  for (const std::string& path : all) {
    const ParsedFile* f = file(path);
    if (!f) continue;
    for (const NameUse& use : f->index.uses)
      if (use.name == d.name && resolve(*f, use) == target)
        out.push_back({f, use.loc, uint32_t(use.name.size()), false});
  }
  return out;
}

}  // namespace cs::lsp
