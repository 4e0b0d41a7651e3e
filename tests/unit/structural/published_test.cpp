// The programs of tests/sim, whose cycles others have published, on both models, as wide as 32 PEs. The run stops when
// the launch is over, then goes on to its end.
#include <filesystem>
#include <fstream>
#include <sstream>

#include "run_csl.h"
#include "tests/unit/structural/outcome.h"

namespace cs::csl::test {
namespace {

namespace sim = cs::sim::test;

struct Published {
  std::string layout, machine;
  std::vector<std::pair<std::string, std::string>> params;
  std::vector<uint32_t> args = {};
  friend void PrintTo(const Published& p, std::ostream* out) { *out << p.layout << " on " << p.machine; }
};

class PublishedPrograms : public ::testing::TestWithParam<Published> {};

TEST_P(PublishedPrograms, agree) {
  const Published& one = GetParam();
  CslOptions options;
  options.layout = one.layout + "_layout.csl";
  options.params = one.params;
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(CS_PROGRAMS_DIR) / "../sim")) {
    std::ifstream in(entry.path(), std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    options.files[entry.path().filename().string()] = text.str();
  }
  const Machine machine = load(one.machine);
  Diag diag;
  const auto program = compile_csl(options, machine, diag);
  ASSERT_TRUE(program.has_value()) << diag.to_string();
  const auto host = [&](Device& device, std::vector<std::string>& out) {
    Diag unused;
    device.launch("run", one.args, program->user, device.now(), unused);
    sim::describe(device.run({.commands_done = true}), out);
    sim::describe(device.run({}), out);
  };
  EXPECT_EQ(sim::compare({machine, *program, {}, host}), "");
}

std::vector<Published> all() {
  std::vector<Published> out;
  for (const char* machine : {"wse2", "wse3"}) {
    out.push_back({"vector_op", machine, {{"n", "1028"}, {"shift", "0"}}});
    out.push_back({"vector_op", machine, {{"n", "1028"}, {"shift", "1"}}});
    out.push_back({"message", machine, {{"hops", "30"}, {"B", "64"}}});
    out.push_back({"broadcast", machine, {{"P", "32"}, {"B", "128"}}});
    out.push_back({"chain", machine, {{"P", "32"}, {"B", "64"}, {"buffered", "true"}}});
    out.push_back({"star", machine, {{"P", "16"}, {"B", "64"}}});
    out.push_back({"tree", machine, {{"rounds", "4"}, {"B", "64"}}});
    out.push_back({"two_phase", machine, {{"P", "32"}, {"S", "8"}, {"B", "64"}, {"buffered", "true"}}});
    out.push_back({"relay", machine, {{"N", "8"}, {"B", "64"}}});
    out.push_back({"shift", machine, {{"P", "10"}, {"L", "10"}, {"T", "4"}}, {1, 5}});
    for (const char* operation : {"0", "1", "2"})
      out.push_back({"rates", machine, {{"n", "256"}, {"operation", operation}}});
  }
  return out;
}

INSTANTIATE_TEST_SUITE_P(Sim, PublishedPrograms, ::testing::ValuesIn(all()));

}  // namespace
}  // namespace cs::csl::test
