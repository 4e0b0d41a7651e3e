// The program of one PE of a random program as it grows.
#pragma once

#include <fmt/format.h>

#include "tests/unit/structural/random_program.h"

namespace cs::sim::test {

inline constexpr int kData = 2048;  // arrays begin here

// Code and descriptors of one PE as they grow.
struct RandomProgram::Writer {
  Tile tile{"random"};
  std::vector<std::string> items;  // of the tasks, in any order
  int at = 96;                     // where the next descriptor lies
  int memory = kData;
  int in = 0, out = 0, thread = 0, dsr = 0, label = 0;
  bool data_tasks = false;

  int place(const isa::Dsd& d) {
    tile.dsd(at, d);
    at += d.bytes();
    return at - d.bytes();
  }
  int array(int bytes, int align = 2) {
    memory = (memory + align - 1) / align * align;
    const int here = memory;
    memory += bytes;
    return here;
  }
  std::string next_label() { return fmt::format("l{}", label++); }
  int next_dsr() { return dsr++ % 16; }
};

}  // namespace cs::sim::test
