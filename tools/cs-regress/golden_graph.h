// Builds the graph of one golden case: its tensors become run-time inputs or constants, its options
// attributes, its operation nodes of the operator table. What the table has no row for, and options that
// nobody asked about, are the case's error.
#pragma once

#include <initializer_list>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "compiler/graph/graph.h"
#include "runtime/host/npz.h"
#include "tools/cs-regress/golden_collection.h"

namespace cs::golden {

using graph::ValueId;

class CaseGraph {
 public:
  // Float tensors are rounded to `dtype`; cases are stored on the grid of their `quant`, so nothing is lost
  // there.
  CaseGraph(const Case&, DataType dtype);

  // ---- tensors of the case
  bool has(const std::string& name) const { return case_.tensors.contains(name); }
  ValueId input(const std::string& name);      // an operand at run time
  ValueId condition(const std::string& name);  // of `index` role: non-zero is true; an operand at run time
  ValueId parameter(const std::string& name);  // weight, bias or table: a constant
  ValueId parameter_rows(const std::string& name, int64_t part, int64_t parts);  // of `parts` equal ones
  ValueId optional_parameter(const std::string& name);  // invalid if the case has no such tensor
  ValueId scalar_input(const std::string& name,
                       double value);  // of wide(), at run time; not a tensor of the case

  // ---- options, with the default that the format gives
  double real(const std::string& name, double otherwise);
  int64_t integer(const std::string& name, int64_t otherwise);
  bool flag(const std::string& name, bool otherwise);
  std::string text(const std::string& name, const std::string& otherwise);
  std::vector<double> reals(const std::string& name,
                            std::vector<double> otherwise);      // as many as in `otherwise`
  void ignore(const std::string& name) { asked_.insert(name); }  // says nothing that the graph needs

  // ---- nodes
  ValueId op(const std::string& row, std::vector<ValueId> operands, const Attrs& attrs = {});
  // The results that the row has for these operands, at most so many; none after an error.
  std::vector<ValueId> results(const std::string& row, std::vector<ValueId> operands, const Attrs& attrs,
                               size_t most = SIZE_MAX);
  ValueId number(double value);  // scalar constant of the case's type
  ValueId constant(ops::Shape, const std::vector<double>&);
  ValueId wide_constant(ops::Shape, const std::vector<double>&);  // of wide()
  ValueId cast(ValueId, DataType);                                // nothing if it has that type
  DataType dtype() const { return dtype_; }
  DataType wide() const { return data_type_bytes(dtype_) == 2 ? DataType::f32 : dtype_; }  // at least f32
  int64_t extent(ValueId, int dim) const;  // dim may count from the end; 1 if it does not exist
  int rank(ValueId) const;
  void fail(const std::string& why);

  // Operands and parameters are f32 from here on, whatever the type of the case: for a second copy of the
  // graph, whose gradients are rounded to 16 bits once.
  void widen();
  // Makes `result` the output, and the gradients that the case expects, found in the graph of
  // `differentiated`, outputs of their names. Verifies the graph. False: error() says why.
  bool finish(ValueId result, ValueId differentiated);
  // The same of a graph without gradients, with these outputs.
  bool finish(const std::vector<std::pair<std::string, ValueId>>& outputs);
  const std::string& error() const { return error_; }

  bool use_autogen = false;  // what losses say
  graph::Graph graph;
  std::vector<NamedArray> inputs;  // run-time operands by the name of the graph's input

 private:
  bool set_outputs(const std::vector<std::pair<std::string, ValueId>>&);
  bool verified();
  const nlohmann::json* option(const std::string& name);
  ops::Tensor converted(const ops::Tensor&) const;
  const ops::Tensor* tensor(const std::string& name);
  ValueId add_input(const std::string& name, ops::Tensor);
  ValueId widened(ValueId);  // in the type of now
  void add_expected_gradients(ValueId of);

  const Case& case_;
  const DataType own_;  // of the case's tensors
  DataType dtype_;      // of what is computed
  std::map<ValueId, ValueId> widened_;
  std::set<std::string> asked_;
  std::string error_;
};

}  // namespace cs::golden
