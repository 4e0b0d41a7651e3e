// Definition, references, rename.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "tools/lsp/server.h"
#include "tools/lsp/uri.h"

namespace cs::lsp {

using csl::DeclaredName;
using csl::NameKind;
using csl::Tok;

Json Server::definition(const Json& params) {
  const ParsedFile& f = document(params);
  const Target t = workspace_.at(f, place(f, params));
  if (!t.valid()) return nullptr;
  if (t.name < 0) return location(*t.file, {1, 1, 1}, 0);
  return location(*t.file, t.declared().loc, uint32_t(t.declared().name.size()));
}

Json Server::references(const Json& params) {
  const ParsedFile& f = document(params);
  const Target t = workspace_.at(f, place(f, params));
  const bool declaration = params.contains("context") && params["context"].value("includeDeclaration", true);
  Json out = Json::array();
  if (!t.valid()) return out;
  for (const Workspace::Place& p : workspace_.references(t))
    if (declaration || !p.declaration) out.push_back(location(*p.file, p.loc, p.width));
  return out;
}

namespace {

bool is_name(const std::string& text) {
  Diag diag;
  const std::vector<csl::Token> tokens = csl::lex(diag.sources.add("name", text), diag);
  return diag.ok() && tokens.size() == 2 && tokens[0].kind == Tok::identifier &&
         tokens[0].text.size() == text.size();
}

bool overlap(const DeclaredName& a, const DeclaredName& b) {
  const auto less = [](SourceLoc x, SourceLoc y) {
    return std::pair(x.line, x.column) < std::pair(y.line, y.column);
  };
  if (!a.from.valid() || !b.from.valid()) return true;  // a file's own names are seen in all of it
  return less(a.from, b.to) && less(b.from, a.to);
}

// What forbids the new name in the file that declares the old one.
std::string clash(const ParsedFile& f, const DeclaredName& old, const std::string& name) {
  const std::vector<std::string> types = csl::type_names();
  if (std::find(types.begin(), types.end(), name) != types.end())
    return fmt::format("'{}' is a type of the language", name);
  for (const DeclaredName& d : f.index.names) {
    if (d.name != name || d.owner != old.owner) continue;
    if ((d.kind == NameKind::label) != (old.kind == NameKind::label) || !overlap(d, old)) continue;
    return fmt::format("'{}' is declared already, in line {}", name, d.loc.line);
  }
  if (old.owner || old.kind == NameKind::label) return {};
  for (const csl::NameUse& use : f.index.uses)
    if (use.kind == csl::UseKind::name && use.declared < 0 && use.name == name)
      return fmt::format("'{}' already means something else, in line {}", name, use.loc.line);
  return {};
}

}  // namespace

Target Server::renamed_target(const ParsedFile& f, SourceLoc at) {
  const size_t token = csl::token_at(f.syntax.tokens, at.line, at.column);
  if (token >= f.syntax.tokens.size()) throw RequestError{kRequestFailed, "there is no name here"};
  const csl::Token& t = f.syntax.tokens[token];
  if (t.kind == Tok::builtin) throw RequestError{kRequestFailed, fmt::format("@{} is a builtin", t.text)};
  const Target target = workspace_.at(f, at);
  if (!target.valid() || target.name < 0)
    throw RequestError{kRequestFailed, fmt::format("'{}' is nothing that this program declares", t.text)};
  if (!options_.cache_folder.empty() && target.file->path.starts_with(options_.cache_folder + "/"))
    throw RequestError{kRequestFailed, fmt::format("'{}' belongs to a library", t.text)};
  return target;
}

Json Server::prepare_rename(const Json& params) {
  const ParsedFile& f = document(params);
  const SourceLoc at = place(f, params);
  renamed_target(f, at);
  const csl::Token& t = f.syntax.tokens[csl::token_at(f.syntax.tokens, at.line, at.column)];
  return {{"range", to_json(range_of(f, t.loc, csl::width_of(t)))}, {"placeholder", t.text}};
}

Json Server::rename(const Json& params) {
  const ParsedFile& f = document(params);
  const auto name = params.at("newName").get<std::string>();
  const Target target = renamed_target(f, place(f, params));
  const DeclaredName& old = target.declared();
  if (!is_name(name)) throw RequestError{kInvalidParams, fmt::format("'{}' is no name of CSL", name)};
  if (name == old.name) return {{"changes", Json::object()}};
  if (const std::string why = clash(*target.file, old, name); !why.empty())
    throw RequestError{kRequestFailed, why};
  const csl::ast::Attributes* attributes = nullptr;
  if (const auto* v = dynamic_cast<const csl::ast::Variable*>(old.node)) attributes = &v->attributes;
  if (const auto* fn = dynamic_cast<const csl::ast::Function*>(old.node)) attributes = &fn->attributes;
  if (attributes && attributes->linkage != csl::ast::Linkage::internal && !attributes->link_name)
    throw RequestError{
        kRequestFailed,
        fmt::format("others know '{0}' by this name; write linkname(\"{0}\") first", old.name)};
  std::map<std::string, Json> edits;
  const std::vector<Workspace::Place> places = workspace_.references(target);
  for (const Workspace::Place& p : places) {
    if (!p.file->syntax.file)
      throw RequestError{kRequestFailed, fmt::format("{} has syntax errors", p.file->path)};
    edits[uri_of_path(p.file->path)].push_back(
        {{"range", to_json(range_of(*p.file, p.loc, p.width))}, {"newText", name}});
  }
  // @export_symbol(f) tells the host the name; it stays what it was.
  for (const csl::ast::Builtin* b : target.file->index.builtins) {
    const auto* arg = b->name == "export_symbol" && b->args.size() == 1
                          ? csl::ast::try_as<csl::ast::Identifier>(b->args[0])
                          : nullptr;
    if (!arg) continue;
    const bool refers = std::any_of(places.begin(), places.end(), [&](const Workspace::Place& p) {
      return p.file == target.file && p.loc.line == arg->loc.line && p.loc.column == arg->loc.column;
    });
    if (!refers) continue;
    for (Json& edit : edits[uri_of_path(target.file->path)])
      if (edit["range"] == to_json(range_of(*target.file, arg->loc, uint32_t(arg->name.size()))))
        edit["newText"] = fmt::format("{}, \"{}\"", name, old.name);
  }
  return {{"changes", edits}};
}

}  // namespace cs::lsp
