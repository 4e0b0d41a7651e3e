// `measure:` expressions of a suite: arithmetic over the figures of a run and over arrays of exported
// symbols.
//
//   cycles - 48                      figures: any number of stats.json by its name
//   launch.f_spmv                    cycles of each launch of that function
//   max(tsc(t_end)) - min(tsc(t_start))
//
// Arrays hold one value per PE and element, in [h][w][n] order. tsc(a) turns [h][w][3] 16-bit words into
// [h][w] cycle counts. Functions: max, min, sum, mean (array to number; max and min also of several values),
// tsc, at(a, i) (flat index), every(a, step, first), index(a) (0, 1, 2 …), columns(a, width, first, count) of
// [h][w], abs, floor, ceil, sqrt, log2. NAME.u16 are the 16-bit words of an array, lower halves first.
// Operators + - * / and (). An operator between array and number works on every element; between two arrays
// of one size, element by element.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace cs {

// Looks a name up; nothing if unknown. A number is an array of one element.
using Lookup = std::function<std::optional<std::vector<double>>(const std::string&)>;

// The value, or nothing with `error` set to what is wrong and where (column from 1).
std::optional<double> evaluate_expression(const std::string& text, const Lookup&, std::string& error);

}  // namespace cs
