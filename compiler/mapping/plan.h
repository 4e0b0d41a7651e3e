// Sizing, placing, routing and coloring: the steps between parts (instances.h) and emission (emit.h).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/mapping/instances.h"
#include "runtime/program/program.h"

namespace cs::mapping {

// ---- sizing

// Gives every instance the rectangle with the fewest PEs whose interval is at most `slack` times the best
// interval of the slowest instance. False if one fits nowhere: need, have and largest users are reported.
bool size_instances(std::vector<Instance>&, const MapOptions&, const Machine&, double slack, Diag&);
// Extents that cut n elements differently, up to a limit: 1, 2, 3, … while ceil(n / k) changes.
std::vector<int> extents(int64_t n, int limit);
struct Extent {
  int width = 0, height = 0;
};
struct RegionPlan {
  kernels::Plan plan;
  autogen::RegionCut cut;
};
// Plans of a region: rows with the best axis for each number of PEs, then rectangles; of a size that is
// forced, just that. A sample is `rounds` rounds of the region.
std::vector<RegionPlan> region_plans(const autogen::Region&, int64_t rounds, const Extent& limit,
                                     const Extent& forced, const Machine&);
// Estimated interval of a region on the best of a few numbers of PEs; infinite if it fits none.
double region_interval(const autogen::Region&, const Machine&);
// Streams that are sent in turns pass a relay before they leave for the host; adds the relays.
void add_relays(Parts&);

// ---- placing

// The PEs that may be used: --fabric or the machine's.
Extent fabric_limit(const MapOptions&, const Machine&);
// Sets Instance::rect; false (silently) if the shelves do not fit the limit. `used` is the bounding box.
bool place_instances(std::vector<Instance>&, const Extent& limit, Extent& used);

// ---- flows

struct RouterKey {  // row-major order
  int y = 0, x = 0;
  auto operator<=>(const RouterKey&) const = default;
};
struct Flow {  // wavelets of one color, from one source to all its sinks
  std::string name;
  std::map<RouterKey, RouteConfig> routers;
  bool switches = false;  // uses positions 1 to 3
  int color = -1;
  int stream = -1;  // index of the stream, -1: inside an instance
};
struct InstanceFlows {
  std::vector<int> scatter;  // feeder to columns, by operand; empty if the stream arrives directly
  std::vector<int> gather;   // rows of a region to their collectors, by result
  int chain[2] = {-1, -1};   // partial sums, by parity of the sending column
};
struct FlowPlan {
  std::vector<Flow> flows;
  std::vector<int> of_stream;  // flow of each stream
  std::vector<InstanceFlows> of_instance;
  std::vector<HostPort> ports;  // colors are set by color_flows
  std::vector<int> port_flow;
};
// Extends the flow by the shortest branch to one PE of `goal`, ending in its ramp: from any router of
// the flow that has the whole stream, round all routers of the flow. Nothing if there is no way; then f is as
// before.
std::optional<Coord> search_branch(Flow& f, const Rect& goal, const Extent& fabric);
bool route_flows(const Parts&, const Extent& fabric, const Machine&, FlowPlan&, Diag&);

// Colors for all flows; reports where too many meet.
bool color_flows(FlowPlan&, const Machine&, Diag&);
// Checks routes and colors from the result alone, knowing nothing of how they were made: at every router each
// color has one configuration; every wavelet that can leave by a link is expected on the other side; switches
// are on switchable colors; streams do not wait for each other in a circle. Reports all violations.
bool verify_flows(const FlowPlan&, const Parts&, const Extent& fabric, const Machine&, Diag&);

}  // namespace cs::mapping
