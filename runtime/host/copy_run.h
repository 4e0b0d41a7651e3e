// Runs a program whose operands lie on the PEs: copy in, launch, copy out, one sample after the other, over a
// Session.
#pragma once

#include "runtime/host/model_run.h"

namespace cs {

// Whether the steps of the host part are copies and launches.
bool has_copies(const HostPart&);

// As run_model(), which calls this. The latency is that from the first launch to the last copy of a sample.
std::optional<ModelRunResult> run_copies(Device&, std::span<const ArrayView> inputs, int samples,
                                         int given, const ModelRunOptions&, Diag&);

// What goes to the PEs of the tiling, as Session::copy_to takes it: [h][w][tile_rows * tile_columns].
std::vector<uint32_t> cut_into_tiles(const Tiling&, const std::vector<uint32_t>& words);
// What goes to all PEs of a column of the windows, as Session::copy_to_columns takes it: [1][w][planes *
// tile_rows * tile_columns]; by rows as copy_to_rows does, [h][1][...].
std::vector<uint32_t> cut_into_windows(const Tiling&, const std::vector<uint32_t>& words);
// And back: `words` gets its elements from the tiles.
void join_tiles(const Tiling&, const std::vector<uint32_t>& tiles, std::vector<uint32_t>& words);

}  // namespace cs
