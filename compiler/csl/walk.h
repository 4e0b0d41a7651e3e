// The walk: cycles of compiled tile code by the law of docs/timing.md, without a fabric and without samples.
//
// One PE's program is followed instruction by instruction. What code does to integers is carried out as far
// as it is known (counters, descriptors, addresses, what lies in memory at cycle 0), so loops with known
// trips go round as often as they do; numbers are not computed. The fabric around the PE is ideal: a word
// that an operation wants is there, and there is room for what it sends. So what comes out is what the PE
// takes alone; that it waits for others is for those who know them (compiler/mapping).
//
//   walk_state    registers and memory, each value known or not
//   walk_thread   vector operations of all threads, who share the datapath
//   walk          the main thread: issue, tasks, and the period after which a PE does the same again
//   walk_alike    one walk for all programs of which it asks the same
//
// A condition that depends on data cannot be known. Such an instruction is marked: of two ways the dearer one
// is gone (walk_ways.h), a loop goes round as often as WalkOptions::trips says, else once.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "runtime/machine/machine.h"
#include "runtime/program/program.h"

namespace cs::csl {

struct WalkOptions {
  // Exported function that is launched; empty: the tasks that are active at load, sample after sample.
  std::string function;
  // Instead of these: from this instruction on until it returns or the task ends, alone.
  int64_t entry = -1;
  // Rounds of a loop whose end depends on data, by the instruction that leaves it.
  std::map<uint32_t, uint32_t> trips;
  // What the PE holds at cycle 0 beside the program's segments: addresses and bytes (weights.bin).
  std::vector<std::pair<uint16_t, std::vector<uint8_t>>> memory;
  Coord at;                                 // in the user rectangle, for code that asks
  uint64_t most_instructions = 20'000'000;  // then it is given up
};

// Of a PE of a Program: where it is, and its constants.
WalkOptions walk_options(const Program&, const TileProgram&, Coord pe, const std::vector<uint8_t>& weights);

struct WalkedInstruction {
  uint64_t times = 0;
  uint64_t cycles = 0;  // of the main thread: what it waits for, issue, and of a synchronous vector all of it
  bool marked = false;  // what it did was a guess
};
struct WalkedTask {
  std::string name;
  uint32_t entry = 0;
  uint64_t times = 0;
  uint64_t cycles = 0;    // from its first instruction to behind its last one
  uint64_t datapath = 0;  // of these: cycles in which its own vectors have the datapath
};
// What a walk has asked of memory as it was at cycle 0, or may have been: addresses of bytes, and of descriptors.
struct WalkAsked {
  std::vector<uint32_t> bytes, descriptors;
  bool place = false;  // of the PE
};
struct Walked {
  std::vector<WalkedInstruction> code;  // by instruction, within the window
  std::vector<WalkedTask> tasks;        // those that ran
  uint64_t cycles = 0;               // of the window: a period, or from the launch to the last element group
  std::map<int, uint64_t> received;  // of the window: elements, by color
  uint64_t moved = 0;  // of the window: cycles of the datapath that asynchronous operations take
  // Rounds in the window: what all tasks' numbers have in common. A sample of a kernel is one or several
  // rounds.
  uint64_t rounds = 1;
  bool repeats = false;  // the window is a period: what follows is the same again
  bool ended = true;     // not given up
  WalkAsked asked;
  double per_round() const { return double(cycles) / double(rounds); }
  // Some instruction in the window was a guess.
  bool guessed() const;
};

Walked walk_tile(const TileProgram&, const Machine&, const WalkOptions& = {});

}  // namespace cs::csl
