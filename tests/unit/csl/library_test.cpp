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

// Relative to the importing file first, then to the layout's folder: both in one program.
TEST(Library, ImportsFromTheImportingFileOrTheLayoutsFolder) {
  CslOptions options;
  options.layout = "work/layout.csl";
  options.files["work/layout.csl"] =
      "layout { @set_rectangle(1, 1); @set_tile_code(0, 0, \"pe.csl\", .{}); @export_name(\"x\", [*]u16, "
      "true); }\n";
  options.files["work/pe.csl"] =
      "const outer = @import_module(\"parts/outer.csl\");\nvar x = [1]u16{ outer.beside.n * 10 + "
      "outer.below.n };\n"
      "comptime { @export_symbol(x); @comptime_assert(outer.beside.n * 10 + outer.below.n == 34); }\n";
  options.files["work/parts/outer.csl"] =
      "const beside = @import_module(\"three.csl\");\nconst below = @import_module(\"parts/four.csl\");\n";
  options.files["work/parts/three.csl"] = "const n: u16 = 3;\n";
  options.files["work/three.csl"] = "const n: u16 = 5;\n";  // further away than the one beside outer.csl
  options.files["work/parts/four.csl"] = "const n: u16 = 4;\n";
  Diag diag;
  EXPECT_TRUE(compile_csl(options, machine(), diag)) << diag.to_string();
}

}  // namespace
}  // namespace cs::csl::test
