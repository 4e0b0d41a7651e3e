// How a PE computes pools on resident operands (resident_pool.cpp): what it has of the planes, and the
// instructions, each of which adds one place of the windows to all results that have an element there.
#pragma once

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/kernels/cost_parts.h"
#include "runtime/ops/windows.h"

namespace cs::kernels::pool {

// An array of planes of rows, from some element on, with the steps from one plane, row and column to the
// next.
struct View {
  std::string_view array;
  int64_t offset = 0, plane = 0, row = 0, column = 0;
  int phase = 0;  // of the array: it begins so many words beyond a multiple of 8 bytes
  int half() const { return int((offset + phase) % 2); }
};
// One instruction: to = from, or how(from, from).
struct Step {
  View to;
  std::vector<View> from;  // none: the neutral element
  int64_t rows = 1, columns = 1;
};

// Places of the windows along one dimension: results `first` to `end` have an element there, the first of
// these at `at`.
struct Place {
  int64_t first = 0, end = 0, at = 0;
};
inline std::vector<Place> places(int kernel, int dilation, int stride, int before, int64_t extent,
                                 int64_t results) {
  std::vector<Place> list;
  for (int k = 0; k < kernel; ++k) {
    const int64_t from = int64_t(k) * dilation - before;
    Place p{from < 0 ? ceil_div(-from, stride) : 0, from < extent ? ceil_div(extent - from, stride) : 0, 0};
    p.end = std::min(p.end, results);
    p.at = from + p.first * stride;
    if (p.first < p.end) list.push_back(p);
  }
  return list;
}

// What a PE has, and how it computes.
struct Geometry {
  Geometry(const Work& work, const Cut& cut)
      : c(work.convolution),
        whole(cut.line == 1),
        planes(cut.m_slice),
        rows(whole ? c.extents[0] : c.need(0, cut.n_slice)),
        results(cut.n_slice),
        before(whole ? c.before[0] : 0) {}
  int64_t plane() const { return rows * c.extents[1]; }  // words of a plane of the operand
  int64_t words_in() const { return (whole ? planes : c.in) * plane(); }
  int64_t words_out() const { return planes * results * c.results[1]; }
  bool down() const { return c.kernel[0] > 1 || c.strides[0] > 1 || before > 0 || results != rows; }
  bool across() const {
    return c.kernel[1] > 1 || c.strides[1] > 1 || c.before[1] > 0 || c.results[1] != c.extents[1];
  }
  // Columns of PEs that have rows of the result, and where the first of their rows lies in the picture.
  int64_t columns() const { return ceil_div(c.results[0], results); }
  int64_t step() const { return results * c.strides[0]; }
  // Some have rows beside the picture.
  bool padded() const {
    return !whole && (c.before[0] > 0 || (columns() - 1) * step() + rows > c.before[0] + c.extents[0]);
  }
  // Between both.
  int64_t words_kept() const { return down() && across() ? planes * results * c.extents[1] : 0; }

  // With `kept` beginning in this half of 8 bytes, and the first of the PE's planes in that one.
  std::vector<Step> steps(int kept_phase, int first_phase) const {
    const View x{"x0", 0, plane(), c.extents[1], 1, first_phase};
    const View y{"y", 0, results * c.results[1], c.results[1], 1};
    const View kept{"kept", 0, results * c.extents[1], c.extents[1], 1, kept_phase};
    std::vector<Step> list;
    if (down() || !across()) {
      const View& to = across() ? kept : y;
      walk(x, to, true, places(c.kernel[0], c.dilations[0], c.strides[0], before, rows, results), list);
    }
    if (across()) {
      const View& from = down() ? kept : x;
      walk(from, y, false,
           places(c.kernel[1], c.dilations[1], c.strides[1], c.before[1], c.extents[1], c.results[1]), list);
    }
    return list;
  }

  const Convolution& c;
  bool whole;
  int64_t planes, rows, results;
  int before;

 private:
  // The first places that all results have make them, the others are added.
  void walk(const View& from, const View& to, bool along_rows, const std::vector<Place>& list,
            std::vector<Step>& steps) const {
    const int64_t all = along_rows ? results : c.results[1], stride = c.strides[along_rows ? 0 : 1];
    const auto step = [&](const Place& p) {
      Step s{to, {from}, along_rows ? p.end - p.first : results, along_rows ? c.extents[1] : p.end - p.first};
      View& x = s.from.front();
      s.to.offset += p.first * (along_rows ? to.row : to.column);
      x.offset += p.at * (along_rows ? from.row : from.column);
      (along_rows ? x.row : x.column) *= stride;
      return s;
    };
    const auto full = [&](const Place& p) { return p.first == 0 && p.end == all; };
    const auto one = size_t(std::find_if(list.begin(), list.end(), full) - list.begin());
    size_t two = list.size();  // beside it, if possible not in the same bank
    for (size_t k = one + 1; k < list.size(); ++k) {
      const bool better =
          two == list.size() || step(list[two]).from[0].half() == step(list[one]).from[0].half();
      if (full(list[k]) && better) two = k;
    }
    steps.push_back(one < list.size() ? step(list[one]) : step({0, all, 0}));
    if (one == list.size()) steps.back().from.clear();
    if (two < list.size()) steps.back().from.push_back(step(list[two]).from.front());
    for (size_t k = 0; k < list.size(); ++k) {
      if (k == one || k == two) continue;
      Step s = step(list[k]);
      s.from.insert(s.from.begin(), s.to);
      steps.push_back(std::move(s));
    }
  }
};

// Elements of x along a dimension that lie in some window.
inline int64_t touched(const ops::WindowAxis& a) {
  std::vector<bool> in_window(size_t(a.in), false);
  for (int64_t i = 0; i < a.out; ++i) {
    for (int64_t k = 0; k < a.kernel; ++k) {
      const int64_t at = i * a.stride + k * a.dilation - a.begin;
      if (at >= 0 && at < a.in) in_window[size_t(at)] = true;
    }
  }
  return std::count(in_window.begin(), in_window.end(), true);
}

// Of the windows at the borders, what is one by the number of places that count; empty if all are the same.
inline std::vector<float> shares(const ops::Window& window, bool pads_count) {
  std::vector<std::vector<int64_t>> counts;
  bool partial = false;
  for (const ops::WindowAxis& a : window) {
    const int64_t first = pads_count ? 0 : a.begin, end = a.begin + a.in + (pads_count ? a.end : 0);
    std::vector<int64_t>& list = counts.emplace_back();
    for (int64_t i = 0; i < a.out; ++i) {
      int64_t n = 0;
      for (int64_t k = 0; k < a.kernel; ++k) {
        const int64_t at = i * a.stride + k * a.dilation;
        n += at >= first && at < end ? 1 : 0;
      }
      list.push_back(n);
      partial = partial || n < a.kernel;
    }
  }
  std::vector<float> list;
  if (counts.size() == 1) counts.push_back({1});
  for (const int64_t down : partial ? counts[0] : std::vector<int64_t>{})
    for (const int64_t across : counts[1]) list.push_back(1.0F / float(down * across));
  return list;
}

}  // namespace cs::kernels::pool
