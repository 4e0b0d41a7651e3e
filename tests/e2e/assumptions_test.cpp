// Machine values about host, launches and energy that no source states: each has a program whose figures
// change with it, so that whoever knows better sees what it is worth. Those of the fabric:
// tests/csl/run_programs.cpp.
#include <gmock/gmock.h>

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tests/common/assumed_values.h"
#include "tests/e2e/run_tool.h"

namespace cs::e2e {
namespace {

using Json = nlohmann::json;

// More functions of one value than the host has cores, some bound by operations and some by bytes.
constexpr const char* kOnHost = R"(inputs:
  - {name: x, type: "f32[64, 64]"}
nodes:
  - {name: a, op: erf, inputs: [x]}
  - {name: b, op: sin, inputs: [x]}
  - {name: c, op: cos, inputs: [x]}
  - {name: d, op: tanh, inputs: [x]}
  - {name: e, op: exp, inputs: [x]}
  - {name: f, op: atan, inputs: [x]}
outputs: [a, b, c, d, e, f]
)";
constexpr const char* kOnWafer = R"(inputs:
  - {name: x, type: "f32[64]"}
nodes:
  - {name: y, op: hard_swish, inputs: [x]}
outputs: [y]
)";

enum class Example : uint8_t { on_host, crossing, streamed, rates, launches };

struct Noticed {
  std::string_view key;
  Example program;
  std::string_view part = "";  // of the energy; empty: the cycles of the run
  double factor = 2;
};
constexpr Noticed kNoticed[] = {
    {"host.host_wavelets_per_cycle", Example::streamed, "", 0.5},  // a link takes no more than one
    {"host.host_crossing_us", Example::crossing},
    {"host.host_cores", Example::on_host},
    {"host.host_op_us", Example::on_host},
    {"host.host_gflops", Example::on_host},
    {"host.host_gb_per_s", Example::on_host},
    {"memcpy.command_cycles", Example::launches},
    {"energy.hop_pj", Example::streamed, "hops"},
    {"energy.memory_pj_per_byte", Example::streamed, "memory"},
    {"energy.fp32_pj", Example::streamed, "operations"},
    {"energy.fp16_pj", Example::rates, "operations"},
    {"energy.instruction_pj", Example::streamed, "instructions"},
    {"energy.idle_pj_per_cycle", Example::streamed, "idle"},
};

class AssumedValues : public Scratch {
 protected:
  // The figure under one machine value; empty: as the machine has it.
  double figure(const Noticed& n, const std::string& machine, const std::string& change) {
    std::vector<std::string> compile = program(n.program), simulate{path("p.csp"), "--json"};
    compile.insert(compile.end(), {"-m", machine, "-q", "--no-baselines", "-o", path("p.csp")});
    if (!change.empty()) compile.insert(compile.end(), {"--set", "machine." + change});
    if (n.program == Example::launches)
      simulate.insert(simulate.end(), {"--launch", "f_tic,kernel(10),f_toc"});
    if (n.program == Example::rates) simulate.insert(simulate.end(), {"--launch", "run"});
    const ChildResult compiled = run("cs-compile", compile);
    EXPECT_EQ(compiled.exit_code, 0) << compiled.err;
    const ChildResult simulated = run("cs-sim", simulate);
    EXPECT_EQ(simulated.exit_code, 0) << simulated.err;
    const Json stats = Json::parse(simulated.out, nullptr, false);
    if (!stats.is_object()) return 0;
    return (n.part.empty() ? stats.at("cycles") : stats.at("energy_uj").at(std::string(n.part)))
        .get<double>();
  }

 private:
  std::vector<std::string> program(Example r) const {
    switch (r) {
      case Example::on_host:
        return {write("host.yaml", kOnHost), "--autogen-policy", "disabled"};
      case Example::crossing:
        return {kSource + "/models/mnist_mlp/model.onnx", "--autogen-policy", "disabled"};
      case Example::streamed:
        return {write("wafer.yaml", kOnWafer)};
      case Example::rates:
        return {kSource + "/tests/sim/rates_layout.csl", "--params=n:64,operation:2"};
      case Example::launches:
        return {kSource + "/tests/e2e/launches/layout.csl", "--params=width:2"};
    }
    return {};
  }
};

TEST_F(AssumedValues, EachIsNoticedByAFigure) {
  for (const std::string machine : {"wse2", "wse3"}) {
    for (const test::AssumedValue& a : test::assumptions_of(machine)) {
      if (!a.key.starts_with("host.") && !a.key.starts_with("memcpy.") && !a.key.starts_with("energy."))
        continue;
      const auto* n = std::find_if(std::begin(kNoticed), std::end(kNoticed),
                                   [&](const Noticed& row) { return row.key == a.key; });
      ASSERT_NE(n, std::end(kNoticed)) << a.key << " is an assumption that no figure would notice";
      const double as_it_is = figure(*n, machine, "");
      EXPECT_GT(as_it_is, 0) << a.key;
      EXPECT_NE(figure(*n, machine, fmt::format("{}={}", a.key, n->factor * a.value)), as_it_is)
          << machine << " " << a.key;
    }
  }
}

}  // namespace
}  // namespace cs::e2e
