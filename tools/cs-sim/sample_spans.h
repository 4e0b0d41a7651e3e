// When each kernel worked on one sample: the first task start to the last task end in its rectangle, counted from the
// moment the wafer has settled, so that tasks that only arm receives before any data exists are left out.
#pragma once

#include <vector>

#include "simulator/engine/trace.h"
#include "simulator/report/run_report.h"

namespace cs {

class SampleSpans : public sim::TraceSink {
 public:
  explicit SampleSpans(const std::vector<KernelRow>& kernels) : kernels_(kernels), spans_(kernels.size()) {}

  void task(const sim::TaskEvent& e) override {
    if (e.microthread >= 0) return;
    for (size_t i = 0; i < kernels_.size(); ++i) {
      if (!kernels_[i].rect.contains(e.pe)) continue;
      spans_[i].first = std::min(spans_[i].first, e.begin);
      spans_[i].last = std::max(spans_[i].last, e.end);
    }
  }
  void stall(const sim::StallEvent&) override {}
  void wavelet(const sim::WaveletEvent&) override {}

  // Replaces the spans of the whole run; kernels without a task, and the host's, keep theirs.
  void apply(std::vector<sim::KernelReport>& reports) const {
    for (size_t i = 0; i < spans_.size() && i < reports.size(); ++i) {
      if (spans_[i].first == kNever) continue;
      reports[i].first_task = spans_[i].first;
      reports[i].last_task_end = spans_[i].last;
      reports[i].cycles = double(spans_[i].last - spans_[i].first);
    }
  }

 private:
  struct Span {
    Cycle first = kNever, last = 0;
  };
  const std::vector<KernelRow>& kernels_;
  std::vector<Span> spans_;
};

}  // namespace cs
