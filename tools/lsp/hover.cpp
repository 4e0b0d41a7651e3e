// What stands under the pointer: the declaration as written, and what the compiler knows of it in this
// program.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "tools/lsp/builtin_help.h"
#include "tools/lsp/server.h"

namespace cs::lsp {

using csl::NameKind;
using csl::Tok;

const char* kind_text(NameKind kind) {
  constexpr const char* kTexts[] = {
      "constant",       "variable",       "parameter of the file", "function", "task",  "argument",
      "local constant", "local variable", "loop variable",         "label",    "field", "enumerator"};
  return kTexts[size_t(kind)];
}

namespace {

size_t token_of(const ParsedFile& f, SourceLoc loc) {
  return csl::token_at(f.syntax.tokens, loc.line, loc.column + 1);
}

bool opens(Tok t) { return t == Tok::l_paren || t == Tok::l_bracket || t == Tok::l_brace; }
bool closes(Tok t) { return t == Tok::r_paren || t == Tok::r_bracket || t == Tok::r_brace; }

// The text of tokens [begin, end), blanks and line ends as one blank.
std::string slice(const ParsedFile& f, size_t begin, size_t end) {
  constexpr size_t kMost = 400;
  std::string out;
  for (size_t i = begin; i < end && out.size() < kMost; ++i) {
    const csl::Token& t = f.syntax.tokens[i];
    if (i > begin) {
      const csl::Token& before = f.syntax.tokens[i - 1];
      const bool touches =
          before.loc.line == t.loc.line && before.loc.column + csl::width_of(before) == t.loc.column;
      if (!touches) out += ' ';
    }
    if (t.kind == Tok::builtin) out += '@';
    out += t.text;
  }
  return out;
}

}  // namespace

std::string text_of_declaration(const ParsedFile& f, int name) {
  const csl::DeclaredName& d = f.index.names[size_t(name)];
  const auto& tokens = f.syntax.tokens;
  const size_t at = token_of(f, d.loc);
  if (at >= tokens.size()) return d.name;
  size_t begin = at;
  const bool whole =
      d.kind <= NameKind::task || d.kind == NameKind::local_constant || d.kind == NameKind::local_variable;
  while (whole && begin > 0 && (f.syntax.marks[begin] & csl::mark::begin) == 0) --begin;
  int depth = 0;
  size_t end = at + 1;
  for (; end < tokens.size() && tokens[end].kind != Tok::end; ++end) {
    const Tok kind = tokens[end].kind;
    if (depth == 0 && (kind == Tok::semicolon || closes(kind))) break;
    if (depth == 0 && (f.syntax.marks[end] & csl::mark::block) != 0) break;
    if (!whole && depth == 0 && (kind == Tok::comma || kind == Tok::pipe)) break;
    if (opens(kind)) ++depth;
    if (closes(kind)) --depth;
  }
  return slice(f, begin, end);
}

std::string comment_of(const ParsedFile& f, int name) {
  const csl::DeclaredName& d = f.index.names[size_t(name)];
  const auto& tokens = f.syntax.tokens;
  size_t begin = token_of(f, d.loc);
  if (begin >= tokens.size()) return {};
  const uint32_t own_line = tokens[begin].loc.line;
  while (begin > 0 && (f.syntax.marks[begin] & csl::mark::begin) == 0 &&
         tokens[begin - 1].loc.line == own_line)
    --begin;
  std::vector<std::string> lines;
  uint32_t wanted = tokens[begin].loc.line - 1;
  for (auto c = f.syntax.comments.rbegin(); c != f.syntax.comments.rend(); ++c) {
    if (c->loc.line != wanted || c->next != begin) continue;
    if (begin > 0 && tokens[begin - 1].loc.line == c->loc.line) break;  // behind something else
    lines.emplace_back(c->text);
    --wanted;
  }
  std::reverse(lines.begin(), lines.end());
  for (const csl::Comment& c : f.syntax.comments)
    if (c.loc.line == own_line) lines.emplace_back(c.text);
  std::string out;
  for (std::string& line : lines) {
    line.erase(0, std::min(line.find_first_not_of("/! "), line.size()));
    out += (out.empty() ? "" : "\n") + line;
  }
  return out;
}

// Types, values and bytes in all instances of the programs that are compiled; at most a few.
std::string Server::values_of(const Target& t) const {
  constexpr size_t kMost = 4;
  const csl::DeclaredName& d = t.declared();
  std::set<std::string> lines;
  const bool library = t.file->path.starts_with(options_.cache_folder + "/");
  std::string path = t.file->path;
  if (library && !options_.cache_folder.empty())
    path = "<" +
           path.substr(options_.cache_folder.size() + 1, path.size() - options_.cache_folder.size() - 5) +
           ">";
  for (const auto& [document, program] : programs_) {
    for (const csl::Inspected::Declaration& known : program.inspected.declarations) {
      if (known.line != d.loc.line || known.column != d.loc.column || known.path != path) continue;
      std::string line = fmt::format("type `{}`", known.type);
      if (!known.value.empty()) line += fmt::format(", value `{}`", known.value);
      if (known.bytes > 0) line += fmt::format(", {} bytes", known.bytes);
      lines.insert(line);
    }
    if (d.kind != NameKind::function && d.kind != NameKind::task) continue;
    for (const csl::Inspected::Code& code : program.inspected.code) {
      const bool same = code.function == d.name || code.function.ends_with("." + d.name);
      if (same)
        lines.insert(
            fmt::format("{} bytes of code in {}", code.bytes, code.tile.substr(0, code.tile.find(" ("))));
    }
  }
  std::string out;
  size_t shown = 0;
  for (const std::string& line : lines) {
    if (shown++ == kMost) {
      out += fmt::format("… and {} more\n\n", lines.size() - kMost);
      break;
    }
    out += line + "\n\n";
  }
  return out;
}

std::string Server::describe(const Target& t) const {
  if (t.name < 0) return fmt::format("module `{}`", t.file->path);
  std::string out = fmt::format("```csl\n{}\n```\n{}\n\n", text_of_declaration(*t.file, t.name),
                                kind_text(t.declared().kind));
  out += values_of(t);
  if (const std::string comment = comment_of(*t.file, t.name); !comment.empty())
    out += "---\n" + comment + "\n";
  return out;
}

Json Server::hover(const Json& params) {
  const ParsedFile& f = document(params);
  const SourceLoc at = place(f, params);
  const size_t token = csl::token_at(f.syntax.tokens, at.line, at.column);
  if (token >= f.syntax.tokens.size()) return nullptr;
  const csl::Token& t = f.syntax.tokens[token];
  std::string text;
  if (t.kind == Tok::builtin) {
    text = help_of_builtin("@" + std::string(t.text));
  } else if (const Target target = workspace_.at(f, at); target.valid()) {
    text = describe(target);
  } else if (t.kind == Tok::identifier) {
    const std::vector<std::string> types = csl::type_names();
    if (std::find(types.begin(), types.end(), t.text) != types.end()) text = fmt::format("type `{}`", t.text);
  }
  if (text.empty()) return nullptr;
  return {{"contents", {{"kind", "markdown"}, {"value", text}}},
          {"range", to_json(range_of(f, t.loc, csl::width_of(t)))}};
}

}  // namespace cs::lsp
