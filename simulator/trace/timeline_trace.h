// TimelineTrace: a run as tracks, in the form that Perfetto and chrome://tracing open. 1 unit of time = 1
// cycle.
//
//   process   a kernel's rectangle ("fc1 (handwritten)"), or a row of PEs that belong to no kernel
//   tracks    of one PE: tasks, stalls, microthreads with their stalls, ramp in, ramp out, switches; and
//   counters of
//             its queues
//   fabric    a process of its own: counters of busy PEs and of the wavelets that move
//   launches  a process of its own: an event per launch, those that overlap on tracks beside each other
//   host      a process of its own: a track per core, an event per operator and sample
// Events go to the file while the run goes on, so memory does not grow with them. When the budget of the
// filter is used up, the trace ends there and says so in the file and through `truncated_at`.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/host/host_processor.h"
#include "runtime/program/program.h"
#include "simulator/engine/engine.h"
#include "simulator/engine/trace.h"
#include "simulator/trace/names.h"
#include "simulator/trace/timeline_writer.h"
#include "simulator/trace/trace_file.h"
#include "simulator/trace/trace_filter.h"

namespace cs::sim {

enum class TimelineFormat { chrome, perfetto };

class TimelineTrace : public TraceSink {
 public:
  // Opens a temporary beside `path`; ok() is false with a diagnostic if that cannot be written.
  TimelineTrace(TimelineFormat, const std::string& path, const Program&, double clock_mhz, TraceFilter,
                Diag&);
  bool ok() const { return file_.ok(); }

  bool wants_wavelets() const override { return filter_.has(TraceKind::wavelets); }
  void task(const TaskEvent&) override;
  void stall(const StallEvent&) override;
  void wavelet(const WaveletEvent&) override;
  void switched(const SwitchEvent&) override;
  // Counters, as they stand before the present cycle. Gives the cycle of the next look.
  Cycle sample(const Engine&);
  // What the host's cores did in a run of the Program's host part; known when the run is over.
  void host(const std::vector<HostSpan>&);
  void launches(const std::vector<LaunchSpan>&);

  size_t events() const { return events_; }
  uint64_t bytes() const { return file_.bytes(); }
  // First cycle that is missing because the budget was used up.
  std::optional<Cycle> truncated_at() const { return truncated_at_; }
  // PATH.gz is compressed. The file has its name only now that it is complete.
  bool finish();

 private:
  struct Lane {  // flows of the wavelets in one lane, first in, first out
    std::vector<uint64_t> flows;
    size_t head = 0;
  };
  struct Fill {  // of the queues of one PE, as last written
    Coord pe;
    std::vector<int> input, output;
  };

  bool room(Cycle begin);
  bool takes(TraceKind, Coord pe, Cycle begin, Cycle end);
  Track pe_track(Coord pe, int track);
  Track plain_track(uint32_t process, const char* process_name, uint64_t number, const std::string& name);
  uint32_t text_of(uint64_t key, const SliceText&);
  std::optional<uint32_t> known(uint64_t key) const;
  uint64_t flow_of(const WaveletEvent&);
  void count(const Track&, const std::string& name, const char* unit, Cycle, uint64_t value);
  void count_queues(const Engine&, Fill&, Cycle);
  uint64_t code_key(Coord pe, unsigned kind, uint64_t detail, uint32_t inst) const;
  uint32_t fabric_process() const { return first_row_ + uint32_t(program_.fabric_height) + 2; }

  const Program& program_;
  TraceNames names_;
  TraceFilter filter_;
  TraceFile file_;
  std::unique_ptr<TimelineWriter> writer_;
  uint32_t first_row_;                            // process of the row 0
  std::vector<uint32_t> process_of_;              // by PE, 0: not known yet
  std::vector<uint64_t> tracks_of_;               // by PE: which tracks have been told, a bit each
  std::vector<bool> processes_;                   // that have been told
  std::unordered_map<uint64_t, bool> plain_;      // tracks of no PE, and counters; lookup only
  std::unordered_map<uint64_t, uint32_t> texts_;  // lookup only
  std::unordered_map<uint64_t, Lane> lanes_;      // by PE, input and color; lookup only
  uint64_t last_flow_ = 0;
  std::vector<Cycle> launched_until_;  // by track of launches
  std::vector<Fill> fills_;
  Cycle period_ = 0, sampled_at_ = 0;
  size_t samples_ = 0;
  uint64_t hops_ = 0;
  size_t events_ = 0;
  std::optional<Cycle> truncated_at_;
};

}  // namespace cs::sim
