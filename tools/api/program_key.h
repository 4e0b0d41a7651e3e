// A name for what a compilation gives before it is made: everything that the result depends on, hashed. Two
// compilations with equal names give the same bytes; whatever may change one of them changes the name:
//
//   the model       as it was read, a text of the graph with its weights; of a YAML model the file too, since
//   its lines
//                   stand in the result
//   the machine     every value of it, --set included
//   options         those of CompileOptions but threads and names of files; so dimensions, policies, copies
//   the build       the tool itself, in which the kernels of the library are, and these once more
#pragma once

#include <optional>
#include <string>

#include "tools/api/api.h"

namespace cs::api {

// Of the running executable: its content.
const std::string& build_identity();
// Of the kernels and the CSL library that are built in.
const std::string& kernels_identity();

// The machine of the options: the one named, with what is set. Nothing, with errors, if there is none.
std::optional<Machine> effective_machine(const CompileOptions&, Diag&);

// Nothing if there is no name for it: the model cannot be read, or it is no model.
std::optional<std::string> program_key(const CompileOptions&, const std::string& build = build_identity());

// A text of named values, of which no two sets are the same text.
class KeyText {
 public:
  void add(std::string_view name, std::string_view value);
  void add(std::string_view name, int64_t value) { add(name, std::to_string(value)); }
  std::string digest() const;  // wide_hash_text

 private:
  std::string text_;
};

}  // namespace cs::api
