// Measurements of kernels that passes go by instead of estimates, where somebody measures (tools/api/tune.h). A kernel
// is measured alone, some samples of it on a simulated machine.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/graph/graph.h"
#include "compiler/mapping/mapping.h"

namespace cs::passes {

// When an elementwise operator becomes the epilogue of the kernel that makes its operand.
enum class EpilogueFusion : uint8_t {
  estimate,   // where that is about as fast by estimate
  always,     // wherever a kernel can have it
  benchmark,  // where one kernel is not slower than two, measured
  never,
};
std::optional<EpilogueFusion> epilogue_fusion_from_name(std::string_view);
std::string_view epilogue_fusion_name(EpilogueFusion);

// A kernel that a node may get, with its measured interval without what may join it.
struct KernelCandidate {
  Origin origin = Origin::autogen;
  graph::KernelId kernel;
  double cycles = 0;
};
// A choice that waits for what joins the kernel; the best one first.
using DeferredKernel = std::vector<KernelCandidate>;
// How it stands in the reason of a node, and is taken out again when it is made.
std::string deferred_text(const DeferredKernel&);
void make_choice(DeferredKernel&, graph::Assignment&);

class Measured {
 public:
  virtual ~Measured() = default;

  // A node without anything behind it, as each of these kernels on the rectangles that come into question.
  struct Plain {
    graph::NodeId node;
    std::vector<graph::Assignment> as;
  };
  // By node and kernel the least interval; nothing: it was not measured, or does not come to an end.
  virtual std::vector<std::vector<std::optional<double>>> plain(const graph::Graph&, std::span<const Plain>) = 0;
  // Is the kernel of this node one that is measured at all?
  virtual bool counts(const graph::Graph&, graph::NodeId) const = 0;

  struct Result {
    std::optional<double> cycles;
    std::string why;  // there are none: does not fit, or does not end
  };
  // Nodes as one kernel, each of these making the first of them, on the rectangle that was best for that one.
  virtual std::vector<Result> together(const graph::Graph&, const std::vector<graph::NodeId>& nodes,
                                       std::span<const KernelCandidate>) = 0;
  // The last of the nodes alone, on no more PEs than those of the kernel of the first one.
  virtual Result alone(const graph::Graph&, const std::vector<graph::NodeId>& nodes) = 0;
  // How many kernels are measured with an epilogue, at most.
  virtual int most_with_epilogue() const = 0;
  // A line of the log: what was decided, and by which figures.
  virtual void decided(std::string_view kernel, std::string_view epilogue, bool fused, std::string_view by) = 0;

  // Before mapping: all kernels are known.
  virtual void footprints(const graph::Graph&) = 0;
  virtual std::shared_ptr<const mapping::MeasuredPlans> plans() const = 0;
};

}  // namespace cs::passes
