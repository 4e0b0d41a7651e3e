// Random programs leave the same values at --opt-level 0, 1 and 2, on both machines. The verifier of MIR runs
// after every pass.
//
// WAFERSMITH_RANDOM_PROGRAMS=N[:FIRST] runs N of them from seed FIRST on; 200 without it.
#include <cstdio>
#include <cstdlib>

#include "random_program.h"
#include "run_csl.h"

namespace cs::csl::test {
namespace {

struct Left {
  std::vector<uint16_t> narrow;
  std::vector<uint32_t> wide;
  bool operator==(const Left&) const = default;
};

CslOptions options_of(const std::string& text, int level) {
  std::string layout = kOnePe;
  layout.insert(layout.rfind('}'),
                "  @export_name(\"main\", fn()void);\n  @export_name(\"out16\", [*]u16, true);\n"
                "  @export_name(\"out32\", [*]u32, true);\n");
  CslOptions options = options_for({{"layout.csl", layout}, {"pe.csl", kPrologue + text}});
  options.opt_level = level;
  return options;
}

// Arithmetic that is known at comptime may overflow, which is an error.
bool compiles(const std::string& text, const Machine& machine) {
  Diag diag;
  return compile_csl(options_of(text, 0), machine, diag).has_value();
}

Left run(const std::string& text, const Machine& machine, int level) {
  CslRun run(machine, options_of(text, level));
  run.launch("main");
  return {run.values<uint16_t>("out16"), run.values<uint32_t>("out32")};
}

TEST(RandomPrograms, LeaveTheSameValuesAtEveryLevel) {
  unsigned long long count = 200, first = 1;
  if (const char* set = std::getenv("WAFERSMITH_RANDOM_PROGRAMS"))
    std::sscanf(set, "%llu:%llu", &count, &first);
  const Machine machines[] = {load("wse2"), load("wse3")};
  uint64_t tried = 0;
  for (uint64_t seed = first, done = 0; done < count; ++seed) {
    const std::string text = random_program(seed);
    const Machine& machine = machines[seed % 2];
    ASSERT_LT(++tried, 4 * count + 10) << "most programs do not compile";
    if (!compiles(text, machine)) continue;
    ++done;
    const Left plain = run(text, machine, 0);
    for (int level : {1, 2})
      if (!(run(text, machine, level) == plain) || HasFailure()) {
        FAIL() << "seed " << seed << " on " << machine.name << " at --opt-level " << level << ":\n" << text;
      }
  }
}

}  // namespace
}  // namespace cs::csl::test
