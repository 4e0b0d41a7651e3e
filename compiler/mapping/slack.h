// Slack: buffers where paths that began together meet again. Without them the early path holds as many
// samples as its taker has buffers, and the place where the paths began works at the pace of the late path's
// latency.
#pragma once

#include "compiler/mapping/network_interval.h"
#include "compiler/mapping/plan.h"

namespace cs::mapping {

// The buffers without which the network would stop, and those that bring the interval near that of the slowest
// kernel, by the plans that placing will probably choose.
Slack plan_slack(const Parts&, const PlanLists&, const Machine&);
// Those without which it would stop alone.
Slack least_slack(const Parts&, const PlanLists&, const Machine&);
// Puts them into the streams: rows of PEs that hold so many samples, none longer than `widest`, one behind
// the other where one row does not do; what the host sends to several takers it sends once more instead.
void add_slack(Parts&, PlanLists&, const Slack&, const Machine&, int widest);

}  // namespace cs::mapping
