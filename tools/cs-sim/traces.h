// The traces of a run: reads --trace options, holds the sinks, writes the files when the run is over.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/support/temporaries.h"
#include "simulator/systemc/shell.h"
#include "simulator/trace/chrome_trace.h"
#include "simulator/trace/fan_out.h"
#include "simulator/trace/simlog_trace.h"
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
  // What the host's cores did, when the run is over.
  void add_host(const std::vector<HostSpan>&);
  void add_launches(const std::vector<LaunchSpan>&);
  // After the run (and after the waveform was closed): the files appear under their names. `notes` is for the
  // user.
  bool write(Diag&, std::string& notes);

 private:
  void note(const std::string& file, size_t events, std::optional<Cycle> cut, const char* opens,
            std::string& notes) const;

  std::vector<std::string> chrome_files_, simlog_files_;
  std::string vcd_file_;
  std::optional<Temporary> vcd_temporary_;
  sim::TraceFilter filter_;
  std::vector<std::unique_ptr<sim::ChromeTrace>> chrome_;
  std::vector<std::unique_ptr<sim::SimlogTrace>> simlog_;
  sim::FanOut sinks_;
};

}  // namespace cs
