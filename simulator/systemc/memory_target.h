// MemoryTarget: the memory of all PEs as one TLM-2.0 target.
//
// Address: ((y * fabric width + x) << 16) + byte in the PE, in fabric coordinates. One transaction stays
// within one PE and its memory. b_transport reads and writes at the present cycle and adds the time that its
// words need over one link, one word of 32 bits per cycle; transport_dbg does the same in no time. No DMI:
// memory is the engine's. Byte enables and streaming widths are refused.
#pragma once

#include <systemc>
#include <tlm>

#include "simulator/engine/engine.h"

namespace cs::sim {

class WaferModule;

class MemoryTarget : public sc_core::sc_module, public tlm::tlm_fw_transport_if<> {
 public:
  MemoryTarget(sc_core::sc_module_name name, WaferModule& wafer, Engine& engine);

  static uint64_t address(const Program& program, Coord pe, uint32_t byte) {
    return ((uint64_t(pe.y) * uint64_t(program.fabric_width) + uint64_t(pe.x)) << kPeBits) + byte;
  }
  static constexpr int kPeBits = 16;  // of an address, for the byte in a PE

  tlm::tlm_target_socket<32, tlm::tlm_base_protocol_types, 1, sc_core::SC_ZERO_OR_MORE_BOUND> socket;

  void b_transport(tlm::tlm_generic_payload&, sc_core::sc_time& delay) override;
  unsigned transport_dbg(tlm::tlm_generic_payload&) override;
  bool get_direct_mem_ptr(tlm::tlm_generic_payload&, tlm::tlm_dmi&) override { return false; }
  tlm::tlm_sync_enum nb_transport_fw(tlm::tlm_generic_payload&, tlm::tlm_phase&, sc_core::sc_time&) override;

 private:
  // What is wrong with it, or OK.
  tlm::tlm_response_status check(const tlm::tlm_generic_payload&) const;
  void carry_out(tlm::tlm_generic_payload&);

  WaferModule& wafer_;
  Engine& engine_;
};

}  // namespace cs::sim
