// SimlogTrace: the run as a text log, one line per event, in the form that viewers of the vendor's simulator
// open.
//
//   @0 dimX=11, dimY=3
//   @15 P5.1: [EX OP] ^ 0x0844: T9 MOV32               an instruction, or the element groups of one, from
//   here on
//   @19 P5.1: Writing wavelet C2 data=00000007 to OUT_Q[3]
//   @22 P5.1: Sending wavelet C2 data=00000007 ident:0000000500000001 on OUT_Q[3]
//   @22 P5.1 (hwtile) wavelet C2 ctrl=0, idx=0000, data=0007 (...), half=0, ident=... landing=R departing=/E
//   /
//   @23 P6.1 (hwtile) landing C2 from link W,
//   @30 P6.1: Not enough wavelets (0/1) for SRC0 with C2, IN_Q[2], SIMD-1
// A wavelet keeps its identity from the core or the host port that it comes from to every core that gets a
// copy. Lines come in any order of cycles and leave sorted, in bounded memory (sorted_lines.h).
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/machine/machine.h"
#include "runtime/program/program.h"
#include "simulator/engine/trace.h"
#include "simulator/trace/names.h"
#include "simulator/trace/sorted_lines.h"
#include "simulator/trace/trace_filter.h"

namespace cs::sim {

// Groups of lines, a bit each.
struct SimlogLines {
  static constexpr uint32_t kInstructions = 1;  // what PEs work on, write, send and wait for
  static constexpr uint32_t kRouter = 2;        // wavelets that leave routers
  static constexpr uint32_t kLanding = 4;       // wavelets that land
  static constexpr uint32_t kAll = 7;
  // The words of SIMFABRIC_DEBUG: inst_trace, router, landing; with commas between several.
  static std::optional<uint32_t> parse(std::string_view text);
  // Groups that hold something of the kinds.
  static uint32_t of(const TraceFilter&);
};

class SimlogTrace : public TraceSink {
 public:
  // Opens temporaries beside `path`; ok() is false with a diagnostic if they cannot be written.
  SimlogTrace(const std::string& path, const Program&, const Machine&, TraceFilter, uint32_t lines, Diag&);
  bool ok() const { return lines_.ok(); }

  void task(const TaskEvent&) override {}
  void stall(const StallEvent&) override;
  void wavelet(const WaveletEvent&) override;
  bool wants_details() const override {
    return (groups_ & SimlogLines::kInstructions) != 0 || wants_wavelets();
  }
  bool wants_wavelets() const override {
    return (groups_ & (SimlogLines::kRouter | SimlogLines::kLanding)) != 0;
  }
  void work(const WorkEvent&) override;
  void send(const SendEvent&) override;

  size_t events() const { return events_; }
  uint64_t bytes() const { return lines_.bytes(); }
  // First cycle that is missing because the budget was used up.
  std::optional<Cycle> truncated_at() const { return truncated_at_; }
  // The file has its name only now that it is complete.
  bool finish();

 private:
  struct Flight {  // a wavelet in a lane
    uint64_t ident = 0;
    Cycle arrives = 0;
  };
  struct Busy {  // what a PE last worked on
    uint32_t inst = ~0u;
    int thread = -2;
    Cycle end = 0;
  };

  bool takes(uint32_t group, Coord pe, Cycle cycle);
  void add(Coord pe, Cycle cycle, std::string_view text);
  std::deque<Flight>& lane(Coord pe, Port from, int color);
  uint64_t new_ident(Coord pe);
  std::string opcode(Coord pe, uint32_t inst) const;
  uint32_t pc(Coord pe, uint32_t inst) const;
  int task_id(Coord pe, int task) const;
  int queue_color(Coord pe, bool output, int queue) const;
  std::string pipe_stall(const StallEvent&) const;

  const Program& program_;
  TraceNames names_;
  Cycle hop_;
  TraceFilter filter_;
  uint32_t groups_;
  SortedLines lines_;
  size_t events_ = 0;
  std::unordered_map<uint64_t, std::deque<Flight>> lanes_;  // by PE, input and color; lookup only
  std::unordered_map<uint32_t, uint32_t> idents_;           // by PE: given so far; lookup only
  std::map<uint32_t, Busy> busy_;                           // by PE
  std::vector<std::vector<uint32_t>> pcs_;                  // by tile and instruction
  uint32_t order_ = 0;
  std::optional<Cycle> truncated_at_;
};

}  // namespace cs::sim
