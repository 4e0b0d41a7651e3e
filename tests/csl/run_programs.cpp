// Runs the feature programs of this folder (feature_programs.h) and compares the memory that they leave with what they
// say of themselves.
#include "feature_programs.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest-spi.h>

#include <algorithm>
#include <cmath>

#include "tests/common/assumed_values.h"
#include "tools/cs-regress/expression.h"

namespace cs::csl::test {
namespace {

// One program on one machine; what is not as it says of itself is a failure of the test.
class ProgramRun : public FeatureProgram {
 public:
  using FeatureProgram::FeatureProgram;
  void check();

 private:
  void check_at(int level);
  int timed_level() const {
    const auto level = all("opt-level");
    return level.empty() ? 0 : std::stoi(level[0]->rest);
  }

  void check_errors() {
    Diag diag;
    const auto p = compile_csl(options(level_), machine(), diag);
    EXPECT_FALSE(p.has_value());
    for (const Directive* d : all("error")) EXPECT_THAT(diag.to_string(), ::testing::HasSubstr(d->rest));
  }

  void expect(const CslRun& run, const Directive& d) {
    std::istringstream in(d.rest);
    std::string word, type;
    in >> word >> type;
    Coord pe;
    const std::string symbol = symbol_and_pe(word, pe);
    std::vector<double> got;
    const auto take = [&](const auto& values) { got.assign(values.begin(), values.end()); };
    if (type == "f32")
      take(run.values<float>(symbol, pe));
    else if (type == "i32")
      take(run.values<int32_t>(symbol, pe));
    else if (type == "u32")
      take(run.values<uint32_t>(symbol, pe));
    else if (type == "i16")
      take(run.values<int16_t>(symbol, pe));
    else if (type == "u16")
      take(run.values<uint16_t>(symbol, pe));
    else if (type == "f16")
      for (uint16_t h : run.values<uint16_t>(symbol, pe))
        got.push_back(double(numerics::half_to_float(h, options(level_).fp16)));
    else
      FAIL() << "line " << d.line << ": type '" << type << "'";
    const auto want = numbers(in);
    ASSERT_EQ(got.size(), want.size()) << "line " << d.line << ": " << symbol;
    for (size_t i = 0; i < want.size(); ++i) {
      const std::string where = fmt::format("line {}: {}[{}]", d.line, symbol, i);
      if (std::isnan(want[i].value))
        EXPECT_TRUE(std::isnan(got[i])) << where;
      else if (std::isinf(want[i].value))
        EXPECT_EQ(got[i], want[i].value) << where;
      else
        EXPECT_NEAR(got[i], want[i].value, want[i].tolerance) << where;
    }
  }

  // The left side: elements of `cycles`, added and subtracted.
  double stamp(const CslRun& run, const std::string& side) {
    double sum = 0, sign = 1;
    std::istringstream in(side);
    for (std::string word; in >> word;) {
      if (word == "-" || word == "+") {
        sign = word == "-" ? -1 : 1;
        continue;
      }
      Coord pe;
      const size_t index = size_t(std::stoul(symbol_and_pe(word, pe)));
      const auto values = run.values<uint16_t>("cycles", pe);
      EXPECT_LT(index, values.size()) << side;
      if (index < values.size()) sum += sign * values[index];
    }
    return sum;
  }

  void expect_cycles(const CslRun& run, const Directive& d) {
    const size_t equals = d.rest.find('=');
    ASSERT_NE(equals, std::string::npos) << "line " << d.line << ": cycles: WHAT = CALCULATION";
    std::string why;
    const std::string calculation = d.rest.substr(equals + 1, d.rest.find('#') - equals - 1);
    const auto want = evaluate_expression(calculation, [](const auto&) { return std::nullopt; }, why);
    ASSERT_TRUE(want.has_value()) << "line " << d.line << ": " << why;
    EXPECT_EQ(stamp(run, d.rest.substr(0, equals)), *want) << "line " << d.line << ": " << d.rest;
  }

  // `next`: what stands behind it, which may say why it is missed.
  void expect_published(const CslRun& run, const Directive& d, const Directive* next) {
    const auto p = published(d);
    ASSERT_TRUE(p.has_value()) << "line " << d.line << ": published: NUMBER [per STEPS] = WHAT";
    const double ours = stamp(run, p->what) / std::max(1, p->steps);
    const bool missed = next != nullptr && next->verb == "missed";
    if (missed) {
      EXPECT_FALSE(next->rest.empty()) << "line " << next->line << ": missed: why";
    }
    EXPECT_EQ(std::abs(ours - p->value) > p->tolerance(), missed)
        << "line " << d.line << ": " << ours << " cycles, published are " << p->value << " within " << p->tolerance();
  }

  int level_ = 0;
};

void ProgramRun::check() {
  load_files();
  if (::testing::Test::HasFailure()) return;
  if (!all("error").empty()) return check_errors();
  // A change of the machine is noticed by cycles.
  for (int level : case_.change.empty() ? std::vector{0, 2} : std::vector{timed_level()}) check_at(level);
}

void ProgramRun::check_at(int level) {
  SCOPED_TRACE(fmt::format("at --opt-level {}", level));
  level_ = level;
  CslRun run(machine(), options(level_));
  if (::testing::Test::HasFailure()) return;
  for (const Directive* d : all("set"))
    set(*d, options(level_).fp16,
        [&](const std::string& symbol, const auto& data, Coord pe) { run.set(symbol, data, pe); });
  for (const Directive* d : all("fault")) run.expect_fault(d->rest);
  const auto functions = launches();
  for (const auto& [function, args] : functions) run.launch(function, args);
  if (functions.empty()) run.run();
  const auto expectations = all("expect");
  if (level == timed_level()) {
    for (const Directive* d : all("cycles")) expect_cycles(run, *d);
    for (size_t i = 0; i < directives_.size(); ++i)
      if (speaks_of("published", directives_[i]))
        expect_published(run, directives_[i], i + 1 < directives_.size() ? &directives_[i + 1] : nullptr);
  }
  EXPECT_FALSE(expectations.empty() && all("cycles").empty() && all("fault").empty())
      << "a program without `//! expect:`";
  for (const Directive* d : expectations) expect(run, *d);
}

class Programs : public ::testing::TestWithParam<Case> {};

TEST_P(Programs, LeaveWhatTheySay) { ProgramRun(GetParam()).check(); }

// ---- assumptions

// A machine value that no source states, or states of another machine only, and a program whose cycles
// consist of it: whoever knows better can see what it changes. Host and energy:
// tests/e2e/assumptions_test.cpp.
struct Noticed {
  std::string_view key, program;
};
constexpr Noticed kNoticed[] = {
    {"router.lane_depth_wavelets", "cycles/backpressure"},
    {"router.switch_advance_cycles", "cycles/backpressure"},
    {"core.result_cycles", "cycles/scalar_operations"},
    {"core.fp_result_cycles", "cycles/scalar_operations"},
    {"core.load_result_cycles", "cycles/scalar_operations"},
    {"core.wide_cycles", "cycles/scalar_operations"},
    {"core.condition_cycles", "cycles/scalar_operations"},
    {"core.jump_taken_cycles", "cycles/scalar_operations"},
    {"core.jump_not_taken_cycles", "cycles/scalar_operations"},
    {"core.dsd_start_cycles", "cycles/fabric"},
    {"core.task_start_cycles", "cycles/tasks"},
    {"core.task_switch_cycles", "cycles/tasks"},
    {"core.fp16_divide_cycles", "cycles/scalar_operations"},
    {"core.int_divide_cycles", "cycles/scalar_operations"},
};

int failures(const Case& one) {
  ::testing::TestPartResultArray parts;
  {
    using Reporter = ::testing::ScopedFakeTestPartResultReporter;
    Reporter reporter(Reporter::INTERCEPT_ALL_THREADS, &parts);
    ProgramRun(one).check();
  }
  int failed = 0;
  for (int i = 0; i < parts.size(); ++i) failed += parts.GetTestPartResult(i).failed() ? 1 : 0;
  return failed;
}

class Assumptions : public ::testing::TestWithParam<std::string> {};

TEST_P(Assumptions, EachIsNoticedByAProgram) {
  for (const cs::test::AssumedValue& a : cs::test::assumptions_of(GetParam())) {
    if (!a.key.starts_with("router.") && !a.key.starts_with("ramp.") && !a.key.starts_with("core.")) continue;
    const auto* row = std::find_if(std::begin(kNoticed), std::end(kNoticed),
                                   [&](const Noticed& n) { return n.key == a.key; });
    ASSERT_NE(row, std::end(kNoticed)) << a.key << " is an assumption that no program would notice";
    const std::string program(row->program);
    EXPECT_EQ(failures({program, GetParam()}), 0);
    EXPECT_GT(failures({program, GetParam(), fmt::format("{}={}", a.key, a.doubled())}), 0) << a.key;
  }
}

INSTANTIATE_TEST_SUITE_P(Csl, Assumptions, ::testing::Values("wse2", "wse3"));
INSTANTIATE_TEST_SUITE_P(Csl, Programs, ::testing::ValuesIn(all_cases()), test_name);

}  // namespace
}  // namespace cs::csl::test
