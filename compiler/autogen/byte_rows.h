// Constants of regions that take a byte per element: weights of convolutions that were quantised to 8 bits.
// Every row (an output channel) is whole numbers of 8 bits times a scale, so a PE keeps them so and makes f32
// of the rows that a statement multiplies by (kernels/byte_rows.csl), bit for bit what they were.
//
// A PE's part is whole rows: their scales as f32, then the rows, each of whole pairs of bytes.
#pragma once

#include <vector>

#include "compiler/autogen/region.h"
#include "compiler/autogen/region_code.h"

namespace cs::autogen {

// Sets Region::bytes: constants that came from 8 bits and are factors of multiply-adds in all their uses.
void find_byte_rows(const graph::Graph&, Region&);

// Whether a part of so many elements is kept so: not a single long row, which would be there twice.
bool in_bytes(const ByteRows&, int64_t elements);
// Whether the share keeps this constant in bytes.
bool in_bytes(const Region&, const RegionShare&, int buffer);
// By buffer: how the share keeps it.
std::vector<ByteRows> byte_rows_of(const Region&, const RegionShare&);
// Words that a part of so many elements takes in memory.
int64_t words_in_bytes(const ByteRows&, int64_t elements);

// The statement, if it multiplies by such a constant: for the rows of one step of its outermost loop after
// another, unpacked before. False: it does not.
bool append_by_rows(const ops::LoopStatement&, int64_t steps, const StatementContext&, RegionCode&);

}  // namespace cs::autogen
