// Models in the forms that exporters write (tests/models/forms), under every policy: what PyTorch and ONNX
// Runtime give for them, or the refusal that each names.
#include <gmock/gmock.h>

#include <sstream>

#include "tests/e2e/run_tool.h"

namespace cs::e2e {
namespace {

namespace fs = std::filesystem;

// Those that have the file.
std::vector<std::string> models_with(const char* file) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(kSource + "/tests/models/forms"))
    if (fs::exists(entry.path() / file)) names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

class Forms : public Scratch, public testing::WithParamInterface<std::string> {
 protected:
  std::string file(const char* name) const {
    return kSource + "/tests/models/forms/" + GetParam() + "/" + name;
  }
  ChildResult compile(const std::string& policy, std::vector<std::string> args) const {
    args.insert(args.begin(),
                {file("model.onnx"), "-m", "wse2", "--autogen-policy", policy, "-o", path("p.csp")});
    return run("cs-compile", args);
  }
  std::vector<std::string> words(const char* name) const {
    std::istringstream text(slurp(file(name)));
    std::vector<std::string> list;
    for (std::string word; text >> word;) list.push_back(word);
    return list;
  }
};

TEST_P(Forms, GiveWhatTheOracleGives) {
  for (const char* policy : {"disabled", "medium", "aggressive"}) {
    SCOPED_TRACE(policy);
    const ChildResult compiled = compile(policy, words("args.txt"));
    ASSERT_EQ(compiled.exit_code, 0) << compiled.err;
    const ChildResult r =
        run("cs-sim", {path("p.csp"), "--inputs", file("inputs_0.npz"), "--expect", file("expected_0.npz")});
    EXPECT_EQ(r.exit_code, 0) << r.out << r.err;
    EXPECT_THAT(r.out, testing::HasSubstr("check         ok"));
  }
}

// Where the split is a kernel of its own, the part that the choice does not take is not sent.
TEST_F(Scratch, APartThatNobodyTakesIsNotSent) {
  const std::string folder = kSource + "/tests/models/forms/half_taken/";
  const ChildResult compiled = run("cs-compile", {folder + "model.onnx", "--without", "regions", "--host-ops",
                                                  "forbid", "--no-advice", "-o", path("p.csp")});
  ASSERT_EQ(compiled.exit_code, 0) << compiled.err;
  const ChildResult r = run(
      "cs-sim", {path("p.csp"), "--inputs", folder + "inputs_0.npz", "--expect", folder + "expected_0.npz"});
  EXPECT_EQ(r.exit_code, 0) << r.out << r.err;
}

class RefusedForms : public Forms {};

TEST_P(RefusedForms, AreRefusedInTheUsersWords) {
  std::string says = slurp(file("refused.txt"));
  says.erase(says.find_last_not_of('\n') + 1);
  const ChildResult compiled = compile("medium", {});
  EXPECT_EQ(compiled.exit_code, 1);
  EXPECT_THAT(compiled.err, testing::HasSubstr(says));
}

INSTANTIATE_TEST_SUITE_P(Models, Forms, testing::ValuesIn(models_with("expected_0.npz")),
                         [](const auto& info) { return info.param; });
INSTANTIATE_TEST_SUITE_P(Models, RefusedForms, testing::ValuesIn(models_with("refused.txt")),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace cs::e2e
