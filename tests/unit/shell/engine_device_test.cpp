// The engine as a Device without a shell: it stops where SimDevice does (shell_test.cpp), and a process may
// have several.
#include "simulator/engine/engine_device.h"

#include "tests/unit/shell/samples.h"

namespace cs::sim::test {
namespace {

TEST(EngineDevice, StopsInTheCyclesInWhichTheShellStops) {
  const Fabric f = one_hop();
  for (int copy = 0; copy < 2; ++copy) {
    EngineDevice device(f.machine, {});
    Diag diag;
    ASSERT_TRUE(device.load(f.p, {}, diag)) << diag.to_string();
    const RunStatus at = device.run({.cycle = kFirstCrossing + 1});
    EXPECT_EQ(at.reason, StopReason::condition);
    EXPECT_EQ(device.now(), kFirstCrossing + 1);
    EXPECT_EQ(device.engine().stats({0, 0}).sent[size_t(Port::east)], 1u);
    EXPECT_EQ(device.run({}).reason, StopReason::idle);
    EXPECT_EQ(device.engine().stats({1, 0}).last_task_end, kDoneTask + 1);
    // A cycle behind the end of all work is waited for only if it is asked for.
    EXPECT_LT(device.now(), 1000u);
    EXPECT_EQ(device.run({.cycle = 100'000}).reason, StopReason::condition);
    EXPECT_EQ(device.now(), 100'000u);
  }
}

TEST(EngineDevice, ALimitADeadlockAndAnInterruptHaveNames) {
  Fabric f = one_hop();
  f.p.rects.erase(f.p.rects.begin());  // nobody sends
  Diag diag;
  EngineDevice blocked(f.machine, {.max_cycles = 1'000'000});
  ASSERT_TRUE(blocked.load(f.p, {}, diag));
  const RunStatus status = blocked.run({.cycle = 1'000'000, .received_port = -1});
  EXPECT_EQ(status.fault, "deadlock");
  EXPECT_LT(status.now, 100u);

  const Fabric good = one_hop();
  EngineDevice limited(good.machine, {.max_cycles = 4});
  ASSERT_TRUE(limited.load(good.p, {}, diag));
  EXPECT_EQ(limited.run({}).fault, "timeout");
  EXPECT_EQ(limited.now(), 4u);

  const std::atomic<bool> asked = true;
  EngineDevice interrupted(good.machine, {.interrupted = &asked});
  ASSERT_TRUE(interrupted.load(good.p, {}, diag));
  EXPECT_EQ(interrupted.run({}).reason, StopReason::interrupted);
}

}  // namespace
}  // namespace cs::sim::test
