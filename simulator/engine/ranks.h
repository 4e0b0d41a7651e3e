// Ranks: the processes that simulate one fabric together, as each of them sees the others. Each has a strip of rows and
// talks to the ranks of the strips above and below it in every round; rank 0 drives the run and the others follow it.
//
// The engine knows this interface alone. Behind it is MPI (simulator/mpi, loaded at run time) or, in tests, threads.
// All calls block. Every rank makes the same sequence of least() and round(); messages between two ranks come in the
// order in which they were sent.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace cs::sim {

// Another rank does not answer any more; what() says which one and why. Nothing can be simulated from there on.
struct RankLost : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// What a rank sends to a neighbour and gets from it in a round.
struct Border {
  std::vector<uint32_t> out, in;
};

class Ranks {
 public:
  virtual ~Ranks() = default;
  virtual int rank() const = 0;
  virtual int count() const = 0;

  virtual void send(int to, std::string_view bytes) = 0;
  virtual std::string receive(int from) = 0;

  // Each value becomes its least over all ranks.
  virtual void least(std::span<uint64_t> values) = 0;
  // Swaps borders with the rank above (borders[0], rank() - 1) and below (borders[1], rank() + 1), as far as there is
  // one, and does what least() does.
  virtual void round(std::array<Border, 2>& borders, std::span<uint64_t> values) = 0;
  // No border has more words than this; before the first round.
  virtual void most_words(size_t words) = 0;
};

}  // namespace cs::sim
