// What a published cycle count consists of most, and how far ours are from those of each kind: rows with
// `class`.
#pragma once

#include <string>
#include <vector>

#include "runtime/support/class_errors.h"
#include "tools/cs-regress/job.h"
#include "tools/cs-regress/table.h"

namespace cs {

std::vector<ClassError> class_errors(const std::vector<Result>&);

// One line per class; empty without rows that have one. The last line is the mean over all rows but those of
// the class "foreign library".
std::string class_text(const std::vector<Result>&);

// Rows that were left out have the figures of the committed table.
std::vector<Result> with_left_out(std::vector<Result>, const std::vector<Job>& left_out, const Table&);

// The committed errors of a suite's classes: suites/fidelity.yaml -> suites/fidelity.classes.yaml
std::string classes_path(const std::string& suite_path);
// Writes them, or says how they differ from what is committed; empty if they do not.
bool write_classes(const std::string& path, const std::vector<Result>&, Diag&);
std::string compare_classes(const std::string& path, const std::vector<Result>&, Diag&);

}  // namespace cs
