// Wafers joined at an edge by fifos. First two whole wafers, of two machines with clocks of their own; then
// the same program cut into two blocks, each a module, which gives the values of the whole.
//   two_wafers CHAIN_WSE2.csp CHAIN_WSE3.csp
#include <wafersmith/systemc.h>

#include <bit>

#include "check.h"

namespace {

using wafersmith::EdgeStream;
using wafersmith::Wavelet;
using Fifo = sc_core::sc_fifo<Wavelet>;

constexpr int kValues = 25;

struct Ends : sc_core::sc_module {
  SC_HAS_PROCESS(Ends);
  Ends(sc_core::sc_module_name name, float added) : sc_module(name), added(added) {
    SC_THREAD(write);
    SC_THREAD(read);
  }
  void write() {
    for (int i = 0; i < kValues; ++i) out->write({std::bit_cast<uint32_t>(float(i)), false});
  }
  void read() {
    for (int i = 0; i < kValues; ++i)
      model::expect(std::bit_cast<float>(in->read().data), float(i) + added, std::string(name()) + " value");
    ++finished;
  }
  sc_core::sc_port<sc_core::sc_fifo_out_if<Wavelet>> out;
  sc_core::sc_port<sc_core::sc_fifo_in_if<Wavelet>> in;
  float added;
  static inline int finished = 0;
};

void join(wafersmith::Wafer& a, const char* a_in, const char* a_out, wafersmith::Wafer& b, const char* b_in,
          const char* b_out, Ends& ends, Fifo (&fifos)[3]) {
  a.in(a_in)(fifos[0]);
  a.out(a_out)(fifos[1]);
  b.in(b_in)(fifos[1]);
  b.out(b_out)(fifos[2]);
  ends.out(fifos[0]);
  ends.in(fifos[2]);
}

}  // namespace

int sc_main(int argc, char** argv) {
  if (argc != 3) return 2;
  const auto wse2 = wafersmith::Program::load(argv[1]), wse3 = wafersmith::Program::load(argv[2]);
  wafersmith::Wafer first("first", wse2), second("second", wse3);
  Fifo fifos[3] = {Fifo("a", 1), Fifo("b", 1), Fifo("c", 1)};
  Ends ends("ends", 16);
  join(first, "x", "y", second, "x", "y", ends, fifos);

  const EdgeStream east{"cut", false, EdgeStream::Side::east, 0, 0},
      west{"cut", true, EdgeStream::Side::west, 0, 0};
  wafersmith::Wafer left("left", wse2, {.edges = {east}, .block = {0, 0, 4, 1}});
  wafersmith::Wafer right("right", wse2, {.edges = {west}, .block = {4, 0, 4, 1}});
  Fifo cut[3] = {Fifo("d", 3), Fifo("e", 3), Fifo("f", 3)};
  Ends ends_of_cut("ends_of_cut", 8);
  join(left, "x", "cut", right, "cut", "y", ends_of_cut, cut);

  sc_core::sc_start();
  model::expect(Ends::finished, 2, "ends that got all values");
  model::expect(first.cycle_time() == second.cycle_time(), false, "one clock for both machines");
  return model::result("two_wafers");
}
