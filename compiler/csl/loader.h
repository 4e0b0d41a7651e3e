// The module loader of compile_csl: where the name in an @import_module or @set_tile_code leads.
//
// 1. "<name>": the embedded library, lib/name.csl.
// 2. Otherwise CslOptions::files by the name as written, then by the path beside the importing file; then the
// disk beside
//    the importing file; then each of import_paths (files, then disk).
// Every file is read and parsed once. One with syntax errors is reported once and then stays null.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "compiler/csl/ast.h"
#include "compiler/csl/sema.h"

namespace cs::csl {

class FileLoader : public ModuleLoader {
 public:
  explicit FileLoader(const CslOptions& options) : options_(options) {}
  const LoadedModule* load(const std::string& name, const LoadedModule* from, SourceLoc where,
                           Diag&) override;
  uint32_t read(const std::string& name, const LoadedModule* from, SourceLoc where, Diag&) override;
  // Canonical paths of all files read, sorted: for manifests.
  std::vector<std::string> paths() const;

 private:
  struct Entry {
    LoadedModule module;
    std::unique_ptr<ast::File> file;  // null: had errors
  };
  const LoadedModule* keep(const std::string& path, bool library, uint32_t source, Diag&);
  const LoadedModule* load_library(const std::string& name, SourceLoc where, Diag&);
  std::vector<std::string> places(const std::string& name, const LoadedModule* from) const;
  static void not_found(const std::string& name, const LoadedModule* from,
                        const std::vector<std::string>& candidates, SourceLoc where, Diag&);
  const LoadedModule* found(const std::string& path) const;

  const CslOptions& options_;
  std::map<std::string, std::unique_ptr<Entry>> entries_;  // by canonical path
  std::map<std::string, uint32_t> texts_;                  // files that are no CSL: index in the sources
};

}  // namespace cs::csl
