// TimelineWriter: a file of tracks, in processes, with slices, counters and flows. Two formats have one:
// ChromeWriter and PerfettoWriter.
//
// Everything is written as it comes, in any order of cycles; only what is on one track does not overlap. What
// many slices have in common is told once, as a text with a number.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/host/device.h"

namespace cs::sim {

class TraceFile;

// What the file says about the run.
struct TimelineHead {
  std::string program;
  double clock_mhz = 0;
};

struct SliceText {
  const char* category = "";
  std::string name;
  std::vector<std::pair<std::string, std::string>> words;  // arguments
  std::vector<std::pair<std::string, int64_t>> numbers;
};

// What a slice of one wavelet says beside its text. A flow is the way of one wavelet from PE to PE.
struct WaveletArgs {
  uint32_t data = 0;
  bool control = false;
  Cycle landed = 0;
  const char* from = "";  // port; empty: it leaves its core
  uint64_t flow = 0;      // 0: none
  bool flow_begins = false;
};

struct Track {
  uint32_t process = 0;
  uint64_t number = 0;  // in the whole file
};

class TimelineWriter {
 public:
  virtual ~TimelineWriter() = default;
  // Told before the first use of each. Both ends of a flow carry its number; the earlier one is where it
  // begins.
  virtual void process(uint32_t process, const std::string& name) = 0;
  virtual void track(const Track&, const std::string& name) = 0;
  virtual void counter_track(const Track&, const std::string& name, const std::string& unit) = 0;
  virtual void text(uint32_t number, const SliceText&) = 0;

  virtual void slice(const Track&, Cycle begin, Cycle end, uint32_t text, const WaveletArgs* = nullptr) = 0;
  virtual void instant(const Track&, Cycle, uint32_t text) = 0;
  virtual void counter(const Track&, Cycle, uint64_t value) = 0;
  // The last thing that is written; the first cycle that is missing, if any.
  virtual void end(std::optional<Cycle> truncated_at) = 0;
};

std::unique_ptr<TimelineWriter> make_chrome_writer(TraceFile&, TimelineHead);
std::unique_ptr<TimelineWriter> make_perfetto_writer(TraceFile&, TimelineHead);

}  // namespace cs::sim
