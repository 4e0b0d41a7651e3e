// Outline, semantic tokens, formatting.
#include <algorithm>

#include "compiler/csl/format.h"
#include "tools/lsp/server.h"

namespace cs::lsp {

using csl::DeclaredName;
using csl::NameKind;
using csl::Tok;

namespace {

// Of the protocol.
constexpr int kSymbolModule = 2, kSymbolField = 8, kSymbolEnum = 10, kSymbolFunction = 12,
              kSymbolVariable = 13, kSymbolConstant = 14, kSymbolEnumMember = 22, kSymbolStruct = 23,
              kSymbolEvent = 24;

bool is_import(const csl::ast::Expr* e) {
  const auto* b = csl::ast::try_as<csl::ast::Builtin>(e);
  return b && b->name == "import_module";
}

int symbol_kind(const DeclaredName& d) {
  using csl::ast::ExprKind;
  switch (d.kind) {
    case NameKind::function:
      return kSymbolFunction;
    case NameKind::task:
      return kSymbolEvent;
    case NameKind::field:
      return kSymbolField;
    case NameKind::enumerator:
      return kSymbolEnumMember;
    case NameKind::constant:
      if (is_import(d.value)) return kSymbolModule;
      if (d.value && d.value->kind == ExprKind::struct_type) return kSymbolStruct;
      if (d.value && d.value->kind == ExprKind::enum_type) return kSymbolEnum;
      return kSymbolConstant;
    default:
      return kSymbolVariable;
  }
}

// From the first token of a declaration to its last.
Range extent(const ParsedFile& f, const DeclaredName& d) {
  const auto& tokens = f.syntax.tokens;
  size_t begin = std::min(csl::token_at(tokens, d.loc.line, d.loc.column + 1), tokens.size() - 1),
         end = begin;
  while (begin > 0 && (f.syntax.marks[begin] & csl::mark::begin) == 0) --begin;
  const auto* function = dynamic_cast<const csl::ast::Function*>(d.node);
  if (function && function->body) {
    end = std::min(csl::token_at(tokens, function->body->end.line, function->body->end.column),
                   tokens.size() - 1);
  } else {
    int depth = 0;
    for (; end + 1 < tokens.size() && tokens[end].kind != Tok::end; ++end) {
      const Tok k = tokens[end].kind;
      if (k == Tok::l_brace || k == Tok::l_paren || k == Tok::l_bracket) ++depth;
      if (k == Tok::r_brace || k == Tok::r_paren || k == Tok::r_bracket) --depth;
      if (depth < 0 || (depth == 0 && (k == Tok::semicolon || (d.owner && k == Tok::comma)))) break;
    }
    if (d.owner && end > begin) --end;
  }
  const csl::Token &first = tokens[begin], &last = tokens[std::max(begin, end)];
  return {f.text.position(first.loc.line, first.loc.column),
          f.text.position(last.loc.line, last.loc.column + csl::width_of(last))};
}

}  // namespace

Json Server::document_symbols(const Json& params) {
  const ParsedFile& f = document(params);
  Json out = Json::array();
  const auto symbol = [&](const DeclaredName& d, size_t i) {
    return Json{{"name", d.name},
                {"detail", text_of_declaration(f, int(i)).substr(0, 80)},
                {"kind", symbol_kind(d)},
                {"range", to_json(extent(f, d))},
                {"selectionRange", to_json(range_of(f, d.loc, uint32_t(d.name.size())))}};
  };
  for (size_t i = 0; i < f.index.names.size(); ++i) {
    const DeclaredName& d = f.index.names[i];
    if (d.kind > NameKind::task) continue;
    Json one = symbol(d, i);
    for (size_t k = 0; d.value && k < f.index.names.size(); ++k)
      if (f.index.names[k].owner == d.value) one["children"].push_back(symbol(f.index.names[k], k));
    out.push_back(std::move(one));
  }
  std::sort(out.begin(), out.end(), [](const Json& a, const Json& b) {
    return a["range"]["start"]["line"].get<int>() < b["range"]["start"]["line"].get<int>();
  });
  return out;
}

Json Server::semantic_tokens(const Json& params) {
  const ParsedFile& f = document(params);
  // Numbers of the legend that initialize sends.
  constexpr int kNamespace = 0, kType = 1, kParameter = 2, kVariable = 3, kProperty = 4, kEnumMember = 5,
                kFunction = 6, kMacro = 7, kDeclaration = 1, kReadonly = 2;
  const auto type_of = [&](const DeclaredName& d) {
    switch (d.kind) {
      case NameKind::function:
      case NameKind::task:
        return kFunction;
      case NameKind::argument:
      case NameKind::parameter:
        return kParameter;
      case NameKind::field:
        return kProperty;
      case NameKind::enumerator:
        return kEnumMember;
      case NameKind::constant:
        return is_import(d.value)                                                 ? kNamespace
               : symbol_kind(d) == kSymbolStruct || symbol_kind(d) == kSymbolEnum ? kType
                                                                                  : kVariable;
      default:
        return kVariable;
    }
  };
  std::map<std::pair<uint32_t, uint32_t>, std::pair<int, int>> at;
  const auto is_constant = [](const DeclaredName& d) {
    return d.kind == NameKind::constant || d.kind == NameKind::parameter ||
           d.kind == NameKind::local_constant;
  };
  for (const DeclaredName& d : f.index.names)
    at[{d.loc.line, d.loc.column}] = {type_of(d), kDeclaration | (is_constant(d) ? kReadonly : 0)};
  for (const csl::NameUse& use : f.index.uses) {
    const Target t = workspace_.resolve(f, use);
    if (t.valid() && t.name >= 0)
      at[{use.loc.line, use.loc.column}] = {type_of(t.declared()), is_constant(t.declared()) ? kReadonly : 0};
    else if (use.kind != csl::UseKind::name)
      at[{use.loc.line, use.loc.column}] = {kProperty, 0};
  }
  const std::vector<std::string> types = csl::type_names();
  Json data = Json::array();
  Position last{0, 0};
  for (const csl::Token& t : f.syntax.tokens) {
    std::pair<int, int> what{-1, 0};
    if (t.kind == Tok::builtin) what = {kMacro, 0};
    if (t.kind == Tok::identifier) {
      if (const auto it = at.find({t.loc.line, t.loc.column}); it != at.end()) what = it->second;
      if (what.first < 0 || (what.first == kVariable && what.second == 0))
        if (std::find(types.begin(), types.end(), t.text) != types.end()) what = {kType, 0};
    }
    if (what.first < 0) continue;
    const Range r = range_of(f, t.loc, csl::width_of(t));
    for (const uint32_t n :
         {r.start.line - last.line,
          r.start.line == last.line ? r.start.character - last.character : r.start.character,
          r.end.character - r.start.character, uint32_t(what.first), uint32_t(what.second)})
      data.push_back(n);
    last = r.start;
  }
  return {{"data", std::move(data)}};
}

Json Server::formatting(const Json& params) {
  const ParsedFile& f = document(params);
  Diag diag;
  const std::optional<std::string> text = csl::format(diag.sources.add(f.path, f.text.str()), diag);
  if (!text) throw RequestError{kRequestFailed, "the text has syntax errors"};
  if (*text == f.text.str()) return Json::array();
  return Json::array({{{"range", to_json(f.text.whole())}, {"newText", *text}}});
}

}  // namespace cs::lsp
