// The graph of a model: nodes (operators) and values (tensors), with what later stages decided about each
// node.
//
// Nodes and values lie in vectors and are named by ids; iteration is in insertion order, so that output is
// deterministic. Only Graph's methods change edges, so a value's producer and users never go stale. Erased
// nodes keep their slot. The text form (graph_yaml.h) is one node per line and reads back.
//
// A model with a sample dimension (a symbolic first dimension shared by inputs and outputs) is held for ONE
// sample: the dimension stays in the shape with extent 1 and Value::sample_dim names it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compiler/graph/ids.h"
#include "compiler/graph/kernel_id.h"
#include "runtime/ops/ops.h"
#include "runtime/program/host_part.h"
#include "runtime/support/diag.h"
#include "runtime/support/geometry.h"

namespace cs::graph {

struct NodeTag;
struct ValueTag;
using NodeId = Id<NodeTag>;
using ValueId = Id<ValueTag>;

struct Value {
  std::string name;      // unique in the graph
  ops::TensorType type;  // of one sample; meaningful if `typed`
  bool typed = false;
  std::optional<bool> assume_aligned;  // input: its array begins at a multiple of a word (alignment.h); none: unsaid
  bool clone_unaligned = true;         // and one that does not is cloned, or else an error
  int sample_dim = -1;  // which dimension counts samples; -1: none
  // Elements between one sample and the next if the dimension also counts something else, as [steps *
  // samples] does; 0: it counts samples alone, and has extent 1.
  int64_t sample_stride = 0;
  NodeId producer;            // invalid for inputs and constants
  int result = 0;             // which output of the producer
  std::vector<NodeId> users;  // one entry per use, in order of use
  int constant = -1;          // index into Graph::constants; -1: not a constant
  bool quantised = false;     // constant in floating point that was computed from 8 bits
  bool is_input = false;
  bool is_output = false;
  bool is_static = false;     // input or constant that no run may change (static_inputs.h)
  bool is_constant() const { return constant >= 0; }
};

// What policy, fusion and mapping decided; keys of the plan form.
struct Assignment {
  std::optional<Origin> origin;  // none: not decided
  KernelId kernel;               // that makes it
  std::string reason;            // why this origin, one sentence
  std::string group;             // kernel instance it belongs to; nodes with equal group are one kernel
  std::optional<Rect> rect;      // where its kernel instance was placed
  bool whole = false;  // of a few generated kernels that together are Node::from, which is no primitives
  bool operator==(const Assignment&) const = default;
};

struct Node {
  std::string name;             // unique in the graph
  std::string op;               // row of the operator table
  std::vector<ValueId> inputs;  // invalid id: optional operand absent
  std::vector<ValueId> outputs;
  Attrs attrs;          // sorted; only those that differ from the row's default need be there
  SourceLoc loc;        // position in a YAML model
  std::string where;    // "model.onnx: node Gemm_0 (Gemm)" or "model.yaml:12"
  std::string from;     // the model's operator this node was decomposed from, empty if it is one itself
  std::string from_op;  // its operator ("softmax")
  Assignment assignment;
  bool alive = true;
};

// A value that goes on from one run of the graph to the next, as weights that are trained: `input` is one of
// the graph's inputs, `output` one of its outputs, of the same type, and what a run begins with next. By
// name, as passes keep the names of inputs and outputs.
struct State {
  std::string name;     // for people and checkpoints: "w0", "w0.exp_avg"
  std::string purpose;  // "weights", "optimizer", "loss scale", "gradients"
  std::string input, output;
  std::shared_ptr<const ops::Tensor> initial;
};

class Graph {
 public:
  std::string name;                      // of the model
  std::vector<ValueId> inputs, outputs;  // of the model, in its order
  // Weights and small constants. Nobody changes one, so that copies of a graph share them.
  std::vector<std::shared_ptr<const ops::Tensor>> constants;
  std::vector<State> states;        // with any, a run is a step of training
  std::vector<HostScalar> scalars;  // inputs that the host computes for each run

  // -- building and changing. Names must be unique; use fresh_name() for new ones.
  ValueId add_input(const std::string& name, ops::TensorType type, int sample_dim = -1);
  ValueId add_constant(const std::string& name, ops::Tensor tensor);
  ValueId add_constant(const std::string& name, std::shared_ptr<const ops::Tensor> tensor);
  NodeId add_node(Node node);  // edges from node.inputs; node.outputs must be empty, see add_result
  ValueId add_result(NodeId node, const std::string& value_name);
  void set_output(ValueId value);  // appends to outputs
  void clear_outputs();
  void set_input_of(NodeId node, size_t operand, ValueId value);
  void set_inputs_of(NodeId node, std::vector<ValueId> values);
  // Every use of `from` (graph outputs too: the output keeps its name, `to` takes it) becomes a use of `to`.
  void replace_uses(ValueId from, ValueId to);
  void erase(NodeId node);  // its results must have no users and not be outputs
  size_t remove_dead();     // nodes whose results nobody uses; returns how many
  void rename(ValueId value, const std::string& name);

  // -- looking
  Node& node(NodeId id) { return nodes_[id]; }
  const Node& node(NodeId id) const { return nodes_[id]; }
  Value& value(ValueId id) { return values_[id]; }
  const Value& value(ValueId id) const { return values_[id]; }
  const ops::OpDef& op(NodeId id) const;  // the row of a node; CS_CHECK that it exists
  std::vector<NodeId> nodes() const;      // alive, insertion order
  size_t node_slots() const { return nodes_.size(); }
  size_t value_slots() const { return values_.size(); }
  bool has_value(ValueId id) const { return values_.has(id); }
  std::optional<ValueId> find_value(const std::string& name) const;
  const State* state_of_input(const std::string& value) const;  // nullptr: it is none's
  const State* state_of_output(const std::string& value) const;
  const HostScalar* scalar_of(const std::string& value) const;
  std::optional<NodeId> find_node(const std::string& name) const;
  const ops::Tensor* constant_of(ValueId id) const;  // nullptr if not a constant
  std::shared_ptr<const ops::Tensor> shared_constant_of(ValueId id) const;
  // Alive nodes so that producers come before users; stable (insertion order among the free). Fewer nodes
  // than alive ones are returned exactly if there is a cycle.
  std::vector<NodeId> topological() const;
  std::string fresh_name(const std::string& stem) const;  // no node and no value has it
  // Operand types for ops::infer_types; null where absent.
  std::vector<const ops::TensorType*> input_types(NodeId id) const;
  std::vector<const ops::Tensor*> input_values(NodeId id) const;  // null where not constant
  int64_t flops(NodeId id) const;                                 // per sample

 private:
  void add_use(NodeId user, ValueId value);
  void drop_use(NodeId user, ValueId value);
  ValueId push_value(Value v);
  IdVector<NodeId, Node> nodes_;
  IdVector<ValueId, Value> values_;
  // First holder of each name; a second holder is what verify() complains about.
  std::map<std::string, NodeId> node_names_;
  std::map<std::string, ValueId> value_names_;
};

// Types of a node's results from its operands by the row's shape rule. Every operand must be typed.
// Reports under the node's `where` and returns false if the rule refuses.
bool infer_node(Graph&, NodeId, Diag&);
// An error about a node: at its position in the text if it has one, else under its `where`.
void node_error(const Graph&, NodeId, Diag&, std::string message, std::string help = {});

// Names unique, edges consistent, no cycle, arity and attributes as the row says, types as the shape rule
// says, outputs produced. Reports every problem under the node's `where`.
bool verify(const Graph&, Diag&);

// Views (reshape, flatten, identity ...) keep elements and C order, so between wafer kernels they cost
// nothing and no kernel computes them: a view without an origin is transparent. Only views among host steps
// have the origin host.
bool is_transparent(const Graph&, NodeId);
// A program has one 16-bit format, and it is bf16 exactly if the model's interface says so (half_format).
bool bf16_is_half(const Graph&);
// The value whose elements `value` has: follows transparent views to their operand. A graph output may be
// one.
ValueId source_of(const Graph&, ValueId value);

// Nodes with equal Assignment::group form one kernel instance. Ports are sources: values behind transparent
// views.
struct Group {
  std::string name;
  std::vector<NodeId> nodes;       // topological order
  std::vector<ValueId> inputs;     // values from outside, constants excluded, in order of first use
  std::vector<ValueId> constants;  // in order of first use
  std::vector<ValueId> outputs;    // values used outside or graph outputs, directly or through views
};
// In an order of the dataflow: every group depends on earlier ones alone. Nodes without a group stand alone
// under their own name. Transparent views are in no group: use source_of() on a node's operands and on graph
// outputs to find the stream.
std::vector<Group> groups(const Graph&);

// The expression of a connected set of elementwise nodes that ends in `output`: operand i of `expr` is
// leaves[i]. Constants with one element are folded into the expression; other constants are leaves.
struct ChainExpr {
  ops::Expr expr;
  std::vector<ValueId> leaves;
};
ChainExpr chain_expression(const Graph&, std::span<const NodeId> nodes, ValueId output);

}  // namespace cs::graph
