// See region_turns.h.
#include "compiler/kernels/region_turns.h"

#include <algorithm>

namespace cs::kernels {

namespace {

using autogen::Region;
using autogen::RegionCut;
using autogen::Turns;

// Each PE of a row sends a control wavelet behind its words. Those of so many PEs, and of more where queues
// have room for the words of several, pass while the row has no turn. Simulated on WSE-2, cycles of a turn
// beyond its words: 64 PEs of a word 41, 32 PEs 10, 32 PEs of three words 20, 16 PEs of nine 8; on WSE-3,
// whose queues are longer, 29, 1, and few.
constexpr double kPassed = 8, kPassedWords = 14;
constexpr int64_t kMostHeld = 1024;  // words: 4 KB
constexpr double kWorthIt = 0.1;     // of a turn's words, all of which come before the first one leaves
constexpr int kFewestRows = 3;       // what comes to one row takes up to twice the words' time

// The turn of row y; no words: it has none, or turns do not work.
Turns turn_of_row(const Region& r, const RegionCut& cut, int result, int y) {
  Turns t;
  if (cut.h() == 1 || !turns_of(r.elements(result), cut, true, 0, y, t)) return {};
  return t;
}

// Cycles in which control wavelets of a turn of so many words are on the last link of the row.
double controls(const RegionCut& cut, int64_t words) {
  return words == 0 ? 0 : std::max(0.0, cut.w() - kPassed - kPassedWords * cut.w() / double(words));
}

// Words of the longest operand in a round: each operand has links of its own.
double longest_operand(const Region& r) {
  double most = 0;
  for (size_t k = 0; k < r.operands.size(); ++k)
    most = std::max(most, double(r.elements(r.operand_buffer[k])) / double(r.stays_for(k)));
  return most;
}

}  // namespace

double collector_turns(const Region& r, const RegionCut& cut) {
  double all = 0;
  for (const int b : r.result_buffer) {
    const Turns t = turn_of_row(r, cut, b, 0);
    if (t.words > 0) all += double(r.elements(b)) / double(t.words);
  }
  return all;
}

// Where operands take longer nobody waits for results.
int64_t held_block(const Region& r, const RegionCut& cut) {
  if (r.result_buffer.size() != 1 || cut.h() < kFewestRows) return 0;
  const int b = r.result_buffer.front();
  const int64_t words = turn_of_row(r, cut, b, 0).words;
  if (words == 0 || words > kMostHeld) return 0;
  const double beyond = controls(cut, words), turns = double(r.elements(b)) / double(words);
  if (beyond < kWorthIt * double(words) || turns * (double(words) + beyond) < longest_operand(r)) return 0;
  for (int y = 1; y < cut.h(); ++y)
    if (turn_of_row(r, cut, b, y).words != words) return 0;
  return words;
}

double turn_cycles(const Region& r, const RegionCut& cut, double ready) {
  if (held_block(r, cut) > 0) return ready;
  double most = ready;
  for (const int b : r.result_buffer) most = std::max(most, controls(cut, turn_of_row(r, cut, b, 0).words));
  return most;
}

}  // namespace cs::kernels
