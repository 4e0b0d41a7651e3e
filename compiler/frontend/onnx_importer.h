// The ONNX importer's state. Internal to the frontend; the steps are told in onnx_import.cpp.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "compiler/frontend/frontend.h"
#include "compiler/frontend/onnx_inputs.h"

namespace cs::frontend {

class Importer {
 public:
  // `samples`: extent of the sample dimension.
  Importer(const onnx::ModelProto& model, const std::string& file, const LoadOptions& options, Diag& diag,
           int64_t samples = 1)
      : model_(model),
        proto_(model.graph()),
        file_(file),
        options_(options),
        diag_(diag),
        samples_(samples) {}
  std::optional<graph::Graph> run();
  // Whether its types agree for so many samples.
  bool agrees() { return import().has_value(); }
  // Makes, takes or changes sequences or optionals.
  static bool is_sequence_op(const std::string& op_type);

 private:
  void fail(std::string message, std::string help = "") {
    diag_.error_at(file_, std::move(message), std::move(help));
  }
  std::string where(int i) const {
    return fmt::format("{}: node {} ({})", file_, names_[size_t(i)], node(i).op_type());
  }
  // The graph before samples are followed through it.
  std::optional<graph::Graph> import();
  // How the graph depends on the number of samples, from imports for more of them.
  bool settle();
  // The same model for two and for three samples.
  bool import_more(std::optional<graph::Graph>& two, std::optional<graph::Graph>& three);
  // Nodes of the model's graph, then those of bodies that were written out.
  const onnx::NodeProto& node(int i) const {
    return i < proto_.node_size() ? proto_.node(i) : bodies_[size_t(i - proto_.node_size())];
  }
  void name_nodes();
  bool is_known(const onnx::NodeProto&) const;
  void check_support();
  void add_inputs();
  bool new_value(const std::string& name);
  void add_initializers();
  // Operands by name; false if one does not exist (then an earlier node failed or the file is not in order).
  bool operands_of(int i, std::vector<graph::ValueId>& operands);
  void add_node(int i);
  bool add_constant(int i);
  bool bad(int i, std::string message, std::string help = "") {
    diag_.error_at(where(i), std::move(message), std::move(help));
    return false;
  }
  bool add_operator(int i);
  bool is_used(const std::string& value) const { return used_.count(value) > 0; }
  void note_uses(const onnx::GraphProto&);

  // -- operators with bodies (onnx_bodies.cpp)
  using Scope = std::map<std::string, std::string>;  // names inside of a body -> names of values
  bool add_body_node(int i);
  bool add_if(int i);
  bool add_loop(int i);
  bool add_scan(int i);
  // Adds the nodes of a body; the names of what it gives.
  bool write_body(int i, const onnx::GraphProto& body, std::string prefix, Scope scope,
                  std::vector<std::string>& results);
  // Of the values with these names; an error if one is no tensor.
  bool tensors_of(int i, const std::vector<std::string>& names, std::vector<graph::ValueId>& values);
  bool copy(int i, graph::ValueId from, const std::string& to);
  bool stack(int i, const std::vector<graph::ValueId>& parts, int64_t axis, const std::string& to);
  const ops::Tensor* constant_operand(int i, graph::ValueId, const char* what);
  Scope scope_of(int i) const;

  // -- sequences and optionals (onnx_sequences.cpp)
  bool is_list(const std::string& name) const { return sequences_.contains(name) || absent_.contains(name); }
  bool exists(const std::string& name) const;
  // What is called `from` under the name `to`.
  bool hand_on(int i, const std::string& from, const std::string& to);
  using SequenceStep = bool (Importer::*)(int);
  static const std::map<std::string, SequenceStep>& sequence_steps();
  bool add_sequence_node(int i);
  bool add_sequence(int i);
  bool insert_element(int i);
  bool erase_element(int i);
  bool give_element(int i);
  bool give_length(int i);
  bool split_to_sequence(int i);
  bool join_sequence(int i);
  bool map_sequence(int i);
  bool add_optional(int i);
  bool give_constant(int i, int64_t value, DataType dtype);
  // Elements of operand k; null after an error.
  const std::vector<std::string>* sequence_operand(int i, int k);
  std::optional<graph::ValueId> tensor_operand(int i, int k);
  std::optional<size_t> position(int i, int k, size_t count, bool insert);

  bool attributes_of(int i, const ops::OpDef& row, Attrs& attrs);
  // Folds what leads to operands whose values the shape rule needs.
  bool known_operands(int i, const ops::OpDef& row, std::vector<graph::ValueId>& operands);
  // Moves constant operands into attributes, from the last to the first so that positions stay.
  bool constant_operands(int i, const ops::OpDef& row, std::vector<graph::ValueId>& operands, Attrs& attrs);
  // A shaped view of a value, under a new name.
  graph::ValueId reshaped(int i, graph::ValueId value, const ops::Shape& shape);
  static void set_from_tensor(const ops::OpDef& row, std::string_view attr, const ops::Tensor& t,
                              Attrs& attrs);
  // Adds one typed node; its first result, or an invalid id if the row refuses it. Results without a name
  // get one.
  graph::ValueId emit(int i, const std::string& name, const ops::OpDef& row,
                      std::vector<graph::ValueId> operands, Attrs attrs,
                      const std::vector<std::string>& results);
  // -- optimizers (onnx_training.cpp)
  bool add_training(int i);
  graph::ValueId step_of(int i, graph::ValueId count, bool from_one);
  // Names of the node's results, without those at the end that nobody uses.
  bool result_names(int i, const ops::OpDef& row, std::vector<std::string>& results);
  // Attributes and operands whose ONNX form is not ours (onnx_forms.cpp). May choose another row.
  bool adapt(int i, const ops::OpDef*& row, std::vector<graph::ValueId>& operands, Attrs& attrs);
  bool fill_value(int i, Attrs& attrs);
  bool align_operand(int i, std::vector<graph::ValueId>& operands, Attrs& attrs);
  // max(a, b, c) = max(max(a, b), c); Mean divides the sum by the number of operands.
  bool add_folded(int i, const ops::OpDef& row, const std::vector<graph::ValueId>& operands);
  // Before opset 13 the input counts as a matrix, split at `axis`; later it runs along one axis.
  bool add_softmax(int i, const ops::OpDef& row, const std::vector<graph::ValueId>& operands, Attrs attrs);
  void add_outputs();
  void add_output_list(const std::string& name);
  graph::ValueId copied_output(graph::ValueId original);
  graph::ValueId output_copy(graph::ValueId original, const std::string& name);
  const onnx::ModelProto& model_;
  const onnx::GraphProto& proto_;
  const std::string& file_;
  const LoadOptions& options_;
  Diag& diag_;
  int64_t samples_;
  graph::Graph g_;
  std::vector<std::string> names_;
  std::deque<onnx::NodeProto> bodies_;
  std::map<int, Scope> scopes_;  // of nodes of bodies that have bodies themselves
  std::map<std::string, std::vector<std::string>> sequences_;  // names of their tensors
  std::set<std::string> absent_;                               // optionals that hold nothing
  std::set<std::string> used_;    // names that are operands or results of a graph
  std::set<std::string> failed_;  // results of nodes that were refused: their users are silent
  std::optional<std::string> sample_;
  int64_t opset_ = 0;
};

// The row that an operator of the default domain becomes, before its attributes are looked at; null: none.
const ops::OpDef* row_of(const std::string& op_type, int64_t opset);
// If, Loop, Scan.
bool has_body(const std::string& op_type);
const onnx::GraphProto* body_of(const onnx::NodeProto&, std::string_view name);
int64_t integer_of(const onnx::NodeProto&, std::string_view name, int64_t otherwise);
// An optimizer of the domain ai.onnx.preview.training that has a row.
bool is_training_op(const onnx::NodeProto&);
// The version of the default domain's operators; 0: not said.
int64_t opset_of(const onnx::ModelProto&);

// ONNX's default domain has two spellings.
inline bool default_domain(const std::string& domain) { return domain.empty() || domain == "ai.onnx"; }

}  // namespace cs::frontend
