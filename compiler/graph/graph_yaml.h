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
//
// Nodes may stand under `if` and `repeat`, which are resolved when the text is read (control.h).
//
// A plan also says how far the passes have come and what they were told; the passes behind that one are still
// to be run:
//
//   plan: {policy: medium, after: regions}
//
// and, if they are not what they are without being asked for, the form of the network and how many copies of
// it there are to be.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compiler/graph/control.h"
#include "compiler/graph/graph.h"
#include "runtime/support/diag.h"
#include "runtime/support/yaml.h"

namespace cs::graph {

// What a plan says beside its nodes; both empty in a graph that no pass has seen.
struct PlanHeader {
  std::string policy;  // that the passes followed
  std::string after;   // the last pass that has been run
  std::string form;    // of the network, where it is another than every operator's own choice
  int copies = 1;      // of the network
  double pace = 0;     // MapOptions::pace where the compiler chose another one than its usual; 0: the usual one
};

struct GraphText {
  std::string yaml;
  std::vector<uint8_t> weights;  // bytes of the .bin beside it; empty if every constant is inline
};
// `weights_file` is the name written under `weights:`.
GraphText graph_text(const Graph&, const std::string& weights_file, const PlanHeader& = {});
// Its text alone; a graph's weights may be gigabytes.
std::string graph_yaml(const Graph&, const std::string& weights_file, const PlanHeader& = {});
// `weights` are the bytes of the file that `weights:` names (read_weights_name); `given` are numbers instead
// of those under `values:`.
std::optional<Graph> graph_from_yaml(const YamlDoc& doc, const std::vector<uint8_t>& weights, Diag&,
                                     const HostValues& given = {});
// The key `plan` of a graph; empty without it.
PlanHeader plan_header(const YamlDoc& doc, Diag&);

}  // namespace cs::graph
