// Random programs with much of everything.
#include "tests/unit/structural/random_program.h"
#include "tests/unit/structural/random_programs.h"

namespace cs::sim::test {
namespace {

TEST(Structural, agrees_on_random_programs) {
  const char* first = std::getenv("WAFERSMITH_FIRST_SEED");
  const int from = first != nullptr ? std::atoi(first) : 1;
  for (int seed = from; seed < from + random_programs(50); ++seed)
    EXPECT_EQ(compare(RandomProgram(uint32_t(seed)).experiment()), "") << "seed " << seed;
}

}  // namespace
}  // namespace cs::sim::test
