// Runs the feature programs of this folder and compares the memory that they leave with what they say of
// themselves (directives.h).
//
// Every program is run at levels 0 and 2, and must leave the same values.
// Values are worked out by hand in the comments of each program. Cycles are read by the programs themselves with
// clock.csl, which every program may import.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest-spi.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "run_csl.h"
#include "runtime/numerics/numerics.h"
#include "tests/common/assumed_values.h"
#include "tests/csl/directives.h"
#include "tools/cs-regress/expression.h"

namespace cs::csl::test {
namespace {

namespace fs = std::filesystem;

struct Case {
  std::string name;  // of the file or folder
  std::string machine;
  std::string change = {};  // "core.result_cycles=2"; empty: the machine as it is
  friend void PrintTo(const Case& c, std::ostream* out) { *out << c.name << " on " << c.machine; }
};

std::string read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

fs::path main_file(const std::string& name) {
  const fs::path base = fs::path(CS_PROGRAMS_DIR) / name;
  return fs::is_directory(base) ? base / "layout.csl" : fs::path(base.string() + ".csl");
}

std::vector<Case> all_cases() {
  std::vector<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(CS_PROGRAMS_DIR)) {
    const fs::path relative = fs::relative(entry.path(), CS_PROGRAMS_DIR);
    if (entry.path().filename() == "layout.csl")
      names.push_back(relative.parent_path().generic_string());
    else if (entry.path().extension() == ".csl" && entry.path().filename() != "clock.csl" &&
             !fs::exists(entry.path().parent_path() / "layout.csl"))
      names.push_back(fs::path(relative).replace_extension().generic_string());
  }
  std::sort(names.begin(), names.end());
  std::vector<Case> out;
  for (const std::string& name : names) {
    std::string machines = "wse2 wse3";
    for (const Directive& d : directives(read(main_file(name))))
      if (d.verb == "machines") machines = d.rest;
    std::istringstream in(machines);
    for (std::string machine; in >> machine;) out.push_back({name, machine});
  }
  return out;
}

// One program on one machine; what is not as it says of itself is a failure of the test.
class ProgramRun {
 public:
  explicit ProgramRun(Case one) : case_(std::move(one)) {}
  void check();

 private:
  void check_at(int level);
  int timed_level() const {
    const auto level = all("opt-level");
    return level.empty() ? 0 : std::stoi(level[0]->rest);
  }

  void load_files() {
    const fs::path path = main_file(case_.name);
    const std::string text = read(path);
    directives_ = directives(text);
    files_["clock.csl"] = read(fs::path(CS_PROGRAMS_DIR) / "clock.csl");
    if (path.filename() == "layout.csl") {
      for (const auto& entry : fs::directory_iterator(path.parent_path()))
        files_[entry.path().filename().string()] = read(entry.path());
      return;
    }
    files_["pe.csl"] = text;
    std::string exports;
    for (const Directive& d : directives_)
      if (d.verb == "name") exports += "  @export_name(" + d.rest + ");\n";
    if (exports.empty()) exports = "  @export_name(\"main\", fn()void);\n";
    if (!all("cycles").empty() || !all("published").empty()) exports += "  @export_name(\"cycles\", [*]u16, true);\n";
    files_["layout.csl"] = kOnePe;
    files_["layout.csl"].insert(files_["layout.csl"].rfind('}'), exports);
    one_pe_ = true;
  }
  bool speaks_of(std::string_view verb, const Directive& d) const {
    return d.verb == verb && (d.machine.empty() || d.machine == case_.machine);
  }
  std::vector<const Directive*> all(std::string_view verb) const {
    std::vector<const Directive*> out;
    for (const Directive& d : directives_)
      if (speaks_of(verb, d)) out.push_back(&d);
    return out;
  }
  Machine machine() const {
    Machine m = load(case_.machine);
    Diag diag;
    if (!case_.change.empty()) {
      EXPECT_TRUE(set_machine_value(m, case_.change, diag)) << diag.to_string();
    }
    return m;
  }
  CslOptions options() const {
    CslOptions o = options_for(files_);
    o.opt_level = level_;
    for (const Directive* d : all("params"))
      o.params.emplace_back(d->rest.substr(0, d->rest.find(':')), d->rest.substr(d->rest.find(':') + 1));
    for (const Directive* d : all("fp16"))
      o.fp16 = d->rest == "bf16" ? Fp16Format::bf16 : d->rest == "cb16" ? Fp16Format::cb16 : Fp16Format::f16;
    return o;
  }

  void check_errors() {
    Diag diag;
    const auto p = compile_csl(options(), machine(), diag);
    EXPECT_FALSE(p.has_value());
    for (const Directive* d : all("error")) EXPECT_THAT(diag.to_string(), ::testing::HasSubstr(d->rest));
  }

  void set(CslRun& run, const Directive& d) {
    std::istringstream in(d.rest);
    std::string word, type;
    in >> word >> type;
    Coord pe;
    const std::string symbol = symbol_and_pe(word, pe);
    const auto values = numbers(in);
    const Fp16Format format = options().fp16;
    const auto store = [&]<class T>(T, auto convert) {
      std::vector<T> data;
      for (const Expected& e : values) data.push_back(T(convert(e.value)));
      run.set(symbol, data, pe);
    };
    if (type == "f32")
      store(float{}, [](double v) { return v; });
    else if (type == "f16")
      store(uint16_t{}, [&](double v) { return numerics::float_to_half(float(v), format); });
    else if (type == "i32" || type == "u32")
      store(uint32_t{}, [](double v) { return int64_t(v); });
    else
      store(uint16_t{}, [](double v) { return int64_t(v); });
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
        got.push_back(double(numerics::half_to_float(h, options().fp16)));
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

  Case case_;
  std::map<std::string, std::string> files_;
  std::vector<Directive> directives_;
  bool one_pe_ = false;
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
  CslRun run(machine(), options());
  if (::testing::Test::HasFailure()) return;
  for (const Directive* d : all("set")) set(run, *d);
  for (const Directive* d : all("fault")) run.expect_fault(d->rest);
  auto launches = all("launch");
  const Directive main{.verb = "launch", .rest = "main"};
  if (launches.empty() && one_pe_) launches.push_back(&main);
  for (const Directive* d : launches) {
    std::istringstream in(d->rest);
    std::string function;
    in >> function;
    std::vector<uint32_t> args;
    for (const Expected& e : numbers(in)) args.push_back(uint32_t(int64_t(e.value)));
    run.launch(function, args);
  }
  if (launches.empty()) run.run();
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

std::string test_name(const ::testing::TestParamInfo<Case>& info) {
  std::string out = info.param.name + "_" + info.param.machine;
  for (char& c : out)
    if (!std::isalnum(uint8_t(c))) c = '_';
  return out;
}

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
