// cs-regress --golden DIR: jobs of a golden-v1 collection, and what is printed about them.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tools/cs-regress/job.h"

namespace cs::golden {

struct Selection {
  std::set<std::string> groups;  // groups ("norm") or operations ("layer_norm"), which win; empty: all
  bool fp32 = true, fp16 = true;
  bool use_autogen = false;  // losses as one kernel per direction, else as primitives
};
// A job per case in fp32, and another one in fp16 where the case lies on the grid of fp16: forward and the
// expected gradients as one graph. Cases that cannot run yet become jobs that say why.
std::optional<std::vector<Job>> find_jobs(const std::string& folder, const Selection&,
                                          const std::string& machine, const std::string& policy, Diag&);

std::string table_text(const std::vector<Result>&);  // a line per case, then a summary per operation
nlohmann::json to_json(const std::vector<Result>&);

}  // namespace cs::golden
