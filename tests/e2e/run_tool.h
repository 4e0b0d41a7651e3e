// Runs one of our tools as a user would and keeps exit code and output. Each test has its own scratch folder.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tools/cli/child_process.h"

namespace cs::e2e {

inline const std::string kSource = CS_SOURCE_DIR;
inline const std::string kBin = std::string(CS_BINARY_DIR) + "/bin/";

// Seconds after which a tool counts as hanging: what takes 100 of them takes 400 where much else runs, and ten
// times as many under a sanitizer.
inline constexpr double kPatience = CS_PATIENCE;

inline ChildResult run(const std::string& tool, std::vector<std::string> args) {
  args.insert(args.begin(), kBin + tool);
  return run_child(args, kPatience);
}

// A folder below the build tree, empty at the start of the test and removed at its end.
class Scratch : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::string(CS_BINARY_DIR) + "/e2e/" + info->test_suite_name() + "." + info->name();
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override {
    if (!HasFailure()) std::filesystem::remove_all(folder_);
  }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name), std::ios::binary) << text;
    return path(name);
  }
  static std::string slurp(const std::string& file) {
    std::ifstream in(file, std::ios::binary);
    std::stringstream s;
    s << in.rdbuf();
    return s.str();
  }

 private:
  std::string folder_;
};

}  // namespace cs::e2e
