// Cuts CSL text into tokens.
//
// 1. Skip blanks and // comments (which the caller may keep).
// 2. The first character decides: letter (identifier or keyword), digit (number), quote, @ (builtin),
// punctuation.
// 3. Punctuation is matched longest first from one table.
// Line and column are counted on the way; a column is a byte, as diagnostics expect.
#include "compiler/csl/lexer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

namespace cs::csl {
namespace {

struct Spelling {
  std::string_view text;
  Tok kind;
};

// Longest first, so that the first match is the right one.
constexpr std::array kPunctuation = {
    Spelling{"<<=", Tok::shl_assign},
    Spelling{">>=", Tok::shr_assign},
    Spelling{"...", Tok::ellipsis},
    Spelling{"->", Tok::arrow},
    Spelling{"=>", Tok::fat_arrow},
    Spelling{".*", Tok::dot_star},
    Spelling{"<<", Tok::shl},
    Spelling{">>", Tok::shr},
    Spelling{"==", Tok::eq},
    Spelling{"!=", Tok::ne},
    Spelling{"<=", Tok::le},
    Spelling{">=", Tok::ge},
    Spelling{"+=", Tok::plus_assign},
    Spelling{"-=", Tok::minus_assign},
    Spelling{"*=", Tok::star_assign},
    Spelling{"/=", Tok::slash_assign},
    Spelling{"%=", Tok::percent_assign},
    Spelling{"&=", Tok::amp_assign},
    Spelling{"|=", Tok::pipe_assign},
    Spelling{"^=", Tok::caret_assign},
    Spelling{"(", Tok::l_paren},
    Spelling{")", Tok::r_paren},
    Spelling{"{", Tok::l_brace},
    Spelling{"}", Tok::r_brace},
    Spelling{"[", Tok::l_bracket},
    Spelling{"]", Tok::r_bracket},
    Spelling{",", Tok::comma},
    Spelling{";", Tok::semicolon},
    Spelling{":", Tok::colon},
    Spelling{".", Tok::dot},
    Spelling{"|", Tok::pipe},
    Spelling{"?", Tok::question},
    Spelling{"+", Tok::plus},
    Spelling{"-", Tok::minus},
    Spelling{"*", Tok::star},
    Spelling{"/", Tok::slash},
    Spelling{"%", Tok::percent},
    Spelling{"&", Tok::amp},
    Spelling{"^", Tok::caret},
    Spelling{"~", Tok::tilde},
    Spelling{"!", Tok::bang},
    Spelling{"=", Tok::assign},
    Spelling{"<", Tok::lt},
    Spelling{">", Tok::gt},
};

constexpr std::array kKeywords = {
    Spelling{"align", Tok::kw_align},
    Spelling{"and", Tok::kw_and},
    Spelling{"anytype", Tok::kw_anytype},
    Spelling{"break", Tok::kw_break},
    Spelling{"comptime", Tok::kw_comptime},
    Spelling{"const", Tok::kw_const},
    Spelling{"continue", Tok::kw_continue},
    Spelling{"else", Tok::kw_else},
    Spelling{"enum", Tok::kw_enum},
    Spelling{"export", Tok::kw_export},
    Spelling{"extern", Tok::kw_extern},
    Spelling{"false", Tok::kw_false},
    Spelling{"fn", Tok::kw_fn},
    Spelling{"for", Tok::kw_for},
    Spelling{"if", Tok::kw_if},
    Spelling{"inline", Tok::kw_inline},
    Spelling{"layout", Tok::kw_layout},
    Spelling{"linkname", Tok::kw_linkname},
    Spelling{"linksection", Tok::kw_linksection},
    Spelling{"null", Tok::kw_null},
    Spelling{"or", Tok::kw_or},
    Spelling{"packed", Tok::kw_packed},
    Spelling{"param", Tok::kw_param},
    Spelling{"return", Tok::kw_return},
    Spelling{"struct", Tok::kw_struct},
    Spelling{"switch", Tok::kw_switch},
    Spelling{"task", Tok::kw_task},
    Spelling{"true", Tok::kw_true},
    Spelling{"undefined", Tok::kw_undefined},
    Spelling{"union", Tok::kw_union},
    Spelling{"var", Tok::kw_var},
    Spelling{"while", Tok::kw_while},
};

// Where the punctuation that begins with a character stands in its table; most characters have few of them.
constexpr std::array<uint64_t, 128> punctuation_by_first() {
  static_assert(kPunctuation.size() <= 64);
  std::array<uint64_t, 128> rows{};
  for (size_t k = 0; k < kPunctuation.size(); ++k) rows[size_t(kPunctuation[k].text[0])] |= uint64_t(1) << k;
  return rows;
}
constexpr std::array kPunctuationByFirst = punctuation_by_first();
static_assert(std::ranges::is_sorted(kKeywords, {}, &Spelling::text), "keywords are searched by halves");

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(char c) { return is_letter(c) || is_digit(c); }

class Lexer {
 public:
  Lexer(uint32_t source, Diag& diag, std::vector<Comment>* comments)
      : text_(diag.sources.text(source)), source_(source), diag_(diag), comments_(comments) {}

  std::vector<Token> run() {
    std::vector<Token> tokens;
    do {
      skip_blanks(tokens.size());
      tokens.push_back(next());
    } while (tokens.back().kind != Tok::end);
    return tokens;
  }

 private:
  char at(size_t ahead = 0) const {
    return position_ + ahead < text_.size() ? text_[position_ + ahead] : '\0';
  }
  bool done() const { return position_ >= text_.size(); }
  SourceLoc here() const { return {source_, line_, column_}; }

  // Over characters of one line.
  void advance(size_t count) {
    position_ += count;
    column_ += uint32_t(count);
  }

  void next_line() {
    ++position_;
    ++line_;
    column_ = 1;
  }

  void skip_blanks(size_t next) {
    while (!done()) {
      if (at() == '\n') {
        next_line();
      } else if (at() == ' ' || at() == '\t' || at() == '\r') {
        advance(1);
      } else if (at() == '/' && at(1) == '/') {
        const SourceLoc loc = here();
        const size_t begin = position_;
        while (!done() && at() != '\n') advance(1);
        if (comments_) keep(text_.substr(begin, position_ - begin), loc, next);
      } else {
        return;
      }
    }
  }

  void keep(std::string_view text, SourceLoc loc, size_t next) {
    text = text.substr(0, text.find_last_not_of(" \t\r") + 1);
    comments_->push_back({text, loc, uint32_t(next)});
  }

  Token take(Tok kind, size_t length) {
    Token token{kind, text_.substr(position_, length), here()};
    advance(length);
    return token;
  }

  Token next() {
    if (done()) return {Tok::end, {}, here()};
    if (is_letter(at())) return word();
    if (is_digit(at())) return number();
    if (at() == '"' || at() == '\'') return quoted();
    if (at() == '@' && is_letter(at(1))) {
      advance(1);
      size_t length = 1;
      while (is_word(at(length))) ++length;
      Token token = take(Tok::builtin, length);
      --token.loc.column;  // the caret stands under the @
      return token;
    }
    const auto first = static_cast<unsigned char>(at());
    const std::string_view rest = text_.substr(position_);
    for (uint64_t left = first < 128 ? kPunctuationByFirst[first] : 0; left != 0; left &= left - 1) {
      const Spelling& s = kPunctuation[size_t(std::countr_zero(left))];
      if (rest.starts_with(s.text)) return take(s.kind, s.text.size());
    }
    return stray();
  }

  Token word() {
    size_t length = 1;
    while (is_word(at(length))) ++length;
    Token token = take(Tok::identifier, length);
    const auto found = std::ranges::lower_bound(kKeywords, token.text, {}, &Spelling::text);
    if (found != kKeywords.end() && found->text == token.text) token.kind = found->kind;
    return token;
  }

  // Everything that looks like one number; the parser checks digits. "1..." is a number and a range.
  Token number() {
    bool prefixed = at() == '0' && (at(1) == 'x' || at(1) == 'b' || at(1) == 'o');
    bool floating = false;
    size_t length = prefixed ? 2 : 1;
    for (;; ++length) {
      char c = at(length);
      if (c == '.' && !prefixed && !floating && is_digit(at(length + 1))) {
        floating = true;
      } else if ((c == '+' || c == '-') && !prefixed && (at(length - 1) == 'e' || at(length - 1) == 'E') &&
                 is_digit(at(length + 1))) {
        continue;
      } else if (!is_word(c)) {
        break;
      } else if ((c == 'e' || c == 'E') && !prefixed) {
        floating = true;
      }
    }
    // "1." without a digit behind it is a float too, unless a range or a field follows.
    if (!prefixed && !floating && at(length) == '.' && at(length + 1) != '.' && at(length + 1) != '*' &&
        !is_letter(at(length + 1))) {
      floating = true;
      ++length;
    }
    return take(floating ? Tok::floating : Tok::integer, length);
  }

  Token quoted() {
    char quote = at();
    size_t length = 1;
    while (at(length) != quote) {
      if (position_ + length >= text_.size() || at(length) == '\n') {
        diag_.error(here(), quote == '"' ? "string has no closing quote" : "character has no closing quote",
                    fmt::format("close it with {} on the same line", quote));
        return take(Tok::error, length);
      }
      length += at(length) == '\\' && position_ + length + 1 < text_.size() && at(length + 1) != '\n' ? 2 : 1;
    }
    return take(quote == '"' ? Tok::string : Tok::character, length + 1);
  }

  Token stray() {
    unsigned char c = static_cast<unsigned char>(at());
    std::string shown = c >= 0x20 && c < 0x7F ? fmt::format("'{}'", at()) : fmt::format("byte 0x{:02x}", c);
    std::string help = c == '@'   ? "a builtin is written @name"
                       : c == '#' ? "comments begin with //"
                                  : "remove it";
    diag_.error(here(), fmt::format("{} is not part of CSL", shown), help);
    size_t length = 1;  // one message for a run of such bytes
    while (c >= 0x80 && static_cast<unsigned char>(at(length)) >= 0x80) ++length;
    return take(Tok::error, length);
  }

  std::string_view text_;
  uint32_t source_;
  Diag& diag_;
  std::vector<Comment>* comments_;
  size_t position_ = 0;
  uint32_t line_ = 1, column_ = 1;
};

int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

std::vector<Token> lex(uint32_t source, Diag& diag, std::vector<Comment>* comments) {
  return Lexer(source, diag, comments).run();
}

std::string describe(Tok kind) {
  for (const Spelling& s : kPunctuation)
    if (s.kind == kind) return fmt::format("'{}'", s.text);
  for (const Spelling& s : kKeywords)
    if (s.kind == kind) return fmt::format("'{}'", s.text);
  switch (kind) {
    case Tok::end:
      return "the end of the file";
    case Tok::identifier:
      return "a name";
    case Tok::builtin:
      return "a builtin";
    case Tok::integer:
    case Tok::floating:
      return "a number";
    case Tok::string:
      return "a string";
    case Tok::character:
      return "a character";
    default:
      return "this";
  }
}

std::string describe(const Token& token) {
  switch (token.kind) {
    case Tok::identifier:
      return fmt::format("'{}'", token.text);
    case Tok::builtin:
      return fmt::format("'@{}'", token.text);
    case Tok::integer:
    case Tok::floating:
      return fmt::format("number {}", token.text);
    default:
      return describe(token.kind);
  }
}

std::string decode_string(const Token& token, Diag& diag) {
  constexpr std::string_view kNames = "ntr\\'\"0", kValues{"\n\t\r\\'\"\0", 7};
  std::string_view text = token.text.substr(1, token.text.size() - 2);
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      out += text[i];
      continue;
    }
    char escape = i + 1 < text.size() ? text[++i] : '\0';
    size_t known = kNames.find(escape);
    if (escape == 'x' && i + 2 < text.size() && hex_digit(text[i + 1]) >= 0 && hex_digit(text[i + 2]) >= 0) {
      out += char(hex_digit(text[i + 1]) * 16 + hex_digit(text[i + 2]));
      i += 2;
    } else if (escape != '\0' && known != std::string_view::npos) {
      out += kValues[known];
    } else {
      SourceLoc loc = token.loc;
      loc.column += uint32_t(i);
      diag.error(loc, "unknown escape in a string",
                 R"(known are \n \t \r \0 \\ \' \" and \xHH with two digits)");
    }
  }
  return out;
}

}  // namespace cs::csl
