// The CSL half of the compiler: a layout file (and what it imports) to the machine part of a Program.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/csl/warnings.h"
#include "runtime/machine/machine.h"
#include "runtime/program/program.h"
#include "runtime/support/diag.h"

namespace cs::csl {

struct Value;

// Is told what declarations stand for while they are evaluated, once per instance: for tools that show it.
class ValueObserver {
 public:
  virtual ~ValueObserver() = default;
  virtual void declared(SourceLoc name, const Value&) = 0;
};

struct CslOptions {
  std::string layout;                                   // path of the layout file
  std::vector<std::pair<std::string, std::string>> params;  // --params=name:value of the layout file
  std::vector<std::string> import_paths;                // --import-path
  // In-memory files that shadow the disk, by path as written in imports (generated kernels, tests).
  std::map<std::string, std::string> files;
  std::vector<HostPort> ports;                          // of the host part: routes may leave the fabric there
  int fabric_width = 0, fabric_height = 0;              // --fabric-dims; 0: rectangle plus margins
  int offset_x = -1, offset_y = -1;                     // --fabric-offsets; -1: the machine's margins if memcpy, else 0
  Fp16Format fp16 = Fp16Format::f16;
  int channels = 1;                                     // --channels
  int max_inlined_iterations = 1000;
  int comptime_depth_limit = 200;
  int64_t comptime_step_limit = 2'000'000'000;          // evaluation steps before "comptime evaluation does not end"
  WarningChoice warnings;                               // -W, -Werror
  int opt_level = 2;                                    // --opt-level: 0 as written, 1 values, 2 loops and branches too
  // Called with the MIR of a tile (its number) after each pass that changed it, step 0 is before all ("lowered").
  // Tiles come in any order, from several threads.
  std::function<void(size_t tile, size_t step, std::string_view pass, const std::string& text)> dump;
  int threads = 1;
  ValueObserver* observer = nullptr;
};

// A tile program that did not compile. Whoever wrote the text (a generator) may write another one.
struct TileFailure {
  std::string file;       // of the PE program
  uint32_t too_many = 0;  // bytes beyond the memory of a PE; 0: it failed for another reason
};

// Compiles. All errors are in diag; the result has no host part. `failures`: tile programs that have errors.
std::optional<Program> compile_csl(const CslOptions&, const Machine&, Diag&,
                                   std::vector<TileFailure>* failures = nullptr);

}  // namespace cs::csl
