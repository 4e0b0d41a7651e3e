// What a published cycle count consists of most, and how far ours are from those of each kind: rows with
// `class`.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tools/cs-regress/job.h"

namespace cs {

// The names that `class` takes, in the order in which they are shown.
std::span<const std::string_view> error_classes();

// Errors are averaged within a row of the suite (its points), then over the rows of a class.
struct ClassError {
  std::string name;
  size_t rows = 0, points = 0;
  double mean = 0, worst = 0;  // percent; mean of absolute values, worst with its sign
};
std::vector<ClassError> class_errors(const std::vector<Result>&);

// One line per class; empty without rows that have one. The last line is the mean over all rows but those of
// the class "foreign library".
std::string class_text(const std::vector<Result>&);

}  // namespace cs
