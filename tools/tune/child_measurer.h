// Programs measured in processes of their own: a candidate that does not end, dies or eats memory costs its time and
// nothing else. Each worker has one simulator at a time (cs-sim --serve) and starts another for its next candidate, so
// there are as many workers after one was killed as before.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "tools/api/measure.h"

namespace cs::tune {

struct ChildLimits {
  double soft_seconds = 60;   // then it is told to end
  double hard_seconds = 90;   // then it is killed
  uint64_t memory_bytes = uint64_t(4) << 30;  // resident; then it is killed
};

class ChildMeasurer : public api::Measurer {
 public:
  // `stop`: once true, children are killed and nothing is measured any more; may be null.
  ChildMeasurer(int workers, const ChildLimits&, const std::atomic<bool>* stop);
  ~ChildMeasurer() override;

  api::Measurement run(const Program&, const Weights&, const Machine&, double most_cycles) override;
  int workers() const override { return workers_; }

 private:
  class Watch;
  std::string fault_of(int number) const;

  int workers_;
  const std::atomic<bool>* stop_;
  std::unique_ptr<Watch> watch_;
  std::string scratch_, simulator_;
  std::atomic<int> number_ = 0;
  std::map<int, std::string> faults_;  // of tests: candidates that shall misbehave
};

}  // namespace cs::tune
