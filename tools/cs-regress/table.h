// The committed table of a suite (SUITE.table.yaml): figures per job, compared at every run.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tools/cs-regress/job.h"

namespace cs {

using Table = std::map<std::string, Figures>;  // by job name

// suites/smoke.yaml -> suites/smoke.table.yaml
std::string table_path(const std::string& suite_path);
// An absent file is an empty table; a damaged one is a diagnostic.
std::optional<Table> read_table(const std::string& path, Diag&);
bool write_table(const std::string& path, const Table&, Diag&);

// Differences that need --update: cycles, interval, throughput and memory beyond 2 %, any change of colors or
// origins. Empty if there is none.
std::string compare_figures(const Figures& committed, const Figures& now);

}  // namespace cs
