// "did you mean": the closest known name by edit distance, as help text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cs::csl {

// "did you mean 'x'?", or empty if nothing is close.
std::string did_you_mean(std::string_view name, const std::vector<std::string>& known);

}  // namespace cs::csl
