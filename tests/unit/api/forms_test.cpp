// Which form of a network is taken: by trials where all forms were tried out, by walks over tile code where
// there is some, by formulas where there is none.
#include "tools/api/forms.h"

#include <gtest/gtest.h>

namespace cs::api {
namespace {

using passes::Form;

// With a first sample that takes as long whatever the interval is.
Trial tried(double interval) { return {interval, 10'000}; }

// Walks see no difference, or the contrary: the trial decides.
TEST(Forms, AreComparedByTrials) {
  const FormCycles joined{833, 824, tried(899)}, generated{833, 768, tried(1042)};
  const FormChoice taken = choose_form({{Form::joined, joined}, {Form::generated, generated}});
  EXPECT_EQ(taken.form, Form::joined);
  const FormCycles slower{873, 819, tried(1008)}, apart{873, 830, tried(925)};
  const FormChoice better = choose_form({{Form::joined, slower}, {Form::apart, apart}});
  EXPECT_EQ(better.form, Form::apart);
  EXPECT_EQ(better.why,
            "beneficial by 83 cycles: 925 against 1008 of the network with every choice made for itself, "
            "both tried out");
}

// As tried out another form must bring 1 % of the interval's square: 995^2 * 1.01 = 999,925, 996^2 * 1.01 =
// 1,001,936.
TEST(Forms, ATrialIsBelieved) {
  EXPECT_EQ(choose_form({{Form::joined, {1, 1, tried(1000)}}, {Form::apart, {1, 1, tried(995)}}}).form,
            Form::apart);
  EXPECT_EQ(choose_form({{Form::joined, {1, 1, tried(1000)}}, {Form::apart, {1, 1, tried(996)}}}).form,
            Form::joined);
}

TEST(Forms, AnEarlierFirstSampleIsWhatItIsTakenFor) {
  const FormChoice taken =
      choose_form({{Form::joined, {1, 1, Trial{166, 900}}}, {Form::generated, {1, 1, Trial{166, 860}}}});
  EXPECT_EQ(taken.why,
            "beneficial by 40 cycles of the first sample: 860 against 900 of the network with every choice "
            "made for "
            "itself, both tried out");
}

// Kernels of the library, one for every operator, on fewer PEs: 364 * 1.02 = 371.3 is before 375, not before
// 371.
TEST(Forms, FewerPesAndAnEarlierFirstSampleAreWorthMoreKernels) {
  const auto form_of = [](int64_t pes, double first) {
    const FormCycles joined{1, 1, Trial{58, first}, 160}, library{1, 1, Trial{58, 364}, pes};
    return choose_form({{Form::joined, joined}, {Form::library, library}}).form;
  };
  EXPECT_EQ(form_of(90, 375), Form::library);
  EXPECT_EQ(form_of(90, 371), Form::joined);
  EXPECT_EQ(form_of(160, 375), Form::joined);
}

// 5 % of the interval are worth 9 % of the first sample (0.95^2 * 1.09 = 0.984), not 10 % (0.993: less than 1
// % is left); and nothing is worth more than 20 % of it.
TEST(Forms, AFirstSampleThatIsLateCounts) {
  const FormCycles joined{1, 1, Trial{1000, 9000}};
  const auto with = [&](Trial apart) {
    return choose_form({{Form::joined, joined}, {Form::apart, {1, 1, apart}}}).form;
  };
  EXPECT_EQ(with({950, 9810}), Form::apart);
  EXPECT_EQ(with({950, 9900}), Form::joined);
  EXPECT_EQ(with({500, 10800}), Form::apart);
  EXPECT_EQ(with({500, 10801}), Form::joined);
  EXPECT_EQ(with({1000, 8900}), Form::apart);
  EXPECT_EQ(with({1001, 4500}), Form::joined);
}

// One that was not tried out: all are compared by walks.
TEST(Forms, OfWhichOneWasNotTriedOutAreComparedByWalks) {
  const FormChoice taken =
      choose_form({{Form::joined, {833, 824, tried(899)}}, {Form::generated, {833, 765}}});
  EXPECT_EQ(taken.form, Form::generated);
  EXPECT_EQ(taken.why,
            "beneficial by 59 cycles: 765 against 824 of the network with every choice made for itself");
}

// Formulas see no difference, or the contrary: the walk decides.
TEST(Forms, AreComparedByWalks) {
  EXPECT_EQ(choose_form({{Form::joined, {850, 820}}, {Form::generated, {900, 760}}}).form, Form::generated);
  EXPECT_EQ(choose_form({{Form::joined, {850, 820}}, {Form::generated, {800, 830}}}).form, Form::joined);
}

// A form that is far behind by formulas is not compiled; one that is near is. Without tile code nothing
// slower is.
TEST(Forms, FarBehindAreNotCompiled) {
  EXPECT_DOUBLE_EQ(too_slow({1000, 900}, Judge::walks), 1100);
  EXPECT_DOUBLE_EQ(too_slow({1000, 900, tried(950)}, Judge::trials), 1100);
  EXPECT_DOUBLE_EQ(too_slow({1000}, Judge::formulas), 1000 / 1.07);
}

// By walks another form must bring 7 %: 934 * 1.07 = 999.4, 935 * 1.07 = 1,000.5.
TEST(Forms, MustBeWorthIt) {
  for (Form form : {Form::apart, Form::generated, Form::library, Form::streamed}) {
    EXPECT_EQ(choose_form({{Form::joined, {1000, 1000}}, {form, {1000, 934}}}).form, form);
    EXPECT_EQ(choose_form({{Form::joined, {1000, 1000}}, {form, {1000, 935}}}).form, Form::joined);
  }
}

// Alike: every choice for itself stays, however many kernels that are.
TEST(Forms, AlikeNothingChanges) {
  EXPECT_EQ(choose_form({{Form::joined, {1809, 1809}}, {Form::generated, {1809, 1809}}}).form, Form::joined);
  const FormCycles alike{9, 9, tried(1809)};
  EXPECT_EQ(choose_form({{Form::joined, alike}, {Form::generated, alike}}).form, Form::joined);
  EXPECT_EQ(choose_form({{Form::joined, {1809}}}).form, Form::joined);
}

// The best of all, not the first that is better.
TEST(Forms, TheBestOfAllIsTaken) {
  const FormCycles joined{1000, 1000}, good{1000, 800}, best{1000, 700};
  EXPECT_EQ(choose_form({{Form::joined, joined}, {Form::apart, best}, {Form::generated, good}}).form,
            Form::apart);
  EXPECT_EQ(choose_form({{Form::joined, joined}, {Form::apart, good}, {Form::generated, best}}).form,
            Form::generated);
  EXPECT_EQ(choose_form({{Form::joined, joined}, {Form::generated, good}, {Form::library, best}}).form,
            Form::library);
}

// More kernels for 2 % and less of the interval are not worth it: 1,000 / 1.02 = 980.4.
TEST(Forms, AKernelForEveryOperatorMustBringMore) {
  const FormCycles joined{9, 9, tried(1000)};
  EXPECT_EQ(choose_form({{Form::joined, joined}, {Form::library, {9, 9, tried(981)}}}).form, Form::joined);
  EXPECT_EQ(choose_form({{Form::joined, joined}, {Form::library, {9, 9, tried(980)}}}).form, Form::library);
  EXPECT_EQ(choose_form({{Form::joined, joined}, {Form::apart, {9, 9, tried(981)}}}).form, Form::apart);
}

// 831^2 * 6,177 is 1.6 % more than 859^2 * 5,683, and the first sample is 8 % later than under policy
// aggressive, which the form streamed is not. Where its interval is 10 % longer, it stays: 1.1^2 / 1.08 is
// more than 5 %.
TEST(Forms, OtherPoliciesAreNoFasterByTheFirstSampleWhereThatCostsNothing) {
  const auto choose = [](double interval) {
    FormCycles generated{9, 9, Trial{interval, 5715}};
    generated.as_policy = true;
    return choose_form({{Form::joined, {9, 9, Trial{831, 6177}}},
                        {Form::generated, generated},
                        {Form::streamed, {9, 9, Trial{interval, 5683}}}});
  };
  EXPECT_EQ(choose(859).form, Form::streamed);
  EXPECT_EQ(choose(859).why.substr(0, 44), "beneficial by 494 cycles of the first sample");
  EXPECT_EQ(choose(873).form, Form::joined);
}

// The taken form with more PEs for kernels that are not the slowest: an interval as short, and 1 % of the first sample.
TEST(Forms, AnotherPaceIsTakenForAnEarlierFirstSample) {
  const std::map<Form, FormCycles> forms{{Form::joined, {9, 9, Trial{100, 1000}}}};
  const auto choose = [&](std::vector<Trial> trials) {
    std::vector<FormCycles> paced;
    for (const Trial& t : trials) paced.push_back({9, 9, t});
    return choose_pace(forms, Form::joined, paced);
  };
  EXPECT_EQ(choose({{100, 990}}), std::optional<size_t>(0));  // 990 * 1.01 = 999.9
  EXPECT_EQ(choose({{100, 991}}), std::nullopt);              // 991 * 1.01 = 1000.9
  EXPECT_EQ(choose({{101, 500}}), std::nullopt);
  EXPECT_EQ(choose({{100, 900}, {99, 850}, {100, 870}}), std::optional<size_t>(1));
  EXPECT_EQ(choose_pace(forms, Form::joined, {{9, 9, {}}}), std::nullopt);  // it did not come to an end
}

// The first sample is 5 % later than by hand throughout, whose interval is longer. A pace that mends that may weigh 7 %
// more: 60^2 * 482 is 6.2 % more than 57^2 * 503, 61^2 * 482 is 9.7 % more.
TEST(Forms, AnotherPaceMendsWhatIsSlowerThanAnotherPolicy) {
  FormCycles library{9, 9, Trial{64, 480}};
  library.as_policy = true;
  const std::map<Form, FormCycles> forms{{Form::joined, {9, 9, Trial{57, 503}}}, {Form::library, library}};
  const auto choose = [&](Trial paced) { return choose_pace(forms, Form::joined, {{9, 9, paced}}); };
  EXPECT_EQ(choose({60, 482}), std::optional<size_t>(0));
  EXPECT_EQ(choose({61, 482}), std::nullopt);
  EXPECT_EQ(choose({57, 483}), std::nullopt);  // still 0.6 % later than by hand
}

// Several copies of a network are not walked: formulas against formulas.
TEST(Forms, WithoutTileCodeFormulasDecide) {
  EXPECT_EQ(choose_form({{Form::joined, {1000}}, {Form::generated, {900}}}).form, Form::generated);
  EXPECT_EQ(choose_form({{Form::joined, {1000}}, {Form::generated, {1000}}}).form, Form::joined);
}

}  // namespace
}  // namespace cs::api
