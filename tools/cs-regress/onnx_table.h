// The table of `--onnx DIR --table FILE`: how many models of every folder pass, and why the others do not.
// Markdown without times, so that a run gives the same text everywhere.
#pragma once

#include <string>
#include <vector>

#include "tools/cs-regress/job.h"

namespace cs {

// `command`: what makes the table, for its first line. Results in the order of the jobs; a job's name begins
// with its folder ("node/test_add/...").
std::string onnx_table(const std::vector<Result>&, const std::string& command);

}  // namespace cs
