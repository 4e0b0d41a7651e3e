// What configurations ask of their compilation, and how those of models/configs/wafer fill a wafer.
#include <gmock/gmock.h>

#include <filesystem>

#include "compiler/frontend/model_config.h"
#include "compiler/passes/rewrites.h"

namespace cs::frontend {
namespace {

const std::string kConfigs = std::string(CS_SOURCE_DIR) + "/models/configs/";

TEST(CompileKeys, AreThoseOfTheFileOrOfWhatIsSetInstead) {
  const std::string file = kConfigs + "gpt3_tiny_leaky_relu.yaml";
  EXPECT_EQ(compile_keys(file, {}).autogen_policy, "medium");
  EXPECT_EQ(compile_keys(file, {"runconfig.autogen_policy=disabled"}).autogen_policy, "disabled");
  EXPECT_EQ(compile_keys(kConfigs + "fc_mnist.yaml", {}).autogen_policy, "");
  EXPECT_EQ(compile_keys(file, {"runconfig.autogen_on_failure=error"}).autogen_on_failure, "error");
  EXPECT_THAT(compile_keys(file, {}).rewrite, testing::IsEmpty());
  EXPECT_THAT(compile_keys(file, {"runconfig.rewrite=heads=4"}).rewrite, testing::ElementsAre("heads=4"));
  EXPECT_THAT(compile_keys(file, {"runconfig.rewrite=[shards=2, attention=on]"}).rewrite,
              testing::ElementsAre("shards=2", "attention=on"));
}

TEST(CompileKeys, OfConfigurationsForAWaferAreRewrites) {
  int files = 0;
  for (const auto& file : std::filesystem::directory_iterator(kConfigs + "wafer")) {
    passes::Rewrites rewrites;
    std::string why;
    for (const std::string& rewrite : compile_keys(file.path().string(), {}).rewrite)
      EXPECT_TRUE(passes::read_rewrite(rewrite, rewrites, why)) << file.path() << ": " << why;
    EXPECT_GT(rewrites.shards, 1) << file.path();
    ++files;
  }
  EXPECT_GT(files, 0);
}

}  // namespace
}  // namespace cs::frontend
