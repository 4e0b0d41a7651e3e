// What a cut of a region costs, by looking at some of its PEs.
#pragma once

#include "compiler/autogen/region.h"
#include "compiler/autogen/statement_costs.h"
#include "compiler/kernels/kernels.h"
#include "compiler/kernels/region_places.h"

namespace cs::kernels {

struct RegionPlan {
  Plan plan;
  autogen::RegionCut cut;
};
// The plan of a region that is cut like this: memory of the PE that holds most, cycles of one round.
// `measured`: what the busiest PE's code takes, instead of what is estimated of it.
struct PeSample {
  double compute = 0;  // of a sample: from the first instruction behind its last word to the last one,
                       // without the words that it sends
  double asking = 0;  // for the next one, if all its words come at once
};
RegionPlan plan_cut(const autogen::Region&, const autogen::RegionCut&, autogen::StatementCosts&, Look,
                    const PeSample* measured = nullptr);
// The same of what will be laid over a rectangle whose rows are so short that their links do not matter.
RegionPlan plan_unlaid(const autogen::Region&, const autogen::RegionCut&, autogen::StatementCosts&);

// What of every operand passes the PEs of the row in the middle.
using RowStreams = std::vector<autogen::Runs>;
RowStreams row_streams(const autogen::Region&, const autogen::RegionCut&);
// No more words than that: what the first and the last PE of the row keep, and what lies between as they do. Known much
// sooner.
RowStreams row_hulls(const autogen::Region&, const autogen::RegionCut&);
double words_of(const autogen::Region&, const RowStreams&);  // of a round
// Does the column of feeders stop? A feeder that sees gaps between the runs of its row, since no filter takes
// them out, takes a while to turn from one to the other, and all wait for it.
bool feeders_stop(const autogen::Region&, const autogen::RegionCut&, const RowStreams&);

}  // namespace cs::kernels
