// Sizing, placing, routing and coloring: the steps between parts (instances.h) and emission (emit.h).
#pragma once

#include <functional>
#include <initializer_list>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/mapping/instances.h"
#include "runtime/program/program.h"

namespace cs::mapping {

// ---- sizing

using kernels::Cost;
using kernels::Extent;
struct SizedPlan {
  kernels::Plan plan;
  int64_t rounds = 1;  // of the work in a sample (Work::in_rounds)
};
// Do two instances the same work, of whatever values? Then they have the same plans, and on equal rectangles
// the same layout: the layers of a network are alike.
bool alike(const Instance&, const Instance&);
// An instance with what alike() compares, and nothing of its place.
Instance as_compared(const Instance&);
// Plans for every rectangle that cuts an instance's work differently and fits the memory of a PE. Instances that are
// alike share one list: a network of thousands of kernels has some dozens.
class PlanList {
 public:
  PlanList(std::vector<SizedPlan> plans = {})
      : plans_(std::make_shared<const std::vector<SizedPlan>>(std::move(plans))) {}
  PlanList(std::initializer_list<SizedPlan> plans) : PlanList(std::vector<SizedPlan>(plans)) {}
  auto begin() const { return plans_->begin(); }
  auto end() const { return plans_->end(); }
  size_t size() const { return plans_->size(); }
  bool empty() const { return plans_->empty(); }
  const SizedPlan& operator[](size_t k) const { return (*plans_)[k]; }
  // Is the same for lists that are shared.
  const void* id() const { return plans_.get(); }

 private:
  std::shared_ptr<const std::vector<SizedPlan>> plans_;
};
using PlanLists = std::vector<PlanList>;  // by instance
// Those that have none are in `without`, with need, have and largest users.
void list_plans(const std::vector<Instance>&, const MapOptions&, const Machine&, PlanLists&,
                std::vector<Misfit>& without);
// Interval of the fastest of them, infinite of none.
double fastest_interval(const PlanList&);
// Of the network, wherever its kernels are placed: the slowest one's on its fastest rectangle.
double least_interval(const PlanLists&);
// Takes away the plans that are slower than `pace` times the slowest kernel's best one, if a kernel has others.
// False if there were none.
bool keep_pace(PlanLists&, double pace);
// What this work costs on the best of all rectangles.
Cost work_cost(const kernels::Work&, const Machine&);
// Streams that are sent in turns pass a relay before they leave for the host; adds the relays, east of the
// exit.
void add_relays(Parts&);

// ---- placing

// --fabric or the machine's; and of that what the network may use: a strip, where there are several copies of it.
Extent whole_fabric(const MapOptions&, const Machine&);
Extent fabric_limit(const MapOptions&, const Machine&);
// Sets plan and rect of every instance; false (silently) if no placement was found. Later attempts leave more
// room for streams. `used` is the bounding box. The result does not depend on the number of threads.
bool place_instances(Parts&, const PlanLists&, const Extent& limit, int attempt, const MapOptions&, Extent& used,
                     PlacementFigures&);
// False: the smallest rectangles together are more than the fabric, so no attempt finds a placement.
bool has_area(const Parts&, const PlanLists&, const Extent& limit);

// PEs of the smallest rectangles of all instances, whatever their intervals.
int64_t least_area(const Parts&, const PlanLists&);
// The smallest change that would help: a larger --fabric on which a placement was found, if there is one.
Help room_help(const Parts&, const MapOptions&, const Machine&);
// Kernels without which the others have room: the largest ones.
std::vector<Misfit> too_large_together(const Parts&, const PlanLists&, const Extent& limit);
// Says what does not fit, by how much, and what would help.
void report_no_room(const Parts&, const PlanLists&, const MapOptions&, const Machine&, Diag&);

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
  std::vector<int> gather;   // rows of PEs to their collectors, by result
  std::vector<int> gates;    // from the feeders of an operand to those of the next one, or the collectors, by turn
  int chain[2] = {-1, -1};   // partial sums, by parity of the western one of two columns
  int back = -1;             // from the last column to the first one
};
struct FlowPlan {
  std::vector<Flow> flows;
  std::vector<int> of_stream;  // flow of each stream
  std::vector<InstanceFlows> of_instance;
  std::vector<HostPort> ports;  // colors are set by color_flows
  std::vector<int> port_flow;
};
class LinkLoads;
// Routers that a branch does not pass: those outside the fabric, those where so many flows are already, and
// those where a color is taken. And links that it does not take: those that would carry too many words
// (link_loads.h).
struct Avoid {
  Extent fabric;
  const std::vector<int>* flows_at = nullptr;  // by router, in rows
  int most = 0;
  const std::vector<uint32_t>* colors_at = nullptr;
  int color = -1;  // -1: any will do
  const LinkLoads* loads = nullptr;  // null: as many as there are
  double wavelets = 0, most_wavelets = 0;  // of the flow, and of a link
  std::vector<uint8_t>* seen = nullptr;  // by router, what search_branch notes and takes away; null: a list of its own
  // Wavelets that the emptiest of the links would have had that were found to be crowded.
  mutable double least_refused = std::numeric_limits<double>::infinity();
  mutable size_t looked_at = 0;  // routers, by searches
  bool crowded(Coord from, Port link) const;  // link_loads.h
  bool blocks(Coord c) const {
    if (!fabric.contains(c)) return true;
    const size_t at = size_t(c.y) * size_t(fabric.width) + size_t(c.x);
    return (*flows_at)[at] >= most || (color >= 0 && ((*colors_at)[at] >> color & 1) != 0);
  }
};
// By which port a branch leaves the flow there, if it may end there.
using Goal = std::function<std::optional<Port>(Coord)>;
// Extends the flow by the shortest branch to a goal: from any router of the flow that has the whole stream, round
// all routers of the flow. Nothing if there is no way; then f is as before.
std::optional<Coord> search_branch(Flow& f, const Goal&, const Avoid&);
bool route_flows(const Parts&, const Extent& fabric, const Machine&, FlowPlan&, Diag&);
// What streams do that are in the way of one that finds no way on which a color is free.
enum class InTheWay : uint8_t { stays, moves };

// Colors in the order in which they are given: the first ones have switch positions.
struct Palette {
  std::vector<int> colors;
  size_t switchable = 0;
};
Palette color_palette(const Machine&);
// Colors for all flows; reports where too many meet.
bool color_flows(FlowPlan&, const Machine&, Diag&);
// Where that needs too many colors: routes with colors, each stream on a way on which one is free.
bool route_flows_in_colors(const Parts&, const Extent& fabric, const Machine&, InTheWay, FlowPlan&, Diag&);
// Checks routes and colors from the result alone, knowing nothing of how they were made: at every router each
// color has one configuration; every wavelet that can leave by a link is expected on the other side; switches
// are on switchable colors; streams do not wait for each other in a circle. Reports all violations.
bool verify_flows(const FlowPlan&, const Parts&, const Extent& fabric, const Machine&, Diag&);
// Operands that would stop, found from skews (skew.h), streams and buffers, knowing nothing of how the buffers were
// chosen. None: no kernel waits for words that wait for it.
struct Stuck {
  int stream = 0;
  Taker taker;
  int64_t room = 0;  // words of a sample that it takes before it needs another operand
};
std::vector<Stuck> stuck_operands(const Parts&);
// Reports them.
bool verify_waiting(const Parts&, Diag&);

}  // namespace cs::mapping
