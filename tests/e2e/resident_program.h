// Kernels on operands that lie on the PEs, as suites of cs-regress run them.
#pragma once

#include <gtest/gtest.h>

#include <string>

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
};

}  // namespace cs::e2e
