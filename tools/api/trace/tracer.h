// The graph of one run of a function. While a Tracer is entered, functions of tensors are nodes of its graph.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/graph/graph.h"
#include "tools/api/losses.h"
#include "tools/api/trace/errors.h"
#include "tools/api/trace/tensor.h"
#include "tools/api/trace/tensor_data.h"

namespace cs {
class Optimizer;
class Backend;
}  // namespace cs

namespace cs::tracing {

struct BackendState;
struct TapState;

// What backward() and the optimizer said meanwhile.
struct Training {
  graph::ValueId loss;
  Place where;         // of backward()
  std::string recipe;  // the section `optimizer` of the graph's text; empty: there was no step()
  Place stepped;       // where that was
  bool zeroed = false;
  std::vector<graph::ValueId> parameters;
  std::vector<graph::ValueId> gradients;  // wanted as results gradient.NAME
};

// A branch or a loop on a host value that the function told us of.
struct Decision {
  std::string text;  // "branch 'deep': true"
  Place where;
};

class Tracer {
 public:
  explicit Tracer(const std::string& name);
  static Tracer* active();  // the innermost one that is entered, or null

  // Enters it for its lifetime.
  class Scope {
   public:
    explicit Scope(Tracer& tracer);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Tracer* outer_;
  };

  uint64_t serial() const { return serial_; }
  Tensor input(const std::string& name, const ops::TensorType& type);
  // A node with so many results.
  std::vector<Tensor> add(const std::string& row, const std::vector<TensorArg>& operands, const Attrs& attrs,
                          size_t results);
  Tensor add_loss(const Loss&, const std::vector<TensorArg>& operands, const LossOptions&);
  // The value of a tensor in this graph; tensors of the host become constants of it.
  graph::ValueId value_of(const Tensor& tensor, const Place& where);
  // An output. What comes in and goes out as it is passes an identity.
  graph::ValueId result(const Tensor& tensor, const Place& where);
  // Ends the trace: what is missing in a step of training.
  void finish();

  Place place_of(graph::NodeId id) const;

  graph::Graph graph;
  Training training;
  std::vector<std::pair<graph::ValueId, Weight>> weights;  // that the graph uses
  std::vector<std::pair<graph::ValueId, Tensor>> hypers;
  std::vector<Decision> decisions;
  std::vector<std::pair<std::shared_ptr<TapState>, std::string>> taps;  // and the names of their values
  std::shared_ptr<BackendState> backend;  // of compiled models that were called

 private:
  std::string fresh(const std::string& base);
  Tensor handle(graph::ValueId id, const Place& made) const;
  graph::ValueId operand(const TensorArg& arg, std::optional<DataType> dtype);
  graph::ValueId capture(const Tensor& tensor);
  bool depends(graph::ValueId on, graph::ValueId value) const;

  uint64_t serial_;
  std::map<std::string, int> names_;                      // uses of each base
  std::map<const TensorData*, graph::ValueId> captured_;  // tensors of the host
  std::vector<std::shared_ptr<TensorData>> kept_;         // these, so that their addresses stay theirs
  std::vector<Place> places_;                             // of nodes, by index
};

// A node of the active graph, or its value where nothing is traced.
std::vector<Tensor> apply(const std::string& row, const std::vector<TensorArg>& operands, const Attrs& attrs,
                          size_t results);
void backward(const Tensor& loss, const Place& where);

}  // namespace cs::tracing
