// Parts and turns.
#include "compiler/autogen/region_cut.h"

#include <algorithm>

#include <fmt/format.h>

namespace cs::autogen {

namespace {

int parts_along(const RegionCut& cut, bool south) {
  int n = 1;
  for (const AxisCut& a : cut.axes) n *= a.south == south ? a.parts : 1;
  return n;
}

// The number of the PE's chunk of every cut, outermost first; the last column or row changes fastest.
std::vector<int> chunk_numbers(const RegionCut& cut, int x, int y) {
  std::vector<int> list(cut.axes.size(), 0);
  for (size_t k = cut.axes.size(); k-- > 0;) {
    int& rest = cut.axes[k].south ? y : x;
    list[k] = rest % cut.axes[k].parts;
    rest /= cut.axes[k].parts;
  }
  return list;
}

bool can_cut(int64_t elements, const RegionCut& cut) {
  return std::all_of(cut.axes.begin(), cut.axes.end(),
                     [&](const AxisCut& a) { return elements % a.axis.period() == 0; });
}

// The PE's rounds of an axis, of the chunks that are its own.
Level rounds_of(const RegionCut& cut, const ShardAxis& axis, const std::vector<int>& number,
                bool all_columns) {
  int64_t first = 0, length = axis.extent;
  for (size_t k = 0; k < cut.axes.size(); ++k) {
    const AxisCut& a = cut.axes[k];
    if (a.axis != axis || (all_columns && !a.south)) continue;
    first += number[k] * a.chunk;
    length = a.chunk;
  }
  first = std::min(first, axis.extent);
  return {axis.stride, first, std::min(length, axis.extent - first)};
}

}  // namespace

int RegionCut::w() const { return parts_along(*this, false); }
int RegionCut::h() const { return parts_along(*this, true); }

RegionCut in_row(const ShardAxis& axis, int64_t pes) {
  if (pes == 1) return {};
  return {{{axis, int(pes), (axis.extent + pes - 1) / pes, false}}, false};
}

std::vector<ShardAxis> shard_axes(const ops::Shape& shape) {
  std::vector<ShardAxis> list;
  auto add = [&](ShardAxis axis) {
    if (axis.extent > 1 && std::find(list.begin(), list.end(), axis) == list.end()) list.push_back(axis);
  };
  int64_t stride = 1;
  for (size_t d = shape.size(); d-- > 0; stride *= shape[d]) {
    int64_t leading = 1;
    for (size_t o = 0; o <= d; ++o) leading *= shape[o];
    add({stride, leading});
    add({stride, shape[d]});
  }
  std::reverse(list.begin(), list.end());
  if (list.empty()) list.push_back({stride, 1});
  return list;
}

std::string cut_text(const RegionCut& cut) {
  std::string text;
  for (const AxisCut& a : cut.axes) {
    text += fmt::format("{}{} of {} {} {}", text.empty() ? "" : ", ", a.chunk, a.axis.extent,
                        a.axis.stride == 1 ? "elements" : fmt::format("x {} elements", a.axis.stride),
                        a.south ? "per row" : "per column");
  }
  return text.empty() ? "not cut" : text;
}

Runs part_of(int64_t elements, const RegionCut& cut, int x, int y) {
  if (cut.w() * cut.h() == 1) return interval(0, elements - 1);
  if (!can_cut(elements, cut)) return x <= 0 && y == 0 ? interval(0, elements - 1) : Runs{};
  std::vector<int> number = chunk_numbers(cut, std::max(0, x), y);
  std::vector<int64_t> strides = {1, elements};
  for (const AxisCut& a : cut.axes) strides.insert(strides.end(), {a.axis.stride, a.axis.period()});
  std::sort(strides.rbegin(), strides.rend());
  strides.erase(std::unique(strides.begin(), strides.end()), strides.end());
  Runs r;
  for (size_t k = 1; k < strides.size(); ++k) {
    Level level{strides[k], 0, strides[k - 1] / strides[k]};
    for (const AxisCut& a : cut.axes) {
      if (a.axis.stride == strides[k] && a.axis.extent > 1) level = rounds_of(cut, a.axis, number, x < 0);
    }
    if (level.count <= 0) return {};
    r.levels.push_back(level);
  }
  return simplified(std::move(r));
}

bool turns_of(int64_t elements, const RegionCut& cut, bool south, int x, int y, Turns& t) {
  t = {};
  t.places = south ? cut.h() : cut.w();
  t.place = south ? y : x;
  Runs part = part_of(elements, cut, south ? kAllColumns : x, y);
  t.words = part.words();
  std::vector<AxisCut> along;
  for (const AxisCut& a : cut.axes) {
    if (a.south == south && a.parts > 1) along.push_back(a);
  }
  t.inner_place = t.place;
  t.inner_places = t.places;
  if (along.empty() || part.empty() || !can_cut(elements, cut)) return true;
  t.words = words_within(part, along.back().axis.period());
  int64_t visit = part.words();
  if (along.size() > 1) {
    t.inner_places = along.back().parts;
    t.inner_place = t.place % t.inner_places;
    visit = words_within(part, along[along.size() - 2].axis.period());
    // What is cut further out must move on at once when the one before it does.
    if (visit != words_within(part, along.front().axis.period())) return false;
    // With an axis inside the PE around both, a visit is not the last.
  }
  t.turns = visit / t.words;
  return t.words * t.turns == visit;
}

}  // namespace cs::autogen
