// What is equal is emitted once: the layers of a network are alike, so most of their PEs run the same
// program.
//
// Names of instances stand in exported symbols, in file names and in comments only. Symbols lose theirs (the
// host part says on which rectangle it means one); then modules with the same text become one file, and roles
// with the same text one role that has the PEs of all of them.
#pragma once

#include "compiler/mapping/roles.h"

namespace cs::mapping {

class SharedRoles {
 public:
  // Roles of an instance, allocated, with the modules that were generated for it.
  // Returns the files of the PE programs that run it.
  std::vector<std::string> add(const std::string& instance, InstanceRoles);
  const std::vector<Role>& roles() const { return roles_; }
  // Generated modules and PE files by name.
  std::map<std::string, std::string> files() const;
  // The name under which the symbol of an instance is exported.
  const std::string& exported(const std::string& symbol) const;

 private:
  void rename_symbols(const std::string& instance, Role&);
  void share_modules(const std::map<std::string, std::string>& made, std::vector<Role>&);

  std::vector<Role> roles_;
  std::vector<std::vector<std::string>> also_;              // by role: further instances that it serves
  std::map<std::string, size_t> role_of_;                   // by text without its header
  std::map<std::string, std::string> modules_, module_of_;  // by name; name by text without its header
  std::map<std::string, std::string> symbols_;
};

}  // namespace cs::mapping
