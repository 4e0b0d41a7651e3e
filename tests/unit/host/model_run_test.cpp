// Pipelined runs over a device whose timing is known: latency, interval and values by hand.
#include "runtime/host/model_run.h"

#include <gtest/gtest.h>

#include "tests/unit/host/fake_device.h"

namespace cs {
namespace {

// x[b, 4] -> wafer (doubles) -> v -> relu on the host -> y[b, 4]
Program doubling_program() {
  Program p;
  p.ports = {{"in", true, Port::west, 0, 1}, {"out", false, Port::east, 0, 2}};
  HostPart h;
  h.dtype = "fp32";
  h.inputs = {{"x", DataType::f32, {1, 4}, 0}};
  h.values = {{"v", DataType::f32, {1, 4}, 0}};
  h.outputs = {{"y", DataType::f32, {1, 4}, 0}};
  HostStep send, receive, op;
  send.kind = HostStep::Kind::send, send.port = "in", send.tensor = "x";
  receive.kind = HostStep::Kind::receive, receive.port = "out", receive.tensor = "v";
  op.op = "relu", op.inputs = {"v"}, op.outputs = {"y"};
  h.steps = {send, receive, op};
  p.host = h;
  return p;
}

std::vector<NamedArray> inputs(int samples) {
  ops::Tensor t({DataType::f32, {samples, 4}});
  for (int64_t i = 0; i < t.elements(); ++i) t.set(i, i % 2 == 0 ? double(i) : -double(i));
  return {{"x", t}};
}

class ModelRun : public ::testing::Test {
 protected:
  void SetUp() override {
    Diag diag;
    device_.load(doubling_program(), {}, diag);
    device_.mutable_machine().host.host_gflops = 1;     // 4 operations: 4 ns = 4 cycles
    device_.mutable_machine().host.host_gb_per_s = 32;  // 32 bytes in and out: 1 ns = 1 cycle
  }
  FakeDevice device_{100};
  Diag diag_;
};

TEST_F(ModelRun, ValuesAreThoseOfEverySample) {
  const auto r = run_model(device_, {}, inputs(3), {}, diag_);
  ASSERT_TRUE(r) << diag_.to_string();
  EXPECT_EQ(r->status.reason, StopReason::condition) << r->status.message;
  ASSERT_EQ(r->outputs.size(), 1u);
  EXPECT_EQ(r->outputs[0].tensor.type.shape, (ops::Shape{3, 4}));
  for (int64_t i = 0; i < 12; ++i) EXPECT_EQ(r->outputs[0].tensor.get(i), i % 2 == 0 ? 2.0 * double(i) : 0.0);
}

TEST_F(ModelRun, SamplesArePipelined) {
  const auto r = run_model(device_, {}, inputs(8), {}, diag_);
  ASSERT_TRUE(r);
  // Sample s enters at 4s .. 4s+3 and has left the wafer at 4s + 3 + 100; it is on the host from the next
  // cycle for 4 flops at 1 GFLOP/s and 32 bytes at 32 GB/s, 5 cycles. The host is slower (5) than the stream
  // (4).
  EXPECT_EQ(r->first_input, 0u);
  EXPECT_EQ(r->sample_end[0], 104u + 5);
  EXPECT_EQ(r->latency_cycles, 109u);
  for (size_t s = 0; s < 8; ++s) EXPECT_EQ(r->sample_end[s], 109u + 5 * s);
  ASSERT_TRUE(r->interval_cycles);
  EXPECT_EQ(*r->interval_cycles, 5.0);
  EXPECT_EQ(r->cycles, r->sample_end[7]);
  ASSERT_EQ(r->host_steps.size(), 1u);
  EXPECT_EQ(r->host_steps[0].busy, 40u);
}

TEST_F(ModelRun, BelowFourSamplesThereIsNoInterval) {
  EXPECT_FALSE(run_model(device_, {}, inputs(3), {}, diag_)->interval_cycles);
}

TEST_F(ModelRun, MoreSamplesThanGivenStartOver) {
  const auto r = run_model(device_, {}, inputs(2), {.samples = 5}, diag_);
  ASSERT_TRUE(r);
  EXPECT_EQ(r->samples, 5);
  for (int64_t i = 0; i < 4; ++i) EXPECT_EQ(r->outputs[0].tensor.get(16 + i), r->outputs[0].tensor.get(i));
}

TEST_F(ModelRun, ALostStreamIsADeadlockWithTheCount) {
  device_.lost_ = true;
  const auto r = run_model(device_, {}, inputs(2), {}, diag_);
  ASSERT_TRUE(r);
  EXPECT_EQ(r->status.reason, StopReason::deadlock);
  EXPECT_NE(r->status.message.find("0 of 2 samples"), std::string::npos) << r->status.message;
}

TEST_F(ModelRun, TheCycleLimitIsReported) {
  const auto r = run_model(device_, {}, inputs(2), {.max_cycles = 50}, diag_);
  ASSERT_TRUE(r);
  EXPECT_EQ(r->status.reason, StopReason::max_cycles);
  EXPECT_EQ(r->status.fault, "timeout");
}

TEST_F(ModelRun, WrongInputsSayWhatTheModelWants) {
  Diag diag;
  EXPECT_FALSE(run_model(device_, {}, {}, {}, diag));
  EXPECT_NE(diag.to_string().find("no array 'x'"), std::string::npos);
  Diag shape;
  EXPECT_FALSE(run_model(device_, {}, {{"x", ops::Tensor({DataType::f32, {2, 5}})}}, {}, shape));
  EXPECT_NE(shape.to_string().find("f32[2, 5]"), std::string::npos);
  EXPECT_NE(shape.to_string().find("f32[1, 4]"), std::string::npos);
}

TEST(HostTime, IsOperationsOverRatePlusBytesOverBandwidth) {
  Machine m;
  m.clock_mhz = 1000;
  m.host.host_gflops = 2;
  m.host.host_gb_per_s = 4;
  // 2000 flops at 2 GFLOP/s: 1000 ns; 400 bytes at 4 GB/s: 100 ns; 1 ns per cycle.
  EXPECT_EQ(host_op_cycles(m, 2000, 400), 1100u);
  EXPECT_EQ(host_op_cycles(m, 0, 0), 1u);
}

TEST_F(ModelRun, AnUnknownOperatorIsADiagnostic) {
  Program p = doubling_program();
  p.host->steps[2].op = "rellu";
  device_.load(p, {}, diag_);
  EXPECT_FALSE(run_model(device_, {}, inputs(1), {}, diag_));
  EXPECT_NE(diag_.to_string().find("unknown operator 'rellu'"), std::string::npos);
  EXPECT_NE(diag_.to_string().find("did you mean 'relu'"), std::string::npos);
}

}  // namespace
}  // namespace cs
