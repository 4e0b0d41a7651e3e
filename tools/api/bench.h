// Batches of candidates: made, looked up, measured by several workers at a time, and told to the log in their order.
// Internal to tools/api.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "tools/api/api.h"

namespace cs::api {

// What a candidate is, for the log.
struct Candidate {
  std::string phase;            // plain, epilogue, alone, network
  std::string kernel, op;       // the first node and its operator; of a network its name
  std::string formal;           // types of operands and results
  std::string family;           // "gemv", "dtg-contraction"; of a network how it was made
  std::string origin;
  std::string epilogue = "none";  // operators behind the first one
  Rect rect;
  double estimated_cycles = 0;
};
struct MadeCandidate {
  Program program;
  Weights weights;
  double most_cycles = 0;  // longer it is not waited for
};
struct TuneJob {
  Candidate candidate;
  std::string key;  // jobs with equal keys are measured once
  // Any thread. Nothing, with the reason, if it does not fit.
  std::function<std::optional<MadeCandidate>(std::string& why)> make;
};

class Bench {
 public:
  Bench(const Tuning&, const Machine&, TrialRecords*, TuneReport&);

  // By job. What was measured before is not measured again.
  std::vector<Measurement> run(const std::vector<TuneJob>&);
  // The budget is spent, or somebody interrupts.
  bool stopping();
  size_t measured() const { return count_; }

 private:
  Measurement measure(const TuneJob&, std::string& from);
  void tell(const TuneJob&, const Measurement&, const std::string& from);

  const Tuning& tuning_;
  const Machine& machine_;
  TrialRecords* records_;
  TuneReport& report_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::map<std::string, Measurement> known_;
  size_t count_ = 0;
};

}  // namespace cs::api
