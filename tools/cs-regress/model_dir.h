// cs-regress --onnx DIR: every model below DIR with the input and expected sets that lie beside it.
#pragma once

#include <string>
#include <vector>

#include "tools/cs-regress/suite.h"

namespace cs {

// A job per set: DIR/**/*.onnx with, in the same folder, inputs_N.npz and expected_N.npz, or test_data_set_N/.
// Sorted by path.
std::vector<Job> find_model_jobs(const std::string& folder, const std::string& machine,
                                 const std::string& policy);

}  // namespace cs
