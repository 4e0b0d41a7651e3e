// The printed form of diagnostics and the table of sources.
#include "runtime/support/diag.h"

#include <gtest/gtest.h>

#include <sstream>

namespace cs {
namespace {

TEST(Diag, PrintsPositionLineCaretAndHelp) {
  Diag diag;
  const uint32_t file = diag.sources.add("m.yaml", "name: x\nwidth: eight\n");
  diag.error({file, 2, 8}, "'width' must be a whole number, got 'eight'", "write 8");
  EXPECT_EQ(diag.to_string(),
            "m.yaml:2:8: error: 'width' must be a whole number, got 'eight'\n"
            "    width: eight\n"
            "           ^\n"
            "help: write 8\n");
  EXPECT_FALSE(diag.ok());
}

TEST(Diag, TabsAndUtf8KeepTheCaretUnderItsCharacter) {
  Diag diag;
  const uint32_t file =
      diag.sources.add("a", "\t\xC3\xA9 = ?");  // tab, e acute (2 bytes), blank, =, blank, ?
  diag.error({file, 1, 7}, "what");
  EXPECT_EQ(diag.to_string(), "a:1:7: error: what\n     \xC3\xA9 = ?\n         ^\n");
}

TEST(Diag, ProblemsWithoutPositionPrintTheirPlace) {
  Diag diag;
  diag.error_at("model.onnx: node Gemm_0", "shape does not fit");
  EXPECT_EQ(diag.to_string(), "model.onnx: node Gemm_0: error: shape does not fit\n");
}

TEST(Diag, ALongLineIsCutAroundTheCaret) {
  Diag diag;
  const uint32_t file = diag.sources.add("a", std::string(5000, 'x') + "!" + std::string(5000, 'y'));
  diag.error({file, 1, 5001}, "here");
  std::istringstream in(diag.to_string());
  std::string head, line, caret;
  std::getline(in, head);
  std::getline(in, line);
  std::getline(in, caret);
  EXPECT_LT(line.size(), 200u);
  ASSERT_LT(caret.find('^'), line.size());
  EXPECT_EQ(line[caret.find('^')], '!');
}

TEST(Diag, IsFullAtTwentyErrorsAndCountsWhatItHides) {
  Diag diag;
  for (int i = 0; i < 19; ++i) diag.error({}, "e");
  EXPECT_FALSE(diag.full());
  diag.error({}, "e");
  EXPECT_TRUE(diag.full());
  for (int i = 0; i < 1000; ++i) diag.error({}, "e");
  EXPECT_EQ(diag.errors(), 1020u);
  EXPECT_NE(diag.to_string().find("820 further problems"), std::string::npos);
}

TEST(Diag, AnErrorBehindManyWarningsIsShown) {
  Diag diag;
  for (int i = 0; i < 1000; ++i) diag.warning({}, "w");
  diag.error_at("here", "what stopped it");
  EXPECT_NE(diag.to_string().find("here: error: what stopped it"), std::string::npos);
  EXPECT_NE(diag.to_string().find("801 further problems"), std::string::npos);
}

TEST(Diag, WarningsAndNotesAreNoErrors) {
  Diag diag;
  diag.warning({}, "w");
  diag.note({}, "n");
  EXPECT_TRUE(diag.ok());
  EXPECT_EQ(diag.warnings(), 1u);
  EXPECT_EQ(diag.to_string(), "warning: w\nnote: n\n");
}

TEST(Diag, HelpThatTakesLongIsFoundOnceAndOnlyIfItIsShown) {
  int found = 0;
  Diag tried, shown;
  tried.error_at("m", "no room", Help::later([&] { return ++found, std::string("use more"); }));
  for (const Diagnostic& d : tried.all()) shown.error_at(d.where, d.message, d.help);
  EXPECT_FALSE(tried.ok());
  EXPECT_EQ(found, 0);
  EXPECT_EQ(shown.to_string(), "m: error: no room\nhelp: use more\n");
  EXPECT_EQ(tried.to_string(), shown.to_string());
  EXPECT_EQ(found, 1);
}

TEST(Sources, LinesAreFoundWithAnyLineEndAndOutOfRangeIsEmpty) {
  Sources s;
  const uint32_t f = s.add("p", "one\r\ntwo\n\nfour");
  EXPECT_EQ(s.line(f, 1), "one");
  EXPECT_EQ(s.line(f, 2), "two");
  EXPECT_EQ(s.line(f, 3), "");
  EXPECT_EQ(s.line(f, 4), "four");
  EXPECT_EQ(s.line(f, 5), "");
  EXPECT_EQ(s.line(0, 1), "");
  EXPECT_EQ(s.line(7, 1), "");
  EXPECT_EQ(s.add_file("/nonexistent/file"), 0u);
}

TEST(Check, ThrowsWithPlaceAndReason) {
  try {
    CS_CHECK(1 > 2, "one is small");
    FAIL();
  } catch (const InternalError& e) {
    EXPECT_NE(std::string(e.what()).find("one is small"), std::string::npos);
    EXPECT_NE(std::string(e.what()).find("diag_test.cpp"), std::string::npos);
  }
}

}  // namespace
}  // namespace cs
