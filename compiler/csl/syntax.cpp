// Tokens by their place in the text.
#include "compiler/csl/syntax.h"

namespace cs::csl {

uint32_t width_of(const Token& token) {
  return uint32_t(token.text.size()) + (token.kind == Tok::builtin ? 1 : 0);
}

size_t token_at(const std::vector<Token>& tokens, uint32_t line, uint32_t column) {
  for (size_t i = 0; i < tokens.size(); ++i) {
    const Token& t = tokens[i];
    if (t.kind == Tok::end || t.loc.line > line) break;
    if (t.loc.line != line || column < t.loc.column || column > t.loc.column + width_of(t)) continue;
    // Between two tokens that touch each other the one that is a name counts.
    const bool next_touches = i + 1 < tokens.size() && tokens[i + 1].loc.line == line &&
                              tokens[i + 1].loc.column == column && tokens[i + 1].kind != Tok::end;
    const bool is_name = t.kind == Tok::identifier || t.kind == Tok::builtin || t.kind == Tok::string;
    return next_touches && !is_name ? i + 1 : i;
  }
  return tokens.size();
}

}  // namespace cs::csl
