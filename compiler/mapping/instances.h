// Instances and streams: the wafer part of a graph as mapping sees it.
//
// 1. Every group of nodes on the wafer becomes one instance with its Work, constants packed as floats, and
// the
//    expression that a generator needs.
// 2. A runtime operand that has to be repeated gets a broadcast instance before it.
// 3. Every value that leaves an instance, or comes from the host, becomes one stream with all its takers; a
// stream
//    that an instance sends in turns (control wavelets between the turns) passes a relay before it leaves for
//    the host.
// 4. Everything else becomes host steps, in an order that satisfies their dependences.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compiler/graph/graph.h"
#include "compiler/kernels/choice.h"
#include "compiler/mapping/mapping.h"

namespace cs::mapping {

using kernels::PackedConstant;

struct Instance : kernels::Choice {
  std::string name;             // identifier in CSL, unique
  bool infrastructure = false;  // inserted by mapping (broadcast, relay, slack)
  int copy = 0;                 // of the network: which one it is a part of
  int repeats = -1;             // instance of an earlier copy whose constants lie on its PEs too, -1: none
  std::vector<graph::NodeId> nodes;
  std::vector<std::string> node_names;  // as many
  std::shared_ptr<const kernels::Layout> layout;  // made when everything is placed
  // Filled by sizing and placing.
  kernels::Plan plan;
  Rect rect;  // the kernel's PEs; feeders lie west of it
  bool operands_held = false;      // by feeders, what a row gets of each, until it has come
  std::vector<int> operand_turns;  // in which rows take their parts of the operands; none: as they come
  bool result_in_turn = false;     // behind the last operand, in front of the next sample's first one
  // Words that are sent on each row so that one begins behind the other: in a circle if the result is one of them.
  size_t gates() const {
    return operand_turns.empty() ? 0 : result_in_turn ? operand_turns.size() + 1 : operand_turns.size() - 1;
  }
  // What stands on and beside the rectangle if the work is cut like this, and as it is cut.
  kernels::Footprint footprint(const kernels::Cut& c) const { return work.kind->footprint(work, c); }
  kernels::Footprint footprint() const { return footprint(plan.cut); }
  bool in_rows(const kernels::Cut& c) const { return footprint(c).by_rows; }
  bool in_rows() const { return in_rows(plan.cut); }
  int feeders(const kernels::Cut& c) const { return footprint(c).feeders; }
  int feeders() const { return feeders(plan.cut); }
  int collectors(const kernels::Cut& c) const { return footprint(c).collectors; }
  int collectors() const { return collectors(plan.cut); }
  // The result is sent by several PEs, with control wavelets.
  bool in_turns(const kernels::Cut& c) const { return footprint(c).out.front().turns; }
  bool in_turns() const { return in_turns(plan.cut); }
  Coord exit() const { return {rect.x + rect.w - 1 + collectors(), rect.y + rect.h - 1}; }
  // The PEs that send a result, one after the other as far as the exit; that one alone if it is not sent in turns.
  Rect senders() const {
    const Coord last = exit();
    const kernels::Footprint footprint = this->footprint();
    if (!footprint.out.front().turns) return {last.x, last.y, 1, 1};
    if (footprint.out.front().down) return {last.x, last.y - (rect.h - 1), 1, rect.h};
    return {last.x - (rect.w - 1), last.y, rect.w, 1};
  }
  // Where operand k's stream has to arrive.
  Coord entry(int operand) const { return {rect.x - (feeders() > 0 ? 1 + operand : 0), rect.y}; }
  // Its PEs listen to all words of operand k, which pass these: a column of feeders has one stream, so that the
  // streams of several operands do not share its links.
  bool has_line(int operand) const {
    return footprint().in[size_t(operand)].distribution == kernels::Distribution::selected;
  }
  Rect line(int operand) const { return in_rows() ? feeders_of(operand) : rect; }
  Rect feeders_of(int operand) const { return {entry(operand).x, rect.y, 1, in_rows() ? rect.h : 1}; }
};

struct Taker {
  int instance = -1;  // index of the instance, -1: the host
  int operand = 0;
};

struct Stream {
  std::string name;               // "Gemm_0 -> Gemm_1", for reports
  int producer = -1;              // instance, -1: the host
  int result = 0;                 // which of its results
  int64_t words = 0;              // per sample
  std::string tensor;             // host tensor sent or received, empty if none
  std::string port_in, port_out;  // names of the HostPorts, empty if none
  std::vector<Taker> takers;
  bool initial =
      false;  // what is sent in a sample was made in the one before; first what the producer begins with
};

struct Parts {
  std::vector<Instance> instances;  // along the dataflow
  std::vector<Stream> streams;
  HostPart host;                 // tensors, steps, host rows; kernel rows of instances come later
  Weights weights;               // host constants; PE constants are appended when placed
  Strips copies;                 // those of the network that there are, or for one of which this is placed
  std::vector<Misfit> misfits;   // groups that make no instance
};

bool build_parts(const graph::Graph&, const MapOptions&, const Machine&, Parts&, Diag&);

// ---- pieces, also for tests
// A name that CSL accepts, unique among `taken` (which it joins).
std::string csl_name(const std::string& wanted, std::vector<std::string>& taken);
bool make_instance(const graph::Graph&, const graph::Group&, const kernels::Taking&, Instance&, Diag&);
HostTensor host_tensor(const graph::Graph&, graph::ValueId);

}  // namespace cs::mapping
