// The traces of a run: reads --trace options and SIMFABRIC_DEBUG, holds the sinks, gives the files their
// names when the run is over, however it ended.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/support/temporaries.h"
#include "simulator/systemc/shell.h"
#include "simulator/trace/fan_out.h"
#include "simulator/trace/simlog_trace.h"
#include "simulator/trace/timeline_trace.h"
#include "tools/cs-sim/options.h"

namespace cs {

class Traces {
 public:
  // Reads the options; `error` is what is wrong with them (a usage error), empty if nothing.
  Traces(const SimOptions&, std::string& error);

  ~Traces();

  // Before the device is built: which PEs and where to, for the waveform.
  bool prepare(const Program&, const Machine&, sim::ShellOptions&, Diag&);
  // One more listener, before the device is built.
  void add(sim::TraceSink* sink) { sinks_.add(sink); }
  sim::TraceSink* sink() { return sinks_.empty() ? nullptr : &sinks_; }
  // Counters: after the device is built, beside `other` (the first cycle, and what gives the next one), if
  // any.
  void attach(sim::Shell&, const sim::Engine&, Cycle first = kNever, std::function<Cycle()> other = {});
  // What the host's cores did, when the run is over.
  void add_host(const std::vector<HostSpan>&);
  void add_launches(const std::vector<LaunchSpan>&);
  // After the run (and after the waveform was closed): the files appear under their names. `notes` is for the
  // user.
  bool write(Diag&, std::string& notes);

 private:
  struct File {
    std::string path;
    sim::TimelineFormat format = sim::TimelineFormat::chrome;
  };
  void read_trace(const std::string& text, std::string& error);
  void read_kinds(const SimOptions&, std::string& error);
  void read_environment(const SimOptions&, std::string& error);
  void note(const std::string& file, size_t events, uint64_t bytes, std::optional<Cycle> cut,
            const char* opens, std::string& notes) const;
  std::string what() const;  // level and kinds, for the user

  std::vector<File> timeline_files_;
  std::vector<std::string> simlog_files_;
  std::optional<uint32_t> simlog_lines_;  // as the environment asks
  std::string vcd_file_;
  std::optional<Temporary> vcd_temporary_;
  sim::TraceFilter filter_;
  std::string level_;
  std::vector<std::unique_ptr<sim::TimelineTrace>> timelines_;
  std::vector<std::unique_ptr<sim::SimlogTrace>> simlog_;
  sim::FanOut sinks_;
};

}  // namespace cs
