// A model or a CSL layout becomes a Program.
//
//   auto program = wafersmith::compile_model("mnist.onnx", {.machine = "wse3"});
//   auto kernel = wafersmith::compile_layout("layout.csl", {.params = {{"P", "4"}}});
//
// The options are those of cs-compile, whose manual page explains them. All functions throw Error.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "wafersmith/error.h"
#include "wafersmith/program.h"

namespace wafersmith {

// How a model is compiled.
struct ModelOptions {
  std::string machine = "wse2";             // name of a machine that ships with the library, or a path
  std::vector<std::string> set;             // "machine.router.hop_cycles=2", "model.KEY=VALUE"
  int fabric_width = 0, fabric_height = 0;  // PEs; 0: the machine's
  std::string autogen_policy = "default";   // disabled, default, medium, aggressive
  std::string host_ops = "warn";            // operators that only the host can run: allow, warn, forbid
  bool resident = false;                    // operands and results lie on the PEs instead of being streamed
  int copies = 1;                           // of the network, side by side
  std::vector<std::pair<std::string, int64_t>> dims;  // values of symbolic dimensions
  int threads = 1;
  const std::atomic<bool>* interrupted = nullptr;  // Interrupted is thrown soon after it has become true
};

// How a CSL layout is compiled.
struct LayoutOptions {
  std::string machine = "wse2";
  std::vector<std::string> set;                             // "machine.KEY=VALUE"
  std::vector<std::pair<std::string, std::string>> params;  // of the layout
  std::vector<std::string> import_paths;
  int fabric_width = 0, fabric_height = 0;  // PEs; 0: the rectangle and what <memcpy> needs around it
  int offset_x = -1, offset_y = -1;         // of the rectangle; -1: the machine's margins if <memcpy> is used
  std::string host_file;                    // host.yaml, for layouts that cs-compile --emit csl wrote
  int threads = 1;
  const std::atomic<bool>* interrupted = nullptr;  // as above
};

// `warnings`, if given, gets what the compiler says beside the result.
Program compile_model(const std::string& path, const ModelOptions& = {},
                      std::vector<Message>* warnings = nullptr);
Program compile_layout(const std::string& path, const LayoutOptions& = {},
                       std::vector<Message>* warnings = nullptr);

// Names that `machine` takes.
std::vector<std::string> machines();

}  // namespace wafersmith
