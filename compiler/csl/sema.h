// The semantic half of the CSL compiler: names, types, comptime evaluation, checking, lowering to MIR.
//
// 1. The layout file is evaluated: its layout block is a comptime program whose builtins say which PE runs
// what.
// 2. Every distinct (file, parameter values) of @set_tile_code becomes one MirTile; PEs share it.
// 3. One evaluator walks the syntax trees. Its values are known at comptime or are MIR operands, so that
// folding,
//    unrolling and code generation are one thing.
#pragma once

#include <string>

#include "compiler/csl/csl.h"
#include "compiler/csl/mir.h"
#include "runtime/machine/machine.h"
#include "runtime/support/diag.h"

namespace cs::csl {

namespace ast {
struct File;  // ast.h: one parsed source file
}

// One source file; lives as long as the loader.
struct LoadedModule {
  std::string path;                 // canonical: equal for the same file, used as the key of instances
  bool library = false;             // embedded lib/*.csl: may use @ldcfg16 and @stcfg16
  const ast::File* file = nullptr;  // never null for a module that load() returned
};

// Finds, reads and parses modules. Every file is parsed once; the same name from the same place gives the
// same pointer.
class ModuleLoader {
 public:
  virtual ~ModuleLoader() = default;
  // `name` as written: "<time>", "pe.csl" (relative to the importing file, then CslOptions::files and
  // import_paths). `from` is the importing file, null for the layout itself. Reports what is wrong at `where`
  // and returns null.
  virtual const LoadedModule* load(const std::string& name, const LoadedModule* from, SourceLoc where,
                                   Diag&) = 0;
  // The same search for a file that is no CSL; its index in diag.sources, 0 if it was not found (reported).
  virtual uint32_t read(const std::string& name, const LoadedModule* from, SourceLoc where, Diag&) = 0;
};

// Evaluates options.layout and lowers every tile program it names. False if an error was reported.
bool analyse(const CslOptions&, const Machine&, ModuleLoader&, MirLayout& out, Diag&);

}  // namespace cs::csl
