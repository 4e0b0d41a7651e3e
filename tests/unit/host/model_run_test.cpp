// Pipelined runs over a device whose timing is known: latency, interval and values by hand.
#include "runtime/host/model_run.h"

#include <gmock/gmock.h>

#include "runtime/host/port_rates.h"
#include "tests/unit/host/fake_device.h"

namespace cs {
namespace {

using ::testing::DoubleEq;
using ::testing::DoubleNear;
using ::testing::ElementsAre;

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
    Machine::Host& host = device_.mutable_machine().host;
    host.host_cores = 1;
    host.host_gflops = 1;          // 4 operations: 4 ns = 4 cycles
    host.host_gb_per_s = 32;       // 32 bytes in and out: 1 ns, hidden behind the operations
    host.host_op_us = 0.001;       // 1 cycle
    host.host_crossing_us = 0.02;  // 20 cycles
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
  // Sample s enters at 4s .. 4s+3 and is at the edge from 4s + 4 + 100 on, 20 cycles later on the host, whose
  // one core takes 5 for it. The host is slower (5) than the stream (4).
  EXPECT_EQ(r->first_input, 0u);
  EXPECT_EQ(r->sample_end[0], 104u + 20 + 5);
  EXPECT_EQ(r->latency_cycles, 129u);
  for (size_t s = 0; s < 8; ++s) EXPECT_EQ(r->sample_end[s], 129u + 5 * s);
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
  EXPECT_FALSE(run_model(device_, {}, std::vector<NamedArray>{}, {}, diag));
  EXPECT_NE(diag.to_string().find("no array 'x'"), std::string::npos);
  Diag shape;
  EXPECT_FALSE(run_model(device_, {}, {{"x", ops::Tensor({DataType::f32, {2, 5}})}}, {}, shape));
  EXPECT_NE(shape.to_string().find("f32[2, 5]"), std::string::npos);
  EXPECT_NE(shape.to_string().find("f32[1, 4]"), std::string::npos);
}

// Two cores with half the rate each: 8 cycles of operations and 1 on top. Operands arrive every 4 cycles from
// 124 on.
TEST_F(ModelRun, CoresShareTheSamples) {
  device_.mutable_machine().host.host_cores = 2;
  const auto r = run_model(device_, {}, inputs(8), {}, diag_);
  ASSERT_TRUE(r);
  EXPECT_EQ(r->sample_end, (std::vector<Cycle>{133, 137, 142, 146, 151, 155, 160, 164}));
  EXPECT_EQ(r->host_spans[2], (HostSpan{.sample = 2, .step = 2, .core = 0, .begin = 133, .end = 142}));
  ASSERT_TRUE(r->interval_cycles);  // four rounds of two samples
  EXPECT_EQ(*r->interval_cycles, 4.5);
}

TEST_F(ModelRun, OfCopiesTheIntervalNeedsFourRounds) {
  const std::vector<Cycle> ends{10, 10, 10, 20, 20, 20, 30, 30, 30, 40, 40, 40, 50};
  EXPECT_EQ(interval_of(ends, 3), 10.0 / 3);  // from the sixth to the twelfth
  EXPECT_FALSE(interval_of(ends, 4));
  EXPECT_EQ(interval_of(std::span(ends).first(4), 1), 5.0);
}

// The host's result crosses to the edge: the operator ends at 5, its wavelets enter from 25 on.
TEST_F(ModelRun, WhatTheHostMakesCrossesToTheWafer) {
  Program p = doubling_program();
  p.host->steps[2].inputs = {"x"}, p.host->steps[2].outputs = {"v"};
  p.host->steps[0].tensor = "v", p.host->steps[1].tensor = "y";
  std::swap(p.host->steps[0], p.host->steps[2]);
  std::swap(p.host->steps[1], p.host->steps[2]);
  device_.load(p, {}, diag_);
  const auto r = run_model(device_, {}, inputs(2), {}, diag_);
  ASSERT_TRUE(r) << diag_.to_string();
  EXPECT_EQ(r->first_input, 25u);
  EXPECT_EQ(r->sample_end, (std::vector<Cycle>{129, 134}));
}

// A program that computes on the wafer alone; its output gets another shape on the host.
TEST_F(ModelRun, WithoutOperatorsTheHostsCostsDoNotCount) {
  Program p = doubling_program();
  p.host->steps[2].op = "reshape";
  p.host->steps[2].attrs = {{"shape", std::vector<int64_t>{4, 1}}};
  p.host->outputs[0].shape = {4, 1};
  p.host->outputs[0].sample_dim = 1;
  device_.load(p, {}, diag_);
  Machine::Host& host = device_.mutable_machine().host;
  host.host_op_us = host.host_crossing_us = 1000;
  host.host_gflops = host.host_gb_per_s = 1e-3;
  const auto r = run_model(device_, {}, inputs(2), {}, diag_);
  ASSERT_TRUE(r) << diag_.to_string();
  EXPECT_EQ(r->sample_end, (std::vector<Cycle>{104, 108}));
  EXPECT_TRUE(r->host_spans.empty());
}

TEST(HostTime, IsAFixedPartPlusTheLargerOfOperationsAndBytes) {
  Machine m;
  m.clock_mhz = 1000;
  m.host.host_cores = 4;
  m.host.host_op_us = 0.05;
  m.host.host_gflops = 2;
  m.host.host_gb_per_s = 4;
  // 2000 flops at a quarter of 2 GFLOP/s: 4000 ns; 400 bytes at a quarter of 4 GB/s: 400 ns; 1 ns per cycle.
  EXPECT_EQ(host_op_cycles(m, 2000, 400), 4050u);
  EXPECT_EQ(host_op_cycles(m, 20, 400), 450u);
}

TEST(HostProcessor, TakesTheEarliestSampleOfThoseThatAreReady) {
  HostProcessor p(1);
  p.add({.sample = 1, .step = 0, .ready = 0, .cycles = 10});
  p.add({.sample = 0, .step = 1, .ready = 5, .cycles = 10});
  p.add({.sample = 0, .step = 0, .ready = 0, .cycles = 4});
  EXPECT_EQ(p.start_next(), (HostSpan{.sample = 0, .step = 0, .core = 0, .begin = 0, .end = 4}));
  EXPECT_EQ(p.start_next(), (HostSpan{.sample = 1, .step = 0, .core = 0, .begin = 4, .end = 14}));
  EXPECT_EQ(p.start_next(), (HostSpan{.sample = 0, .step = 1, .core = 0, .begin = 14, .end = 24}));
  EXPECT_TRUE(p.idle());
}

// Of two input ports one carries seven times as much of a sample as the other.
TEST(PortRates, ShareTheNetworkByWhatASampleBrings) {
  Program p;
  p.ports = {{"a", true, Port::west, 0, 1}, {"b", true, Port::west, 1, 1}, {"out", false, Port::east, 0, 2}};
  HostPart h;
  h.inputs = {{"x", DataType::f32, {1, 100}, 0}, {"y", DataType::f32, {1, 700}, 0}};
  HostStep a, b;
  a.kind = b.kind = HostStep::Kind::send;
  a.port = "a", a.tensor = "x", b.port = "b", b.tensor = "y";
  h.steps = {a, b};
  p.host = h;
  Machine m;
  m.clock_mhz = 1000;
  m.host.host_wavelets_per_cycle = 1;
  m.host.system_gb_per_s = 3.2;  // 0.8 wavelets per cycle: 0.1 and 0.7
  EXPECT_THAT(port_periods(p, m), ElementsAre(DoubleEq(10), DoubleEq(1 / 0.7), DoubleEq(1 / 0.8)));
  m.host.system_gb_per_s =
      4.8;  // 1.2: the larger share is beyond the port's rate, the other gets what is left
  EXPECT_THAT(port_periods(p, m), ElementsAre(DoubleNear(5, 1e-9), 1, 1));
  m.host.system_gb_per_s = 150;
  EXPECT_THAT(port_periods(p, m), ElementsAre(1, 1, 1));
}

// Three streams of two ports: a port's part is that of its streams together.
TEST(PortRates, StreamsAtOnePlaceHaveOnePort) {
  Program p;
  p.ports = {{"a", true, Port::west, 0, 1}, {"b", true, Port::west, 0, 2}, {"c", true, Port::west, 1, 1}};
  HostPart h;
  h.inputs = {{"x", DataType::f32, {1, 100}, 0}, {"y", DataType::f32, {1, 200}, 0}, {"z", DataType::f32, {1, 500}, 0}};
  for (const auto& [port, tensor] : {std::pair("a", "x"), std::pair("b", "y"), std::pair("c", "z")}) {
    HostStep& step = h.steps.emplace_back();
    step.kind = HostStep::Kind::send;
    step.port = port;
    step.tensor = tensor;
  }
  p.host = h;
  Machine m;
  m.clock_mhz = 1000;
  m.host.host_wavelets_per_cycle = 1;
  m.host.system_gb_per_s = 3.2;  // 0.8 wavelets per cycle: 0.3 and 0.5
  EXPECT_THAT(port_periods(p, m), ElementsAre(DoubleEq(1 / 0.3), DoubleEq(1 / 0.3), DoubleEq(2)));
}

// x[b, 4] -> wafer (doubles) -> v; m = the largest of every column of all v; y = v - m; z = all v, one after another
Program batch_program() {
  Program p = doubling_program();
  HostPart& h = *p.host;
  h.values.push_back({"m", DataType::f32, {1, 4}, -1});
  h.outputs.push_back({"z", DataType::f32, {4}, 0});
  HostStep largest, rest, flat;
  largest.op = "reduce_max", largest.inputs = {"v"}, largest.outputs = {"m"}, largest.whole_batch = true;
  largest.attrs = {{"axes", std::vector<int64_t>{0}}};
  rest.op = "sub", rest.inputs = {"v", "m"}, rest.outputs = {"y"};
  flat.op = "reshape", flat.inputs = {"v"}, flat.outputs = {"z"}, flat.whole_batch = true;
  flat.attrs = {{"shape", std::vector<int64_t>{-1}}};
  h.steps = {h.steps[0], h.steps[1], largest, rest, flat};
  return p;
}

TEST_F(ModelRun, OperatorsOverTheWholeBatchWaitForItsLastSample) {
  device_.load(batch_program(), {}, diag_);
  const auto r = run_model(device_, {}, inputs(3), {}, diag_);
  ASSERT_TRUE(r) << diag_.to_string();
  // v is 0 -2 4 -6 | 8 -10 12 -14 | 16 -18 20 -22: the columns' largest are 16 -2 20 -6.
  const double y[] = {-16, 0, -16, 0, -8, -8, -8, -8, 0, -16, 0, -16};
  ASSERT_EQ(r->outputs[1].tensor.elements(), 12);
  for (int64_t i = 0; i < 12; ++i) {
    EXPECT_EQ(r->outputs[0].tensor.get(i), y[i]) << i;
    EXPECT_EQ(r->outputs[1].tensor.get(i), (i % 2 == 0 ? 2.0 : -2.0) * double(i)) << i;
  }
  // The third sample is at the edge at 4 * 3 + 100 and 20 later on the host.
  EXPECT_GT(r->sample_end[0], 132u);
}

TEST_F(ModelRun, BatchesRepeatAndOneMayBeCutShort) {
  device_.load(batch_program(), {}, diag_);
  const auto r = run_model(device_, {}, inputs(2), {.samples = 5}, diag_);
  ASSERT_TRUE(r) << diag_.to_string();
  EXPECT_EQ(r->samples, 5);
  EXPECT_FALSE(r->interval_cycles);  // samples end two at a time: four batches are needed
  for (int64_t i = 0; i < 4; ++i) {
    EXPECT_EQ(r->outputs[0].tensor.get(8 + i), r->outputs[0].tensor.get(i));
    EXPECT_EQ(r->outputs[0].tensor.get(16 + i), r->outputs[0].tensor.get(i));
  }
}

// The network of a program several times: every copy has ports and steps of its own, but for operators over the batch.
Program in_copies(Program p, int copies) {
  HostPart& h = *p.host;
  const std::vector<HostPort> ports = p.ports;
  const std::vector<HostStep> steps = h.steps;
  h.copies = copies;
  h.steps.clear();
  for (int c = 1; c < copies; ++c)
    for (HostPort port : ports) {
      port.name += std::to_string(c);
      port.position = c;
      p.ports.push_back(port);
    }
  for (const HostStep& step : steps)
    for (int c = 0; c < (step.whole_batch ? 1 : copies); ++c) {
      HostStep& own = h.steps.emplace_back(step);
      own.copy = c;
      if (!own.port.empty() && c > 0) own.port += std::to_string(c);
    }
  return p;
}

TEST_F(ModelRun, CopiesGiveTheValuesOfOneNetwork) {
  for (const int copies : {1, 2, 3, 5})
    for (const int samples : {1, 2, 4, 7, 16}) {
      FakeDevice device(100);
      device.mutable_machine().host = device_.machine().host;
      device.load(in_copies(doubling_program(), copies), {}, diag_);
      const auto r = run_model(device, {}, inputs(samples), {}, diag_);
      ASSERT_TRUE(r) << diag_.to_string();
      ASSERT_EQ(r->status.reason, StopReason::condition) << r->status.message;
      EXPECT_EQ(r->samples, samples);
      const ops::Tensor& y = r->outputs[0].tensor;
      ASSERT_EQ(y.type.shape, (ops::Shape{samples, 4}));
      for (int64_t i = 0; i < y.elements(); ++i)
        ASSERT_EQ(y.get(i), i % 2 == 0 ? 2.0 * double(i) : 0.0) << copies << " copies, element " << i;
    }
}

// Without an operator a sample of four words takes a port four cycles, so two copies take two: samples 0 and 1 end at
// 4 + 100, the next two 4 later. The first sample takes what it takes alone.
TEST_F(ModelRun, CopiesTakeSamplesInTurn) {
  Program p = doubling_program();
  p.host->steps.pop_back();
  p.host->steps[1].tensor = "y";
  device_.load(in_copies(p, 2), {}, diag_);
  const auto r = run_model(device_, {}, inputs(9), {}, diag_);
  ASSERT_TRUE(r) << diag_.to_string();
  EXPECT_EQ(r->sample_end, (std::vector<Cycle>{104, 104, 108, 108, 112, 112, 116, 116, 120}));
  EXPECT_EQ(r->latency_cycles, 104u);
  EXPECT_EQ(r->copies, 2);
  ASSERT_TRUE(r->interval_cycles);  // from the end of sample 4 to that of sample 8: four rounds of two
  EXPECT_EQ(*r->interval_cycles, 2.0);
  EXPECT_EQ(r->outputs[0].tensor.get(17), -34.0);
}

TEST_F(ModelRun, FewerSamplesThanFourOfEveryCopyHaveNoInterval) {
  device_.load(in_copies(doubling_program(), 3), {}, diag_);
  EXPECT_FALSE(run_model(device_, {}, inputs(11), {}, diag_)->interval_cycles);
}

// Copies and cores of the host: 6 samples until two copies and three cores have had equally many.
TEST_F(ModelRun, RoundsAreThoseOfCopiesAndCores) {
  const Program p = in_copies(doubling_program(), 2);
  device_.mutable_machine().host.host_cores = 3;
  EXPECT_EQ(copies_over_samples(*p.host, device_.machine()), 6);
  device_.mutable_machine().host.host_cores = 4;
  EXPECT_EQ(copies_over_samples(*p.host, device_.machine()), 4);
}

// Two copies bring operands twice as fast as the host's only core takes them (5 cycles each): it is what is shared. The
// first two are on the host at 124.
TEST_F(ModelRun, CopiesShareTheHost) {
  device_.load(in_copies(doubling_program(), 2), {}, diag_);
  const auto r = run_model(device_, {}, inputs(8), {}, diag_);
  ASSERT_TRUE(r);
  for (size_t s = 0; s < 8; ++s) EXPECT_EQ(r->sample_end[s], 129u + 5 * s);
  EXPECT_EQ(*r->interval_cycles, 5.0);
  ASSERT_EQ(r->host_steps.size(), 1u);  // one operator, whichever copy asks
  EXPECT_EQ(r->host_steps[0].busy, 40u);
}

TEST_F(ModelRun, OperatorsOverTheWholeBatchTakeTheSamplesOfAllCopies) {
  device_.load(in_copies(batch_program(), 2), {}, diag_);
  const auto r = run_model(device_, {}, inputs(3), {}, diag_);
  ASSERT_TRUE(r) << diag_.to_string();
  const double y[] = {-16, 0, -16, 0, -8, -8, -8, -8, 0, -16, 0, -16};  // as by one network
  for (int64_t i = 0; i < 12; ++i) {
    EXPECT_EQ(r->outputs[0].tensor.get(i), y[i]) << i;
    EXPECT_EQ(r->outputs[1].tensor.get(i), (i % 2 == 0 ? 2.0 : -2.0) * double(i)) << i;
  }
}

// Two copies have a port each: of 0.4 wavelets per cycle of the network each gets half.
TEST(PortRates, CopiesShareTheNetwork) {
  const Program p = in_copies(doubling_program(), 2);
  Machine m;
  m.clock_mhz = 1000;
  m.host.host_wavelets_per_cycle = 1;
  m.host.system_gb_per_s = 1.6;
  EXPECT_THAT(port_periods(p, m), ElementsAre(DoubleEq(5), DoubleEq(5), DoubleEq(5), DoubleEq(5)));
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
