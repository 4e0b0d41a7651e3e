// A traced graph that a backend runs: compiled once, simulated in this process step by step, with its states
// kept between two steps.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "compiler/graph/graph_yaml.h"
#include "runtime/host/npz.h"
#include "runtime/machine/machine.h"
#include "runtime/program/program.h"
#include "tools/api/trace/tracer.h"

namespace cs::tracing {

// The text that cs-compile reads, with its weights; `on_host` leaves every operator to the host.
graph::GraphText text_of(const Tracer&, bool on_host);

class GraphProgram {
 public:
  GraphProgram(std::shared_ptr<const Tracer> tracer, BackendState& backend);

  const std::string& name() const { return tracer_->graph.name; }
  // The first weight that is a constant of the program and has another value by now; empty: none.
  std::string stale() const;
  // One step: values of the graph's inputs but hypers, by name; its outputs by name.
  std::map<std::string, ops::Tensor> run(std::vector<NamedArray> inputs);

 private:
  void build();
  void bring_weights();
  void keep_weights(std::map<std::string, ops::Tensor>& results);
  void shape_as_traced(std::map<std::string, ops::Tensor>& results) const;

  std::shared_ptr<const Tracer> tracer_;
  BackendState& backend_;
  Machine machine_;
  Program program_;
  std::vector<uint8_t> weights_;
  std::vector<NamedArray> states_;  // after the last step; empty before the first one
  int64_t steps_ = 0;
  // The value of each weight that the program has.
  std::map<const TensorData*, std::shared_ptr<const ops::Tensor>> known_;
};

}  // namespace cs::tracing
