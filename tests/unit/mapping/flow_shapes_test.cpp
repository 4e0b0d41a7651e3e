// Flows of one shape, and that the layout which calls a function for each of them has the routes of all.
#include <gmock/gmock.h>

#include "compiler/csl/csl.h"
#include "compiler/mapping/emit.h"
#include "compiler/mapping/flow_shapes.h"
#include "compiler/mapping/route_paths.h"
#include "harness.h"

namespace cs::test {
namespace {

using mapping::fixed_route;
using mapping::Flow;
using mapping::FlowPlan;

constexpr int kCounted = 5;

// To the east from (x, y): PEs behind the first one count words, the last is below the one before it.
Flow way(int x, int y, int color, int first_counter = 1) {
  Flow f;
  f.name = "n" + std::to_string(x) + "_" + std::to_string(y);
  f.color = color;
  f.routers[{y, x}] = fixed_route(port_bit(Port::ramp), port_bit(Port::east));
  for (int i = 1; i <= kCounted; ++i) {
    RouteConfig c = fixed_route(port_bit(Port::west),
                                port_bit(Port::ramp) | port_bit(i < kCounted ? Port::east : Port::south));
    c.filter = {.kind = FilterKind::counter,
                .count_data = true,
                .init_counter = uint16_t(first_counter + 2 * i),
                .limit1 = 63};
    f.routers[{y, x + i}] = c;
  }
  f.routers[{y + 1, x + kCounted}] = fixed_route(port_bit(Port::north), port_bit(Port::west));
  f.routers[{y + 1, x + kCounted - 1}] = fixed_route(port_bit(Port::east), port_bit(Port::ramp));
  return f;
}

// The other way: its first router is not the leftmost one.
Flow back(int x, int y, int color) {
  Flow f;
  f.name = "back" + std::to_string(x) + "_" + std::to_string(y);
  f.color = color;
  f.routers[{y, x + 1}] = fixed_route(port_bit(Port::ramp), port_bit(Port::south));
  f.routers[{y + 1, x + 1}] = fixed_route(port_bit(Port::north), port_bit(Port::west));
  f.routers[{y + 1, x}] = fixed_route(port_bit(Port::east), port_bit(Port::ramp));
  return f;
}

FlowPlan many() {
  FlowPlan plan;
  for (int k = 0; k < 30; ++k) plan.flows.push_back(way(7 * (k % 3), 2 * (k / 3), k % 2));
  for (int k = 0; k < 30; ++k) plan.flows.push_back(back(3 * (k % 5), 2 * (k / 5), 2 + k % 3));
  plan.flows.push_back(way(0, 0, 7, 9));  // other counters
  return plan;
}

using Routers = std::map<std::tuple<int, int, int>, RouteConfig>;  // by color, row, column

Routers routers_of(const FlowPlan& plan) {
  Routers out;
  for (const Flow& f : plan.flows)
    for (const auto& [key, config] : f.routers) out[{f.color, key.y, key.x}] = config;
  return out;
}

Routers routers_of(const Program& p) {
  Routers out;
  for (const RouteRun& r : p.routes)
    for (int y = r.rect.y; y < r.rect.y + r.rect.h; ++y)
      for (int x = r.rect.x; x < r.rect.x + r.rect.w; ++x)
        out[{r.color, y - p.user.y, x - p.user.x}] = r.config;
  return out;
}

TEST(FlowShapes, AreEqualWhereverTheyLieAndWhateverTheirColorsAre) {
  const FlowPlan plan = many();
  const std::vector<mapping::ShapedFlow> shapes = mapping::shapes_of(plan.flows);
  for (size_t k = 0; k < 30; ++k) {
    EXPECT_EQ(shapes[k].shape, 0U);
    EXPECT_EQ(shapes[30 + k].shape, 30U);
  }
  EXPECT_EQ(shapes[60].shape, 60U);
  EXPECT_EQ(shapes[31].at.x, 3);  // not that of its first router
  EXPECT_EQ(shapes[31].at.y, 0);
}

TEST(FlowShapes, AreFunctionsOfTheLayoutWithTheRoutesOfAllFlows) {
  const FlowPlan plan = many();
  const std::string text = mapping::layout_text("m", {24, 24}, {}, plan, {});
  EXPECT_THAT(text, ::testing::HasSubstr("fn way1(x0: i16, y0: i16, c: color) void {"));
  EXPECT_THAT(text, ::testing::Not(::testing::HasSubstr("fn way2")));
  EXPECT_THAT(text, ::testing::HasSubstr("  way0(7, 0, @get_color(1));\n"));
  csl::CslOptions options;
  options.layout = "layout.csl";
  options.files = {{"layout.csl", text}};
  Diag diag;
  const auto program = csl::compile_csl(options, machine("wse2"), diag);
  ASSERT_TRUE(program.has_value()) << diag.to_string();
  EXPECT_EQ(routers_of(*program), routers_of(plan));
}

}  // namespace
}  // namespace cs::test
