// TLM transactions on the memory of PEs.
#include "simulator/systemc/memory_target.h"

#include "simulator/systemc/wafer_module.h"

namespace cs::sim {
namespace {

struct Place {
  Coord pe;
  uint16_t byte = 0;
};

Place place_of(const Program& program, uint64_t address) {
  const uint64_t pe = address >> MemoryTarget::kPeBits;
  const auto width = uint64_t(program.fabric_width);
  return {{int(pe % width), int(pe / width)}, uint16_t(address)};
}

}  // namespace

// By value, as SystemC wants its names.  NOLINTNEXTLINE(performance-unnecessary-value-param)
MemoryTarget::MemoryTarget(sc_core::sc_module_name name, WaferModule& wafer, Engine& engine)
    : sc_module(name), socket("socket"), wafer_(wafer), engine_(engine) {
  socket.bind(*this);
}

tlm::tlm_response_status MemoryTarget::check(const tlm::tlm_generic_payload& t) const {
  const Program& program = engine_.program();
  const uint64_t pes = uint64_t(program.fabric_width) * uint64_t(program.fabric_height);
  const uint64_t bytes = uint64_t(engine_.machine().core.memory_bytes);
  if (t.get_byte_enable_ptr() != nullptr) return tlm::TLM_BYTE_ENABLE_ERROR_RESPONSE;
  if (t.get_data_ptr() == nullptr || t.get_data_length() == 0 ||
      t.get_streaming_width() < t.get_data_length())
    return tlm::TLM_BURST_ERROR_RESPONSE;
  if ((t.get_address() >> kPeBits) >= pes ||
      (t.get_address() & ((1U << kPeBits) - 1)) + t.get_data_length() > bytes)
    return tlm::TLM_ADDRESS_ERROR_RESPONSE;
  return t.is_read() || t.is_write() ? tlm::TLM_OK_RESPONSE : tlm::TLM_COMMAND_ERROR_RESPONSE;
}

void MemoryTarget::carry_out(tlm::tlm_generic_payload& t) {
  t.set_response_status(check(t));
  if (!t.is_response_ok()) return;
  const Place at = place_of(engine_.program(), t.get_address());
  if (t.is_read())
    engine_.read(at.pe, at.byte, {t.get_data_ptr(), t.get_data_length()});
  else
    engine_.write(at.pe, at.byte, {t.get_data_ptr(), t.get_data_length()});
}

void MemoryTarget::b_transport(tlm::tlm_generic_payload& t, sc_core::sc_time& delay) {
  carry_out(t);
  if (t.is_response_ok()) delay += wafer_.clock().time_of((t.get_data_length() + 3) / 4);
}

unsigned MemoryTarget::transport_dbg(tlm::tlm_generic_payload& t) {
  carry_out(t);
  return t.is_response_ok() ? t.get_data_length() : 0;
}

// The whole transaction in one call, which the base protocol allows.
tlm::tlm_sync_enum MemoryTarget::nb_transport_fw(tlm::tlm_generic_payload& t, tlm::tlm_phase& phase,
                                                 sc_core::sc_time& delay) {
  if (phase != tlm::BEGIN_REQ) return tlm::TLM_COMPLETED;
  b_transport(t, delay);
  return tlm::TLM_COMPLETED;
}

}  // namespace cs::sim
