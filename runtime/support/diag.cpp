// Diagnostics: the table of source texts and the printed form of an error.
//
// Printing one diagnostic: position, severity and message; the source line with its caret (tabs become blanks, a very
// long line is cut to a window around the caret); the help line.
#include "runtime/support/diag.h"

#include <algorithm>
#include <fstream>
#include <mutex>
#include <ostream>
#include <sstream>

#include <fmt/format.h>

namespace cs {
namespace {

constexpr size_t kMaxErrors = 20;       // beyond, going on helps nobody
constexpr size_t kMaxKept = 200;        // diagnostics kept for printing
constexpr size_t kWindow = 160;         // columns of a source line that are shown
const std::string kEmpty;

// Characters, not bytes: UTF-8 continuation bytes take no column.
size_t display_width(std::string_view text) {
  return size_t(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

std::string printable(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  return out;
}

std::string caret_lines(std::string_view line, uint32_t column) {
  size_t at = column == 0 ? 0 : std::min<size_t>(column - 1, line.size());
  size_t begin = at > kWindow - 40 ? at - (kWindow - 40) : 0;
  const auto inside_character = [&](size_t i) { return i > 0 && i < line.size() && (line[i] & 0xC0) == 0x80; };
  while (inside_character(begin)) --begin;
  const std::string shown = printable(line.substr(begin, kWindow));
  return fmt::format("    {}\n    {}^\n", shown, std::string(display_width(line.substr(begin, at - begin)), ' '));
}

const char* severity_name(Severity s) {
  return s == Severity::error ? "error" : s == Severity::warning ? "warning" : "note";
}

const char* severity_colour(Severity s) {
  return s == Severity::error ? "\033[1;31m" : s == Severity::warning ? "\033[1;35m" : "\033[1;36m";
}

}  // namespace

// ---- Sources

uint32_t Sources::add(std::string path, std::string text) {
  File file{std::move(path), std::move(text), {0}};
  for (size_t i = 0; i < file.text.size(); ++i) {
    if (file.text[i] == '\n') file.line_starts.push_back(uint32_t(i + 1));
  }
  files_.push_back(std::move(file));
  return uint32_t(files_.size());
}

uint32_t Sources::add_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return 0;
  std::ostringstream text;
  text << in.rdbuf();
  if (in.bad() || text.fail()) return 0;
  return add(path, std::move(text).str());
}

const std::string& Sources::path(uint32_t file) const {
  return file == 0 || file > files_.size() ? kEmpty : files_[file - 1].path;
}

const std::string& Sources::text(uint32_t file) const {
  return file == 0 || file > files_.size() ? kEmpty : files_[file - 1].text;
}

std::string_view Sources::line(uint32_t file, uint32_t line) const {
  if (file == 0 || file > files_.size()) return {};
  const File& f = files_[file - 1];
  if (line == 0 || line > f.line_starts.size()) return {};
  const size_t begin = f.line_starts[line - 1];
  size_t end = line < f.line_starts.size() ? f.line_starts[line] - 1 : f.text.size();
  if (end > begin && f.text[end - 1] == '\r') --end;
  return std::string_view(f.text).substr(begin, end - begin);
}

// ---- Help

struct Help::Later {
  std::function<std::string()> find;
  std::once_flag once;
  std::string text;
};

Help Help::later(std::function<std::string()> find) {
  Help help;
  help.later_ = std::make_shared<Later>();
  help.later_->find = std::move(find);
  return help;
}

const std::string& Help::text() const {
  if (!later_) return text_;
  std::call_once(later_->once, [&] {
    later_->text = later_->find();
    later_->find = nullptr;  // and what it owns
  });
  return later_->text;
}

// ---- Diag

void Diag::add(Diagnostic d) {
  if (d.severity == Severity::error) ++errors_;
  if (d.severity == Severity::warning) ++warnings_;
  if (list_.size() >= kMaxKept) {  // an error is worth more than the last of so many warnings
    const auto last = std::find_if(list_.rbegin(), list_.rend(),
                                   [](const Diagnostic& kept) { return kept.severity != Severity::error; });
    if (d.severity != Severity::error || last == list_.rend()) return;
    list_.erase(std::next(last).base());
  }
  list_.push_back(std::move(d));
}

void Diag::error(SourceLoc loc, std::string message, Help help) {
  add({Severity::error, loc, {}, std::move(message), std::move(help)});
}

void Diag::warning(SourceLoc loc, std::string message, Help help) {
  add({Severity::warning, loc, {}, std::move(message), std::move(help)});
}

void Diag::note(SourceLoc loc, std::string message) {
  add({Severity::note, loc, {}, std::move(message), {}});
}

void Diag::error_at(std::string_view where, std::string message, Help help) {
  add({Severity::error, {}, std::string(where), std::move(message), std::move(help)});
}

bool Diag::full() const { return errors_ >= kMaxErrors; }

void Diag::print(std::ostream& out, bool colour) const {
  const char* bold = colour ? "\033[1m" : "";
  const char* off = colour ? "\033[0m" : "";
  for (const Diagnostic& d : list_) {
    if (d.loc.valid()) {
      out << fmt::format("{}{}:{}:{}:{} ", bold, sources.path(d.loc.file), d.loc.line, d.loc.column, off);
    } else if (!d.where.empty()) {
      out << fmt::format("{}{}:{} ", bold, d.where, off);
    }
    out << fmt::format("{}{}:{} {}\n", colour ? severity_colour(d.severity) : "", severity_name(d.severity), off,
                       d.message);
    if (const std::string_view line = sources.line(d.loc.file, d.loc.line); d.loc.valid() && !line.empty()) {
      out << caret_lines(line, d.loc.column);
    }
    if (!d.help.empty()) out << fmt::format("help: {}\n", d.help.text());
  }
  if (const size_t hidden = errors_ + warnings_ > list_.size() ? errors_ + warnings_ - list_.size() : 0; hidden > 0) {
    out << fmt::format("{} further problems are not shown\n", hidden);
  }
}

std::string Diag::to_string() const {
  std::ostringstream out;
  print(out);
  return std::move(out).str();
}

void check_failed(const char* condition, const char* file, int line, const std::string& why) {
  throw InternalError(fmt::format("{}:{}: internal error: {} ({})", file, line, why, condition));
}

}  // namespace cs
