// Diagnostics: what a tool tells its user about bad input.
//
// Library functions take a `Diag&`, report every problem they find with its position, and return bool or
// std::optional. Exceptions are for our own bugs only (CS_CHECK). A printed diagnostic has the form
//
//   FILE:LINE:COLUMN: error: what is wrong; the numbers as need and have
//     the source line
//         ^
//   help: what to do
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cs {

// A position in one of the files of a Sources table. file 0 means "no position".
struct SourceLoc {
  uint32_t file = 0;    // index given by Sources::add
  uint32_t line = 0;    // from 1
  uint32_t column = 0;  // from 1
  bool valid() const { return file != 0; }
  bool operator==(const SourceLoc&) const = default;
};

// Every text that was read, so that a diagnostic can show its line.
class Sources {
 public:
  // Registers a text under the path that the user should see. Returns its file index (from 1).
  uint32_t add(std::string path, std::string text);
  // Reads a file and registers it; 0 if it cannot be read.
  uint32_t add_file(const std::string& path);
  const std::string& path(uint32_t file) const;
  const std::string& text(uint32_t file) const;
  // The line without its newline; empty when the file or line does not exist.
  std::string_view line(uint32_t file, uint32_t line) const;
  size_t size() const { return files_.size(); }

 private:
  struct File {
    std::string path, text;
    std::vector<uint32_t> line_starts;
  };
  std::vector<File> files_;
};

enum class Severity : uint8_t { error, warning, note };

// What to do; empty if nothing is known to help. What takes long to find is found when somebody asks for it, once for
// all copies: most errors of a compiler that tries one way after the other are never shown.
class Help {
 public:
  Help() = default;
  Help(std::string text) : text_(std::move(text)) {}
  Help(const char* text) : text_(text) {}
  // `find` owns all that it reads; it is called by any thread.
  static Help later(std::function<std::string()> find);

  const std::string& text() const;
  bool empty() const { return text().empty(); }
  operator const std::string&() const { return text(); }

 private:
  struct Later;
  std::string text_;
  std::shared_ptr<Later> later_;  // null: text_ is what there is
};

struct Diagnostic {
  Severity severity = Severity::error;
  SourceLoc loc;
  std::string where;    // printed instead of a position when loc is invalid; may be empty
  std::string message;  // one sentence, no trailing period
  Help help;
};

class Diag {
 public:
  Sources sources;

  void error(SourceLoc loc, std::string message, Help help = {});
  void warning(SourceLoc loc, std::string message, Help help = {});
  void note(SourceLoc loc, std::string message);
  // For problems without a position in a text (a missing file, an ONNX node): `where` is printed in its place.
  void error_at(std::string_view where, std::string message, Help help = {});

  bool ok() const { return errors_ == 0; }
  size_t errors() const { return errors_; }
  size_t warnings() const { return warnings_; }
  const std::vector<Diagnostic>& all() const { return list_; }
  // True once so many errors were reported that going on helps nobody (limit 20).
  bool full() const;

  // Prints all diagnostics in the form shown above. Colour only if asked for.
  void print(std::ostream& out, bool colour = false) const;
  std::string to_string() const;

 private:
  void add(Diagnostic);

  std::vector<Diagnostic> list_;
  size_t errors_ = 0, warnings_ = 0;
};

// Thrown by CS_CHECK: a bug of ours. Tools catch it in main, print it and exit 70.
class InternalError : public std::logic_error {
  using std::logic_error::logic_error;
};
[[noreturn]] void check_failed(const char* condition, const char* file, int line, const std::string& why);

}  // namespace cs

#define CS_CHECK(condition, why) \
  ((condition) ? void(0) : ::cs::check_failed(#condition, __FILE__, __LINE__, (why)))
