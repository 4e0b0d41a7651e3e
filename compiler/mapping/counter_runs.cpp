// First the runs of every row, then the rows that continue one another.
#include "compiler/mapping/counter_runs.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <tuple>

#include <fmt/format.h>

namespace cs::mapping {

namespace {

constexpr int kShort = 32767;  // what the type of a coordinate, i16, holds

// So many PEs from `first` on have counters that go on as from the first to the second one, in one row.
size_t length_of_line(const std::vector<CountedPe>& pes, size_t first) {
  size_t end = first + 1;
  const auto in_row = [&](size_t i) { return i < pes.size() && pes[i].at.y == pes[first].at.y; };
  if (!in_row(end)) return 1;
  const int step = pes[end].at.x - pes[first].at.x, more = int(pes[end].counter) - int(pes[first].counter);
  if (more % step != 0) return 1;
  while (in_row(end) && pes[end].at.x - pes[end - 1].at.x == step &&
         int(pes[end].counter) - int(pes[end - 1].counter) == more)
    ++end;
  return end - first;
}

CounterRun run_from(const std::vector<CountedPe>& pes, size_t first) {
  CounterRun run{{pes[first].at.x, pes[first].at.y, 1, 1, 1}, pes[first].counter, 0, 0};
  const size_t length = length_of_line(pes, first);
  // Two are on some line always: the second one may begin a longer one.
  if (length == 1 || (length == 2 && length_of_line(pes, first + 1) > 2)) return run;
  run.run.count = int(length);
  run.run.step = pes[first + 1].at.x - pes[first].at.x;
  run.by_x = (int(pes[first + 1].counter) - run.counter) / run.run.step;
  return run;
}

// The row below goes on evenly from the last one.
bool continues(const CounterRun& above, const CounterRun& row) {
  if (row.run.y != above.run.y + above.run.h) return false;
  const int more = row.counter - above.counter;
  return above.run.h == 1 ? true : more == above.by_y * above.run.h;
}

std::string term(int factor, const std::string& value) {
  if (factor == 0) return "";
  return fmt::format(" {} {}{}", factor < 0 ? '-' : '+',
                     std::abs(factor) == 1 ? "" : fmt::format("{} * ", std::abs(factor)), value);
}

}  // namespace

std::vector<CounterRun> counter_runs_of(std::vector<CountedPe> pes) {
  std::sort(pes.begin(), pes.end(), [](const CountedPe& a, const CountedPe& b) {
    return std::pair(a.at.y, a.at.x) < std::pair(b.at.y, b.at.x);
  });
  std::vector<CounterRun> runs;
  std::map<std::tuple<int, int, int, int>, size_t> last;  // of the runs that lie below each other
  for (size_t i = 0; i < pes.size();) {
    const CounterRun row = run_from(pes, i);
    i += size_t(row.run.count);
    const auto [at, fresh] =
        last.try_emplace({row.run.x, row.run.count, row.run.step, row.by_x}, runs.size());
    if (!fresh && continues(runs[at->second], row)) {
      CounterRun& above = runs[at->second];
      if (above.run.h == 1) above.by_y = row.counter - above.counter;
      ++above.run.h;
      continue;
    }
    at->second = runs.size();
    runs.push_back(row);
  }
  return runs;
}

std::string counter_text(const CounterRun& r) {
  const int by_x = r.run.count > 1 ? r.by_x : 0, by_y = r.run.h > 1 ? r.by_y : 0;
  if (by_x == 0 && by_y == 0) return std::to_string(r.counter);
  const int start = r.counter - by_x * r.run.x - by_y * r.run.y;
  const int most_x = std::abs(by_x) * (r.run.x + r.run.count * r.run.step);
  const int most_y = std::abs(by_y) * (r.run.y + r.run.h);
  // Whatever order the sum is taken in.
  const bool wide = std::abs(start) + most_x + most_y > kShort;
  const auto value = [&](const char* name) { return wide ? fmt::format("@as(i32, {})", name) : std::string(name); };
  return std::to_string(start) + term(by_x, value("x")) + term(by_y, value("y"));
}

}  // namespace cs::mapping
