// Which form of a network is taken: by walks over tile code where there is some, by formulas where there is
// none.
#include "tools/api/forms.h"

#include <gtest/gtest.h>

#include <map>

namespace cs::api {
namespace {

using passes::Form;

// Answers of other forms, as if they had been compiled; and what was asked.
struct Others {
  std::map<Form, FormCycles> forms;
  std::map<Form, double> most = {};  // the `too_slow` of each question

  FormChoice choose(const FormCycles& joined) {
    return choose_form(joined, [&](Form form, double too_slow) -> std::optional<FormCycles> {
      most[form] = too_slow;
      const auto found = forms.find(form);
      if (found == forms.end() || found->second.planned >= too_slow) return std::nullopt;
      return found->second;
    });
  }
};

// Formulas see no difference, or the contrary: the walk decides.
TEST(Forms, AreComparedByWalks) {
  Others alike{{{Form::generated, {833, 765}}}};
  const FormChoice taken = alike.choose({833, 824});
  EXPECT_EQ(taken.form, Form::generated);
  EXPECT_EQ(taken.why,
            "beneficial by 59 cycles: 765 against 824 of the network with every choice made for itself");

  Others contrary{{{Form::generated, {900, 760}}}};
  EXPECT_EQ(contrary.choose({850, 820}).form, Form::generated);
  Others slower{{{Form::generated, {800, 830}}}};
  EXPECT_EQ(slower.choose({850, 820}).form, Form::joined);
}

// A form that is far behind by formulas is not compiled; one that is near is.
TEST(Forms, FarBehindAreNotAskedToBeCompiled) {
  Others far{{{Form::generated, {1101, 10}}}};
  EXPECT_EQ(far.choose({1000, 1000}).form, Form::joined);
  EXPECT_DOUBLE_EQ(far.most[Form::generated], 1100);
  Others near{{{Form::generated, {1099, 930}}}};
  EXPECT_EQ(near.choose({1000, 1000}).form, Form::generated);
}

// Another form must bring 7 %: 934 * 1.07 = 999.4, 935 * 1.07 = 1,000.5.
TEST(Forms, MustBeWorthIt) {
  for (Form form : {Form::apart, Form::generated}) {
    Others worth{{{form, {1000, 934}}}};
    EXPECT_EQ(worth.choose({1000, 1000}).form, form);
    Others not_worth{{{form, {1000, 935}}}};
    EXPECT_EQ(not_worth.choose({1000, 1000}).form, Form::joined);
  }
}

// Alike by walks: every choice for itself stays, however many kernels that are.
TEST(Forms, AlikeNothingChanges) {
  Others fewer{{{Form::generated, {1809, 1809}}}};
  EXPECT_EQ(fewer.choose({1809, 1809}).form, Form::joined);
}

// The best of all three, not the first that is better.
TEST(Forms, TheBestOfThreeIsTaken) {
  Others both{{{Form::apart, {1000, 700}}, {Form::generated, {1000, 800}}}};
  EXPECT_EQ(both.choose({1000, 1000}).form, Form::apart);
  Others later{{{Form::apart, {1000, 800}}, {Form::generated, {1000, 700}}}};
  EXPECT_EQ(later.choose({1000, 1000}).form, Form::generated);
}

// Several copies of a network are not walked: formulas against formulas, and nothing slower is asked for.
TEST(Forms, WithoutTileCodeFormulasDecide) {
  Others faster{{{Form::generated, {900}}}};
  EXPECT_EQ(faster.choose({1000}).form, Form::generated);
  EXPECT_DOUBLE_EQ(faster.most[Form::generated], 1000 / 1.07);
  EXPECT_DOUBLE_EQ(faster.most[Form::apart], 1000 / 1.07);
  Others alike{{{Form::generated, {1000}}}};
  EXPECT_EQ(alike.choose({1000}).form, Form::joined);
}

}  // namespace
}  // namespace cs::api
