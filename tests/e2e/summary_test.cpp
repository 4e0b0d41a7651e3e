// The summaries of cs-regress: one run as text, as JSON and as a page.
#include <gmock/gmock.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/e2e/run_tool.h"

namespace cs::e2e {
namespace {

using ::testing::HasSubstr;

class Summary : public Scratch {};

// A vector operation over n elements takes n + 6 cycles, so the second row must fail, and comes first on the
// page.
TEST_F(Summary, ThePageShowsFailuresFirstAndEscapesWhatItQuotes) {
  const std::string suite = write("s.yaml",
                                  "suite:\n"
                                  "  - name: right\n"
                                  "    program: " +
                                      kSource +
                                      "/tests/sim/vector_op_layout.csl\n"
                                      "    params: {n: 1028, shift: 1}\n"
                                      "    launch: run\n"
                                      "    measure: cycles\n"
                                      "  - name: wrong\n"
                                      "    program: " +
                                      kSource +
                                      "/tests/sim/vector_op_layout.csl\n"
                                      "    params: {n: 1028, shift: 1}\n"
                                      "    launch: run\n"
                                      "    measure: cycles\n"
                                      "    expect: {value: 7, tolerance: 1 cycles, source: \"a < b\"}\n");
  const ChildResult r = run("cs-regress", {suite, "--update", "--json", "--html", path("s.html")});
  EXPECT_EQ(r.exit_code, 4) << r.err;
  const auto json = nlohmann::json::parse(r.out, nullptr, false);
  ASSERT_TRUE(json.is_object()) << r.out;
  EXPECT_EQ(json.at("passed"), 1);
  std::stringstream text;
  text << std::ifstream(path("s.html")).rdbuf();
  const std::string page = text.str();
  EXPECT_THAT(page, HasSubstr("1 passed, 1 failed"));
  EXPECT_THAT(page, HasSubstr("a &lt; b"));
  EXPECT_LT(page.find("wrong/"), page.find("right/"));
  EXPECT_THAT(page, HasSubstr("<tr class=\"failed\">"));
}

}  // namespace
}  // namespace cs::e2e
