// TraceNames: turns the ids of trace events into what a reader knows: kernels, tasks, mnemonics, source
// lines.
#pragma once

#include <string>
#include <vector>

#include "runtime/program/program.h"
#include "simulator/engine/trace.h"

namespace cs::sim {

class TraceNames {
 public:
  explicit TraceNames(const Program& program);

  const TileProgram* tile(Coord pe) const;  // null where nothing runs
  // Index into HostPart::kernels of the kernel at this PE (the last one that covers it), -1: none.
  int kernel(Coord pe) const;
  std::string kernel_name(int kernel) const;  // "fc1 (handwritten)"
  std::string task_name(const TaskEvent& event) const;
  std::string instruction(Coord pe, uint32_t inst) const;  // mnemonic
  std::string where(Coord pe, uint32_t inst) const;        // "pe.csl:12", empty if unknown

 private:
  const Program& program_;
  std::vector<int> tile_of_;  // by PE, -1: none
};

const char* port_letter(Port port);  // E W S N R

}  // namespace cs::sim
