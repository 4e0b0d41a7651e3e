// Elements per second of whole vectors (execute_memory_vector), and scalar instructions per second.
#include <vector>

#include <benchmark/benchmark.h>

#include "simulator/engine/exec.h"

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

void scalar_add(benchmark::State& state) {
  std::vector<uint8_t> memory(64);
  Registers registers;
  const isa::Inst inst{
      isa::Op::add16, {{{isa::OperandKind::reg, 1}, {isa::OperandKind::reg, 1}, {isa::OperandKind::imm, 3}}}};
  for (auto _ : state) benchmark::DoNotOptimize(execute_scalar(inst, registers, memory, Fp16Format::f16));
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
BENCHMARK_CAPTURE(vector_op, add16, isa::Op::add16, 2)->Arg(2048);
BENCHMARK(scalar_add);

}  // namespace
}  // namespace cs::sim
