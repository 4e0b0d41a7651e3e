// Routes of a layout that come from loops and functions are those of the same calls written one by one.
#include <gmock/gmock.h>

#include <fmt/format.h>

#include "run_csl.h"

namespace cs::csl::test {
namespace {

using ::testing::HasSubstr;

std::map<std::string, std::string> files(const std::string& before, const std::string& body) {
  return {{"layout.csl", before +
                             "layout {\n@set_rectangle(12, 4);\n"
                             "for (@range(i16, 12)) |x| { for (@range(i16, 4)) |y| { @set_tile_code(x, y, "
                             "\"pe.csl\", .{}); } }\n" +
                             body + "}\n"},
          {"pe.csl", "comptime {}\n"}};
}

std::vector<RouteRun> routes(const std::string& before, const std::string& body) {
  Diag diag;
  const auto p = compile_csl(options_for(files(before, body)), load("wse2"), diag);
  EXPECT_TRUE(p.has_value()) << diag.to_string();
  return p ? p->routes : std::vector<RouteRun>{};
}

std::string call(int x, int y, int color, int counter) {
  return fmt::format(
      "@set_color_config({}, {}, @get_color({}), .{{ .routes = .{{ .rx = .{{ WEST }}, .tx = .{{ RAMP }} }}, "
      ".filter = .{{ .kind = .{{ .counter = true }}, .count_data = true, .init_counter = {}, "
      ".max_counter = 0, .limit1 = 63 }} }});\n",
      x, y, color, counter);
}

std::string config(const std::string& counter) {
  return ".{ .routes = .{ .rx = .{ WEST }, .tx = .{ RAMP } }, .filter = .{ .kind = .{ .counter = true }, "
         ".count_data = true, .init_counter = " +
         counter + ", .max_counter = 0, .limit1 = 63 } }";
}

TEST(ColorConfigs, OfALoopWhoseCounterIsInTheConfiguration) {
  std::string one_by_one;
  for (int x = 1; x < 10; x += 2) one_by_one += call(x, 2, 3, 20 - x);
  EXPECT_EQ(routes("", "for (@range(i16, 1, 10, 2)) |x| { @set_color_config(x, 2, @get_color(3), " +
                           config("20 - x") + "); }\n"),
            routes("", one_by_one));
}

TEST(ColorConfigs, OfAFunctionCalledFromSeveralPlaces) {
  const std::string way =
      "fn way(x0: i16, y0: i16, c: color) void {\n"
      "@set_color_config(x0, y0, c, " +
      config("9") +
      ");\n"
      "for (@range(i16, 1, 4, 1)) |x| { @set_color_config(x0 + x, y0, c, " +
      config("x") +
      "); }\n"
      "for (@range(i16, 1, 3, 1)) |y| { @set_color_config(x0, y + y0, c, " +
      config("7") + "); } }\n";
  std::string one_by_one;
  for (const auto& [x0, y0, color] : {std::tuple(0, 0, 1), std::tuple(5, 1, 1), std::tuple(2, 0, 6)}) {
    one_by_one += call(x0, y0, color, 9);
    for (int x = 1; x < 4; ++x) one_by_one += call(x0 + x, y0, color, x);
    for (int y = 1; y < 3; ++y) one_by_one += call(x0, y0 + y, color, 7);
  }
  EXPECT_EQ(routes(way, "way(0, 0, @get_color(1)); way(5, 1, @get_color(1)); way(2, 0, @get_color(6));\n"),
            routes("", one_by_one));
}

TEST(ColorConfigs, OfTwoLocalsAndOfOneThatChanges) {
  std::string one_by_one;
  for (int x = 0; x < 4; ++x)
    for (int y = 0; y < 3; ++y) one_by_one += call(x, y, 2, 10 * x + y);
  EXPECT_EQ(
      routes("",
             "for (@range(i16, 4)) |x| { for (@range(i16, 3)) |y| { @set_color_config(x, y, @get_color(2), " +
                 config("10 * x + y") + "); } }\n"),
      routes("", one_by_one));
  EXPECT_EQ(routes("", "var n: i16 = 5;\nfor (@range(i16, 3)) |x| { @set_color_config(x, 0, @get_color(2), " +
                           config("n") + "); n += 1; }\n"),
            routes("", call(0, 0, 2, 5) + call(1, 0, 2, 6) + call(2, 0, 2, 7)));
}

TEST(ColorConfigs, AConstantOfTheFileMayBeSharedByAllLoops) {
  EXPECT_EQ(routes("const there = " + config("3") + ";\n",
                   "for (@range(i16, 2, 12, 1)) |x| { @set_color_config(x, 1, @get_color(4), there); }\n"
                   "for (@range(i16, 3, -1, -1)) |y| { @set_color_config(0, y, @get_color(4), there); }\n"),
            routes("", [] {
              std::string text;
              for (int x = 2; x < 12; ++x) text += call(x, 1, 4, 3);
              for (int y = 0; y < 4; ++y) text += call(0, y, 4, 3);
              return text;
            }()));
}

TEST(ColorConfigs, ALoopThatComesByAPlaceAgainSaysWhere) {
  EXPECT_THAT(errors_of(files("", call(7, 2, 3, 1) +
                                      "for (@range(i16, 5, 10, 1)) |x| { @set_color_config(x, 2, "
                                      "@get_color(3), " +
                                      config("1") + "); }\n")),
              HasSubstr("color 3 of PE (7, 2) is configured twice"));
  EXPECT_THAT(errors_of(files("", "for (@range(i16, 5)) |x| { @set_color_config(3, 2, @get_color(3), " +
                                      config("x") + "); }\n")),
              HasSubstr("color 3 of PE (3, 2) is configured twice"));
}

TEST(ColorConfigs, ALoopThatLeavesTheRectangleSaysWhere) {
  EXPECT_THAT(
      errors_of(files("", "for (@range(i16, 9, 14, 1)) |x| { @set_color_config(x, 2, @get_color(3), " +
                              config("1") + "); }\n")),
      HasSubstr("the column must be between 0 and 11, this is 12"));
}

TEST(ColorConfigs, WhatIsWrongWithOneCounterOfALoopIsSaidOnce) {
  const std::string errors =
      errors_of(files("", "for (@range(i16, 0, 3, 1)) |x| { @set_color_config(x, 2, @get_color(3), " +
                              config("1 - x") + "); }\n"));
  const std::string what = "init_counter";
  const size_t first = errors.find("error:");
  ASSERT_NE(first, std::string::npos) << errors;
  EXPECT_EQ(errors.find("error:", first + 1), std::string::npos) << errors;
  EXPECT_THAT(errors, HasSubstr(what));
}

}  // namespace
}  // namespace cs::csl::test
