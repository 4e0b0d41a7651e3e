// What a tool says: diagnostics to stderr, data to stdout, and with --json exactly one object on stdout, also
// when it fails: {"schema": "wafersmith-error/1", "tool", "exit_code", "errors": [{"file", "line", "column",
// "message", "help"}]}.
#pragma once

#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/support/diag.h"
#include "tools/cli/exit_code.h"
#include "tools/cli/progress_line.h"

namespace cs::cli {

// Colours on a terminal, unless NO_COLOR is set to anything.
bool colour_on_stderr();

class Reply {
 public:
  explicit Reply(std::string tool) : tool_(tool), line_(std::move(tool)) {}

  void use_json();
  bool json() const { return json_; }  // for the thread that said so
  // Quiet: only who asks by SIGUSR1 sees it.
  void show_progress(bool quiet = false);
  void end_progress();

  // Errors and warnings: printed, and kept for the object.
  void show(const Diag&);
  // An error without a position; `what` is printed behind the tool's name.
  void error(const std::string& what, const std::string& help = {});
  // Data for stdout; with --json the field "text" of the object.
  void text(std::string_view);
  // The object of --json; of a failure there is one without being given.
  void object(std::string);
  // Writes what is left to write; the exit code, which is 1 where stdout took not all of it.
  int end(int code);

 private:
  struct Problem {
    std::string severity, file, message, help;
    uint32_t line = 0, column = 0;
  };
  std::string failure(int code) const;

  std::string tool_, text_, object_;
  ProgressLine line_;
  bool json_ = false;
  std::vector<Problem> problems_;
  std::mutex mutex_;  // of all that is above: a signal is handled in a thread of its own, which ends the reply
};

}  // namespace cs::cli
