// Kernels on operands that lie on the PEs, as suites of cs-regress run them.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/e2e/run_tool.h"

namespace cs::e2e {

class ResidentProgram : public Scratch {
 protected:
  // One job per line, values against the host's.
  void expect_values(const std::string& rows) const {
    write("suite.yaml", "suite:\n" + rows);
    const ChildResult r = run("cs-regress", {path("suite.yaml"), "-j", "1", "--update"});
    EXPECT_EQ(r.exit_code, 0) << r.out << r.err;
  }
  static std::string row(const std::string& name, const std::string& op, const std::string& attrs,
                         const std::string& rect, const std::string& operands, bool half = false,
                         bool small = true) {
    // What is small is far from its bound.
    return "  - {name: " + name + ", op: " + op + ", attrs: {" + attrs +
           "}, machine: [wse2, wse3], policy: [medium, aggressive], cases: [{rect: " + rect +
           ", resident: true, half: " + (half ? "true" : "false") + ", operands: [" + operands + "]" +
           (small ? ", cause: small" : "") + "}]}\n";
  }

  // model.yaml on a rectangle. The Program is a.csp.
  ChildResult compile(const std::string& rect, const std::vector<std::string>& more = {}) const {
    return compile_to(path("a.csp"), rect, more);
  }
  ChildResult compile_to(const std::string& out, const std::string& rect,
                         const std::vector<std::string>& more) const {
    std::vector<std::string> how{path("model.yaml"), "--operands", "resident", "--rect", rect, "-o", out};
    how.insert(how.end(), more.begin(), more.end());
    return run("cs-compile", how);
  }
  std::string why_not(const std::string& rect) const {
    const ChildResult r = compile(rect);
    EXPECT_EQ(r.exit_code, 1);
    return r.err;
  }
  // The samples of a.csp are those of model.yaml with streamed operands.
  void expect_streamed_values(int samples = 1) const {
    const std::vector<std::string> given{"--seed", "3", "--iterations", std::to_string(samples)};
    std::vector<std::string> streamed{path("b.csp"), "--outputs", path("out.npz")},
        same{path("a.csp"), "--expect", path("out.npz")};
    streamed.insert(streamed.end(), given.begin(), given.end());
    same.insert(same.end(), given.begin(), given.end());
    ASSERT_EQ(run("cs-compile", {path("model.yaml"), "-o", path("b.csp")}).exit_code, 0);
    ASSERT_EQ(run("cs-sim", streamed).exit_code, 0);
    const ChildResult r = run("cs-sim", same);
    EXPECT_EQ(r.exit_code, 0) << r.out << r.err;
  }
  // Model -> text -> Program gives the bytes of a.csp. The host's text.
  std::string expect_text_gives_the_same(const std::string& rect) const {
    const std::string text = path("text"), host = text + "/host.yaml";
    EXPECT_EQ(compile(rect).exit_code, 0);
    EXPECT_EQ(compile_to(text, rect, {"--emit", "csl"}).exit_code, 0);
    const ChildResult again = run("cs-compile", {text + "/layout.csl", "--host", host, "-o", path("c.csp")});
    EXPECT_EQ(again.exit_code, 0) << again.err;
    EXPECT_EQ(slurp(path("a.csp/program.fb")), slurp(path("c.csp/program.fb")));
    std::string said = slurp(host);
    std::filesystem::remove_all(text);
    return said;
  }
};

}  // namespace cs::e2e
