// Strict YAML: types, positions, unknown and duplicate keys, bounds against hostile documents.
#include "runtime/support/yaml.h"

#include <gmock/gmock.h>

#include <cmath>

namespace cs {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Yaml, ReadsTypedValues) {
  Diag diag;
  const auto doc = YamlDoc::parse_text(
      "i: -42\nh: 0x10\nd: 2.5\ne: 1e-3\nw: 3\nb: true\ns: \"8\"\nl: [1, 2, 3]\nn: ~\nm: {x: 1}\ninf: "
      "-.inf\n",
      "t", diag);
  ASSERT_TRUE(doc) << diag.to_string();
  YamlMap m(doc->root(), "test", diag);
  int64_t i = 0;
  int h = 0, x = 0;
  double d = 0, e = 0, w = 0, inf = 0;
  bool b = false;
  std::string s;
  std::vector<int> l;
  EXPECT_TRUE(m.required("i", i) && m.required("h", h) && m.required("d", d) && m.required("e", e));
  EXPECT_TRUE(m.required("w", w) && m.required("b", b) && m.required("s", s) && m.required("l", l));
  EXPECT_TRUE(m.required("inf", inf));
  EXPECT_TRUE(m.child("n")->is_null());
  YamlMap inner(*m.child("m"), "m", diag);
  EXPECT_TRUE(inner.required("x", x));
  inner.finish();
  m.finish();
  EXPECT_TRUE(diag.ok()) << diag.to_string();
  EXPECT_EQ(i, -42);
  EXPECT_EQ(h, 16);
  EXPECT_EQ(d, 2.5);
  EXPECT_EQ(e, 1e-3);
  EXPECT_EQ(w, 3.0);
  EXPECT_TRUE(b);
  EXPECT_EQ(s, "8");
  EXPECT_EQ(x, 1);
  EXPECT_EQ(inf, -INFINITY);
  EXPECT_THAT(l, ElementsAre(1, 2, 3));
}

TEST(Yaml, MismatchesAreReportedAtTheirPosition) {
  Diag diag;
  const auto doc =
      YamlDoc::parse_text("a: eight\nb: 99999999999\nc: yes\nd: \"8\"\ne: [1]\nf: 1.5\n", "t.yaml", diag);
  ASSERT_TRUE(doc);
  YamlMap m(doc->root(), "test", diag);
  int a = 7;
  bool c = false;
  std::string e;
  EXPECT_FALSE(m.required("a", a));
  EXPECT_FALSE(m.required("b", a));
  EXPECT_FALSE(m.required("c", c));
  EXPECT_FALSE(m.required("d", a));
  EXPECT_FALSE(m.required("e", e));
  EXPECT_FALSE(m.required("f", a));
  EXPECT_EQ(a, 7);
  EXPECT_EQ(diag.errors(), 6u);
  EXPECT_THAT(diag.to_string(), HasSubstr("t.yaml:1:4: error: 'a' must be a whole number, got 'eight'"));
  EXPECT_THAT(diag.to_string(), HasSubstr("t.yaml:3:4: error: 'c' must be true or false, got 'yes'"));
  EXPECT_THAT(diag.to_string(), HasSubstr("'e' must be text, got a list"));
}

TEST(Yaml, UnknownKeysGetTheNearestKnownOne) {
  Diag diag;
  const auto doc = YamlDoc::parse_text("router:\n  hop_cycle: 1\n  zzz: 2\n", "t.yaml", diag);
  ASSERT_TRUE(doc);
  YamlMap m(*doc->root().find("router"), "router", diag);
  int v = 0;
  m.optional("hop_cycles", v);
  m.optional("lane_depth_wavelets", v);
  m.finish();
  EXPECT_EQ(diag.errors(), 2u);
  EXPECT_THAT(diag.to_string(), HasSubstr("t.yaml:2:3: error: unknown key 'hop_cycle' in 'router'"));
  EXPECT_THAT(diag.to_string(), HasSubstr("help: did you mean 'hop_cycles'?"));
}

TEST(Yaml, DuplicateKeysMissingKeysTagsAndSecondDocumentsAreErrors) {
  Diag a, b, c, d;
  EXPECT_FALSE(YamlDoc::parse_text("x: 1\ny: 2\nx: 3\n", "t.yaml", a));
  EXPECT_THAT(a.to_string(), HasSubstr("t.yaml:3:1: error: duplicate key 'x'"));
  const auto doc = YamlDoc::parse_text("x: 1\n", "t.yaml", b);
  ASSERT_TRUE(doc);
  YamlMap m(doc->root(), "thing", b);
  int v = 0;
  EXPECT_FALSE(m.required("y", v));
  EXPECT_THAT(b.to_string(), HasSubstr("'thing' needs the key 'y'"));
  EXPECT_FALSE(YamlDoc::parse_text("x: !!binary abc\n", "t.yaml", c));
  EXPECT_THAT(c.to_string(), HasSubstr("t.yaml:1:4: error: YAML tags"));
  EXPECT_FALSE(YamlDoc::parse_text("x: 1\n---\ny: 2\n", "t.yaml", d));
  EXPECT_THAT(d.to_string(), HasSubstr("second document"));
}

TEST(Yaml, AnEmptyTextIsReportedWithItsName) {
  Diag diag;
  const auto doc = YamlDoc::parse_text("", "empty.yaml", diag);
  ASSERT_TRUE(doc);
  YamlMap m(doc->root(), "machine", diag);
  EXPECT_FALSE(m.valid());
  EXPECT_THAT(diag.to_string(),
              HasSubstr("empty.yaml:1:1: error: 'machine' must be a map of keys, got nothing"));
}

TEST(Yaml, SyntaxErrorsHaveAPosition) {
  Diag diag;
  EXPECT_FALSE(YamlDoc::parse_text("a: 1\nb: [1, 2\nc: 3\n", "t.yaml", diag));
  EXPECT_THAT(diag.to_string(), HasSubstr("t.yaml:"));
  EXPECT_THAT(diag.to_string(), HasSubstr("YAML syntax"));
}

TEST(Yaml, AliasesShareAndBombsAreRefused) {
  Diag diag;
  const auto doc = YamlDoc::parse_text("a: &x [1, 2]\nb: *x\n", "t", diag);
  ASSERT_TRUE(doc) << diag.to_string();
  std::vector<int> v;
  EXPECT_TRUE(doc->root().find("b")->read(v, "b", diag));
  EXPECT_THAT(v, ElementsAre(1, 2));

  std::string bomb = "a0: &a0 [x]\n";
  for (int i = 1; i < 30; ++i) {
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int k = 0; k < 9; ++k) bomb += (k ? ", *a" : "*a") + std::to_string(i - 1);
    bomb += "]\n";
  }
  Diag refused;
  EXPECT_FALSE(YamlDoc::parse_text(bomb, "bomb", refused));
  EXPECT_THAT(refused.to_string(), HasSubstr("aliases"));
  Diag inside;
  EXPECT_FALSE(YamlDoc::parse_text("a: &x [1, *x]\n", "t", inside));
}

TEST(Yaml, DepthIsBounded) {
  Diag diag;
  EXPECT_FALSE(YamlDoc::parse_text(std::string(100000, '['), "deep", diag));
  Diag shallow;
  EXPECT_TRUE(YamlDoc::parse_text(std::string(60, '[') + std::string(60, ']'), "ok", shallow));
}

TEST(Yaml, QuotedTextReadsBackAsItself) {
  for (const std::string s :
       {"plain", "a b",         "8",        "true",        "null",        "~",         "",
        "a: b",  "x #y",        "quote\"s", "back\\slash", "line\nbreak", "tab\there", "- dash",
        "\x01",  "caf\xC3\xA9", "-1",       "[x]",         "1e3",         "no"}) {
    Diag diag;
    const auto doc = YamlDoc::parse_text("k: " + yaml_quote(s) + "\n", "t", diag);
    ASSERT_TRUE(doc) << s << diag.to_string();
    std::string back;
    EXPECT_TRUE(doc->root().find("k")->read(back, "k", diag)) << s;
    EXPECT_EQ(back, s);
    int64_t number = 0;
    Diag ignored;
    EXPECT_FALSE(doc->root().find("k")->read(number, "k", ignored)) << s << " must stay text";
  }
}

TEST(Nearest, SuggestsOnlyWhatIsNear) {
  const std::vector<std::string> known = {"hop_cycles", "up_cycles", "lane_depth_wavelets"};
  EXPECT_EQ(nearest("hop_cycle", known), "hop_cycles");
  EXPECT_EQ(nearest("hpo_cycles", known), "hop_cycles");
  EXPECT_EQ(nearest("colour", known), "");
  EXPECT_EQ(nearest("", known), "");
}

}  // namespace
}  // namespace cs
