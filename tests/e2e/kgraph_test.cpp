// cs-regress --kgraph as a user runs it.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/e2e/run_tool.h"

namespace cs::e2e {
namespace {

using ::testing::HasSubstr;

class Kgraph : public Scratch {
 protected:
  void SetUp() override {
    Scratch::SetUp();
    std::filesystem::create_directories(path("in"));
  }
  void graph(const std::string& name, const std::string& memlimit) {
    write("in/" + name, "(*\ntest=pair\nwidth=60\nheight=60\nwdeltat=1\nwlength=1\nmemlimit=" + memlimit +
                            "\n*)\nconv[1] W=8 H=8 R=3 S=3 C=16 K=16 T=1 U=1 name='a'\n"
                            "dblock[2] f=32 h=8 w=8 name='b'\nconv[1]:y -> dblock[2]:x, shape:[8][8][16]\n");
  }
};

TEST_F(Kgraph, PlacesScoresAndWritesThePlacement) {
  graph("pair.kgraph", "2000");
  const ChildResult r =
      run("cs-regress", {"--kgraph", path("in"), "--paint", path("out"), "--moves", "5000", "--json"});
  ASSERT_EQ(r.exit_code, 0) << r.err;
  const auto row = nlohmann::json::parse(r.out).at("rows").at(0);
  EXPECT_TRUE(row.at("ok"));
  EXPECT_GE(row.at("gap"), 0);
  EXPECT_LE(row.at("gap"), 0.05);
  EXPECT_EQ(row.at("sum").get<double>(), row.at("delta_t").get<double>() + row.at("length").get<double>());
  EXPECT_THAT(slurp(path("out/pair.paint")), HasSubstr("b = dblock( 8 8 32 "));
}

TEST_F(Kgraph, KernelsThatFitAtNoTimeAreAFailedRow) {
  graph("pair.kgraph", "1");
  const ChildResult r = run("cs-regress", {"--kgraph", path("in")});
  EXPECT_EQ(r.exit_code, 4) << r.out;
  EXPECT_THAT(r.out, HasSubstr("do not fit the fabric at any time"));
}

TEST_F(Kgraph, AFolderWithoutGraphsIsAnInputError) {
  EXPECT_EQ(run("cs-regress", {"--kgraph", path("in")}).exit_code, 1);
}

}  // namespace
}  // namespace cs::e2e
