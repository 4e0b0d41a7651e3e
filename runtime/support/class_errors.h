// How far our cycles are from those that others measured, by what a figure consists of most: the text that
// cs-regress writes beside a suite (fidelity.classes.yaml) and that reports of runs read.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/support/diag.h"

namespace cs {

// The names of classes, in the order in which they are shown.
std::span<const std::string_view> error_classes();

// Errors are averaged within a row of the suite (its points), then over the rows of a class.
struct ClassError {
  std::string name;
  int rows = 0, points = 0;
  double mean = 0, worst = 0;  // percent; mean of absolute values, worst with its sign
};

std::optional<std::vector<ClassError>> read_class_errors(std::string text, const std::string& file, Diag&);
std::string class_errors_yaml(const std::vector<ClassError>&);

}  // namespace cs
