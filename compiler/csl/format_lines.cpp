// Indentation and the text of the lines.
//
// Inside of brackets whose contents begin a line, two more than the line on which the bracket opened; else
// below the first thing behind the bracket, or four more than the line if that is too far to the right. A
// statement that goes on is indented by four, what an if or a loop without braces governs by two.
#include <algorithm>

#include "compiler/csl/format_tokens.h"

namespace cs::csl {
namespace {

constexpr int kIndent = 2, kContinued = 4, kFarRight = 70;

// Characters, not bytes: comments and strings may hold UTF-8.
int width_of(std::string_view text) {
  return int(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

// Where a bracket is open, or (bracket ~0) the file.
struct Open {
  size_t bracket = ~size_t{0};
  int base = 0;       // indentation of the line on which it opened
  int inside = 0;     // of what begins a line directly inside
  int statement = 0;  // of the statement or element that is being written
  bool aligned = false;
  int bodies = 0;  // of if and loops without braces that began a line in it
};

class Layout {
 public:
  Layout(const Pieces& pieces, std::vector<int>& columns) : p_(pieces), columns_(columns) {}

  std::vector<Line> run() {
    columns_.assign(p_.size(), 0);
    open_.push_back({});
    for (size_t i = 0; i < p_.size(); ++i) {
      if (p_[i].closes() && open_.size() > 1) {
        closed_ = open_.back();
        open_.pop_back();
      }
      if (p_[i].line_break || i == 0)
        begin_line(i);
      else if (space_between(p_, i - 1, i))
        ++column_;
      if (!p_[i].line_break && begins_element(i)) open_.back().statement = lines_.back().indent;
      columns_[i] = column_;
      column_ += width_of(p_[i].text);
      lines_.back().end = i + 1;
      lines_.back().width = column_;
      if (p_[i].opens()) open(i);
    }
    return std::move(lines_);
  }

 private:
  // Of a list of statements, fields, cases, elements or arguments.
  bool begins_element(size_t i) const {
    if (p_[i].is(mark::begin)) return true;
    if (i == 0) return true;
    const size_t bracket = open_.back().bracket;
    const bool statements =
        bracket == ~size_t{0} || p_[bracket].is(mark::block | mark::prongs | mark::members);
    return !statements && (p_[i - 1].kind == Tok::comma || i - 1 == bracket);
  }

  void begin_line(size_t i) {
    int indent = 0;
    if (p_[i].closes() && p_[i].match != i) {
      indent = closed_.base;
    } else {
      Open& o = open_.back();
      if (begins_element(i)) {
        o.bodies = 0;
        indent = o.statement = o.inside;
      } else if (p_[i].is(mark::body)) {
        indent = o.statement + kIndent * ++o.bodies;
      } else if (p_[i].kind == Tok::kw_else && p_[i + 1].is(mark::body)) {
        o.bodies = 0;
        indent = o.statement;
      } else {
        indent = o.aligned ? o.inside : o.statement + kContinued;
      }
    }
    line_depth_ = open_.size();
    lines_.push_back({i, i, indent, 0});
    column_ = indent;
  }

  void open(size_t i) {
    // Where the line began inside of a bracket that has closed since, what counts is the statement.
    const Open& around = open_.back();
    const bool aside = open_.size() < line_depth_;
    Open o{.bracket = i, .base = aside ? around.statement + kIndent * around.bodies : lines_.back().indent};
    const bool hangs = i + 1 < p_.size() && p_[i + 1].line_break;
    const bool holds_statements = p_[i].is(mark::block | mark::prongs | mark::members);
    const int first = column_ + (i + 1 < p_.size() && space_between(p_, i, i + 1) ? 1 : 0);
    o.aligned = !hangs && !holds_statements && first <= kFarRight;
    o.inside = o.aligned ? first : hangs || holds_statements ? o.base + kIndent : o.base + kContinued;
    o.statement = o.inside;
    open_.push_back(o);
  }

  const Pieces& p_;
  std::vector<int>& columns_;
  std::vector<Open> open_;
  Open closed_;
  std::vector<Line> lines_;
  size_t line_depth_ = 0;  // brackets open where the line began
  int column_ = 0;
};

// Comments behind the code of lines that follow one another stand below each other.
std::vector<int> comment_columns(const Pieces& p, const std::vector<Line>& lines, int width) {
  std::vector<int> out(lines.size(), 0);
  const auto comment = [&](size_t l) { return p[lines[l].end - 1].trailing; };
  for (size_t l = 0; l < lines.size();) {
    size_t end = l;
    int column = 0, longest = 0;
    for (; end < lines.size() && !comment(end).empty(); ++end) {
      const Piece& first = p[lines[end].begin];
      if (end > l && (first.blank || !first.above.empty() || lines[end].indent != lines[l].indent)) break;
      column = std::max(column, lines[end].width + 2);
      longest = std::max(longest, width_of(comment(end)));
    }
    const bool fits = column + longest <= width;
    for (size_t k = l; k < end; ++k) out[k] = fits ? column : lines[k].width + 2;
    l = std::max(end, l + 1);
  }
  return out;
}

void write_above(const Pieces& p, size_t i, int indent, bool first, std::string& out) {
  for (size_t c = 0; c < p[i].above.size(); ++c) {
    const bool behind_opener = i > 0 && p[i - 1].opens();
    if (p[i].above_blank[c] && !(c == 0 && (first || behind_opener))) out += '\n';
    out.append(size_t(indent), ' ').append(p[i].above[c]) += '\n';
  }
}

}  // namespace

std::vector<Line> lay_out(const Pieces& pieces, std::vector<int>& columns) {
  return Layout(pieces, columns).run();
}

std::string write(const Pieces& p, const std::vector<Line>& lines, int width) {
  const std::vector<int> comments = comment_columns(p, lines, width);
  std::string out;
  for (size_t l = 0; l < lines.size(); ++l) {
    const auto [begin, end, indent, line_width] = lines[l];
    const Piece& first = p[begin];
    // A comment before a closing bracket belongs to what the bracket holds.
    const bool closes = first.closes();
    write_above(p, begin, closes ? indent + kIndent : indent, l == 0, out);
    if (first.kind == Tok::end) break;
    if (first.blank && (l > 0 || !first.above.empty())) out += '\n';
    out.append(size_t(indent), ' ');
    for (size_t i = begin; i < end; ++i) {
      if (i > begin && space_between(p, i - 1, i)) out += ' ';
      out += p[i].text;
    }
    if (const std::string_view comment = p[end - 1].trailing; !comment.empty())
      out.append(size_t(comments[l] - line_width), ' ').append(comment);
    out += '\n';
  }
  return out;
}

}  // namespace cs::csl
