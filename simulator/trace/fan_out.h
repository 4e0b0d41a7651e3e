// FanOut: passes every event to several sinks (more than one --trace).
#pragma once

#include <algorithm>
#include <vector>

#include "simulator/engine/trace.h"

namespace cs::sim {

class FanOut : public TraceSink {
 public:
  void add(TraceSink* sink) { sinks_.push_back(sink); }
  bool empty() const { return sinks_.empty(); }
  void task(const TaskEvent& e) override {
    for (TraceSink* sink : sinks_) sink->task(e);
  }
  void stall(const StallEvent& e) override {
    for (TraceSink* sink : sinks_) sink->stall(e);
  }
  void wavelet(const WaveletEvent& e) override {
    for (TraceSink* sink : sinks_) sink->wavelet(e);
  }
  bool wants_wavelets() const override {
    return std::any_of(sinks_.begin(), sinks_.end(), [](const TraceSink* s) { return s->wants_wavelets(); });
  }
  void switched(const SwitchEvent& e) override {
    for (TraceSink* sink : sinks_) sink->switched(e);
  }
  bool wants_details() const override {
    return std::any_of(sinks_.begin(), sinks_.end(), [](const TraceSink* s) { return s->wants_details(); });
  }
  void work(const WorkEvent& e) override {
    for (TraceSink* sink : sinks_) sink->work(e);
  }
  void begin(const BeginEvent& e) override {
    for (TraceSink* sink : sinks_) sink->begin(e);
  }
  void send(const SendEvent& e) override {
    for (TraceSink* sink : sinks_) sink->send(e);
  }

 private:
  std::vector<TraceSink*> sinks_;
};

}  // namespace cs::sim
