// Builds the blocks of a fabric from a Program: color nodes, lanes, references between them, ports, PEs.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "simulator/engine/block.h"

namespace cs::sim {

struct Grid {
  int width = 0, height = 0;  // PEs
  int block_width = 1, block_height = 1;
  int columns = 0, rows = 0;
  int first_row = 0, end_row = 0;  // rows of blocks that are simulated here; of the others there are routes alone
  std::vector<std::unique_ptr<Block>> blocks;  // nullptr: neither routes nor programs
  bool owns_row(int row) const { return row >= first_row && row < end_row; }
  bool owns(const Block& b) const { return owns_row(b.rect.y / block_height); }
  std::span<const std::unique_ptr<Block>> own() const {
    const size_t row = size_t(columns);
    return std::span(blocks).subspan(size_t(first_row) * row, size_t(end_row - first_row) * row);
  }
  Rect rect_of(int column, int row) const;
  Block* block_at(Coord c) const {
    if (c.x < 0 || c.y < 0 || c.x >= width || c.y >= height) return nullptr;
    return blocks[size_t(c.y / block_height) * size_t(columns) + size_t(c.x / block_width)].get();
  }
};

// `port_home[i]`: block and index in Block::ports of Program::ports[i].
struct PortHome {
  Block* block = nullptr;
  uint32_t index = 0;
};

bool build_grid(World&, Grid&, std::vector<PortHome>&, Diag&);

}  // namespace cs::sim
