// Options of cs-sim, as read from its command line.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/host/device.h"
#include "tools/cli/exit_code.h"

namespace cs {

namespace sim {
class Ranks;
}

struct SimOptions {
  std::string program, machine;
  std::string inputs, expect, outputs;
  std::string data, state_in, state_out;  // training
  std::string eval_data;                  // for steps that only evaluate
  int eval_every = 0;                     // steps of training between two evaluations; 0: one at the end
  int iterations = 0;  // 0: as many samples as the inputs hold (8 with --report)
  std::vector<std::string> launch;
  std::string against, report;
  bool no_waits = false;  // the report leaves out who waits for whom
  uint64_t max_cycles = 0;  // 0: no limit
  double max_seconds = 0;
  std::vector<std::string> traces;  // KIND=FILE
  std::string trace_region, trace_window;
  std::string trace_level = "normal", trace_bytes = "1G";
  std::vector<std::string> trace_kinds;  // instead of a level
  uint64_t trace_events = 0;             // 0: no limit
  std::string state, state_region;  // file for the state of PEs at the end
  std::string print;  // file for what PEs print, empty: stderr
  std::string model = "engine";
  std::string block = "32x32";
  int block_width = 32, block_height = 32;
  int threads = 1;
  std::string ranks = "auto";
  sim::Ranks* with = nullptr;  // the others, where there are several
  std::string checkpoint, checkpoint_every, restore;  // of the simulation
  std::vector<std::string> set, allow;
  bool on_other_machine = false;
  uint64_t seed = 0;
  bool json = false, quiet = false;
  bool serve = false;
  std::string mmap_weights = "auto";
  std::string misbehave;  // of tests, with --serve: endless, deaf, crash or memory when it is to run
  bool child = false;  // internal: started by another cs-sim, starts none itself
  std::vector<std::string> input_offsets;  // NAME=BYTES
};

}  // namespace cs
