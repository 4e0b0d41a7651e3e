// Mapping: from a graph whose nodes have an origin to CSL text, host part and weights.
//
//   1. instances   groups of the graph become kernel instances and host steps; runtime broadcasts are
//   inserted
//   2. size        the rectangles that each instance can have within 48 KB and the fabric, with estimates
//   3. place       one of them for each, and where: the slowest interval first, then PEs and short streams
//   4. route       every stream in dimension order; colors by graph coloring over flows that share a router
//      (with --copies all of this for one network on a strip of the fabric, which is then repeated: copies.h)
//   5. allocate    queues, microthreads, DSRs, task ids per role; verified apart from the allocator
//   6. emit        layout.csl, one PE file per role, generated kernels, host.yaml, weights.bin
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/graph/graph.h"
#include "compiler/kernels/kernels.h"
#include "runtime/machine/machine.h"
#include "runtime/program/program.h"
#include "runtime/program/weights.h"
#include "runtime/support/diag.h"

namespace cs::mapping {

// The network so many times, to take the samples in turn: each copy on a strip of the fabric. strips.h says how it
// is cut into them; a network is mapped for those of one band.
enum class StripCut : uint8_t { columns, rows, half_columns, half_rows, ring };
struct Strips {
  int count = 1;
  StripCut cut = StripCut::columns;
  int band = 0;
};

// Waiting for each other costs kernels that are nearly as slow as the slowest one about a tenth, which no
// estimate knows (docs/mapping.md), and the wafer has PEs.
inline constexpr double kPace = 0.9;
// In a step of training no two samples are under way: every kernel's time counts, not the slowest one's
// alone.
inline constexpr double kTrainingPace = 0.1;

// What measuring says of kernels: simulated over estimated interval on some rectangles of theirs. Estimates of others
// are scaled by what these are on average, so that what was not measured does not look better for it.
struct MeasuredPlans {
  struct Of {
    Origin origin = Origin::autogen;
    int w = 1, h = 1;
    double ratio = 1;
  };
  std::map<std::string, std::vector<Of>> of_node;  // by the first node of the kernel
};

class KnownPlans;  // known_plans.h
struct MapOptions {
  int fabric_width = 0,
      fabric_height = 0;           // --fabric; 0: the machine's. The Program's fabric shrinks to the need
  std::string policy = "default";  // for the host part
  std::string dtype = "fp32";
  int force_width = 0, force_height = 0;  // rectangle of every kernel (baselines, --rect); 0: sized
  int most_width = 0, most_height = 0;  // sizing does not look beyond; 0: the fabric
  bool resident = false;  // operands and results of the graph's only kernel lie on its PEs (resident.h)
  int max_pes_per_kernel = 4096;          // sizing does not look beyond
  // Kernels get PEs for this share of the slowest one's interval, as far as PEs help: below 1 they are
  // done sooner than they must be, and others wait less for them.
  double pace = kPace;
  Strips copies;
  // Of no use from this interval on: nothing is placed if some kernel takes as long on every rectangle.
  double too_slow = std::numeric_limits<double>::infinity();
  // Bytes of a PE that the kernel of this node (the first of its nodes) turned out to need beyond its
  // estimate.
  std::map<std::string, uint32_t> more_bytes;
  int threads = 1;                        // never change the result
  std::shared_ptr<const MeasuredPlans> measured;  // null: nothing was
  // What statements of generated code are known to cost on this machine; nobody's: found again.
  std::shared_ptr<kernels::CodeCosts> statements;
  std::shared_ptr<KnownPlans> known_plans;  // the same of rectangles and floorplans
};

// A kernel that has no place as it stands: no rectangle holds it, or its text does not compile.
struct Misfit {
  std::string kernel;              // instance
  std::vector<std::string> nodes;  // of the graph; none: it was inserted by mapping
  std::string why;                 // one clause, for the user
  uint32_t too_many = 0;           // bytes beyond a PE's memory although the estimate fits it
};

// One line of `--explain placement`: an instance or stream and why it is where it is.
struct Placement {
  std::string name, kernel, role;  // role: "kernel", "feeder", "relay"
  Rect rect;
  double interval_cycles = 0;  // estimated
  uint32_t bytes = 0;
  kernels::Bound ideal;  // of kernels
};
// How good the placement is. Bounds: no smaller area reaches the interval; no placement on the fabric that is
// allowed has a smaller interval, since the smallest rectangles together would be larger than it.
struct PlacementFigures {
  int64_t area = 0, least_area = 0;  // PEs, feeders and relays included
  double interval = 0, interval_bound = 0;
  double wire_length = 0;  // hops, if every taker had a stream of its own
};
// What the network is expected to do in steady state: the slowest kernel or stream, or kernels that wait for each other
// where paths meet again (network_interval.h); of several copies, what they do together.
struct NetworkEstimate {
  double interval_cycles = 0;
  double planned_cycles = 0;  // the same by the formulas with which kernels were chosen, before there was code
  double host_cycles = 0;     // no interval is shorter, however many copies there are: the host's network
  double slowest_cycles = 0;  // of the slowest kernel alone
  std::string slowest;
  std::vector<std::string> circle;  // kernels that wait for each other, if that sets the interval
  std::vector<std::string> link;    // streams that share a link, if that does
};
struct FlowReport {
  std::string name;  // "Gemm_0 -> Gemm_1"
  int color = 0;
  int hops = 0;
};

struct Placed;  // place_network.h

struct Mapped {
  bool too_slow = false;                     // by MapOptions::too_slow; there is nothing else then
  std::string layout;                        // path of the layout in `files`
  std::map<std::string, std::string> files;  // every CSL file of the program, library kernels included
  std::map<std::string, std::vector<std::string>> kernels_of_file;  // PE programs: instances that run them
  std::map<std::string, std::vector<std::string>> nodes_of_kernel;  // of the graph
  HostPart host;
  std::vector<HostPort> ports;
  Weights weights;
  int fabric_width = 0, fabric_height = 0;
  std::vector<Placement> placement;
  PlacementFigures figures;
  NetworkEstimate estimate;
  std::shared_ptr<Placed> placed;  // what it is an estimate of; null of operands on PEs and of several copies
  std::vector<FlowReport> flows;
  std::string floorplan;                                // ASCII picture
  std::string fit;                                      // memory by kernel, for --explain fit
  std::vector<std::pair<std::string, double>> seconds;  // by step, for compile_report.json
};

// The graph must be verified and every node must have an origin. All errors are in diag; those that belong to
// one kernel are in `misfits` too.
std::optional<Mapped> map_graph(const graph::Graph&, const Machine&, const MapOptions&, Diag&,
                                std::vector<Misfit>* misfits = nullptr);

// Attaches host part and ports to a machine part that compile_csl made from `mapped.files`.
void attach(const Mapped&, Program&);

// The estimate of the network, and the intervals of its kernels in `placement`, by walks over the tile code that they
// became (compiler/csl/walk.h) instead of the formulas of their kinds. What kernels wait for stays as it was.
void refine_estimate(Mapped&, const Program&, const Machine&, int threads);

// A generated kernel alone and its counterpart: same operators, shapes, dtype and rectangle. Several bases take
// turns on it.
struct Baseline {
  std::string kernel;                   // KernelRow::name; also KernelRow::baseline and the folder's name
  std::string counterpart;              // what the bases are: "gemv + relu", "softmax, then transpose"
  Origin origin = Origin::handwritten;  // handwritten or primitive
  Mapped self;
  std::vector<Mapped> bases;
};
struct MissingBaseline {
  std::string kernel, counterpart;
  std::string reason;  // the diagnostics of the one that could not be mapped or compiled
};
// One for every kernel row that names a baseline, which map_graph does wherever there is a counterpart: so
// the Program is the same whether the baselines are made or not. One that cannot be made on the kernel's rectangle is
// missing, which is no error: the network does not need it.
std::vector<Baseline> make_baselines(const graph::Graph&, const Mapped&, const Machine&, const MapOptions&,
                                     std::vector<MissingBaseline>&);
void name_baselines(const graph::Graph&, HostPart&);

}  // namespace cs::mapping
