// The engine under SystemC. Each test runs in a process of its own (EXPECT_EXIT), because SystemC is
// elaborated once per process; a failed check prints and makes that process exit with 1.
#include "simulator/systemc/shell.h"

#include <fmt/format.h>

#include <cstdio>
#include <fstream>
#include <functional>
#include <iostream>
#include <sstream>
#include <systemc>

#include "simulator/systemc/wafer_module.h"
#include "tests/unit/shell/samples.h"
#include "runtime/host/session.h"
#include "runtime/host/exports.h"
#include "tools/cs-sim/launch_run.h"
#include "tools/cs-sim/sim_device.h"

namespace cs::sim::test {
namespace {

int failures = 0;

template <typename A, typename B>
void expect_equal(const char* what, const A& value, const B& expected) {
  if (value == static_cast<A>(expected)) return;
  std::cerr << what << " is " << value << ", expected " << expected << "\n";
  ++failures;
}

void in_own_process(const std::function<void()>& body) {
  EXPECT_EXIT(
      {
        body();
        std::_Exit(failures == 0 ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

std::string read_text(const std::string& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

// Everything that a run leaves behind, for comparison.
std::string state_of(const Engine& e) {
  std::string out =
      fmt::format("now {} hops {} instructions {}\n", e.now(), e.wavelet_hops(), e.instructions());
  for (int x = 0; x < e.program().fabric_width; ++x) {
    const PeStats s = e.stats({x, 0});
    out += fmt::format("{}: busy {} first {} last {}", x, s.busy, s.first_task, s.last_task_end);
    for (const uint64_t stall : s.stalls) out += fmt::format(" {}", stall);
    std::vector<uint8_t> bytes(32);
    e.read({x, 0}, 256, bytes);
    for (const uint8_t b : bytes) out += fmt::format(" {}", b);
    out += "\n";
  }
  return out;
}

std::string alone(Cycle to) {
  const Fabric f = one_hop();
  Engine engine(f.machine, {});
  Diag diag;
  engine.load(f.p, {}, diag);
  engine.step(to);
  return state_of(engine);
}

struct Shelled {
  Shelled(EngineOptions options, const ShellOptions& shell_options)
      : fabric(one_hop()), engine(fabric.machine, options) {
    Diag diag;
    engine.load(fabric.p, {}, diag);
    shell = std::make_unique<Shell>(engine, shell_options);
  }
  Fabric fabric;
  Engine engine;
  std::unique_ptr<Shell> shell;
};

TEST(Shell, same_state_and_cycles_as_the_engine_alone) {
  const std::string expected = alone(500);
  for (const int block : {1, 32})
    for (const bool every_cycle : {false, true})
      in_own_process([&] {
        Shelled s({block, block, 1}, {});
        s.shell->run({.target = 500, .every_cycle = every_cycle});
        expect_equal("state", state_of(s.engine), expected);
        expect_equal("SystemC time, ps", sc_core::sc_time_stamp().value(), 500000u);
      });
}

// Stopping at any cycle and going on changes nothing.
TEST(Shell, stops_at_every_cycle_and_goes_on) {
  const std::string expected = alone(60);
  in_own_process([&] {
    Shelled s({1, 1, 1}, {});
    for (Cycle t = 1; t <= 60; ++t) {
      s.shell->run({.target = t});
      expect_equal("now", s.engine.now(), t);
    }
    expect_equal("state", state_of(s.engine), expected);
  });
}

// Bound like a test bench would: counts what crosses the east side of the sender's block.
struct Bench : sc_core::sc_module {
  SC_HAS_PROCESS(Bench);
  explicit Bench(sc_core::sc_module_name name) : sc_module(name) {
    SC_METHOD(count);
    sensitive << border;
    dont_initialize();
  }
  void count() {
    wavelets += border->read().wavelets;
    total = border->read().total;
    first = std::min<uint64_t>(first, border->read().cycle);
    last = border->read().cycle;
  }
  sc_core::sc_port<BorderIf> border;
  uint64_t wavelets = 0, total = 0, first = ~0ull, last = 0;
};

TEST(Shell, a_bound_border_publishes_each_cycle_in_which_wavelets_crossed) {
  in_own_process([&] {
    Shelled s({1, 1, 1}, {});
    Bench bench("bench");
    bench.border(s.shell->wafer().block(0, 0).border(Port::east));
    s.shell->run({});
    expect_equal("wavelets", bench.wavelets, 8u);
    expect_equal("total", bench.total, 8u);
    expect_equal("first cycle", bench.first, kFirstCrossing);
    expect_equal("last cycle", bench.last, kLastCrossing);
    expect_equal("columns", s.shell->wafer().columns(), 2);
  });
}

// Time at which a variable of a VCD file first has a binary value ending in `bit`, after the initial dump.
long first_change(const std::string& vcd, const std::string& variable, const std::string& value) {
  std::istringstream in(vcd);
  std::string line, id;
  long time = -1;
  while (std::getline(in, line)) {
    if (line.find(" " + variable + " ") != std::string::npos && line.find("$var") != std::string::npos) {
      std::istringstream words(line);
      std::string var, kind, width;
      words >> var >> kind >> width >> id;
    }
    if (!line.empty() && line[0] == '#') time = std::stol(line.substr(1));
    if (time >= 0 && !id.empty() && line == value + id) return time;
  }
  return -1;
}

TEST(Shell, waveform_shows_when_a_task_runs) {
  const std::string name = testing::TempDir() + fmt::format("shell_{}", getpid());
  in_own_process([&] {
    ShellOptions options;
    options.probes = {{0, 0}, {1, 0}};
    options.waveform = name;
    Shelled s({32, 32, 1}, options);
    s.shell->run({.target = 60});
    s.shell->close_waveform();
  });
  const std::string vcd = read_text(name + ".vcd");
  std::remove((name + ".vcd").c_str());
  EXPECT_NE(vcd.find("1 ns"), std::string::npos);
  // The sender's task starts at 3; the receiver gets its first wavelet into a queue or an element when it
  // arrives.
  EXPECT_EQ(first_change(vcd, "running", "1"), 3);
}

TEST(SimDevice, runs_to_the_condition_and_says_why_it_stopped) {
  in_own_process([&] {
    const Fabric f = one_hop();
    SimDevice device(f.machine, {});
    Diag diag;
    expect_equal("load", device.load(f.p, {}, diag), true);
    const RunStatus at = device.run({.cycle = kFirstCrossing + 1});
    expect_equal("condition", int(at.reason), int(StopReason::condition));
    expect_equal("now", device.now(), kFirstCrossing + 1);
    expect_equal("crossed", device.engine().stats({0, 0}).sent[size_t(Port::east)], 1u);
    const RunStatus end = device.run({});
    expect_equal("idle", int(end.reason), int(StopReason::idle));
    expect_equal("last task end", device.engine().stats({1, 0}).last_task_end, kDoneTask + 1);
  });
}

TEST(SimDevice, a_limit_and_a_deadlock_have_names) {
  in_own_process([&] {
    Fabric f = one_hop();
    f.p.routes.pop_back();  // the receiver's router takes nothing
    f.p.routes.push_back({{1, 0, 1, 1}, 1, {}});
    f.p.routes.back().config.positions[0] = {true, ports("N"), ports("R")};
    SimDeviceOptions options;
    options.max_cycles = 10;
    SimDevice device(f.machine, options);
    Diag diag;
    device.load(f.p, {}, diag);
    const RunStatus status = device.run({});
    expect_equal("fault", status.fault, std::string("timeout"));
    expect_equal("cycle", status.now, 10u);
  });
  in_own_process([&] {
    Fabric f = one_hop();
    f.p.rects.erase(f.p.rects.begin());  // nobody sends
    SimDevice device(f.machine, {});
    Diag diag;
    device.load(f.p, {}, diag);
    const RunStatus status = device.run({});
    expect_equal("fault", status.fault, std::string("deadlock"));
    expect_equal("report names the PE", status.message.find("(1, 0)") != std::string::npos, true);
  });
}

// The host may ask for the very limit of the run: what ends before it ends for its own reason.
TEST(SimDevice, a_deadlock_before_the_limit_is_a_deadlock) {
  in_own_process([&] {
    Fabric f = one_hop();
    f.p.rects.erase(f.p.rects.begin());  // nobody sends
    SimDeviceOptions options;
    options.max_cycles = 1'000'000;
    SimDevice device(f.machine, options);
    Diag diag;
    device.load(f.p, {}, diag);
    const RunStatus status = device.run({.cycle = options.max_cycles, .received_port = -1});
    expect_equal("fault", status.fault, std::string("deadlock"));
    expect_equal("early", status.now < 100, true);
  });
}

TEST(SimDevice, exported_arrays_go_in_and_out_by_name) {
  in_own_process([&] {
    Fabric f = one_hop();
    for (TileProgram& t : f.p.tiles) t.symbols = {{"x", DataType::u32, 256, 8, true}};
    f.p.exports = {{"x", false, DataType::u32, true}};
    SimDevice device(f.machine, {});
    Diag diag;
    device.load(f.p, {}, diag);
    // Only PEs with the symbol; here both, so [1, 2, 8]. The copy costs 64 bytes at the link's rate.
    NamedArray x{"x", ops::Tensor(ops::TensorType{DataType::u32, {1, 2, 8}})};
    for (int i = 0; i < 8; ++i) x.tensor.set_int(i, 40 + i);
    const auto run = run_launches(device, {}, 1, {x}, kNever, diag);
    expect_equal("diagnostics", diag.to_string(), std::string());
    expect_equal("ran", run.has_value(), true);
    const auto out = read_exports(device);
    expect_equal("arrays", out.size(), 1u);
    for (int i = 0; i < 16; ++i) expect_equal("value", out[0].tensor.get_int(i), 40 + i % 8);
  });
}

// What has been copied is in memory, also where the fabric had come to rest before.
TEST(SimDevice, a_copy_behind_the_end_of_all_work_stays) {
  in_own_process([&] {
    Fabric f = one_hop();
    for (TileProgram& t : f.p.tiles) t.symbols = {{"x", DataType::u32, 256, 8, true}};
    f.p.exports = {{"x", false, DataType::u32, true}};
    f.p.user = {0, 0, 2, 1};
    SimDevice device(f.machine, {});
    Diag diag;
    device.load(f.p, {}, diag);
    Session session(device);
    session.wait(diag);
    std::vector<uint32_t> words(16), back;
    for (uint32_t i = 0; i < 16; ++i) words[i] = 40 + i;
    expect_equal("copied", session.copy_to("x", {0, 0, 2, 1}, 8, words, HostOrder::row_major, diag), true);
    const Cycle behind = device.now();
    expect_equal("after the program", behind > kDoneTask, true);
    expect_equal("read", session.copy_from("x", {0, 0, 2, 1}, 8, back, HostOrder::row_major, diag), true);
    for (uint32_t i = 0; i < 16; ++i) expect_equal("value", back[i], 40 + i);
  });
}

}  // namespace
}  // namespace cs::sim::test
