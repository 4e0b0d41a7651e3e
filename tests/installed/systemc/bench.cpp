// A test bench beside a wafer: writes wavelets into a chain of eight PEs, reads what comes out, holds it up.
//   bench CHAIN.csp
#include <wafersmith/systemc.h>

#include <bit>

#include "check.h"

namespace {

constexpr int kValues = 40, kPes = 8;

struct Bench : sc_core::sc_module {
  SC_HAS_PROCESS(Bench);
  Bench(sc_core::sc_module_name name, const wafersmith::Wafer& wafer, int pace)
      : sc_module(name), cycle(wafer.cycle_time()), pace(pace) {
    SC_THREAD(write);
    SC_THREAD(read);
  }
  void write() {
    for (int i = 0; i < kValues; ++i) out->write({std::bit_cast<uint32_t>(float(i)), false});
    written = sc_core::sc_time_stamp();
  }
  // One value in `pace` cycles; 0: as they come.
  void read() {
    for (int i = 0; i < kValues; ++i) {
      const wafersmith::Wavelet w = in->read();
      model::expect(std::bit_cast<float>(w.data), float(i + kPes), "value " + std::to_string(i));
      if (i == 0) first = sc_core::sc_time_stamp();
      if (pace > 0) wait(pace * cycle);
    }
    last = sc_core::sc_time_stamp();
    sc_core::sc_stop();
  }
  sc_core::sc_port<sc_core::sc_fifo_out_if<wafersmith::Wavelet>> out;
  sc_core::sc_port<sc_core::sc_fifo_in_if<wafersmith::Wavelet>> in;
  sc_core::sc_time cycle, written, first, last;
  int pace;
};

}  // namespace

int sc_main(int argc, char** argv) {
  if (argc != 3) return 2;
  const int pace = std::stoi(argv[2]);
  wafersmith::Wafer wafer("wafer", wafersmith::Program::load(argv[1]));
  sc_core::sc_fifo<wafersmith::Wavelet> to("to", 2), from("from", 2);
  Bench bench("bench", wafer, pace);
  wafer.in("x")(to);
  wafer.out("y")(from);
  bench.out(to);
  bench.in(from);
  sc_core::sc_start();
  const auto cycles = [&](const sc_core::sc_time& t) { return t / wafer.cycle_time(); };
  if (pace > 0) {
    // Whoever reads sets the pace, and whoever writes feels it: what the eight PEs and both fifos hold is
    // written ahead.
    model::expect(cycles(bench.last - bench.first) >= kValues * pace - 1, true, "the reader's pace");
    model::expect(cycles(bench.written - bench.first) > (kValues - 8 * kPes) * pace / 2, true,
                  "the writer waits");
  }
  model::expect(wafer.inputs().size() + wafer.outputs().size(), 2u, "streams");
  const wafersmith::Array seen = wafer.read("seen");
  for (const uint32_t n : seen.values<uint32_t>())
    model::expect(n, uint32_t(kValues), "values that a PE has seen");
  std::cout << "first after " << cycles(bench.first) << " cycles, last after " << cycles(bench.last) << "\n";
  return model::result("bench");
}
