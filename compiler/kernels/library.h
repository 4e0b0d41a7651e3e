// The library of handwritten kernels as a whole: where its files are, its version, and what its kernels can do. It is
// the one compiled in, or a folder of the user's (cs-compile --kernel-library DIR): its .csl files take the places of
// those with the same names, its library.yaml says version and capabilities.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/machine/machine.h"
#include "runtime/support/diag.h"

namespace cs::kernels {

// What a machine must have for a kernel on several PEs: a field of the machine file (runtime/machine/field_value.h), at
// least so much of it.
struct MachineNeed {
  std::string key;  // "router.switch_positions"
  int64_t least = 1;
};

struct Library {
  int version = 0;
  std::string folder;  // empty: compiled in
  std::map<std::string, std::set<std::string>, std::less<>> capabilities;  // by kernel (Row::name)
  std::map<std::string, std::vector<MachineNeed>, std::less<>> needs;      // by kernel
  std::map<std::string, std::string, std::less<>> files;                   // name -> text
  bool can(std::string_view kernel, std::string_view capability) const;
  // "the library (version 1) has no gemv with 'half'"; empty if it has.
  std::string lacks(std::string_view kernel, std::string_view capability) const;
  // "summa needs router.switch_positions 3, the machine has 2"; empty if it has all.
  std::string lacking(std::string_view kernel, const Machine&) const;
};

// What capabilities may be called.
const std::set<std::string, std::less<>>& capability_names();
// The one in use.
const Library& library();
// From now on, for the whole process: before anything is compiled. False, reported: the folder has no library.yaml,
// that names what there is not, or a file is none of ours.
bool use_library(const std::string& folder, Diag&);
// What a library.yaml says, of kernels that the table knows.
bool parse_library(std::string text, const std::string& name, Library&, Diag&);

}  // namespace cs::kernels
