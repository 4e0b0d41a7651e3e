// ChromeTrace: a trace in the JSON form that ui.perfetto.dev and chrome://tracing open. 1 unit of time = 1
// cycle.
//
//   process   a kernel's rectangle ("fc1 (handwritten)"), or a row of PEs that belong to no kernel
//   thread    a track of one PE: tasks, stalls, microthreads with their stalls, ramp in, ramp out
//   launches  a process of its own: an event per launch, those that overlap on tracks beside each other
//   host      a process of its own: a track per core, an event per operator and sample
// While the simulation runs events are kept as ids; write() sorts them, resolves names and writes the file.
// When the budget of the filter is used up, the trace ends there and says so in its metadata and through
// `truncated_at`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/host/host_processor.h"
#include "runtime/machine/machine.h"
#include "runtime/program/program.h"
#include "simulator/engine/trace.h"
#include "simulator/trace/trace_filter.h"

namespace cs::sim {

class ChromeTrace : public TraceSink {
 public:
  ChromeTrace(const Program&, const Machine&, TraceFilter);

  void task(const TaskEvent&) override;
  void stall(const StallEvent&) override;
  void wavelet(const WaveletEvent&) override;
  // What the host's cores did in a run of the Program's host part; known when the run is over.
  void host(const std::vector<HostSpan>&);
  void launches(const std::vector<LaunchSpan>&);

  size_t events() const {
    return tasks_.size() + stalls_.size() + wavelets_.size() + host_.size() + launches_.size();
  }
  // First cycle that is missing because the budget was used up.
  std::optional<Cycle> truncated_at() const { return truncated_at_; }
  // PATH.gz is compressed. The file has its name only when it is complete.
  bool write(const std::string& path, Diag&) const;

 private:
  bool room(Coord pe, Cycle begin, Cycle end);

  const Program& program_;
  double clock_mhz_;
  TraceFilter filter_;
  std::vector<TaskEvent> tasks_;
  std::vector<StallEvent> stalls_;
  std::vector<WaveletEvent> wavelets_;  // those that touch a ramp
  std::vector<HostSpan> host_;
  std::vector<LaunchSpan> launches_;
  std::optional<Cycle> truncated_at_;
};

}  // namespace cs::sim
