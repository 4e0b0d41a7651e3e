// Random programs with much traffic: the structural model and the engine agree wavelet by wavelet.
#include "tests/unit/engine/random_traffic.h"
#include "tests/unit/structural/outcome.h"
#include "tests/unit/structural/random_programs.h"

namespace cs::sim::test {
namespace {

TEST(Structural, agrees_on_random_traffic) {
  for (const char* name : {"wse2", "wse3"})
    for (int seed = 1; seed <= random_programs(4); ++seed) {
      const Traffic t(machine(name), uint32_t(seed));
      EXPECT_EQ(compare({t.f.machine, t.f.p, {}, {}}), "") << name << " seed " << seed;
    }
}

}  // namespace
}  // namespace cs::sim::test
