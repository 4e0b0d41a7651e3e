// Runs of an Experiment by one rank and by several, which are threads here; all that can be seen of them is compared.
#pragma once

#include <functional>
#include <string>

#include "simulator/engine/engine.h"
#include "tests/unit/structural/outcome.h"

namespace cs::sim::test {

// What differs between one rank and `ranks` of them; empty if nothing does. Both have blocks of this size.
std::string difference_in_strips(const Experiment&, int ranks, int block_width, int block_height, int threads = 1);

// `lead` gets options with which its engines are followed by those of the other ranks, one after the other.
void lead_ranks(const Experiment&, int ranks, const EngineOptions&, int engines,
                const std::function<void(EngineOptions)>& lead);

}  // namespace cs::sim::test
