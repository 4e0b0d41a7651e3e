// The passive wafer module among processes of a model: when wavelets cross its edges, what holds them up,
// what it reports. Each test runs in a process of its own: SystemC is elaborated once per process.
#include "simulator/systemc/wafer_module.h"

#include <fmt/format.h>

#include <functional>
#include <iostream>
#include <vector>

#include "runtime/program/crop.h"
#include "tests/unit/shell/samples.h"

namespace cs::sim::test {
namespace {

using Cycles = std::vector<Cycle>;

int failures = 0;

template <typename A>
void expect_equal(const char* what, const A& value, const A& expected, const std::string& text = "") {
  if (value == expected) return;
  std::cerr << what << " is not as expected " << text << "\n";
  ++failures;
}

std::string list(const Cycles& cycles) { return fmt::format("{}", fmt::join(cycles, " ")); }

void in_own_process(const std::function<void()>& body) {
  EXPECT_EXIT(
      {
        body();
        std::_Exit(failures == 0 ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

// Half of the fabric of samples.h with a stream where it was cut.
Fabric half(bool sender) {
  Fabric f = one_hop();
  f.p = crop(f.p, {sender ? 0 : 1, 0, 1, 1});
  f.p.ports = {sender ? HostPort{"out", false, Port::east, 0, 1} : HostPort{"in", true, Port::west, 0, 1}};
  return f;
}

struct FifoEnd : WaveletInput, WaveletOutput {
  explicit FifoEnd(int depth) : fifo(depth) {}
  bool take(EdgeWavelet& w) override {
    uint32_t data = 0;
    if (!fifo.nb_read(data)) return false;
    w = {data, false};
    return true;
  }
  const sc_core::sc_event& written() const override { return fifo.data_written_event(); }
  size_t room() const override { return size_t(fifo.num_free()); }
  void put(const EdgeWavelet& w) override { fifo.nb_write(w.data); }
  const sc_core::sc_event& taken() const override { return fifo.data_read_event(); }
  sc_core::sc_fifo<uint32_t> fifo;
};

struct Wafer {
  Wafer(const Fabric& fabric, Cycle quantum) : engine(fabric.machine, {}) {
    Diag diag;
    engine.load(fabric.p, {}, diag);
    module = std::make_unique<WaferModule>("wafer", engine, WaferOptions{1000, quantum});
  }
  Engine engine;
  std::unique_ptr<WaferModule> module;
};

// Reads one value every `pace` cycles, or as they come; notes the values and when it got them.
struct Reader : sc_core::sc_module {
  SC_HAS_PROCESS(Reader);
  Reader(sc_core::sc_module_name name, FifoEnd& from, int pace) : sc_module(name), from(from), pace(pace) {
    SC_THREAD(run);
  }
  void run() {
    for (;;) {
      values.push_back(from.fifo.read());
      at.push_back(Cycle(sc_core::sc_time_stamp().to_seconds() * 1e9 + 0.5));
      if (pace > 0) wait(pace, sc_core::SC_NS);
    }
  }
  FifoEnd& from;
  int pace;
  std::vector<uint32_t> values;
  Cycles at;
};

// The sender's elements depart at 15 ... 22 (samples.h) and would land a hop of two cycles later: they are
// there for whoever reads at the edge of that cycle, so they are in the fifo one edge before it.
Cycles sent(int depth, int pace, Cycle quantum, bool reader_first) {
  Wafer wafer(half(true), quantum);
  FifoEnd out(depth);
  std::unique_ptr<Reader> reader;
  if (reader_first) reader = std::make_unique<Reader>("reader", out, pace);
  wafer.module->connect(0, static_cast<WaveletOutput&>(out));
  if (!reader_first) reader = std::make_unique<Reader>("reader", out, pace);
  sc_core::sc_start(500, sc_core::SC_NS);
  expect_equal("values", reader->values, {10, 11, 12, 13, 14, 15, 16, 17});
  return reader->at;
}

TEST(WaferModule, wavelets_leave_in_the_cycle_of_their_arrival) {
  in_own_process([] {
    const Cycles at = sent(8, 0, 1, true);
    expect_equal("times", at, {16, 17, 18, 19, 20, 21, 22, 23}, list(at));
  });
}

TEST(WaferModule, the_order_of_processes_changes_nothing) {
  for (const bool first : {false, true})
    in_own_process([first] {
      const Cycles at = sent(1, 10, 1, first);
      expect_equal("times", at, {16, 26, 36, 46, 56, 66, 76, 86}, list(at));
    });
}

// With a quantum of q cycles what others do is seen up to q cycles late; no value is lost.
TEST(WaferModule, a_quantum_delays_and_loses_nothing) {
  in_own_process([] {
    const Cycles at = sent(2, 10, 16, true);
    expect_equal("eight", at.size(), size_t(8));
    expect_equal("within a quantum", at.back() <= 86 + 8 * 16, true);
  });
}

// What is written at 20 enters at edge 21, a word per cycle; the receiver's last word is at its queue as in
// samples.h with a departure 6 cycles later for the first one (21 instead of 15), so its task ends 6 cycles
// later.
TEST(WaferModule, what_is_written_enters_at_the_next_edge) {
  in_own_process([] {
    Wafer wafer(half(false), 1);
    FifoEnd in(8);
    wafer.module->connect(0, static_cast<WaveletInput&>(in));
    sc_core::sc_start(20, sc_core::SC_NS);
    for (uint32_t i = 0; i < 8; ++i) in.fifo.nb_write(30 + i);
    sc_core::sc_start(200, sc_core::SC_NS);
    Cycles entered;
    for (size_t i = 0; i < 8; ++i) entered.push_back(wafer.engine.entered(0, i));
    expect_equal("entered", entered, {21, 22, 23, 24, 25, 26, 27, 28}, list(entered));
    expect_equal("end", wafer.engine.stats({0, 0}).last_task_end, kDoneTask + 6 + 1);
    std::vector<uint8_t> bytes(4);
    wafer.engine.read({0, 0}, 256 + 28, bytes);
    expect_equal("last value", bytes, {37, 0, 0, 0});
  });
}

TEST(WaferModule, memory_over_tlm) {
  in_own_process([] {
    Wafer wafer(one_hop(), 1);
    const auto access = [&](tlm::tlm_command command, uint64_t address, uint8_t* data, unsigned bytes) {
      tlm::tlm_generic_payload t;
      t.set_command(command);
      t.set_address(address);
      t.set_data_ptr(data);
      t.set_data_length(bytes);
      t.set_streaming_width(bytes);
      sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
      wafer.module->memory().b_transport(t, delay);
      expect_equal(
          "a word per cycle", delay,
          t.is_response_ok() ? sc_core::sc_time((bytes + 3) / 4, sc_core::SC_NS) : sc_core::SC_ZERO_TIME);
      return t.get_response_status();
    };
    uint8_t bytes[6] = {1, 2, 3, 4, 5, 6}, back[6] = {};
    const uint64_t second = MemoryTarget::address(wafer.engine.program(), {1, 0}, 256);
    expect_equal("address", second, uint64_t(1) << 16 | 256);
    expect_equal("write", access(tlm::TLM_WRITE_COMMAND, second, bytes, 6), tlm::TLM_OK_RESPONSE);
    expect_equal("read", access(tlm::TLM_READ_COMMAND, second, back, 6), tlm::TLM_OK_RESPONSE);
    expect_equal("same", std::vector<uint8_t>(back, back + 6), std::vector<uint8_t>(bytes, bytes + 6));
    // The last byte of a PE, one beyond it, and a PE that there is not.
    const uint64_t end = second - 256 + uint64_t(wafer.engine.machine().core.memory_bytes);
    expect_equal("last byte", access(tlm::TLM_READ_COMMAND, end - 1, back, 1), tlm::TLM_OK_RESPONSE);
    expect_equal("beyond", access(tlm::TLM_READ_COMMAND, end - 1, back, 2), tlm::TLM_ADDRESS_ERROR_RESPONSE);
    expect_equal("no PE", access(tlm::TLM_READ_COMMAND, 2 << 16, back, 1), tlm::TLM_ADDRESS_ERROR_RESPONSE);
    expect_equal("nothing", access(tlm::TLM_READ_COMMAND, second, back, 0), tlm::TLM_BURST_ERROR_RESPONSE);
  });
}

TEST(WaferModule, a_fault_is_an_error_report) {
  in_own_process([] {
    Fabric bad(wse3(), 1, 1);
    Tile t("wild");
    t.code("start: ld32 r0, [0xfffc]\nyield").task(TaskKind::local, 8, "start").activated(8);
    bad.place({0, 0, 1, 1}, t);
    Wafer wafer(bad, 1);
    std::string id;
    try {
      sc_core::sc_start(100, sc_core::SC_NS);
    } catch (const sc_core::sc_report& report) {
      id = report.get_msg_type();
    }
    expect_equal("id", id, std::string("/wafersmith/fault/out-of-bounds"), id);
  });
}

TEST(WaferModule, who_waits_for_ever_is_a_warning_at_the_end) {
  in_own_process([] {
    static std::string reported;
    sc_core::sc_report_handler::set_handler([](const sc_core::sc_report& report, const sc_core::sc_actions&) {
      if (report.get_severity() == sc_core::SC_WARNING) reported = report.get_msg_type();
    });
    Fabric f = one_hop();
    f.p.rects.erase(f.p.rects.begin());  // nobody sends
    Wafer wafer(f, 1);
    sc_core::sc_start(100, sc_core::SC_NS);
    sc_core::sc_stop();
    expect_equal("id", reported, std::string("/wafersmith/deadlock"), reported);
  });
}

// 850 MHz is 1176.47 ps: after a million cycles still within half of the time resolution.
TEST(WaferClock, edges_do_not_drift) {
  in_own_process([] {
    const WaferClock clock(1e6 / 850);
    expect_equal("a million", clock.time_of(1'000'000), sc_core::sc_time(1'176'470'588, sc_core::SC_PS));
    for (const Cycle c : {Cycle(0), Cycle(1), Cycle(17), Cycle(999'999)}) {
      expect_equal("edge at", clock.edge_at(clock.time_of(c)), c);
      expect_equal("edge after", clock.edge_after(clock.time_of(c)), c + 1);
      expect_equal("behind", clock.edge_at(clock.time_of(c) + sc_core::sc_time(1, sc_core::SC_PS)), c + 1);
    }
  });
}

}  // namespace
}  // namespace cs::sim::test
