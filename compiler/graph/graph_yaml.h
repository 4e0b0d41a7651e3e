// The text form of a graph and of a plan: YAML, one node per line; the same file with more keys is the plan.
//
//   graph: mnist_mlp
//   weights: model.bin                        # beside the file; offset in bytes
//   inputs:
//     - {name: x, type: "f32[1, 784]", sample_dim: 0}
//   constants:
//     - {name: w, type: "f32[784, 20]", offset: 0}
//     - {name: slope, type: "f32[]", value: [0.5]}     # small ones inline
//   nodes:
//     - {name: Gemm_0, op: gemm, inputs: [x, w, b], outputs: [h], attrs: {trans_b: 1}, type: "f32[1, 20]"}
//   outputs: [h]
//
// `outputs` of a node may be left out: its one result then has the node's name. `type` may be left out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compiler/graph/graph.h"
#include "runtime/support/diag.h"
#include "runtime/support/yaml.h"

namespace cs::graph {

struct GraphText {
  std::string yaml;
  std::vector<uint8_t> weights;  // bytes of the .bin beside it; empty if every constant is inline
};
// `weights_file` is the name written under `weights:`.
GraphText graph_text(const Graph&, const std::string& weights_file);
// `weights` are the bytes of the file that `weights:` names (read_weights_name).
std::optional<Graph> graph_from_yaml(const YamlDoc& doc, const std::vector<uint8_t>& weights, Diag&);

}  // namespace cs::graph
