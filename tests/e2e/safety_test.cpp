// What a tool leaves behind when it is killed, interrupted or out of disk: the old result or the new one,
// never half of one; an exit code other than 0; with --json one object on stdout.
#include <gmock/gmock.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include <fmt/format.h>

#include "runtime/support/rng.h"
#include "tests/e2e/run_tool.h"

namespace cs::e2e {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::HasSubstr;

// A line of /bin/sh; $bin is the folder of the tools, $dir that of the test.
ChildResult shell(const std::string& line, const std::string& folder) {
  return run_child({"/bin/sh", "-c", "bin=$1 dir=$2; " + line, "sh", kBin, folder}, kPatience);
}

// Contents by name below the folder. A report has times in it, so only that it is whole is kept.
std::map<std::string, std::string> contents(const fs::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    std::ifstream in(entry.path(), std::ios::binary);
    std::string text{std::istreambuf_iterator<char>(in), {}};
    if (entry.path().filename() == "compile_report.json") text = json::accept(text) ? "whole" : "damaged";
    files[fs::relative(entry.path(), folder).string()] = std::move(text);
  }
  return files;
}

class Safety : public Scratch {
 protected:
  void SetUp() override {
    Scratch::SetUp();
    for (const char* name : {"neg", "exp"})
      write(std::string(name) + ".yaml",
            fmt::format("inputs:\n  - {{name: x, type: \"f32[64]\"}}\noutputs: [y]\nnodes:\n"
                        "  - {{name: y, op: {}, inputs: [x]}}\n",
                        name));
  }
  std::string folder() const { return path("."); }
  // Names in the folder that belong to nobody any more.
  std::vector<std::string> temporaries() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder()))
      if (entry.path().filename().string().find(".tmp") != std::string::npos) names.push_back(entry.path());
    return names;
  }
  // The commands of advice name the model as this one does.
  ChildResult compile(const std::string& model, const std::string& out) {
    return run("cs-compile",
               {folder() + "/" + model + ".yaml", "--autogen-policy", "aggressive", "-q", "-o", path(out)});
  }
};

TEST_F(Safety, AKilledCompileLeavesTheOldOrTheNewProgram) {
  ASSERT_EQ(compile("neg", "neg.csp").exit_code, 0);
  const ChildResult timed = compile("exp", "exp.csp");
  ASSERT_EQ(timed.exit_code, 0) << timed.err;
  const auto neg = contents(path("neg.csp")), exp = contents(path("exp.csp"));
  ASSERT_NE(neg, exp);
  ASSERT_GT(exp.size(), 4u) << "there are baselines, so that OUT has folders below it";
  ASSERT_EQ(compile("neg", "out.csp").exit_code, 0);
  Rng rng(7);
  int killed = 0;
  for (int i = 0; i < 60; ++i) {
    const char* model = i % 2 == 0 ? "exp" : "neg";
    // The last fifth of a run is where files are written.
    const double delay = timed.seconds * (i % 3 == 0 ? rng.uniform() * 1.1 : 0.8 + 0.3 * rng.uniform());
    const ChildResult r =
        shell(fmt::format(
                  "\"$bin/cs-compile\" \"$dir/{}.yaml\" --autogen-policy aggressive -q -o \"$dir/out.csp\" & "
                  "sleep {:.4f}; kill -9 $! 2>/dev/null; wait $!; exit $?",
                  model, delay),
              folder());
    killed += r.exit_code == 137;
    const auto now = contents(path("out.csp"));
    ASSERT_TRUE(now == neg || now == exp) << "run " << i << " was killed after " << delay << " s";
  }
  EXPECT_GT(killed, 0);
  ASSERT_EQ(compile("exp", "out.csp").exit_code, 0);
  EXPECT_EQ(contents(path("out.csp")), exp);
  EXPECT_THAT(temporaries(), ::testing::IsEmpty()) << "the next run removes what killed ones left";
}

// 4 blocks are at most 4 KB: less than the Program has.
TEST_F(Safety, AFullDiskLeavesTheOldProgramOrNone) {
  const auto limited = [&](const std::string& line) { return shell("ulimit -f 4; " + line, folder()); };
  ChildResult r = limited("\"$bin/cs-compile\" \"$dir/neg.yaml\" -o \"$dir/none.csp\"");
  EXPECT_EQ(r.exit_code, 1);
  EXPECT_THAT(r.err, HasSubstr("cannot be written: File too large"));
  EXPECT_FALSE(fs::exists(path("none.csp")));

  ASSERT_EQ(compile("neg", "old.csp").exit_code, 0);
  const auto before = contents(path("old.csp"));
  EXPECT_EQ(limited("\"$bin/cs-compile\" \"$dir/exp.yaml\" -o \"$dir/old.csp\"").exit_code, 1);
  EXPECT_EQ(contents(path("old.csp")), before);

  const std::string sim = "\"$bin/cs-sim\" \"$dir/old.csp\" ";
#ifndef __SANITIZE_THREAD__  // whose runtime writes a file of its own before main, and ends there
  EXPECT_EQ(limited("ulimit -f 0; " + sim + "--outputs \"$dir/o.npz\"").exit_code, 1);
  EXPECT_EQ(limited("ulimit -f 0; " + sim + "--trace \"chrome=$dir/t.json\"").exit_code, 1);
#endif
  EXPECT_EQ(limited(sim + "--report \"$dir/report\"").exit_code, 1);
  for (const char* name : {"o.npz", "t.json", "report/report.html", "report/run.json"})
    EXPECT_FALSE(fs::exists(path(name))) << name;
  EXPECT_EQ(limited("\"$bin/cs-compile\" \"$dir/exp.yaml\" --emit csl -o \"$dir/text\"").exit_code, 1);
  EXPECT_FALSE(fs::exists(path("text")));
  EXPECT_THAT(temporaries(), ::testing::IsEmpty());
}

TEST_F(Safety, StdoutThatTakesNothingIsAnError) {
  ASSERT_EQ(compile("neg", "p.csp").exit_code, 0);
  for (const char* sink : {"> /dev/full", ">&-"})
    for (const char* line :
         {"\"$bin/cs-sim\" \"$dir/p.csp\" --json", "\"$bin/cs-sim\" \"$dir/p.csp\"",
          "\"$bin/cs-compile\" \"$dir/neg.yaml\" --emit graph",
          "\"$bin/cs-compile\" \"$dir/neg.yaml\" --json", "\"$bin/cs-compile\" --list-ops",
          "\"$bin/cs-objdump\" \"$dir/p.csp\" --text", "\"$bin/cs-objdump\" \"$dir/p.csp\" --json",
          "\"$bin/cs-regress\" --help", "\"$bin/cslc\" --version", "\"$bin/cs-cache\" --version"}) {
      const ChildResult r = shell(std::string(line) + " " + sink, folder());
      EXPECT_EQ(r.exit_code, 1) << line << " " << sink;
      EXPECT_THAT(r.err, HasSubstr("stdout did not take everything")) << line << " " << sink;
    }
}

// Of every tool: a wrong command line, a missing file; and where a problem has a position, it is in the
// object.
TEST_F(Safety, JsonIsOneObjectAlsoOfAFailure) {
  const auto object_of = [](const ChildResult& r) {
    json object = json::parse(r.out, nullptr, false);
    EXPECT_TRUE(object.is_object()) << r.out;
    EXPECT_EQ(object.value("exit_code", -1), r.exit_code) << r.out;
    EXPECT_FALSE(object.value("errors", json::array()).empty()) << r.out;
    return object;
  };
  for (const char* tool : {"cs-compile", "cs-sim", "cs-objdump", "cs-regress", "cslc"}) {
    const ChildResult usage = run(tool, {"--json", "--no-such-option"});
    EXPECT_EQ(usage.exit_code, 2) << tool;
    object_of(usage);
    const ChildResult missing = run(tool, {"--json", path("missing.yaml")});
    EXPECT_EQ(missing.exit_code, 1) << tool;
    const json object = object_of(missing);
    EXPECT_EQ(object.value("tool", ""), tool);
    EXPECT_THAT(object["errors"][0].value("file", ""), HasSubstr("missing.yaml")) << tool;
    EXPECT_NE(object["errors"][0].value("message", ""), "") << tool;
  }
  write("bad.yaml",
        "inputs:\n  - {name: x, type: \"f32[4]\"}\noutputs: [y]\nnodes:\n"
        "  - {name: y, op: leeky_relu, inputs: [x]}\n");
  const ChildResult bad = run("cs-compile", {path("bad.yaml"), "--json", "-o", path("p.csp")});
  EXPECT_EQ(bad.exit_code, 1);
  const json error = object_of(bad)["errors"][0];
  EXPECT_EQ(error.value("line", 0), 5) << error;
  EXPECT_GT(error.value("column", 0), 0) << error;
  EXPECT_THAT(error.value("help", ""), HasSubstr("leaky_relu"));
}

TEST_F(Safety, JsonIsOneObjectBesideOtherData) {
  for (const std::vector<std::string>& args :
       {std::vector<std::string>{path("neg.yaml"), "--emit", "graph", "--json"}, {"--list-ops", "--json"}}) {
    const ChildResult r = run("cs-compile", args);
    ASSERT_EQ(r.exit_code, 0) << r.err;
    const json object = json::parse(r.out, nullptr, false);
    ASSERT_TRUE(object.is_object()) << r.out;
    EXPECT_THAT(object.value("text", ""), HasSubstr("neg"));
  }
}

TEST_F(Safety, AnInterruptIs130AndLeavesNothing) {
  fs::create_directories(path("tmp"));
  const std::string model = kSource + "/models/mnist_mlp/model.onnx";
  const ChildResult made = run("cs-compile", {model, "-q", "-o", path("net.csp")});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  const std::vector<std::string> lines = {
      // A placer with so many moves takes minutes.
      "\"$bin/cs-regress\" --kgraph \"$dir/graphs\" --moves 2000000000 --json",
      "\"$bin/cs-regress\" --onnx \"" + kSource + "/models\" --json",
      "\"$bin/cs-sim\" \"$dir/net.csp\" --iterations 20000 --json",
      "\"$bin/cs-sim\" \"$dir/net.csp\" --iterations 6000 --report \"$dir/report\" --json",
      "\"$bin/cs-compile\" \"" + kSource + "/models/configs/gpt2_small.yaml\" --json -o \"$dir/out.csp\""};
  fs::create_directories(path("graphs"));
  write("graphs/pair.kgraph",
        "(*\ntest=pair\nwidth=60\nheight=60\nwdeltat=1\nwlength=1\nmemlimit=2000\n*)\n"
        "conv[1] W=8 H=8 R=3 S=3 C=16 K=16 T=1 U=1 name='a'\ndblock[2] f=32 h=8 w=8 name='b'\n"
        "conv[1]:y -> dblock[2]:x, shape:[8][8][16]\n");
  for (const std::string& line : lines) {
    const ChildResult r = shell(
        "export TMPDIR=\"$dir/tmp\"; " + line + " > \"$dir/out\" & sleep 1; kill -INT $!; wait $!; exit $?",
        folder());
    EXPECT_EQ(r.exit_code, 130) << line << "\n" << r.err;
    EXPECT_TRUE(json::parse(slurp(path("out")), nullptr, false).is_object()) << line << "\n"
                                                                             << slurp(path("out"));
    EXPECT_TRUE(fs::is_empty(path("tmp"))) << line;
    EXPECT_FALSE(fs::exists(path("out.csp")));
  }
  // What a report says of a run that was stopped is a report of that.
  if (fs::exists(path("report/run.json"))) {
    EXPECT_EQ(json::parse(slurp(path("report/run.json"))).value("exit_code", 0), 130);
  }
  EXPECT_THAT(temporaries(), ::testing::IsEmpty());
}

}  // namespace
}  // namespace cs::e2e
