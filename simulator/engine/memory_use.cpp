// Bytes of every table, by PE. A vector counts with its capacity, an allocation with what malloc adds.

#include "simulator/engine/memory_use.h"

#include <bit>

#include "simulator/engine/engine_impl.h"

namespace cs::sim {
namespace {

constexpr uint64_t kMalloc = 16;  // of an allocation: its size, and on average what it is rounded up by

template <class T>
uint64_t bytes_of(const std::vector<T>& v) {
  return v.capacity() == 0 ? 0 : v.capacity() * sizeof(T) + kMalloc;
}

// Routers, colors and lanes of a PE, and its places in the tables of the block.
uint64_t fabric_bytes(const Block& b, uint32_t pe) {
  constexpr uint64_t kWheel = sizeof(uint32_t);  // and some bits: in the wheels
  const Router& r = b.routers[pe];
  uint64_t bytes = sizeof(Router) + sizeof(b.pes[pe]) + sizeof(b.tile_of[pe]) + kWheel + 16 / 8;
  for (uint32_t i = r.first_node; i < r.first_node + r.nodes; ++i) {
    bytes += sizeof(ColorNode);
    const ColorNode& n = b.nodes[i];
    for (uint32_t l = n.first_lane; l < n.first_lane + uint32_t(std::popcount(n.inputs)); ++l) {
      bytes += sizeof(Lane) + kWheel + 1;
      if (b.lanes[l].capacity > Lane::kInline) bytes += b.lanes[l].capacity * sizeof(Entry);
    }
  }
  return bytes;
}

void add_core(const Pe& p, MemoryUse& use) {
  use.cores += sizeof(Pe) + kMalloc + (p.settings.own() ? sizeof(CoreSettings) + kMalloc : 0);
  use.registers += bytes_of(p.dsrs) + bytes_of(p.ready_at) + bytes_of(p.inputs);
  if (p.fifos) use.registers += p.fifo_count() * sizeof(Fifo) + kMalloc;
  for (const InputQueue& q : p.inputs) use.registers += q.depth * sizeof(Entry);
  use.registers += p.unwritten.bytes() + bytes_of(p.commands);
  if (p.memory.empty()) return;
  const uint64_t declared = p.tile == nullptr ? 0 : std::min<uint64_t>(p.tile->memory.size(), p.memory.size());
  use.data += declared;
  use.growth += p.memory.size() - declared + kMalloc;
}

}  // namespace

MemoryUse& MemoryUse::operator+=(const MemoryUse& o) {
  working_pes += o.working_pes;
  idle_pes += o.idle_pes;
  for (const auto part : {&MemoryUse::data, &MemoryUse::fabric, &MemoryUse::cores, &MemoryUse::registers,
                          &MemoryUse::operations, &MemoryUse::ahead, &MemoryUse::growth, &MemoryUse::idle,
                          &MemoryUse::shared})
    this->*part += o.*part;
  return *this;
}

MemoryUse Engine::memory_use() const {
  MemoryUse use;
  if (leads()) use += impl_->together->others().memory;
  for (const auto& b : impl_->grid.own()) {
    if (!b) continue;
    for (uint32_t i = 0; i < b->pes.size(); ++i) {
      const Pe* p = b->pes[i].get();
      const bool works = p != nullptr && p->tile != nullptr && (p->stats.instructions != 0 || !p->memory.empty());
      (works ? use.working_pes : use.idle_pes) += 1;
      (works ? use.fabric : use.idle) += fabric_bytes(*b, i);
      if (works)
        add_core(*p, use);
      else if (p != nullptr)
        use.idle += sizeof(Pe) + kMalloc + bytes_of(p->inputs);
    }
    b->ops.for_each([&](const VectorOp& op) { use.operations += sizeof(VectorOp) + op.walks.bytes(); });
    b->ways_back.for_each([&](const Ahead& a) {
      use.ahead += sizeof(Ahead) + kMalloc + bytes_of(a.undo) + bytes_of(a.old) + bytes_of(a.main.ready_at) +
                   bytes_of(a.main.dsrs) + a.op.walks.bytes();
    });
    use.shared += bytes_of(b->own_routes) + bytes_of(b->filters) + bytes_of(b->mirrors) + bytes_of(b->ports);
  }
  for (const TileImage& tile : impl_->world.tiles)
    use.shared += sizeof(TileImage) + bytes_of(tile.code) + bytes_of(tile.memory) + bytes_of(tile.inputs);
  return use;
}

}  // namespace cs::sim
