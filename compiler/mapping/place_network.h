// A network on the fabric: rectangles, the buffers that its interval needs, relays, routes and colors.
#pragma once

#include <optional>
#include <vector>

#include "compiler/mapping/mapping.h"
#include "compiler/mapping/network_interval.h"
#include "compiler/mapping/plan.h"

namespace cs::mapping {

struct Placed {
  Parts parts;
  Extent fabric;
  FlowPlan flows;
  PlacementFigures figures;
  double interval = 0;  // estimated
  bool lacks_buffers = false;  // those for its pace had no room
};

// With PEs for the pace that is asked for, where these have room; else, or if the network is faster with
// fewer, with as many as its slowest kernel's interval takes. Errors are in diag, kernels that would have to
// be smaller in misfits.
std::optional<Placed> place_network(const Parts&, const PlanLists&, const MapOptions&, const Machine&, Diag&,
                                    std::vector<Misfit>& misfits);

// The same network at other edges, for a band of strips (options.copies) of the same extent; nothing if its streams
// have no way there.
std::optional<Placed> route_for_band(const Placed&, const MapOptions&, const Machine&);

// What it is expected to do in steady state, by the plans of its instances.
NetworkEstimate estimate_network(const Placed&, const Machine&, PlansBy);

// Errors of an attempt that are errors after all.
void pass_on(const Diag& from, Diag& to);

}  // namespace cs::mapping
