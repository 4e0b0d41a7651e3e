// Tensors in pieces: where words of a stream lie in the tensor, and when the tensor is there.
#include <gmock/gmock.h>

#include "runtime/host/model_run.h"
#include "runtime/host/pieces.h"
#include "runtime/host/port_rates.h"
#include "tests/unit/host/fake_device.h"

namespace cs {
namespace {

using ::testing::ElementsAre;

std::vector<double> values(const ops::Tensor& t) {
  std::vector<double> out;
  for (int64_t i = 0; i < t.elements(); ++i) out.push_back(t.get(i));
  return out;
}

HostTensor tensor(const std::string& name, std::vector<int64_t> shape, int64_t stride = 0,
                  std::vector<Piece> pieces = {}, DataType type = DataType::f32) {
  HostTensor t{.name = name, .type = type, .shape = std::move(shape), .sample_dim = 0};
  t.stride = stride, t.pieces = std::move(pieces);
  return t;
}

ops::Tensor counted(DataType type, std::vector<int64_t> shape, double from) {
  ops::Tensor t({type, std::move(shape)});
  for (int64_t i = 0; i < t.elements(); ++i) t.set(i, from + double(i));
  return t;
}

// The concatenation of [2, k, 2] and [2, 3 - k, 2] along the axis in the middle: blocks of 6 words, of which
// the one has the first 2 k. As numpy.concatenate([[[0, 1]], [[2, 3]]], [[[10, ...]]], axis=1) says.
TEST(Pieces, AreBlocksOfTheWhole) {
  for (const DataType type : {DataType::f32, DataType::f16, DataType::i64}) {
    const HostTensor y = tensor("y", {2, 3, 2}, 6, {{"b", 2, 4}, {"a", 0, 2}}, type);
    const ops::Tensor a = counted(type, {2, 1, 2}, 0), b = counted(type, {2, 2, 2}, 10);
    const ops::Tensor whole =
        join_pieces(y, [&](const Piece& p) -> const ops::Tensor& { return p.tensor == "a" ? a : b; });
    EXPECT_THAT(values(whole), ElementsAre(0, 1, 10, 11, 12, 13, 2, 3, 14, 15, 16, 17));
    EXPECT_EQ(cut_piece(y, y.pieces[0], tensor("b", {2, 2, 2}, 0, {}, type), whole), b);
    EXPECT_EQ(cut_piece(y, y.pieces[1], tensor("a", {2, 1, 2}, 0, {}, type), whole), a);
  }
}

// x[b, 2, 3] -> its first column over one port, the two others over a second one -> doubled -> y[b, 2, 3]
// with the two columns first. The piece `v` is an output too.
Program turning_program() {
  Program p;
  p.ports = {{"in0", true, Port::west, 0, 1},
             {"out0", false, Port::east, 0, 2},
             {"in1", true, Port::west, 1, 1},
             {"out1", false, Port::east, 1, 2}};
  HostPart h;
  h.dtype = "fp32";
  h.inputs = {tensor("x", {1, 2, 3}, 3, {{"x0", 0, 1}, {"x1", 1, 2}})};
  h.values = {tensor("x0", {1, 2, 1}), tensor("x1", {1, 2, 2}), tensor("u", {1, 2, 2})};
  h.outputs = {tensor("y", {1, 2, 3}, 3, {{"u", 0, 2}, {"v", 2, 1}}), tensor("v", {1, 2, 1})};
  const auto step = [&](HostStep::Kind kind, const char* port, const char* name) {
    HostStep& s = h.steps.emplace_back();
    s.kind = kind, s.port = port, s.tensor = name;
  };
  step(HostStep::Kind::send, "in0", "x0");
  step(HostStep::Kind::send, "in1", "x1");
  step(HostStep::Kind::receive, "out0", "v");
  step(HostStep::Kind::receive, "out1", "u");
  p.host = h;
  return p;
}

std::optional<ModelRunResult> run(FakeDevice& device, const Program& p, int samples) {
  Diag diag;
  device.load(p, {}, diag);
  auto r = run_model(device, {}, {{"x", counted(DataType::f32, {samples, 2, 3}, 0)}}, {}, diag);
  EXPECT_TRUE(r) << diag.to_string();
  return r;
}

TEST(Pieces, EveryStreamIsReadAndWrittenInItsPlace) {
  FakeDevice device(100);
  const auto r = run(device, turning_program(), 4);
  ASSERT_TRUE(r);
  EXPECT_EQ(r->status.reason, StopReason::condition) << r->status.message;
  ASSERT_EQ(r->outputs.size(), 2u);
  EXPECT_EQ(r->outputs[0].tensor.type.shape, (ops::Shape{4, 2, 3}));
  const std::vector<double> y = values(r->outputs[0].tensor), v = values(r->outputs[1].tensor);
  for (int row = 0; row < 8; ++row) {  // x = 3 row, 3 row + 1, 3 row + 2
    EXPECT_EQ(y[size_t(3 * row)], 2 * (3 * row + 1));
    EXPECT_EQ(y[size_t(3 * row + 1)], 2 * (3 * row + 2));
    EXPECT_EQ(y[size_t(3 * row + 2)], 2 * 3 * row);
    EXPECT_EQ(v[size_t(row)], 2 * 3 * row);
  }
}

// The longer stream, 4 words, is there at 4 + 100, and the output with it; the next sample 4 cycles later. No
// operator, no crossing.
TEST(Pieces, AnOutputIsThereWithItsLastPiece) {
  FakeDevice device(100);
  const auto r = run(device, turning_program(), 4);
  ASSERT_TRUE(r);
  EXPECT_EQ(r->sample_end, (std::vector<Cycle>{104, 108, 112, 116}));
  EXPECT_TRUE(r->host_steps.empty());
}

// An operator of the host that takes an output in pieces starts when all of it has crossed.
TEST(Pieces, AnOperatorOfTheHostTakesTheWhole) {
  Program p = turning_program();
  p.host->outputs.push_back(tensor("z", {1, 2, 3}));
  HostStep& op = p.host->steps.emplace_back();
  op.op = "neg", op.inputs = {"y"}, op.outputs = {"z"};
  FakeDevice device(100);
  Machine::Host& host = device.mutable_machine().host;
  host.host_cores = 1, host.host_op_us = 0.005, host.host_crossing_us = 0.02;  // 5 and 20 cycles
  host.host_gflops = host.host_gb_per_s = 1e9;
  const auto r = run(device, p, 1);
  ASSERT_TRUE(r);
  ASSERT_EQ(r->host_spans.size(), 1u);
  EXPECT_EQ(r->host_spans[0].begin, 104u + 20);
  EXPECT_THAT(values(r->outputs[2].tensor), ElementsAre(-2, -4, 0, -8, -10, -6));
}

// A network of 1.2 words a cycle in each direction; of the words of a sample one stream has a third.
TEST(Pieces, ShareTheNetworkByTheirWords) {
  Program p = turning_program();
  FakeDevice device(100);
  Machine m = device.machine();
  m.host.system_gb_per_s = 4 * 1.2;  // at 1000 MHz
  const std::vector<double> periods = port_periods(p, m);
  EXPECT_DOUBLE_EQ(periods[0], 1 / 0.4);
  EXPECT_DOUBLE_EQ(periods[2], 1 / 0.8);
}

}  // namespace
}  // namespace cs
