// Adds up what the parts of a network take of the whole wafer.
#include "compiler/mapping/roof.h"

#include "runtime/numerics/data_type.h"

namespace cs::mapping {

namespace {

// Of an input in pieces those count that are taken.
double bytes_of(const std::vector<HostTensor>& tensors) {
  double bytes = 0;
  for (const HostTensor& t : tensors) {
    double elements = t.pieces.empty() ? 1 : 1 / double(t.stride);
    if (!t.pieces.empty()) {
      int64_t taken = 0;
      for (const Piece& p : t.pieces) taken += p.length;
      elements *= double(taken);
    }
    for (int64_t extent : t.shape) elements *= double(extent);
    bytes += elements * double(data_type_bytes(t.type));
  }
  return bytes;
}

// Cycles of one PE for all operations of the instance: the bound's share of the PEs of a rectangle of one.
double operations_of(const Instance& inst, const Machine& machine) {
  return inst.infrastructure ? 0
                             : kernels::ideal_bound(inst.work, inst.work.half ? 2 : 4, 1, 1, machine).compute;
}

double weights_of(const Instance& inst) {
  double words = 0;
  for (const PackedConstant& c : inst.constants) words += double(c.values.size());
  return words * (inst.work.half ? 2 : 4);
}

}  // namespace

Roof roof_of(const Parts& parts, const Machine& machine) {
  const double pes = double(machine.fabric.user_width) * double(machine.fabric.user_height);
  Roof roof;
  double weights = 0;
  for (const Instance& inst : parts.instances) {
    roof.operations += operations_of(inst, machine) / pes;
    weights += weights_of(inst);
  }
  // What runs on the host could as well run on the wafer.
  for (const KernelRow& row : parts.host.kernels) {
    if (row.origin == Origin::host)
      roof.operations += double(row.flops) / (pes * machine.peak_flops_per_cycle(false));
  }
  roof.memory = weights / (pes * machine.core.read_bytes_per_cycle);
  const double bytes = std::max(bytes_of(parts.host.inputs), bytes_of(parts.host.outputs));  // full duplex
  roof.host = bytes / (kWaveletBytes * machine.system_wavelets_per_cycle());
  return roof;
}

}  // namespace cs::mapping
