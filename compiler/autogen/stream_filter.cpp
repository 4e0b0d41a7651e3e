// Filters: the period of a walk, the counter that begins in it, and the walk behind the filter.
#include "compiler/autogen/stream_filter.h"

#include <algorithm>
#include <vector>

namespace cs::autogen {

namespace {

// Words from the beginning of one round to that of the next, by loop; behind them that of the whole stream.
struct Lengths {
  std::vector<int64_t> inside, step;
};

Lengths lengths_of(const Walk& walk) {
  Lengths l;
  int64_t length = walk.run;
  for (const Walk::Loop& loop : walk.loops) {
    l.inside.push_back(length);
    l.step.push_back(length + loop.gap);
    length = l.step.back() * (loop.count - 1) + length;
  }
  l.inside.push_back(length);
  l.step.push_back(walk.before + length + walk.after);
  return l;
}

// Of `words` words, the first of which the filter counts as `at`, so many pass.
int64_t passing(const StreamFilter& f, int64_t at, int64_t words) {
  auto below = [&](int64_t n) { return n / f.period * f.keep + std::min<int64_t>(n % f.period, f.keep); };
  return below(at + words) - below(at);
}

// Every level from this one on goes by whole periods.
bool is_period(const Lengths& l, size_t level) {
  const int64_t period = l.step[level];
  if (period > kMostCounted || l.inside[level] >= period) return false;
  return std::all_of(l.step.begin() + int64_t(level), l.step.end(),
                     [&](int64_t step) { return step % period == 0; });
}

// Words of the stream, or of the longest equal part of it that a counter counts, if what is kept lies within one; 0:
// none. Of each other part as many words pass, which are not kept.
int64_t part_of_stream(const Lengths& l) {
  constexpr int64_t kMostParts = 1024;  // PEs by the thousand ask, of streams of millions of words
  const int64_t words = l.step.back(), kept = l.inside.back();
  for (int64_t parts = (words + kMostCounted - 1) / kMostCounted; parts <= kMostParts && parts * kept < words; ++parts)
    if (words % parts == 0) return words / parts;
  return 0;
}

Walk passed_walk(const Walk& walk, const Lengths& l, const StreamFilter& f, size_t level) {
  Walk w;
  w.before = passing(f, f.first, walk.before);
  w.run = walk.run;
  int64_t length = walk.run;
  for (size_t k = 0; k < walk.loops.size(); ++k) {
    int64_t step = k < level ? l.step[k] : passing(f, 0, l.step[k]), gap = step - length;
    if (w.loops.empty() && gap == 0) {
      w.run *= walk.loops[k].count;
    } else {
      w.loops.push_back({walk.loops[k].count, gap});
    }
    length += step * (walk.loops[k].count - 1);
  }
  w.after = passing(f, f.first, l.step.back()) - w.before - length;
  return w;
}

}  // namespace

StreamFilter filter_walk(Walk& walk) {
  if (walk.run == 0) return {};
  const Lengths l = lengths_of(walk);
  size_t level = 0;
  while (level < walk.loops.size() && !is_period(l, level)) ++level;
  const int64_t period = level < walk.loops.size() ? l.step[level] : part_of_stream(l);
  if (period == 0) return {};
  StreamFilter f{0, uint32_t(l.inside[level]), uint32_t(period)};
  f.first = uint32_t((f.period - walk.before % f.period) % f.period);
  walk = passed_walk(walk, l, f, level);
  return f;
}

}  // namespace cs::autogen
