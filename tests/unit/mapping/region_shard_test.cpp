// Sharding of regions, without CSL: every PE's part of the program runs on the host with nothing but what
// that PE stores, and what the PEs send together must be the whole result. Every axis, several numbers of
// PEs.
#include <gtest/gtest.h>

#include <algorithm>

#include "compiler/autogen/region.h"
#include "compiler/kernels/region_layout.h"
#include "tests/unit/mapping/harness.h"

namespace cs::test {
namespace {

using autogen::Region;
using autogen::RegionCut;
using autogen::RegionShare;
using autogen::Runs;
using ops::LoopBuilder;
using ops::LoopView;

std::vector<int64_t> addresses(const Runs& r) {
  std::vector<int64_t> list;
  for (int64_t start : r.starts()) {
    for (int64_t i = 0; i < r.run(); ++i) list.push_back(start + i);
  }
  return list;
}

// Results of the PE's share, as it stores them.
std::vector<ops::Tensor> run_share(const RegionShare& share, const std::vector<ops::Tensor>& operands) {
  ops::LoopProgram local = share.program;
  std::vector<ops::Tensor> in, out;
  for (size_t b = 0; b < local.buffers.size(); ++b) {
    std::vector<int64_t> at = addresses(share.stored[b]);
    ops::TensorType type{DataType::f32, {int64_t(at.size())}};
    if (local.buffers[b].kind == ops::BufferKind::operand) {
      ops::Tensor t(type);
      for (size_t i = 0; i < at.size(); ++i) t.set(int64_t(i), operands[in.size()].get(at[i]));
      in.push_back(std::move(t));
    } else if (local.buffers[b].kind == ops::BufferKind::result) {
      out.emplace_back(type);
    }
    local.buffers[b].type = type;
  }
  for (ops::LoopBlock& block : local.blocks) {
    for (ops::LoopStatement& s : block.statements) {
      s.out = autogen::local_access(s.out, share.stored[size_t(s.out.buffer)]);
      for (ops::LoopAccess& a : s.loads) {
        if (a.buffer != ops::kCounter) a = autogen::local_access(a, share.stored[size_t(a.buffer)]);
      }
    }
  }
  std::vector<const ops::Tensor*> pointers;
  for (const ops::Tensor& t : in) pointers.push_back(&t);
  std::string error;
  EXPECT_TRUE(ops::evaluate_loops(local, pointers, out, error)) << error << "\n" << ops::loops_text(local);
  return out;
}

// Rows of every axis and several lengths, rectangles of every two axes that nest and of one axis folded.
std::vector<RegionCut> cuts_of(const ops::Shape& shape) {
  auto chunks = [](const autogen::ShardAxis& axis, int parts, bool south) {
    return autogen::AxisCut{axis, parts, (axis.extent + parts - 1) / parts, south};
  };
  std::vector<RegionCut> list;
  for (const autogen::ShardAxis& a : autogen::shard_axes(shape)) {
    for (int pes : {1, 2, 3, 5}) {
      if (pes <= a.extent) list.push_back(autogen::in_row(a, pes));
      for (const autogen::ShardAxis& b : autogen::shard_axes(shape)) {
        if (a.stride % b.period() != 0 || pes > a.extent) continue;
        for (int more : {2, 4}) {
          if (more <= b.extent) list.push_back({{chunks(a, pes, true), chunks(b, more, false)}});
        }
      }
    }
    int64_t chunk = (a.extent + 3) / 4;
    list.push_back({{{a, 2, 2 * chunk, true}, {a, 2, chunk, false}}});
  }
  return list;
}

// All PEs of the cut together send every element of a result once, and rightly.
void expect_parts(const Region& r, const RegionCut& cut, size_t result,
                  const std::vector<ops::Tensor>& operands, const ops::Tensor& expected) {
  std::vector<int> seen(size_t(expected.elements()), 0);
  for (int pe = 0; pe < cut.w() * cut.h(); ++pe) {
    RegionShare share = autogen::shard_region(r, cut, pe % cut.w(), pe / cut.w());
    std::vector<ops::Tensor> got = run_share(share, operands);
    std::vector<int64_t> stored = addresses(share.stored[size_t(r.result_buffer[result])]);
    for (int64_t at : addresses(share.sent[result])) {
      auto found = std::find(stored.begin(), stored.end(), at);
      ASSERT_NE(found, stored.end());
      ++seen[size_t(at)];
      EXPECT_EQ(got[result].get(found - stored.begin()), expected.get(at))
          << "address " << at << " on PE " << pe << ", " << autogen::cut_text(cut);
    }
  }
  EXPECT_EQ(std::count(seen.begin(), seen.end(), 1), expected.elements()) << "every element once";
}

void expect_whole(const ops::LoopProgram& program) {
  Region r;
  r.program = program;
  std::vector<ops::Tensor> operands, expected;
  for (size_t b = 0; b < program.buffers.size(); ++b) {
    const ops::LoopBuffer& buffer = program.buffers[b];
    if (buffer.kind == ops::BufferKind::operand) {
      r.operand_buffer.push_back(int(b));
      operands.push_back(ops::Tensor::from_floats(buffer.type.shape,
                                                  numbers(size_t(buffer.type.elements()), uint32_t(3 + b))));
    } else if (buffer.kind == ops::BufferKind::result) {
      r.result_buffer.push_back(int(b));
      r.results.emplace_back();
      expected.emplace_back(buffer.type);
    }
  }
  std::vector<const ops::Tensor*> pointers;
  for (const ops::Tensor& t : operands) pointers.push_back(&t);
  std::string error;
  ASSERT_TRUE(ops::evaluate_loops(program, pointers, expected, error)) << error;
  for (const RegionCut& cut : cuts_of(program.buffers[size_t(r.result_buffer[0])].type.shape)) {
    for (size_t i = 0; i < r.results.size(); ++i) expect_parts(r, cut, i, operands, expected[i]);
  }
}

ops::TensorType f32(ops::Shape shape) { return {DataType::f32, std::move(shape)}; }

TEST(RegionShard, Matmul) {
  ops::TensorType a = f32({6, 5}), b = f32({5, 8}), y = f32({6, 8});
  const ops::TensorType* in[] = {&a, &b};
  ops::LoopProgram p;
  std::string error;
  ASSERT_TRUE(ops::loops_of(*ops::find_op("matmul"), {}, in, std::span(&y, 1), p, error));
  expect_whole(p);
}

TEST(RegionShard, PaddedConvolutionWithMergedFill) {
  // y[o, h, w] = Σ c, k, l xp[c, h + k, w + l] w[o, c, k, l], xp = x with a border of one.
  ops::TensorType x = f32({2, 6, 5}), w = f32({4, 2, 3, 3}), y = f32({4, 6, 5});
  const ops::TensorType* in[] = {&x, &w};
  ops::LoopProgram p;
  LoopBuilder b(p, in, std::span(&y, 1));
  LoopView padded = b.temporary("padded", DataType::f32, {2, 8, 7});
  b.fill(padded, 0);
  b.copy(padded.sliced(1, 1, 6).sliced(2, 1, 5), b.operand(0));
  b.fill(b.result(), 0);
  ops::LoopAccess from, weight, out;
  from.buffer = padded.buffer;
  from.strides = {0, 7, 1, 56, 7, 1};
  weight.buffer = 1;
  weight.strides = {18, 0, 0, 9, 3, 1};
  out.buffer = b.result().buffer;
  out.strides = {30, 5, 1, 0, 0, 0};
  b.statement({4, 6, 5, 2, 3, 3}, out, {from, weight}, "x0 * x1", ops::Combine::add);
  for (ops::LoopStatement& s : p.blocks[0].statements) autogen::merge_axes(s);
  expect_whole(p);
  // Rows 2 and 3 of 6 read rows 1 to 4 of both channels.
  Region r;
  r.program = p;
  r.operand_buffer = {0, 1};
  r.result_buffer = {2};
  r.results.resize(1);
  RegionShare share = autogen::shard_region(r, autogen::in_row({5, 6}, 3), 1, 0);
  EXPECT_EQ(share.stored[0], (Runs{{{30, 0, 2}, {1, 5, 20}}}));
  EXPECT_EQ(share.sent[0], (Runs{{{30, 0, 4}, {1, 10, 10}}}));
}

// A picture of 96 x 96 with a border, rows of it over columns of PEs and columns over rows. A PE at the right
// edge keeps 34 rows of 33 words, one at the lower edge 33 rows of 34: 1122 words in one run of either row's
// stream, but not the same program.
TEST(RegionLayout, EdgesWithEquallyManyWordsAreDifferentPrograms) {
  ops::TensorType x = f32({96, 96}), y = f32({96, 96});
  const ops::TensorType* in[] = {&x};
  Region r;
  LoopBuilder b(r.program, in, std::span(&y, 1));
  LoopView padded = b.temporary("padded", DataType::f32, {98, 98});
  b.fill(padded, 0);
  b.copy(padded.sliced(0, 1, 96).sliced(1, 1, 96), b.operand(0));
  b.fill(b.result(), 0);
  ops::LoopAccess from, out;
  from.buffer = padded.buffer;
  from.strides = {98, 1, 98, 1};
  out.buffer = b.result().buffer;
  out.strides = {96, 1, 0, 0};
  b.statement({96, 96, 3, 3}, out, {from}, "x0", ops::Combine::add);
  r.operand_buffer = {0};
  r.result_buffer = {1};
  r.operands.resize(1);
  r.results.resize(1);
  const RegionCut cut{{{{96, 96}, 3, 32, false}, {{1, 96}, 3, 32, true}}};
  kernels::RegionLayout l = kernels::lay_out(r, cut);
  ASSERT_EQ(l.pes.size(), 9u);
  auto extents = [&](size_t pe) {
    std::vector<int64_t> list;
    for (const autogen::Moves& m : l.kinds[size_t(l.pes[pe].kind)].receive[0].moves) list.push_back(m.extent);
    return list;
  };
  EXPECT_EQ(extents(2 * 3 + 1),
            (std::vector<int64_t>{34, 33}));  // PE (1, 2): columns 63 to 95 of rows 31 to 64
  for (int y = 0; y < 3; ++y) EXPECT_EQ(l.row_words(0, y), (y == 1 ? 34 : 33) * 96) << y;  // columns of all rows
  EXPECT_EQ(extents(1 * 3 + 2),
            (std::vector<int64_t>{33, 34}));  // PE (2, 1): columns 31 to 64 of rows 63 to 95
}

// y[i] = x[i]: the PE that sends first has its words first. y[i] = x[11 - i]: it has them last.
TEST(RegionLayout, SaysWhetherResultsLeaveInTheOrderOfTheWords) {
  const auto in_order = [](int64_t offset, int64_t stride) {
    ops::TensorType x = f32({12}), y = f32({12});
    const ops::TensorType* in[] = {&x};
    Region r;
    LoopBuilder b(r.program, in, std::span(&y, 1));
    ops::LoopAccess from, out;
    from.offset = offset;
    from.strides = {stride};
    out.buffer = b.result().buffer;
    out.strides = {1};
    b.statement({12}, out, {from}, "x0");
    r.operand_buffer = {0};
    r.result_buffer = {1};
    r.operands.resize(1);
    r.results.resize(1);
    return kernels::lay_out(r, RegionCut{{{{1, 12}, 3, 4, false}}}).in_order;
  };
  EXPECT_TRUE(in_order(0, 1));
  EXPECT_FALSE(in_order(11, -1));
}

TEST(RegionShard, ColumnsOfRowsOfChannels) {
  // y[h, w] = Σ c, k, l x[c, h + k, w + l], rows over rows of PEs and columns over columns.
  ops::TensorType x = f32({3, 8, 64}), y = f32({6, 62});
  const ops::TensorType* in[] = {&x};
  ops::LoopProgram p;
  LoopBuilder b(p, in, std::span(&y, 1));
  b.fill(b.result(), 0);
  ops::LoopAccess from, out;
  from.strides = {64, 1, 512, 64, 1};
  out.buffer = b.result().buffer;
  out.strides = {62, 1, 0, 0, 0};
  b.statement({6, 62, 3, 3, 3}, out, {from}, "x0", ops::Combine::add);
  expect_whole(p);
  Region r;
  r.program = p;
  r.operand_buffer = {0};
  r.result_buffer = {1};
  r.results.resize(1);
  // PE (1, 1) of 2 x 3: rows 2 and 3, columns 31 to 61.
  RegionCut cut{{{{62, 6}, 3, 2, true}, {{1, 62}, 2, 31, false}}};
  RegionShare share = autogen::shard_region(r, cut, 1, 1);
  EXPECT_EQ(share.stored[0], (Runs{{{512, 0, 3}, {64, 2, 4}, {1, 31, 33}}}));
  EXPECT_EQ(share.sent[0], (Runs{{{62, 2, 2}, {1, 31, 31}}}));
}

TEST(RegionShard, RecurrenceAndReversal) {
  // s[r, i] = s[r, i - 1] + x[r, i]; y[r, i] = s[r, 5 - i].
  ops::TensorType x = f32({4, 6}), y = f32({4, 6});
  const ops::TensorType* in[] = {&x};
  ops::LoopProgram p;
  LoopBuilder b(p, in, std::span(&y, 1));
  LoopView s = b.temporary("s", DataType::f32, {4, 6});
  b.copy(s.sliced(1, 0, 1), b.operand(0).sliced(1, 0, 1));
  b.begin_block(5);
  auto moving = [](LoopView v, int64_t start) {
    ops::LoopAccess a;
    a.buffer = v.buffer;
    a.offset = start;
    a.step = 1;
    a.strides = {6};
    return a;
  };
  b.statement({4}, moving(s, 1), {moving(s, 0), moving(b.operand(0), 1)}, "x0 + x1");
  b.begin_block(1);
  LoopView reversed = s;
  reversed.offset = 5;
  reversed.strides[1] = -1;
  b.copy(b.result(), reversed);
  expect_whole(p);
}

TEST(RegionShard, TwoResultsAndTranspose) {
  ops::TensorType x = f32({4, 6});
  ops::TensorType y[] = {f32({6, 4}), f32({6})};
  const ops::TensorType* in[] = {&x};
  ops::LoopProgram p;
  LoopBuilder b(p, in, y);
  const int swap[] = {1, 0};
  b.copy(b.result(0), b.operand(0).permuted(swap));
  b.fill(b.result(1), 0);
  LoopView sum = b.result(1).with_shape({6, 1}).broadcast_to({6, 4});
  b.statement({6, 4}, sum.access(), {b.operand(0).permuted(swap).access()}, "x0", ops::Combine::add);
  expect_whole(p);
}

TEST(RegionShard, GatesOfACellLieApart) {
  // g[b, 96] = W[96, 5] x[b, 5]; y[b, h] = g[b, h] + g[b, 64 + h] * g[b, 32 + h], h < 32: three gates in one
  // vector.
  for (int64_t batch : {1, 2}) {
    ops::TensorType x = f32({batch, 5}), w = f32({96, 5}), y = f32({batch, 32});
    const ops::TensorType* in[] = {&x, &w};
    ops::LoopProgram p;
    LoopBuilder b(p, in, std::span(&y, 1));
    LoopView gates = b.temporary("gates", DataType::f32, {batch, 96});
    b.fill(gates, 0);
    ops::LoopAccess out, from, weight;
    out.buffer = gates.buffer;
    out.strides = {96, 1, 0};
    from.buffer = 0;
    from.strides = {5, 0, 1};
    weight.buffer = 1;
    weight.strides = {0, 5, 1};
    b.statement({batch, 96, 5}, out, {from, weight}, "x0 * x1", ops::Combine::add);
    b.elementwise(b.result(), {gates.sliced(1, 0, 32), gates.sliced(1, 32, 32), gates.sliced(1, 64, 32)},
                  "x0 + x2 * x1");
    for (ops::LoopStatement& s : p.blocks[0].statements) autogen::merge_axes(s);
    expect_whole(p);
    // Row 1 of every gate's part of W.
    Region r;
    r.program = p;
    r.operand_buffer = {0, 1};
    r.result_buffer = {2};
    r.results.resize(1);
    RegionShare share = autogen::shard_region(r, autogen::in_row({1, 32}, 32), 1, 0);
    EXPECT_EQ(share.stored[1], (Runs{{{160, 0, 3}, {1, 5, 5}}})) << batch;
  }
}

TEST(RegionShard, SlicesInTimeGiveTheWhole) {
  // y[c, i] = max over j of x[c, i + j], j < 3, for 12 planes of 1000: 23976 words, so four parts of 3
  // planes.
  ops::TensorType x = f32({12, 1002}), y = f32({12, 1000});
  const ops::TensorType* in[] = {&x};
  ops::LoopProgram p;
  LoopBuilder b(p, in, std::span(&y, 1));
  b.fill(b.result(), -100);
  ops::LoopAccess from, out;
  from.buffer = 0;
  from.strides = {1002, 1, 1};
  out.buffer = 1;
  out.strides = {1000, 1, 0};
  b.statement({12, 1000, 3}, out, {from}, "x0", ops::Combine::max);
  for (ops::LoopStatement& s : p.blocks[0].statements) autogen::merge_axes(s);
  Region r;
  r.program = p;
  r.operands.resize(1);
  r.operand_buffer = {0};
  r.result_buffer = {1};
  r.results.resize(1);
  ASSERT_EQ(autogen::slice_region(r), 4);
  EXPECT_EQ(r.program.buffers[0].type.shape, (ops::Shape{3, 1002}));
  EXPECT_EQ(r.program.buffers[1].type.shape, (ops::Shape{3, 1000}));
  ops::Tensor whole = ops::Tensor::from_floats(x.shape, numbers(12 * 1002, 5));
  std::vector<ops::Tensor> expected(1, ops::Tensor(y));
  const ops::Tensor* operands[] = {&whole};
  std::string error;
  ASSERT_TRUE(ops::evaluate_loops(p, operands, expected, error)) << error;
  for (int64_t part = 0; part < 4; ++part) {
    ops::Tensor some(f32({3, 1002}));
    for (int64_t i = 0; i < some.elements(); ++i) some.set(i, whole.get(part * some.elements() + i));
    const ops::Tensor* piece[] = {&some};
    std::vector<ops::Tensor> got(1, ops::Tensor(f32({3, 1000})));
    ASSERT_TRUE(ops::evaluate_loops(r.program, piece, got, error)) << error;
    for (int64_t i = 0; i < 3000; ++i) ASSERT_EQ(got[0].get(i), expected[0].get(part * 3000 + i)) << i;
  }
  // With a second stream the region stays whole: the streams could wait for each other.
  r.program = p;
  r.operands.resize(2);
  EXPECT_EQ(autogen::slice_region(r), 1);
}

// Words 0 to 28 and 94 to 111 of a stream of 112: two runs of 29 with 94 from one to the next would hold
// both, but the second one would end with word 122, for which a PE would wait for ever.
TEST(RegionShard, WhatIsKeptOfAStreamEndsWithTheStream) {
  const Runs low = autogen::interval(0, 28), high = autogen::interval(94, 111);
  EXPECT_EQ(autogen::hull(low, high, 1000).last(), 122);
  const Runs both = autogen::hull(low, high, 112);
  EXPECT_EQ(both.first(), 0);
  EXPECT_EQ(both.last(), 111);
  EXPECT_EQ(both.words(), 112);
}

// y = -x for 1 x 12 planes of 40 x 50: a part keeps the form of its planes, so it can be cut along both
// sides.
TEST(RegionShard, DimensionsOfOneDoNotHideThoseBehindThem) {
  ops::TensorType x = f32({1, 12, 40, 50});
  const ops::TensorType* in[] = {&x};
  ops::LoopProgram p;
  LoopBuilder b(p, in, std::span(&x, 1));
  b.elementwise(b.result(), {b.operand(0)}, "-x0");
  Region r;
  r.program = p;
  r.operands.resize(1);
  r.operand_buffer = {0};
  r.result_buffer = {1};
  r.results.resize(1);
  ASSERT_EQ(autogen::slice_region(r), 6);
  EXPECT_EQ(r.program.buffers[1].type.shape, (ops::Shape{1, 2, 40, 50}));
}

}  // namespace
}  // namespace cs::test
