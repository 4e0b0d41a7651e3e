// A program as an editor shows it: its problems, and what declarations stand for in all their instances.
#pragma once

#include <string>
#include <vector>

#include "compiler/csl/csl.h"

namespace cs::csl {

struct Inspected {
  struct Declaration {
    std::string path;  // of the file, as messages name it
    uint32_t line = 0, column = 0;
    std::string type;
    std::string value;   // known at comptime, else empty
    uint32_t bytes = 0;  // that a variable takes in a PE, else 0
  };
  struct Code {
    std::string tile, function;  // as in the memory map: "time.get" for get in <time>
    uint32_t bytes = 0;
  };
  std::vector<Declaration> declarations;  // sorted by place; no two are equal
  std::vector<Code> code;
  bool complete = false;  // the program compiles
};

// Problems are in `diag`.
Inspected inspect(const CslOptions&, const Machine&, Diag& diag);

// For completion and help: every builtin with the number of its arguments (-1: any), sorted.
struct BuiltinInfo {
  std::string name;  // with the @
  int min_args = 0, max_args = 0;
  std::string where;  // it is allowed
};
const std::vector<BuiltinInfo>& builtin_infos();
std::vector<std::string> type_names();
std::vector<std::string> library_names();  // "<time>"

}  // namespace cs::csl
