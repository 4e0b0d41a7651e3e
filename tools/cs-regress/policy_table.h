// Is medium as fast as the other policies? Rows of a suite under each policy, at the host's costs and at ten times
// them.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tools/cs-regress/job.h"

namespace cs {

// Every model of the suite, whatever policies its rows name. Nothing if a row's machine is none.
std::optional<std::vector<Job>> jobs_of_policies(const std::vector<Job>& rows, Diag&);
// Runs them with `run`, which gives results in the order of its jobs. Rows that have no interval under some policy,
// because they are of one sample or because cores of the host take the samples in turn, run again with as many as that
// needs.
using RunJobs = std::function<std::vector<Result>(const std::vector<Job>&)>;
std::vector<Result> run_policies(const std::vector<Job>&, const RunJobs& run);

// One model on one machine, with one cost of the host.
struct PolicyRow {
  std::string name;         // "mlp_bn/wse2/host-x10"
  std::string quantity;     // interval where all policies have one, else cycles
  std::string wrong;        // empty: nothing is
  double disabled = 0, medium = 0, aggressive = 0;  // 0: failed
  double ratio = 0;         // of medium to the faster of the others
  int host_operators = 0;   // under medium
};
// Wrong are: medium slower than another policy by more than 2 %, or failed; cycles without host operators that depend
// on the host's costs.
std::vector<PolicyRow> judge_policies(const std::vector<Job>&, const std::vector<Result>&);
std::string policy_text(const std::vector<PolicyRow>&);
nlohmann::json policy_json(const std::vector<PolicyRow>&);

}  // namespace cs
