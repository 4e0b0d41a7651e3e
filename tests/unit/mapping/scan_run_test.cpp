// scan.csl through mapping, the CSL compiler and the engine: running sums on rows of PEs that hand a carry
// on.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>

#include "compiler/csl/csl.h"
#include "compiler/kernels/choice.h"
#include "compiler/passes/passes.h"
#include "tests/unit/mapping/harness.h"

namespace cs {
namespace {

using graph::ValueId;

struct ScanCase {
  int lines = 1, steps = 1, inner = 1, pes = 1;
  bool exclusive = false, reverse = false;
  DataType type = DataType::f32;
};

graph::Graph scan_graph(const ScanCase& c) {
  graph::Graph g;
  g.name = "scan";
  const ops::Shape shape = {1, c.lines, c.steps, c.inner};
  const ValueId x = g.add_input("x", {c.type, shape}, 0);
  const ValueId y = test::add_op(g, "op", "cum_sum", {x}, shape, Origin::handwritten);
  g.value(y).type.dtype = c.type;
  graph::Node& node = g.node(*g.find_node("op"));
  ops::set_attr(node.attrs, "axis", int64_t(2));
  ops::set_attr(node.attrs, "exclusive", int64_t(c.exclusive));
  ops::set_attr(node.attrs, "reverse", int64_t(c.reverse));
  g.set_output(y);
  return g;
}

// In the order of the definition, of every column by itself.
std::vector<double> sums(const ScanCase& c, const std::vector<float>& x) {
  std::vector<double> y(x.size());
  const size_t line = size_t(c.steps) * size_t(c.inner);
  for (size_t first = 0; first < x.size(); first += line)
    for (int i = 0; i < c.inner; ++i) {
      double sum = 0;
      for (int t = 0; t < c.steps; ++t) {
        const size_t at = first + size_t(c.reverse ? c.steps - 1 - t : t) * size_t(c.inner) + size_t(i);
        y[at] = c.exclusive ? sum : sum + double(x[at]);
        sum += double(x[at]);
      }
    }
  return y;
}

std::vector<float> inputs(const ScanCase& c, int samples) {
  std::vector<float> x =
      test::numbers(size_t(samples) * size_t(c.lines) * size_t(c.steps) * size_t(c.inner), 7);
  if (c.type == DataType::i32)
    for (float& v : x) v = std::round(1000 * v);
  if (c.type == DataType::f16)
    for (float& v : x) v = std::round(8 * v) / 8;
  return x;
}

void expect_sums(const ScanCase& c, const char* machine, int samples) {
  mapping::MapOptions options;
  options.force_width = c.pes;
  options.force_height = 1;
  const std::vector<float> x = inputs(c, samples);
  const test::RunResult r =
      test::run_graph(scan_graph(c), test::machine(machine), options, {{"x", x}}, samples);
  ASSERT_TRUE(r.ok) << r.message;
  const std::vector<float>& got = r.outputs.at("op_out");
  const std::vector<double> expected = sums(c, x);
  ASSERT_EQ(got.size(), expected.size());
  double most = 1;
  for (const double v : expected) most = std::max(most, std::abs(v));
  const double tolerance = c.type == DataType::i32 ? 0 : c.type == DataType::f16 ? 2e-3 : 1e-6;
  for (size_t k = 0; k < got.size(); ++k) {
    // Words of whole numbers come as they are.
    const double value = c.type == DataType::i32 ? std::bit_cast<int32_t>(got[k]) : double(got[k]);
    ASSERT_NEAR(value, expected[k], tolerance * most) << "at " << k;
  }
}

class Scan : public testing::TestWithParam<std::tuple<const char*, int>> {};

TEST_P(Scan, GivesTheSumsWithEveryAttributeAndType) {
  const auto& [machine, pes] = GetParam();
  for (const DataType type : {DataType::f32, DataType::f16, DataType::i32})
    for (const bool exclusive : {false, true})
      for (const bool reverse : {false, true}) {
        SCOPED_TRACE(testing::Message() << "exclusive " << exclusive << ", reverse " << reverse);
        expect_sums({1, 199, 1, pes, exclusive, reverse, type}, machine, 2);
      }
}

// Extents that nothing divides, several lines, steps of several words (in one bank and not), a step for each
// PE.
TEST_P(Scan, GivesTheSumsOfEveryShape) {
  const auto& [machine, pes] = GetParam();
  for (const bool reverse : {false, true}) {
    expect_sums({3, 67, 2, pes, true, reverse}, machine, 1);
    expect_sums({2, 65, 8, pes, false, reverse}, machine, 2);
    expect_sums({1, pes, 1, pes, false, reverse}, machine, 2);
  }
}

INSTANTIATE_TEST_SUITE_P(Rows, Scan,
                         testing::Combine(testing::Values("wse2", "wse3"), testing::Values(1, 2, 17, 64)));

TEST(ScanRounds, ALineOfAnyLengthPasses) {
  for (const int pes : {1, 3, 4, 16}) expect_sums({1, 30011, 1, pes}, "wse2", 2);
  expect_sums({2, 20011, 1, 5, true}, "wse3", 2);
}

// All of them would take 62,500 of the 49,152 bytes of each PE. One link brings a word a cycle, so a million
// cycles are the least; what comes to that is a part for each round and the last round.
TEST(ScanRounds, AMillionElementsOn64PEs) {
  const ScanCase c{1, 1000000, 1, 64};
  mapping::MapOptions options;
  options.force_width = c.pes;
  options.force_height = 1;
  const std::vector<float> x = inputs(c, 1);
  const std::vector<double> expected = sums(c, x);
  double most = 0;
  for (const double v : expected) most = std::max(most, std::abs(v));
  for (const char* machine : {"wse2", "wse3"}) {
    const test::RunResult r = test::run_graph(scan_graph(c), test::machine(machine), options, {{"x", x}}, 1);
    ASSERT_TRUE(r.ok) << r.message;
    double error = 0;
    for (size_t k = 0; k < expected.size(); ++k)
      error = std::max(error, std::abs(double(r.outputs.at("op_out")[k]) - expected[k]) / most);
    EXPECT_LT(error, 1e-5) << machine;
    EXPECT_GT(r.sample_ends.at(0), 1000000U) << machine;
    EXPECT_LT(r.sample_ends.at(0), 1100000U) << machine;
    RecordProperty(std::string("cycles_") + machine, std::to_string(r.sample_ends.at(0)));
    RecordProperty(std::string("error_") + machine, std::to_string(1e9 * error));
  }
}

TEST(ScanRounds, ABackwardLineThatPesCannotHoldIsRefused) {
  mapping::MapOptions options;
  options.force_width = 4;
  options.force_height = 1;
  const ScanCase c{1, 60000, 1, 4, false, true};
  const test::RunResult r =
      test::run_graph(scan_graph(c), test::machine("wse2"), options, {{"x", inputs(c, 1)}}, 1);
  EXPECT_FALSE(r.ok);
  EXPECT_NE(r.message.find("parts of lines"), std::string::npos) << r.message;
}

TEST(ScanCarries, AreReservedForAnyCut) {
  for (const int inner : {1, 2, 3, 7, 8, 9, 100}) {
    const graph::Graph g = scan_graph({2, 500, inner});
    std::string why;
    kernels::Choice choice;
    choice.work = *kernels::work_of(g, *g.find_node("op"), why);
    const Machine machine = test::machine("wse2");
    const auto statements = kernels::statement_costs(machine);
    const auto plans = choice.work.kind->plans(choice, {100, 1}, {}, {machine, *statements});
    ASSERT_TRUE(plans && plans->size() > 20);
    for (const kernels::Plan& plan : *plans) {
      const auto handed = choice.work.kind->handed(choice, plan.cut);
      ASSERT_TRUE(handed);
      EXPECT_GT(handed->taken, 0);
      EXPECT_GE(handed->reserved, handed->taken) << inner << " words, " << plan.cut.w << " PEs";
      const auto& users = plan.memory.users;
      const bool counted = std::any_of(users.begin(), users.end(), [&](const auto& u) {
        return u.first == "carries" && int64_t(u.second) == handed->reserved;
      });
      EXPECT_TRUE(counted) << inner;
    }
  }
}

// Arrays of the program, by the sections of its tiles; the plan prints both, and a color for each direction.
TEST(ScanCarries, TakeNoMoreThanWasReservedAndHaveColors) {
  const std::vector<std::pair<ScanCase, int>> cases = {
      {{1, 100003, 1, 16}, 3}, {{3, 129, 2, 5}, 2}, {{1, 129, 1, 6, false, true}, 2}, {{1, 100003, 1, 1}, 0}};
  for (const auto& [c, colors] : cases) {
    mapping::MapOptions options;
    options.force_width = c.pes;
    options.force_height = 1;
    const Machine machine = test::machine("wse2");
    Diag diag;
    const auto mapped = mapping::map_graph(scan_graph(c), machine, options, diag);
    ASSERT_TRUE(mapped) << diag.to_string();
    const std::string text = mapped->fit.substr(mapped->fit.find("carries: "));
    int taken = 0, reserved = 0;
    ASSERT_EQ(std::sscanf(text.c_str(), "carries: %d of %d B that were reserved", &taken, &reserved), 2)
        << mapped->fit;
    const std::string line = text.substr(0, text.find('\n')), what = ", colors";
    const size_t at = line.find(what);
    EXPECT_EQ(
        at == std::string::npos ? 0 : std::count(line.begin() + std::ptrdiff_t(at + 2), line.end(), ' '),
        colors)
        << line;
    csl::CslOptions csl;
    csl.layout = mapped->layout;
    csl.files = mapped->files;
    csl.ports = mapped->ports;
    const std::optional<Program> program = csl::compile_csl(csl, machine, diag);
    ASSERT_TRUE(program) << diag.to_string();
    int scans = 0;
    for (const TileProgram& tile : program->tiles) {
      int bytes = 0;
      for (const Section& s : tile.sections)
        if (s.name.ends_with("scan.carry") || s.name.ends_with("scan.total") ||
            s.name.ends_with("scan.starts"))
          bytes += int(s.bytes);
      if (bytes == 0) continue;
      ++scans;
      EXPECT_LE(bytes, taken) << tile.name;
      EXPECT_LE(bytes, reserved) << tile.name;
    }
    EXPECT_GT(scans, 0);
  }
}

// Whichever comes first. What else follows may join.
TEST(ScanKind, JoinsNoReduction) {
  for (const bool scan_first : {true, false}) {
    Diag diag;
    const Machine machine = test::machine("wse2");
    graph::Graph g;
    g.name = "both";
    const ValueId x = g.add_input("x", {DataType::f32, {1, 4096, 4}}, 0);
    const ops::Shape whole = {1, 4096, 4}, sums_of_rows = {1, 4096, 1};
    const auto scan = [&](ValueId from, const ops::Shape& shape) {
      const ValueId y = test::add_op(g, "scan", "cum_sum", {from}, shape, Origin::autogen);
      ops::set_attr(g.node(*g.find_node("scan")).attrs, "axis", int64_t(1));
      return y;
    };
    const auto reduce = [&](ValueId from) {
      const ValueId y = test::add_op(g, "sum", "reduce_sum", {from}, sums_of_rows, Origin::autogen);
      ops::set_attr(g.node(*g.find_node("sum")).attrs, "axes", std::vector<int64_t>{2});
      ops::set_attr(g.node(*g.find_node("sum")).attrs, "keepdims", int64_t(1));
      return y;
    };
    g.set_output(scan_first ? reduce(scan(x, whole)) : scan(reduce(x), sums_of_rows));
    for (const char* name : {"scan", "sum"}) g.node(*g.find_node(name)).assignment = {};
    passes::PassContext context{machine, passes::Policy::medium, {}, diag, {}};
    std::vector<passes::Choice> choices;
    context.choices = &choices;
    ASSERT_TRUE(passes::choose_origins(g, context)) << diag.to_string();
    ASSERT_EQ(g.node(*g.find_node("scan")).assignment.kernel.name(), "scan");
    ASSERT_TRUE(passes::fuse_elementwise(g, context) && passes::fuse_regions(g, context)) << diag.to_string();
    const auto refused = std::find_if(choices.begin(), choices.end(), [](const passes::Choice& c) {
      return c.pass == "regions" &&
             c.candidates.back().note.starts_with("refused: the scan's line is cut over PEs");
    });
    ASSERT_NE(refused, choices.end());
    EXPECT_EQ(refused->subject, scan_first ? "scan, sum" : "sum, scan");
    EXPECT_EQ(refused->taken, 0U);
    EXPECT_EQ(graph::groups(g).size(), 2U);
  }
}

// Of operands that lie on the PEs it is a region: nothing streams by.
TEST(ScanKind, OnResidentOperandsIsMadeFromItsLoops) {
  graph::Graph g = scan_graph({4, 6, 1});
  g.node(*g.find_node("op")).assignment.kernel = graph::KernelId("scan");
  mapping::MapOptions options;
  options.resident = true;
  Diag diag;
  const auto mapped = mapping::map_graph(g, test::machine("wse2"), options, diag);
  ASSERT_TRUE(mapped) << diag.to_string();
  ASSERT_FALSE(mapped->host.kernels.empty());
  EXPECT_NE(mapped->host.kernels.front().kernel, "scan");
  EXPECT_EQ(mapped->host.kernels.front().origin, Origin::autogen);
}

TEST(ScanKind, IsNoReduction) {
  const graph::Graph g = scan_graph({1, 64, 1});
  const graph::NodeId id = *g.find_node("op");
  EXPECT_TRUE(kernels::scan_kind()->takes(g, id));
  EXPECT_FALSE(kernels::reduction_kind()->takes(g, id));
  EXPECT_FALSE(kernels::scan_kind()->apart_from_reductions().empty());
  EXPECT_TRUE(kernels::region_kind()->apart_from_reductions().empty());
}

}  // namespace
}  // namespace cs
