// Elements per second of whole vectors (execute_memory_vector), and scalar instructions per second.
#include <vector>

#include <benchmark/benchmark.h>

#include "simulator/exec/exec.h"

namespace cs::sim {
namespace {

void vector_op(benchmark::State& state, isa::Op op, int bytes, bool reduction = false) {
  std::vector<uint8_t> memory(49152, 0);
  const uint32_t count = uint32_t(state.range(0));
  bool carry = false;
  for (auto _ : state) {
    MemoryVector v;
    v.dst = {!reduction, 0, bytes, 0};
    v.a = {!reduction, 0, bytes, 0};
    v.b = {true, uint16_t(16384), bytes, 0};
    v.s = 0x3F800000;
    v.count = count;
    v.reduction = reduction;
    benchmark::DoNotOptimize(execute_memory_vector(op, v, memory, Fp16Format::f16, carry));
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * count);
}

using isa::OperandKind;
const isa::Inst kAdd{isa::Op::add16, {{{OperandKind::reg, 1}, {OperandKind::reg, 1}, {OperandKind::imm, 3}}}};
const isa::Inst kLoad{isa::Op::ld16, {{{OperandKind::reg, 1}, {OperandKind::reg, 2}, {OperandKind::imm, 8}}}};

void scalar_planned(benchmark::State& state, const isa::Inst& inst) {
  std::vector<uint8_t> memory(64);
  Registers registers;
  const ScalarPlan plan = plan_scalar(inst, Fp16Format::f16);
  for (auto _ : state) benchmark::DoNotOptimize(execute_plan(plan, registers, memory));
  state.SetItemsProcessed(state.iterations());
}

void scalar_at_once(benchmark::State& state) {
  std::vector<uint8_t> memory(64);
  Registers registers;
  for (auto _ : state) benchmark::DoNotOptimize(execute_scalar(kAdd, registers, memory, Fp16Format::f16));
  state.SetItemsProcessed(state.iterations());
}

BENCHMARK_CAPTURE(vector_op, fadds, isa::Op::fadds, 4)->Arg(16)->Arg(128)->Arg(2048);
BENCHMARK_CAPTURE(vector_op, fmuls, isa::Op::fmuls, 4)->Arg(2048);
BENCHMARK_CAPTURE(vector_op, fmacs, isa::Op::fmacs, 4)->Arg(16)->Arg(128)->Arg(2048);
BENCHMARK_CAPTURE(vector_op, fmaxs, isa::Op::fmaxs, 4)->Arg(2048);
BENCHMARK_CAPTURE(vector_op, fmovs, isa::Op::fmovs, 4)->Arg(2048);
BENCHMARK_CAPTURE(vector_op, fadds_reduction, isa::Op::fadds, 4, true)->Arg(2048);
BENCHMARK_CAPTURE(vector_op, fadds_strided, isa::Op::fadds, 8)->Arg(2048);
BENCHMARK_CAPTURE(vector_op, faddh, isa::Op::faddh, 2)->Arg(2048);
BENCHMARK_CAPTURE(vector_op, fmach, isa::Op::fmach, 2)->Arg(2048);
BENCHMARK_CAPTURE(vector_op, fmaxh, isa::Op::fmaxh, 2)->Arg(2048);
BENCHMARK_CAPTURE(vector_op, add16, isa::Op::add16, 2)->Arg(2048);
BENCHMARK_CAPTURE(scalar_planned, add16, kAdd);
BENCHMARK_CAPTURE(scalar_planned, ld16, kLoad);
BENCHMARK(scalar_at_once);

}  // namespace
}  // namespace cs::sim
