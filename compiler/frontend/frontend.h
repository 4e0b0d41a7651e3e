// Models from files: ONNX and YAML graphs to a verified, typed Graph.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/graph/graph_yaml.h"
#include "runtime/support/diag.h"

namespace cs::frontend {

struct LoadOptions {
  // --dim NAME=N: symbolic dimensions of ONNX models, `values` of graph texts.
  std::vector<std::pair<std::string, int64_t>> dims;
  std::vector<std::string> config;                    // --set KEY=VALUE: overrides of a model configuration
};

// By extension: .onnx, .yaml, .yml. Weights of a YAML graph lie beside it.
std::optional<graph::Graph> load_model(const std::string& path, const LoadOptions&, Diag&);

// Which branches and copies were taken in a graph text (graph/control.h), a line each; empty for other models
// and where there are none.
std::vector<std::string> taken_control(const std::string& path, const LoadOptions&);

// What a YAML file that is a plan says of the passes that made it; empty for other models.
graph::PlanHeader plan_header(const std::string& path, Diag&);

// `name` is what messages call the file.
std::optional<graph::Graph> import_onnx(std::string_view bytes, const std::string& name, const LoadOptions&,
                                        Diag&);
// `folder` is where the file named under `weights:` lies.
std::optional<graph::Graph> import_yaml(std::string text, const std::string& name, const std::string& folder,
                                        Diag&, const LoadOptions& = {});

// An ONNX tensor file (test_data_set_N/input_K.pb): name and contents.
std::optional<std::pair<std::string, ops::Tensor>> read_onnx_tensor(std::string_view bytes,
                                                                    const std::string& name, Diag&);

}  // namespace cs::frontend
