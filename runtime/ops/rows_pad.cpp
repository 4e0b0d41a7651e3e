// Padding by a value, by the border, by reflection or periodically.
//
// The operand is copied into the middle of the result. Then, dimension after dimension, the borders are
// copied from what the result already holds, so that corners come right.
#include <algorithm>

#include <fmt/format.h>

#include "runtime/ops/rows.h"
#include "runtime/ops/rules.h"

namespace cs::ops {

namespace {

struct Border {
  int64_t begin = 0, end = 0;
};

std::optional<std::vector<Border>> borders_of(const ShapeContext& c, std::string& error) {
  const TensorType& x = *c.inputs[0];
  std::vector<int64_t> pads = attr_ints(c.op, c.attrs, "pads"), axes = attr_ints(c.op, c.attrs, "axes");
  if (axes.empty()) axes = all_axes(x.rank());
  std::string mode = attr_text(c.op, c.attrs, "mode");
  if (mode != "constant" && mode != "edge" && mode != "reflect" && mode != "wrap") {
    error = fmt::format("mode '{}' is none of constant, edge, reflect, wrap", mode);
    return std::nullopt;
  }
  std::vector<Border> borders(x.shape.size());
  bool fits = pads.size() == 2 * axes.size();
  for (size_t k = 0; fits && k < axes.size(); ++k) {
    std::optional<int> axis = normal_axis(axes[k], x.rank());
    fits =
        axis.has_value() && std::max(std::abs(pads[k]), std::abs(pads[k + axes.size()])) < (int64_t(1) << 40);
    if (!fits) break;
    int64_t extent = x.shape[size_t(*axis)];
    borders[size_t(*axis)] = {pads[k], pads[k + axes.size()]};
    fits = extent + std::min<int64_t>(0, pads[k]) + std::min<int64_t>(0, pads[k + axes.size()]) >= 0;
    bool copies = std::max(pads[k], pads[k + axes.size()]) > 0 && mode != "constant";
    fits = fits && (!copies || extent > (mode == "reflect" ? 1 : 0));
  }
  if (fits) return borders;
  error = fmt::format("pads {} of mode {} do not fit {}", dims_text(pads), mode, type_text(x));
  return std::nullopt;
}

bool shape_pad(const ShapeContext& c, std::vector<TensorType>& outputs, std::string& error) {
  std::optional<std::vector<Border>> borders = borders_of(c, error);
  if (!borders) return false;
  const TensorType* value = c.input(1);
  if (value != nullptr && value->elements() != 1)
    return fail(error, fmt::format("the value {} must have one element", type_text(*value)));
  TensorType y = *c.inputs[0];
  for (size_t d = 0; d < borders->size(); ++d) y.shape[d] += (*borders)[d].begin + (*borders)[d].end;
  outputs = {std::move(y)};
  return true;
}

// Fills `border` elements along d in front of the filled part [first, first + n) or behind it. One copy takes
// what a mode gives without repeating; a wide border needs several.
void fill_border(LoopBuilder& b, const LoopView& y, int d, int64_t first, int64_t n, int64_t border,
                 bool front, const std::string& mode) {
  while (border > 0) {
    int64_t count = mode == "edge" ? border : std::min(border, mode == "reflect" ? n - 1 : n);
    int64_t at = front ? first - count : first + n;
    LoopView from = y;
    if (mode == "edge") {
      from = y.sliced(d, front ? first : first + n - 1, 1);
    } else if (mode == "wrap") {
      from = y.sliced(d, front ? first + n - count : first, count);
    } else {
      from = y.sliced(d, front ? first + 1 : first + n - 1 - count, count).reversed(d);
    }
    b.copy(y.sliced(d, at, count), from);
    if (front) first = at;
    n += count;
    border -= count;
  }
}

bool loops_pad(const ShapeContext& c, std::span<const TensorType> outputs, LoopProgram& p,
               std::string& error) {
  std::optional<std::vector<Border>> borders = borders_of(c, error);
  if (!borders) return false;
  LoopBuilder b(p, c.inputs, outputs);
  std::string mode = attr_text(c.op, c.attrs, "mode");
  LoopView x = b.operand(0), y = b.result(), middle = y;
  for (size_t d = 0; d < borders->size(); ++d) {
    const Border& e = (*borders)[d];
    int64_t cut = std::max<int64_t>(0, -e.begin), extent = x.shape[d] - cut - std::max<int64_t>(0, -e.end);
    x = x.sliced(int(d), cut, extent);
    middle = middle.sliced(int(d), std::max<int64_t>(0, e.begin), extent);
  }
  if (mode == "constant" && x.shape != y.shape) {
    if (b.has_operand(1)) {
      b.copy(y, b.operand(1).with_shape({}));
    } else {
      b.fill(y, attr_real(c.op, c.attrs, "value"));
    }
  }
  b.copy(middle, x);
  if (mode == "constant") return true;
  LoopView filled = middle;
  for (size_t d = 0; d < borders->size(); ++d) {
    // Along d the whole extent is in reach; the later dimensions hold only the middle so far.
    const Border& e = (*borders)[d];
    int64_t first = std::max<int64_t>(0, e.begin), n = x.shape[d];
    LoopView whole = filled;
    whole.offset -= first * whole.strides[d];
    whole.shape[d] = y.shape[d];
    fill_border(b, whole, int(d), first, n, e.begin, true, mode);
    fill_border(b, whole, int(d), first, n, e.end, false, mode);
    filled = whole;
  }
  return true;
}

}  // namespace

void add_pads(Rows& t) {
  OpDef pad = by_loops(OpKind::movement, "pad", {"Pad"}, {"x", "value"}, 1,
                       {integers("pads", true), integers("axes"), text("mode", "constant"), real("value", 0)},
                       shape_pad, loops_pad);
  pad.onnx_inputs = {{1, "pads"}, {3, "axes"}};
  t.push_back(pad);
}

}  // namespace cs::ops
