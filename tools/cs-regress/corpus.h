// cs-regress --corpus DIR: public CSL programs, each with the commands of its own scripts, against a list of what they
// do here.
//
// The list (configs/suites/corpus.yaml, built into the tool) names repositories, commits, programs, commands and
// states; the sources are checkouts that the user has, in DIR/owner+name or DIR/owner/name.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/support/diag.h"

namespace cs::corpus {

struct Program {
  std::string name, folder, command, group;
  bool passes = true;    // expected: the command ends with exit code 0
  std::string reason;    // why not
  double timeout = 0;    // seconds; 0: that of the command line
};

struct Repository {
  std::string name, commit;
  std::vector<Program> programs;
};

std::optional<std::vector<Repository>> read_list(const std::string& text, const std::string& file, Diag&);

struct Options {
  std::string folder, list;  // list: empty: the built-in one
  std::string group;         // only these groups or repositories, with commas
  double timeout = 600;
  int threads = 1;
  bool json = false;
};

// Runs them; `out` is a table or a JSON object. Exit code 0, 1 (nothing to run) or 4 (a state differs).
int run(const Options&, std::string& out, Diag&);

}  // namespace cs::corpus
