// Skew: how a kernel takes its operands and when its results leave. It is all that the timing of a network,
// and the proof that nothing in it can stop, need to know of a kernel; its kind says it (Kind::skew), from how the
// work is cut.
//
//   whole kernels   take a whole sample of every operand, whatever the others do, and compute then. Their
//   results need
//                   nothing of a later sample. Elementwise kernels, single rows, regions.
//   others          take part after part (rows of a matrix, rounds of rows, slices of a region, single
//   words), of every
//                   operand in step: none further than `holds` words beyond what the slowest one has brought.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace cs::kernels {

// What the PEs of a kernel keep of an operand, in words of its stream: from the first one that some PE keeps to behind
// the last one, and the most from a PE's own first one to behind its last one. What lies outside passes without them.
struct KeptPart {
  int64_t first = 0, behind = 0, longest = 0;
};

struct Skew {
  bool whole = true;
  // By operand: words of a sample, words that must have been taken before the first result leaves, and words
  // that are taken while another operand, or room for results, is waited for.
  std::vector<int64_t> words, first, holds;
  // Cycles of one sample whose words come as fast as they are taken.
  double interval = 0;     // from one sample to the next
  double taking = 0;       // from the first word taken to the last
  double until_first = 0;  // of results, from the last word of `first` on
  double until_last = 0;   // of results, from the last word taken on
  // Of results, from the last word of an operand on that comes before the first part and stays; if not until_first.
  std::optional<double> until_first_of_stays = {};
  double again =
      0;  // from the beginning of computing until words of the next sample are taken; whole kernels only
  bool sends_first = false;  // these are taken when the results are sent, whenever that is; whole kernels only
  // Whole kernels whose PEs take parts of the words one after the other: the first of them is ready for the next sample
  // while the last ones take this one, an interval after its first word, however slowly the words come.
  bool one_by_one = false;
  // By operand, of whole kernels that were walked; empty: PEs keep all words.
  std::vector<KeptPart> kept;
  bool in_order = false;  // of these, each PE sends its part of the result in turn, in the order in which words come
  // Of kernels that take part after part: parts of a sample, and parts that are under way at once, which may be more.
  int64_t parts = 1, parts_held = 1;
  double sending = 0;  // of results, from the first word to the last; kernels that take part after part only
  // The operand is taken before the first part, and stays for all of them.
  bool comes_first(std::size_t operand) const;
  double busy_sending = 1;  // share of the results' way out in which a PE that sends does not compute
};

// Words pass as they come, each once it is there.
void pass_words(Skew&, double latency);
// The work is done in `rounds` parts, each of which is taken whole. `stays`: by operand, for how many of them
// what was taken of it serves; empty: for one.
void take_in_parts(Skew&, int64_t rounds, int64_t parts_held, double latency,
                   const std::vector<int64_t>& stays = {});

}  // namespace cs::kernels
