// Finding libraries and files: what is said when there is none.
#include "compiler/csl/csl.h"
#include "link_test_support.h"

namespace cs::csl::test {
namespace {

TEST(Library, UnknownLibraryAndFile) {
  CslOptions options;
  options.layout = "layout.csl";
  options.files["layout.csl"] = "const a = @import_module(\"<maths>\");\nlayout { @set_rectangle(1, 1); }\n";
  Diag diag;
  EXPECT_FALSE(compile_csl(options, machine(), diag));
  EXPECT_NE(diag.to_string().find("layout.csl:1:26: error: there is no library <maths>"), std::string::npos)
      << diag.to_string();
  EXPECT_NE(diag.to_string().find("<math>"), std::string::npos);
  Diag missing;
  options.layout = "nowhere.csl";
  EXPECT_FALSE(compile_csl(options, machine(), missing));
  EXPECT_NE(missing.to_string().find("cannot read 'nowhere.csl'"), std::string::npos) << missing.to_string();
}

}  // namespace
}  // namespace cs::csl::test
