// A DMA engine of somebody's, over TLM-2.0: carries vectors into the PEs, starts the program, carries the
// sums out.
//   dma SUM.csp        four PEs in a row add up their vectors of eight values (tests/sim/chain_layout.csl)
#include <tlm_utils/simple_initiator_socket.h>
#include <wafersmith/systemc.h>

#include <cstring>

#include "check.h"

namespace {

struct Dma : sc_core::sc_module {
  SC_HAS_PROCESS(Dma);
  Dma(sc_core::sc_module_name name, wafersmith::Wafer& wafer)
      : sc_module(name), socket("socket"), wafer(wafer) {
    SC_THREAD(run);
  }

  tlm::tlm_response_status transfer(tlm::tlm_command command, uint64_t address, void* data, unsigned bytes) {
    tlm::tlm_generic_payload t;
    t.set_command(command);
    t.set_address(address);
    t.set_data_ptr(static_cast<unsigned char*>(data));
    t.set_data_length(bytes);
    t.set_streaming_width(bytes);
    sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
    socket->b_transport(t, delay);
    wait(delay);
    return t.get_response_status();
  }

  void run() {
    const sc_core::sc_time begin = sc_core::sc_time_stamp();
    for (int pe = 0; pe < 4; ++pe) {
      float values[8];
      for (int i = 0; i < 8; ++i) values[i] = float((pe + 1) * (i + 1));
      const auto place = wafer.place("data", pe, 0);
      model::expect(place.bytes >= sizeof values, true, "room for eight values");
      model::expect(transfer(tlm::TLM_WRITE_COMMAND, place.address, values, sizeof values),
                    tlm::TLM_OK_RESPONSE, "write");
    }
    // A word per cycle.
    model::expect((sc_core::sc_time_stamp() - begin) / wafer.cycle_time() >= 31, true,
                  "32 words take 32 cycles");
    wafer.launch("run");
    wait(wafer.launches_done());
    int found = 0;
    for (int pe = 0; pe < 4; ++pe) {
      float sums[8];
      transfer(tlm::TLM_READ_COMMAND, wafer.place("data", pe, 0).address, sums, sizeof sums);
      found += sums[0] == 10 && sums[7] == 80;  // 1 + 2 + 3 + 4 times 1 and 8
    }
    model::expect(found, 1, "PEs with the sums");
    char byte = 0;
    model::expect(transfer(tlm::TLM_READ_COMMAND, wafer.address(0, 1000), &byte, 1),
                  tlm::TLM_ADDRESS_ERROR_RESPONSE, "a PE that there is not");
    debug();
    sc_core::sc_stop();
  }

  // The debug transport takes no time and sees the same.
  void debug() {
    float value = 0;
    tlm::tlm_generic_payload t;
    t.set_read();
    t.set_address(wafer.place("data", 1, 0).address);
    t.set_data_ptr(reinterpret_cast<unsigned char*>(&value));
    t.set_data_length(4);
    t.set_streaming_width(4);
    const sc_core::sc_time before = sc_core::sc_time_stamp();
    model::expect(socket->transport_dbg(t), 4u, "bytes of the debug transport");
    model::expect(sc_core::sc_time_stamp() == before && value != 0, true, "debug transport in no time");
  }

  tlm_utils::simple_initiator_socket<Dma> socket;
  wafersmith::Wafer& wafer;
};

}  // namespace

int sc_main(int argc, char** argv) {
  if (argc != 2) return 2;
  wafersmith::Wafer wafer("wafer", wafersmith::Program::load(argv[1]));
  Dma dma("dma", wafer);
  dma.socket.bind(wafer.memory);
  sc_core::sc_start();
  model::expect(wafer.statistics().launches.size(), 1u, "launches");
  return model::result("dma");
}
