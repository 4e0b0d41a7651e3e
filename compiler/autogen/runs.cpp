// Algebra of sets of addresses.
#include "compiler/autogen/runs.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <utility>

namespace cs::autogen {

namespace {

constexpr size_t kMaxLevels = 4;  // a walk over runs has three loops
constexpr int64_t kFine = 3;      // words of a gap that never pays
constexpr int64_t kUnlimited = INT64_MAX / 4;

std::vector<int64_t> periods_of(const Runs& r) {
  std::vector<int64_t> list;
  for (const Level& l : r.levels) list.push_back(l.stride);
  if (!list.empty()) list.pop_back();
  return list;
}

std::vector<Moves> axes_of(const Runs& r) {
  std::vector<Moves> list;
  for (const Level& l : r.levels) list.push_back({l.stride, l.count});
  return list;
}

// Digits of level k lie below this.
int64_t radix(const Runs& r, size_t k) {
  return k == 0 ? kUnlimited : r.levels[k - 1].stride / r.levels[k].stride;
}

// Descending, without doubles, each a multiple of the next; empty if they are not.
bool chain(std::vector<int64_t>& periods) {
  std::sort(periods.rbegin(), periods.rend());
  periods.erase(std::unique(periods.begin(), periods.end()), periods.end());
  for (size_t k = 1; k < periods.size(); ++k) {
    if (periods[k - 1] % periods[k] != 0) return false;
  }
  return periods.empty() || periods.back() > 1;
}

Runs plain(int64_t offset, const std::vector<Moves>& axes) {
  int64_t first = offset, last = offset;
  for (const Moves& x : axes) (x.stride < 0 ? first : last) += x.stride * (x.extent - 1);
  return interval(first, last);
}

Runs hull_with(const Runs& a, const Runs& b, const std::vector<int64_t>& periods) {
  Runs x = cover(a.first(), axes_of(a), periods), y = cover(b.first(), axes_of(b), periods);
  if (x.empty() || y.empty()) return {};
  for (size_t k = 0; k < x.levels.size(); ++k) {
    Level &p = x.levels[k], &q = y.levels[k];
    int64_t end = std::max(p.first + p.count, q.first + q.count);
    p.first = std::min(p.first, q.first);
    p.count = end - p.first;
  }
  return simplified(x);
}

// By which a set that holds both may be described.
std::vector<std::vector<int64_t>> periods_of_both(const Runs& a, const Runs& b) {
  const std::vector<int64_t> pa = periods_of(a), pb = periods_of(b);
  std::vector<int64_t> both = pa, common;
  both.insert(both.end(), pb.begin(), pb.end());
  std::set_intersection(pa.begin(), pa.end(), pb.begin(), pb.end(), std::back_inserter(common),
                        std::greater<>());
  std::vector<std::vector<int64_t>> candidates = {{}, pa, pb, common, both};
  // Runs that lie apart, like the gates of a cell in one vector: their distance is a period too.
  for (size_t c = 0, n = candidates.size(); c < n; ++c) {
    std::vector<int64_t> distances = {std::abs(b.first() - a.first())};
    for (int64_t p : candidates[c]) distances.push_back(std::abs(b.first() % p - a.first() % p));
    for (int64_t d : distances) {
      if (d < 2) continue;
      candidates.push_back(candidates[c]);
      candidates.back().push_back(d);
    }
  }
  return candidates;
}

// Digit of a step, outermost first.
int64_t digit(int64_t value, const Runs& r, size_t k) { return value / r.levels[k].stride % radix(r, k); }

bool is_simplified(const Runs& r) {
  for (size_t k = 1; k < r.levels.size(); ++k) {
    const Level& inner = r.levels[k];
    if (r.levels[k - 1].count == 1 || (inner.first == 0 && inner.count == radix(r, k))) return false;
  }
  return true;
}

// Level by level: so is every set of the same levels that this one holds.
bool holds(const Runs& a, const Runs& b) {
  return std::equal(a.levels.begin(), a.levels.end(), b.levels.begin(), b.levels.end(),
                    [](const Level& x, const Level& y) {
                      return x.stride == y.stride && x.first <= y.first && y.first + y.count <= x.first + x.count;
                    });
}

}  // namespace

int64_t Runs::words() const {
  int64_t n = empty() ? 0 : 1;
  for (const Level& l : levels) n *= l.count;
  return n;
}

int64_t Runs::first() const {
  int64_t at = 0;
  for (const Level& l : levels) at += l.stride * l.first;
  return at;
}

int64_t Runs::last() const {
  int64_t at = 0;
  for (const Level& l : levels) at += l.stride * (l.first + l.count - 1);
  return at;
}

std::vector<int64_t> Runs::starts() const {
  std::vector<int64_t> list;
  if (empty()) return list;
  list.push_back(first());
  for (size_t k = levels.size() - 1; k-- > 0;) {
    std::vector<int64_t> all;
    for (int64_t i = 0; i < levels[k].count; ++i) {
      for (int64_t at : list) all.push_back(at + i * levels[k].stride);
    }
    list = std::move(all);
  }
  return list;
}

Runs interval(int64_t first, int64_t last) { return {{{1, first, last - first + 1}}}; }

Runs simplified(Runs r) {
  for (size_t k = r.levels.size(); k-- > 1;) {
    Level &outer = r.levels[k - 1], inner = r.levels[k];
    int64_t ratio = outer.stride / inner.stride;
    if (outer.count == 1) {
      r.levels[k].first += outer.first * ratio;
    } else if (inner.first == 0 && inner.count == ratio) {
      r.levels[k] = {inner.stride, outer.first * ratio, outer.count * ratio};
    } else {
      continue;
    }
    r.levels.erase(r.levels.begin() + int64_t(k) - 1);
  }
  return r;
}

Runs cover(int64_t offset, std::vector<Moves> axes, const std::vector<int64_t>& periods) {
  Runs r;
  r.levels.reserve(periods.size() + 1);
  int64_t unit = 1;
  for (size_t k = periods.size() + 1; k-- > 0;) {
    int64_t period = k == 0 ? kUnlimited : periods[k - 1], span = 0;
    size_t rest = 0;  // of the axes, in front
    for (const Moves& x : axes) {
      if (x.extent == 1) continue;
      if (k > 0 && x.stride >= period) {
        axes[rest++] = x;
      } else if (x.stride % unit != 0) {
        return {};
      } else {
        span += x.stride / unit * (x.extent - 1);
      }
    }
    axes.resize(rest);
    int64_t size = period / unit, low = k == 0 ? offset / unit : offset % period / unit;
    if (k == 0 || low + span < size) {
      r.levels.push_back({unit, low, span + 1});
    } else {
      r.levels.push_back({unit, 0, size});
      axes.push_back({period, (low + span) / size + 1});
    }
    unit = period;
  }
  std::reverse(r.levels.begin(), r.levels.end());
  return r;
}

Runs runs_of(int64_t offset, std::vector<Moves> axes, bool fine) {
  std::erase_if(axes, [](const Moves& x) { return x.stride == 0 || x.extent == 1; });
  Runs all = plain(offset, axes);
  bool backwards = std::any_of(axes.begin(), axes.end(), [](const Moves& x) { return x.stride < 0; });
  if (backwards || offset < 0) return all;
  std::sort(axes.begin(), axes.end(), [](const Moves& x, const Moves& y) { return x.stride < y.stride; });
  std::vector<int64_t> periods;
  int64_t unit = 1, span = 0, words = 1;  // span in units, words of all levels below this one
  for (size_t k = 0; k < axes.size() && periods.size() + 1 < kMaxLevels; ++k) {
    int64_t period = 0;
    for (size_t o = k; o < axes.size(); ++o) period = std::gcd(period, axes[o].stride);
    // Worth its handling if the gaps are no crumbs; a run costs a PE as much as about 24 words that pass.
    int64_t crumbs = fine ? kFine : k > 0 ? std::max<int64_t>(4, span * words / 4) : 24;
    int64_t gap = period % unit == 0 ? (period / unit - (span + 1)) * words : 0;
    if (period > unit && gap > crumbs && offset % period / unit + span < period / unit) {
      periods.insert(periods.begin(), period);
      words *= span + 1;
      unit = period;
      span = 0;
    }
    if (axes[k].stride % unit != 0) return all;
    span += axes[k].stride / unit * (axes[k].extent - 1);
  }
  Runs r = cover(offset, std::move(axes), periods);
  return r.empty() ? all : simplified(r);
}

Runs hull(const Runs& a, const Runs& b, int64_t elements) {
  if (a.empty() || b.empty()) return a.empty() ? b : a;
  for (const auto& [outer, inner] : {std::pair(&a, &b), std::pair(&b, &a)}) {
    const bool whole = holds(*outer, *inner) && outer->levels.size() <= kMaxLevels;
    if (whole && outer->last() < elements && is_simplified(*outer)) return *outer;
  }
  const int64_t least = std::max(a.words(), b.words());
  Runs best;
  // True once one of them holds the other: a set has one simplified form, so nothing else is as small.
  const auto consider = [&](std::vector<int64_t> periods) {
    if (!chain(periods)) return false;
    Runs r = hull_with(a, b, periods);
    // Digits that both fill may together lead beyond the end, where no stream has words.
    if (r.empty() || r.levels.size() > kMaxLevels || r.last() >= elements) return false;
    auto cost = [](const Runs& x) { return std::pair(x.words(), x.levels.size()); };
    if (best.empty() || cost(r) < cost(best)) best = std::move(r);
    return best.words() == least;
  };
  if (consider(periods_of(a)) || consider(periods_of(b))) return best;
  best = {};
  for (std::vector<int64_t>& periods : periods_of_both(a, b)) {
    if (consider(std::move(periods))) break;
  }
  return best;
}

int64_t words_within(const Runs& r, int64_t period) {
  std::vector<int64_t> periods = periods_of(r);
  periods.push_back(period);
  Runs levels = chain(periods) ? cover(r.first(), axes_of(r), periods) : Runs{};
  if (levels.empty()) return r.words();
  int64_t n = 1;
  for (const Level& l : levels.levels) n *= l.stride < period ? l.count : 1;
  return n;
}

int64_t local_stride(int64_t stride, const Runs& stored) {
  if (stride < 0) return -local_stride(-stride, stored);
  int64_t words = 1, local = 0;
  for (size_t k = stored.levels.size(); k-- > 0; words *= stored.levels[k].count)
    local += digit(stride, stored, k) * words;
  return local;
}

int64_t local_address(int64_t address, const Runs& stored) {
  if (stored.levels.size() == 1) return address - stored.levels[0].first;
  return local_stride(address, stored) - local_stride(stored.first(), stored);
}

ops::LoopAccess local_access(const ops::LoopAccess& a, const Runs& stored) {
  ops::LoopAccess l = a;
  l.offset = local_address(a.offset, stored);
  l.step = local_stride(a.step, stored);
  for (int64_t& stride : l.strides) stride = local_stride(stride, stored);
  l.index_stride = local_stride(a.index_stride, stored);
  return l;
}

bool moves_within(int64_t offset, const std::vector<Moves>& axes, const Runs& stored) {
  if (stored.levels.size() <= 1) return true;
  if (offset < 0) return false;
  for (size_t k = 1; k < stored.levels.size(); ++k) {
    int64_t low = digit(offset, stored, k), high = low;
    for (const Moves& x : axes) {
      const int64_t by = digit(std::abs(x.stride), stored, k);
      (x.stride < 0 ? low : high) += (x.stride < 0 ? -by : by) * (x.extent - 1);
    }
    const Level& l = stored.levels[k];
    if (low < l.first || high >= l.first + l.count) return false;
  }
  return true;
}

bool walk_of(int64_t first, const std::vector<Moves>& part, const Runs& stream, Walk& walk) {
  walk = {};
  if (stream.empty() || !moves_within(first, part, stream)) return false;
  walk.before = local_address(first, stream);
  size_t loops = part.size();
  bool runs = loops > 0 && part[loops - 1].stride == 1;
  walk.run = runs ? part[--loops].extent : 1;
  int64_t length = walk.run;  // from the beginning of what is inside to its end
  while (loops-- > 0) {
    int64_t step = local_stride(part[loops].stride, stream), gap = step - length;
    if (walk.loops.empty() && gap == 0) {
      walk.run *= part[loops].extent;
    } else {
      walk.loops.push_back({part[loops].extent, gap});
    }
    length += step * (part[loops].extent - 1);
  }
  walk.after = stream.words() - walk.before - length;
  return walk.after >= 0;
}

bool walk_of(const Runs& part, const Runs& stream, Walk& walk) {
  if (!part.empty()) return walk_of(part.first(), axes_of(part), stream, walk);
  walk = {};
  walk.before = stream.words();
  return true;
}

}  // namespace cs::autogen
