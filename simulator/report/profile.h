// Profile: listens to a run and adds up where the cycles of a CSL program go, by line of its source and by
// function.
//
// Every cycle of a PE counts once, as in PeStats, for the instruction that was at work in it or waited. A
// function's cycles are those from its first instruction on the main thread to its last one; what it starts
// on a microthread has a row of its own.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "runtime/program/program.h"
#include "simulator/engine/trace.h"
#include "simulator/report/run_report.h"

namespace cs::sim {

class Profile : public TraceSink {
 public:
  explicit Profile(const Program&);

  bool wants_details() const override { return true; }
  void task(const TaskEvent&) override;
  void stall(const StallEvent&) override;
  void wavelet(const WaveletEvent&) override {}
  void work(const WorkEvent&) override;
  // What comes after the end of the run does not count.
  void end() { ended_ = true; }

  // The costliest first; operations on microthreads, which last while they wait, behind what ran on main
  // threads.
  std::vector<LineCost> lines() const;
  std::vector<FunctionCost> functions() const;

 private:
  struct PeState {
    int tile = -1;
    Cycle accounted = 0;
    std::vector<size_t> ran;  // functions that it has run
  };
  PeState& pe(Coord c) { return pes_[size_t(c.y) * size_t(program_.fabric_width) + size_t(c.x)]; }
  LineCost* line_of(int tile, uint32_t inst);

  const Program& program_;
  bool ended_ = false;
  std::vector<PeState> pes_;
  std::vector<std::vector<uint32_t>> line_at_;  // by tile and instruction: index into lines_
  std::vector<LineCost> lines_;
  std::vector<FunctionCost> functions_;
  std::map<std::tuple<std::string, std::string, std::string>, size_t> function_at_;  // name, kind, where
};

}  // namespace cs::sim
