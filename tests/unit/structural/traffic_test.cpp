// Random programs with much traffic: the structural model and the engine agree wavelet by wavelet.
#include <cstdlib>

#include "tests/unit/engine/random_traffic.h"
#include "tests/unit/structural/outcome.h"

namespace cs::sim::test {
namespace {

// WAFERSMITH_RANDOM_PROGRAMS=N: so many instead.
int random_programs(int usual) {
  const char* wanted = std::getenv("WAFERSMITH_RANDOM_PROGRAMS");
  return wanted != nullptr ? std::atoi(wanted) : usual;
}

TEST(Structural, agrees_on_random_traffic) {
  for (const char* name : {"wse2", "wse3"})
    for (int seed = 1; seed <= random_programs(4); ++seed) {
      const Traffic t(machine(name), uint32_t(seed));
      EXPECT_EQ(compare({t.f.machine, t.f.p, {}, {}}), "") << name << " seed " << seed;
    }
}

}  // namespace
}  // namespace cs::sim::test
