// Compilations that tune, for tests: small networks, what a run says, and its log.
#pragma once

#include <nlohmann/json.hpp>
#include <set>

#include "tests/e2e/cache_folder.h"

namespace cs::e2e {

// A variable of the environment for the children of a test.
class Environment {
 public:
  Environment(const char* name, const std::string& value) : name_(name) { setenv(name, value.c_str(), 1); }
  ~Environment() { unsetenv(name_); }

 private:
  const char* name_;
};
inline constexpr const char* kFaults = "WAFERSMITH_TEST_CANDIDATES";

class Tune : public CacheFolder {
 protected:
  struct Tuned {
    int exit_code = 0;
    json report;
    std::vector<json> log;
    std::string out, err;
    double cycles(const std::string& phase) const {
      for (const json& line : log)
        if (line.at("phase") == phase && line.at("cycles").is_number())
          return line.at("cycles").get<double>();
      return 0;
    }
    size_t count(const std::string& key, const std::string& value) const {
      return size_t(std::ranges::count_if(log, [&](const json& line) { return line.at(key) == value; }));
    }
  };

  // x W of K x N, then `behind` as nodes behind p; as NAME.yaml.
  std::string product(const std::string& name, const std::string& behind, const std::string& last, int k = 48,
                      int n = 48) const {
    std::string values = "0.01";
    for (int i = 1; i < k * n; ++i) values += ", " + std::to_string((i % 7) * 0.01);
    return write(name + ".yaml",
                 fmt::format("inputs:\n  - {{name: x, type: \"f32[1, {}]\", sample_dim: 0}}\n"
                             "constants:\n  - {{name: w, type: \"f32[{}, {}]\", value: [{}]}}\n"
                             "nodes:\n  - {{name: p, op: gemm, inputs: [x, w]}}\n{}outputs: [{}]\n",
                             k, k, n, values, behind, last));
  }
  std::string plain_product(const std::string& name = "plain") const { return product(name, "", "p"); }
  std::string two_products(const std::string& name = "two") const {
    return product(name,
                   "  - {name: r, op: relu, inputs: [p]}\n  - {name: q, op: gemm, inputs: [r, w]}\n"
                   "  - {name: s, op: sigmoid, inputs: [q]}\n",
                   "s");
  }

  std::string chain() const {
    return product("chain",
                   "  - {name: a, op: erf, inputs: [p]}\n  - {name: b, op: sigmoid, inputs: [a]}\n"
                   "  - {name: c, op: relu, inputs: [b]}\n",
                   "c");
  }

  std::vector<json> read_log(const std::string& file) const {
    std::vector<json> lines;
    std::istringstream in(slurp(file));
    for (std::string line; std::getline(in, line);) {
      lines.push_back(json::parse(line, nullptr, false));
      EXPECT_TRUE(lines.back().is_object()) << line;
    }
    return lines;
  }

  Tuned tune(const std::string& model, std::vector<std::string> args,
             const std::string& output = "t.csp") const {
    args.insert(args.begin(), {model, "--no-advice", "--no-baselines", "--autotune-log", path("log.jsonl"),
                               "-o", path(output)});
    std::filesystem::remove(path("log.jsonl"));
    const ChildResult r = run("cs-compile", args);
    Tuned t;
    t.exit_code = r.exit_code;
    t.out = r.out;
    t.err = r.err;
    t.report = json::parse(slurp(path(output) + "/compile_report.json"), nullptr, false);
    if (std::filesystem::exists(path("log.jsonl"))) t.log = read_log(path("log.jsonl"));
    return t;
  }

  double interval(const std::string& program) const {
    const ChildResult r = run("cs-sim", {path(program), "--json", "--iterations", "8"});
    EXPECT_EQ(r.exit_code, 0) << r.err;
    return json::parse(r.out).at("interval_cycles").get<double>();
  }
};

}  // namespace cs::e2e
