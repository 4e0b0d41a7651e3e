// Compilations of small networks through a cache, for tests: what they wrote and what they say of the cache.
#pragma once

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include <fmt/format.h>

#include "tests/e2e/run_tool.h"

namespace cs::e2e {

namespace fs = std::filesystem;
using nlohmann::json;

class CacheFolder : public Scratch {
 protected:
  struct Compiled {
    std::map<std::string, std::string> files;  // but compile_report.json, which has times
    json report, cache;
    std::string err;
  };

  // y = x * `weight` of 64 elements; as NAME.yaml. One operator has one form, so nothing is tried out and measured.
  std::string graph(const std::string& name, const std::string& weight = "0.5") const {
    return write(name + ".yaml",
                 fmt::format("inputs:\n  - {{name: x, type: \"f32[64]\"}}\n"
                             "constants:\n  - {{name: w, type: \"f32[]\", value: [{}]}}\n"
                             "outputs: [y]\nnodes:\n  - {{name: y, op: mul, inputs: [x, w]}}\n",
                             weight));
  }

  Compiled compile(const std::string& model, std::vector<std::string> args,
                   const std::string& output = "out.csp",
                   const std::string& tool = kBin + "cs-compile") const {
    args.insert(args.begin(), {tool, model, "--json", "-o", path(output)});
    const ChildResult r = run_child(args, kPatience);
    EXPECT_EQ(r.exit_code, 0) << r.err;
    Compiled c;
    c.err = r.err;
    c.files = contents(path(output));
    c.report = json::parse(slurp(path(output) + "/compile_report.json"), nullptr, false);
    c.cache = json::parse(r.out, nullptr, false).value("cache", json());
    return c;
  }

  static std::map<std::string, std::string> contents(const fs::path& folder) {
    std::map<std::string, std::string> files;
    for (const auto& entry : fs::recursive_directory_iterator(folder))
      if (entry.is_regular_file() && entry.path().filename() != "compile_report.json")
        files[fs::relative(entry.path(), folder).string()] = slurp(entry.path().string());
    return files;
  }

  // The first entry of the folder "cache".
  std::string entry_file(const std::string& space) const {
    std::vector<std::string> files;
    for (const auto& entry : fs::recursive_directory_iterator(path("cache/" + space)))
      if (entry.is_regular_file()) files.push_back(entry.path().string());
    std::sort(files.begin(), files.end());
    return files.at(0);
  }
  static void flip(const std::string& file, uintmax_t at) {
    std::string bytes = slurp(file);
    bytes.at(size_t(at)) = char(bytes[size_t(at)] ^ 1);
    std::ofstream(file, std::ios::binary) << bytes;
  }
};

}  // namespace cs::e2e
