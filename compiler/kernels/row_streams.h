// Columns beside a rectangle in rows (Footprint::by_rows): feeders of each operand west of it, collectors of
// all results east of it. What differs from row to row is data.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/kernels/choice.h"

namespace cs::kernels {

// The feeders of operand k, with an array "walk<k>" of so many words (row_feeder.csl). Where what goes to a
// row comes in blocks of at most `kept` words, they have room for one (block_feeder.csl); 0: words pass.
Role row_feeders(const Choice&, const Setting&, int k, int words, int64_t kept = 0);
// The collectors, with an array "turns<j>" of so many words for each result (row_collector.csl).
Role row_collectors(const Choice&, const Setting&, const std::vector<int>& words);
// Those of an only result that comes in blocks of at most `kept` words, each with room for one
// (block_collector.csl); `several_turns`: of a visit, else it has one.
Role block_collectors(const Choice&, const Setting&, int words, int64_t kept, bool several_turns = false);

}  // namespace cs::kernels
