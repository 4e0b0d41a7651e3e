// cs-sim as one of several processes that mpirun has started: rank 0 is the tool as always, the others simulate their
// strips of the fabric and say nothing.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "simulator/engine/ranks.h"
#include "tools/cli/tool.h"
#include "tools/cs-sim/options.h"

namespace cs {

// Whether the options ask for several ranks, and there are any.
bool runs_in_ranks(const SimOptions&);
// What several ranks cannot do; empty if nothing was asked for that they cannot.
std::string beyond_ranks(const SimOptions&);

// Joins the others; null and reported if MPI is missing. A rank that is lost from then on ends the process: with an
// error that names it, by rank 0.
std::unique_ptr<sim::Ranks> join_ranks(cli::Reply&);

// As rank 0, `work`; as another one, what rank 0 does.
int simulate_in_ranks(const SimOptions&, cli::Reply&, const std::function<int(sim::Ranks&)>& work);

// Of several ranks nobody but rank 0 speaks, not even of a command line that is wrong: stdout and stderr of the others
// lead nowhere.
void be_silent_but_as_rank_0(const std::vector<std::string>& arguments);

}  // namespace cs
