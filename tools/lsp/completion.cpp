// Completion and signature help. The text is usually broken where they are asked for, so both read tokens,
// and look names up in what the parser could still read, or in the last version that it could.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "tools/lsp/builtin_help.h"
#include "tools/lsp/server.h"

namespace cs::lsp {

using csl::DeclaredName;
using csl::NameKind;
using csl::Tok;
using csl::Token;

namespace {

// Of the protocol.
constexpr int kFunction = 3, kField = 5, kVariable = 6, kModule = 9, kKeyword = 14, kFile = 17,
              kEnumMember = 20, kConstant = 21, kStruct = 22;

constexpr const char* kKeywords[] = {
    "align",  "and",      "anytype",     "break", "comptime",  "const",  "continue", "else",
    "enum",   "export",   "extern",      "false", "fn",        "for",    "if",       "inline",
    "layout", "linkname", "linksection", "null",  "or",        "packed", "param",    "return",
    "struct", "switch",   "task",        "true",  "undefined", "union",  "var",      "while"};
constexpr const char* kNames[] = {"EAST", "WEST", "NORTH", "SOUTH", "RAMP"};

int item_kind(NameKind kind) {
  switch (kind) {
    case NameKind::function:
    case NameKind::task:
      return kFunction;
    case NameKind::field:
      return kField;
    case NameKind::enumerator:
      return kEnumMember;
    case NameKind::constant:
    case NameKind::local_constant:
      return kConstant;
    default:
      return kVariable;
  }
}

}  // namespace

class CompletionItems {
 public:
  void add(const std::string& label, int kind, const std::string& detail = {},
           const std::string& insert = {}) {
    if (!seen_.insert(label).second) return;
    Json item = {{"label", label}, {"kind", kind}};
    if (!detail.empty()) item["detail"] = detail;
    if (!insert.empty()) item["insertText"] = insert;
    list_.push_back(std::move(item));
  }
  void add(const ParsedFile& f, int name) {
    add(f.index.names[size_t(name)].name, item_kind(f.index.names[size_t(name)].kind),
        text_of_declaration(f, name));
  }
  Json take() { return {{"isIncomplete", false}, {"items", std::move(list_)}}; }

 private:
  Json list_ = Json::array();
  std::set<std::string> seen_;
};

namespace {

// Tokens before an offset: how many end at or before it, and whether the last one touches it.
size_t tokens_before(const ParsedFile& f, SourceLoc at) {
  size_t n = 0;
  for (const Token& t : f.syntax.tokens) {
    if (t.kind == Tok::end) break;
    const bool starts_before = t.loc.line < at.line || (t.loc.line == at.line && t.loc.column < at.column);
    if (!starts_before) break;
    ++n;
  }
  return n;
}

bool in_scope(const DeclaredName& d, SourceLoc at) {
  if (!d.from.valid()) return !d.owner;
  const auto less = [](SourceLoc x, SourceLoc y) {
    return std::pair(x.line, x.column) <= std::pair(y.line, y.column);
  };
  return less(d.from, at) && less(at, d.to);
}

// The name as it is seen here; without one in scope, as it is declared anywhere: scopes of older texts are
// elsewhere.
int find_name(const csl::FileIndex& index, const std::string& name, SourceLoc at) {
  int found = -1;
  for (size_t i = 0; i < index.names.size(); ++i)
    if (index.names[i].name == name && !index.names[i].owner && (found < 0 || in_scope(index.names[i], at)))
      found = int(i);
  return found;
}

// Of the call whose parentheses are open before token `n`: the token of its name, and which argument this is.
struct OpenCall {
  bool found = false;
  size_t name = 0;
  int argument = 0;
  bool in_braces = false;  // directly in .{…} of an argument
};

OpenCall open_call(const std::vector<Token>& tokens, size_t n) {
  OpenCall out;
  int depth = 0, braces = 0;
  for (size_t i = n; i-- > 0;) {
    switch (tokens[i].kind) {
      case Tok::r_paren:
      case Tok::r_bracket:
      case Tok::r_brace:
        ++depth;
        break;
      case Tok::l_brace:
        if (depth > 0) {
          --depth;
          break;
        }
        if (i == 0 || tokens[i - 1].kind != Tok::dot) return {};  // a block
        ++braces;
        out.argument = 0;
        break;
      case Tok::l_bracket:
        if (depth-- > 0) break;
        depth = 0;
        break;
      case Tok::l_paren:
        if (depth > 0) {
          --depth;
          break;
        }
        if (i > 0 && (tokens[i - 1].kind == Tok::identifier || tokens[i - 1].kind == Tok::builtin)) {
          out.found = true;
          out.name = i - 1;
          out.in_braces = braces > 0;
          return out;
        }
        out.argument = 0;
        break;
      case Tok::comma:
        if (depth == 0) ++out.argument;
        break;
      case Tok::semicolon:
        if (depth == 0) return {};
        break;
      default:
        break;
    }
  }
  return {};
}

void add_members(const Shape& shape, CompletionItems& items) {
  if (shape.kind == Shape::module) {
    for (size_t i = 0; i < shape.file->index.names.size(); ++i)
      if (shape.file->index.names[i].kind <= NameKind::task) items.add(*shape.file, int(i));
  } else if (shape.kind == Shape::type) {
    for (size_t i = 0; i < shape.file->index.names.size(); ++i)
      if (shape.file->index.names[i].owner == shape.expr) items.add(*shape.file, int(i));
  } else if (shape.kind == Shape::fields) {
    for (const csl::ast::InitElement& e : static_cast<const csl::ast::Init&>(*shape.expr).elements)
      if (!e.name.empty()) items.add(e.name, kField);
  }
}

// The chain of names that ends before token `dot`: a.b[i].c. → a, b, c. Empty: something else.
std::vector<std::string> chain_before(const std::vector<Token>& tokens, size_t dot) {
  std::vector<std::string> out;
  size_t i = dot;
  for (;;) {
    if (i == 0) return {};
    --i;
    while (tokens[i].kind == Tok::dot_star || tokens[i].kind == Tok::r_bracket) {
      if (tokens[i].kind == Tok::r_bracket) {
        for (int depth = 0; i > 0; --i) {
          if (tokens[i].kind == Tok::r_bracket) ++depth;
          if (tokens[i].kind == Tok::l_bracket && --depth == 0) break;
        }
      }
      if (i == 0) return {};
      --i;
    }
    if (tokens[i].kind != Tok::identifier) return {};
    out.insert(out.begin(), std::string(tokens[i].text));
    if (i == 0 || tokens[i - 1].kind != Tok::dot) return out;
    --i;
  }
}

}  // namespace

// In the name of a module; the closing quote may be missing yet.
void Server::complete_module(const ParsedFile& f, std::string_view line, CompletionItems& items) {
  const size_t quote = line.rfind('"');
  const std::string_view before = line.substr(0, quote);
  const bool import = before.find("@import_module") != std::string_view::npos;
  if (!import && before.find("@set_tile_code") == std::string_view::npos) return;
  const bool bracket = line.substr(quote + 1).starts_with("<");
  for (const std::string& library : csl::library_names())
    items.add(library, kModule, "library", bracket ? library.substr(1) : library);
  const std::filesystem::path folder = std::filesystem::path(f.path).parent_path();
  for (const std::string& path : workspace_.paths()) {
    if (path == f.path) continue;
    const std::string relative = std::filesystem::path(path).lexically_relative(folder).generic_string();
    if (!relative.starts_with("../../")) items.add(relative, kFile);
  }
}

// What the chain of names before a dot stands for.
Shape Server::shape_of_chain(const ParsedFile& f, const std::vector<std::string>& chain, SourceLoc at) {
  const int name = find_name(f.index, chain[0], at);
  Shape shape = name >= 0 ? workspace_.shape_of_name(f, name) : Shape{};
  for (size_t i = 1; i < chain.size() && shape.kind != Shape::unknown; ++i) {
    int member = -1;
    for (size_t k = 0; shape.kind != Shape::fields && k < shape.file->index.names.size(); ++k) {
      const DeclaredName& d = shape.file->index.names[k];
      const bool here = shape.kind == Shape::module ? d.kind <= NameKind::task : d.owner == shape.expr;
      if (here && d.name == chain[i]) member = int(k);
    }
    shape = member >= 0 ? workspace_.shape_of_name(*shape.file, member) : Shape{};
  }
  return shape;
}

// .name in the braces of a call: parameters of a module, or what a builtin takes; S{ .name }: the fields of
// S.
void Server::complete_field(const ParsedFile& f, size_t dot, SourceLoc at, CompletionItems& items) {
  const auto& tokens = f.syntax.tokens;
  const OpenCall call = open_call(tokens, dot);
  if (call.found && call.in_braces && tokens[call.name].kind == Tok::builtin) {
    const std::string name = "@" + std::string(tokens[call.name].text);
    for (std::string_view field : fields_of_builtin(name)) items.add(std::string(field), kField, name);
    const bool module = name == "@import_module" || name == "@set_tile_code";
    size_t string = call.name;
    while (module && string < dot && tokens[string].kind != Tok::string) ++string;
    if (module && string < dot) {
      const std::string_view quoted = tokens[string].text;
      const std::string path = workspace_.resolve(std::string(quoted.substr(1, quoted.size() - 2)), f.path);
      const ParsedFile* imported = path.empty() ? nullptr : workspace_.file(path);
      for (size_t k = 0; imported && k < imported->index.names.size(); ++k)
        if (imported->index.names[k].kind == NameKind::parameter) items.add(*imported, int(k));
    }
  }
  const ParsedFile* good = workspace_.last_good(f.path);
  for (size_t i = dot, depth = 0; good && i-- > 0;) {
    if (tokens[i].kind == Tok::r_brace) ++depth;
    if (tokens[i].kind != Tok::l_brace || depth-- > 0) continue;
    const bool typed = i > 0 && tokens[i - 1].kind == Tok::identifier;
    const int name = typed ? find_name(good->index, std::string(tokens[i - 1].text), at) : -1;
    if (name >= 0) add_members(workspace_.shape_of_name(*good, name), items);
    break;
  }
}

void Server::complete_name(const ParsedFile& f, SourceLoc at, CompletionItems& items) {
  for (const ParsedFile* source : {&f, workspace_.last_good(f.path)})
    for (size_t i = 0; source && i < source->index.names.size(); ++i)
      if (source->index.names[i].kind != NameKind::label && in_scope(source->index.names[i], at))
        items.add(*source, int(i));
  for (const char* name : kNames) items.add(name, kConstant, "direction");
  for (const std::string& type : csl::type_names()) items.add(type, kStruct, "type");
  for (const char* keyword : kKeywords) items.add(keyword, kKeyword);
}

Json Server::completion(const Json& params) {
  const ParsedFile& f = document(params);
  const SourceLoc at = place(f, params);
  const auto& tokens = f.syntax.tokens;
  CompletionItems items;
  for (const csl::Comment& c : f.syntax.comments)
    if (c.loc.line == at.line && c.loc.column < at.column) return items.take();
  const std::string_view line = f.diag.sources.line(1, at.line).substr(0, at.column - 1);
  if (std::count(line.begin(), line.end(), '"') % 2 == 1) {
    complete_module(f, line, items);
    return items.take();
  }
  size_t n = tokens_before(f, at);
  const Token* last = n > 0 ? &tokens[n - 1] : nullptr;
  const bool touches =
      last && last->loc.line == at.line && at.column <= last->loc.column + csl::width_of(*last);
  if (touches && (last->kind == Tok::builtin || (last->kind == Tok::error && last->text == "@"))) {
    for (const csl::BuiltinInfo& b : csl::builtin_infos())
      items.add(b.name, kFunction, signature_of_builtin(b.name), b.name.substr(1));
    return items.take();
  }
  if (touches && (last->kind == Tok::identifier || last->kind >= Tok::kw_align))
    --n;  // what is being written
  if (n == 0 || tokens[n - 1].kind != Tok::dot) {
    complete_name(f, at, items);
    return items.take();
  }
  const std::vector<std::string> chain = chain_before(tokens, n - 1);
  if (chain.empty()) {
    complete_field(f, n - 1, at, items);
    return items.take();
  }
  for (const ParsedFile* source : {&f, workspace_.last_good(f.path)}) {
    const Shape shape = source ? shape_of_chain(*source, chain, at) : Shape{};
    add_members(shape, items);
    if (shape.kind != Shape::unknown) break;
  }
  return items.take();
}

Json Server::signature_help(const Json& params) {
  const ParsedFile& f = document(params);
  const SourceLoc at = place(f, params);
  const auto& tokens = f.syntax.tokens;
  const size_t n = tokens_before(f, at);
  const OpenCall call = open_call(tokens, n);
  if (!call.found) return nullptr;
  std::string label;
  std::vector<std::string> arguments;
  if (tokens[call.name].kind == Tok::builtin) {
    label = signature_of_builtin("@" + std::string(tokens[call.name].text));
    if (label.empty()) return nullptr;
    const size_t open = label.find('(');
    for (size_t begin = open + 1, end; begin < label.size(); begin = end + 2) {
      end = std::min(label.find(", ", begin), label.size() - 1);
      if (end > begin) arguments.push_back(label.substr(begin, end - begin));
    }
  } else {
    Target t = workspace_.at(f, tokens[call.name].loc);
    const ParsedFile* good = workspace_.last_good(f.path);
    if (!t.valid()) {
      for (const ParsedFile* source : {&f, good})
        if (source && !t.valid())
          if (const int name = find_name(source->index, std::string(tokens[call.name].text), at); name >= 0)
            t = {source, name};
    }
    if (!t.valid() || t.name < 0) return nullptr;
    const auto* function = dynamic_cast<const csl::ast::Function*>(t.declared().node);
    if (!function) return nullptr;
    label = text_of_declaration(*t.file, t.name);
    for (const csl::ast::Param& p : function->params) arguments.push_back(p.name);
  }
  Json parameters = Json::array();
  for (const std::string& a : arguments) parameters.push_back({{"label", a}});
  return {{"signatures", {{{"label", label}, {"parameters", parameters}}}},
          {"activeSignature", 0},
          {"activeParameter", call.argument}};
}

}  // namespace cs::lsp
