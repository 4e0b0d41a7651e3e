// The feature programs of tests/csl on both models: all that compile fit into 32 x 32 PEs.
#include <algorithm>
#include <optional>
#include <utility>

#include "tests/csl/feature_programs.h"
#include "tests/unit/structural/outcome.h"
#include "tests/unit/structural/stopped_run.h"
#include "tests/unit/structural/strips.h"

namespace cs::csl::test {
namespace {

namespace sim = cs::sim::test;

class Features : public ::testing::TestWithParam<Case> {};

const TileProgram& tile_at(const Program& p, Coord c) {
  for (const TileRect& r : p.rects)
    if (r.rect.contains(c)) return p.tiles[r.tile];
  return p.tiles.front();
}

sim::HostProgram host_program(const FeatureProgram& feature, Fp16Format format) {
  return [&feature, format](Device& device, std::vector<std::string>& out) {
    const Program& p = device.program();
    for (const Directive* d : feature.all("set"))
      feature.set(*d, format, [&](const std::string& name, const auto& data, Coord pe) {
        const Coord at{p.user.x + pe.x, p.user.y + pe.y};
        const Symbol* s = tile_at(p, at).symbol(name);
        const auto* bytes = reinterpret_cast<const uint8_t*>(data.data());
        if (s != nullptr) device.write(at, s->address, {bytes, data.size() * sizeof(data[0])});
      });
    const auto functions = feature.launches();
    for (const auto& [function, args] : functions) {
      Diag diag;
      device.launch(function, args, p.user, device.now(), diag);
      sim::describe(device.run({}), out);
    }
    if (functions.empty()) sim::describe(device.run({}), out);
  };
}

// Refers to the feature. Nothing, reported: it does not compile.
std::optional<sim::Experiment> experiment(const FeatureProgram& feature, int level) {
  const Machine machine = feature.machine();
  const CslOptions options = feature.options(level);
  Diag diag;
  auto program = compile_csl(options, machine, diag);
  EXPECT_TRUE(program.has_value()) << diag.to_string();
  if (!program) return std::nullopt;
  return sim::Experiment{machine, std::move(*program), {}, host_program(feature, options.fp16)};
}

TEST_P(Features, agree) {
  FeatureProgram feature(GetParam());
  feature.load_files();
  if (!feature.all("error").empty()) GTEST_SKIP() << "it must not compile";
  for (int level : {0, 2}) {
    const auto e = experiment(feature, level);
    ASSERT_TRUE(e);
    EXPECT_EQ(sim::compare(*e), "") << "level " << level;
  }
}

// From checkpoints at random cycles, in blocks of other sizes.
TEST_P(Features, go_on_from_checkpoints) {
  FeatureProgram feature(GetParam());
  feature.load_files();
  if (!feature.all("error").empty()) GTEST_SKIP() << "it must not compile";
  const auto e = experiment(feature, 2);
  ASSERT_TRUE(e);
  int stops = 0;
  EXPECT_EQ(sim::go_on(*e, uint32_t(std::hash<std::string>{}(GetParam().name)), stops), "");
}

// By several ranks, each with a strip.
TEST_P(Features, are_the_same_in_strips) {
  FeatureProgram feature(GetParam());
  feature.load_files();
  if (!feature.all("error").empty()) GTEST_SKIP() << "it must not compile";
  const auto e = experiment(feature, 2);
  ASSERT_TRUE(e);
  for (const int ranks : {2, 4}) EXPECT_EQ(sim::difference_in_strips(*e, ranks, 3, 2), "");
}

INSTANTIATE_TEST_SUITE_P(Csl, Features, ::testing::ValuesIn(all_cases()), test_name);

}  // namespace
}  // namespace cs::csl::test
