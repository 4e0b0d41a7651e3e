// Batch norm in a step of training: it normalizes with the statistics of the batch, and its running ones move
// towards them from step to step, as in torch.
#pragma once

#include <string>
#include <vector>

#include "compiler/graph/graph.h"

namespace cs::frontend {

// Every batch_norm takes the statistics of the batch from now on. torch's factor 0.1 is a momentum of 0.9
// here.
void use_batch_statistics(graph::Graph&);

// A constant that a batch_norm in training mode takes as its running mean or variance, and what it makes of it.
struct RunningStatistic {
  graph::ValueId before, next;
};
// Of all of them; results that were left out are added. False, with an error, where a statistic is not a
// batch_norm's own, or where a batch has one value per channel.
bool running_statistics(graph::Graph&, std::vector<RunningStatistic>&, Diag&);

}  // namespace cs::frontend
