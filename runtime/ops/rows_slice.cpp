// Parts and repetitions: slice, split, tile, expand, triangles, and blocks of channels against space. All of
// them copy views of their operand.
#include <algorithm>

#include <fmt/format.h>

#include "runtime/ops/rows.h"
#include "runtime/ops/rules.h"

namespace cs::ops {

namespace {

// ---- slice

struct Range {
  int64_t start = 0, count = 0, step = 1;
};

std::optional<std::vector<Range>> ranges_of(const ShapeContext& c, std::string& error) {
  const TensorType& x = *c.inputs[0];
  std::vector<int64_t> starts = attr_ints(c.op, c.attrs, "starts"), ends = attr_ints(c.op, c.attrs, "ends"),
                       axes = attr_ints(c.op, c.attrs, "axes"), steps = attr_ints(c.op, c.attrs, "steps");
  if (axes.empty()) axes = all_axes(int(starts.size()));
  if (steps.empty()) steps.assign(starts.size(), 1);
  if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size()) {
    error = fmt::format("{} starts, {} ends, {} axes and {} steps; there must be equally many", starts.size(),
                        ends.size(), axes.size(), steps.size());
    return std::nullopt;
  }
  std::vector<Range> ranges;
  for (int64_t extent : x.shape) ranges.push_back({0, extent, 1});
  for (size_t k = 0; k < axes.size(); ++k) {
    std::optional<int> axis = normal_axis(axes[k], x.rank());
    if (!axis || steps[k] == 0) {
      error = fmt::format("axis {} of {} with step {}", axes[k], type_text(x), steps[k]);
      return std::nullopt;
    }
    // Ends beyond the data are cut; counting backwards they lie one before the first element.
    int64_t n = x.shape[size_t(*axis)], low = steps[k] > 0 ? 0 : -1, high = steps[k] > 0 ? n : n - 1;
    auto bounded = [&](int64_t v) { return std::clamp(v < 0 ? v + n : v, low, high); };
    int64_t start = bounded(starts[k]), end = bounded(ends[k]), step = std::clamp(steps[k], -n - 1, n + 1);
    int64_t count = step > 0 ? (end - start + step - 1) / step : (start - end - step - 1) / -step;
    ranges[size_t(*axis)] = {start, std::max<int64_t>(0, count), step};
  }
  return ranges;
}

bool shape_slice(const ShapeContext& c, std::vector<TensorType>& outputs, std::string& error) {
  std::optional<std::vector<Range>> ranges = ranges_of(c, error);
  if (!ranges) return false;
  TensorType y = *c.inputs[0];
  for (size_t d = 0; d < ranges->size(); ++d) y.shape[d] = (*ranges)[d].count;
  outputs = {std::move(y)};
  return true;
}

bool loops_slice(const ShapeContext& c, std::span<const TensorType> outputs, LoopProgram& p,
                 std::string& error) {
  std::optional<std::vector<Range>> ranges = ranges_of(c, error);
  if (!ranges) return false;
  LoopBuilder b(p, c.inputs, outputs);
  LoopView x = b.operand(0);
  for (size_t d = 0; d < ranges->size(); ++d) {
    const Range& r = (*ranges)[d];
    x = x.sliced(int(d), r.start, r.count, r.step);
  }
  b.copy(b.result(), x);
  return true;
}

// ---- split

bool shape_split(const ShapeContext& c, std::vector<TensorType>& outputs, std::string& error) {
  std::optional<int> axis = axis_of(c, "axis", error);
  if (!axis) return false;
  std::vector<int64_t> parts = attr_ints(c.op, c.attrs, "split");
  int64_t count = attr_int(c.op, c.attrs, "num_outputs"), extent = c.inputs[0]->shape[size_t(*axis)];
  if (parts.empty()) {
    if (count < 1) return fail(error, "split needs 'split' or 'num_outputs'");
    // Equal parts; the last one is smaller where they do not fit.
    int64_t part = (extent + count - 1) / count;
    for (int64_t k = 0; k < count; ++k) parts.push_back(std::clamp<int64_t>(extent - k * part, 0, part));
  }
  int64_t sum = 0;
  for (int64_t n : parts) {
    TensorType y = *c.inputs[0];
    y.shape[size_t(*axis)] = n;
    outputs.push_back(std::move(y));
    if (n < 0) return fail(error, fmt::format("parts {} must not be negative", dims_text(parts)));
    sum += n;
  }
  return sum == extent || fail(error, fmt::format("parts {} do not add up to {}, the extent of axis {} of {}",
                                                  dims_text(parts), extent, *axis, type_text(*c.inputs[0])));
}

bool loops_split(const ShapeContext& c, std::span<const TensorType> outputs, LoopProgram& p,
                 std::string& error) {
  std::optional<int> axis = axis_of(c, "axis", error);
  if (!axis) return false;
  LoopBuilder b(p, c.inputs, outputs);
  int64_t at = 0;
  for (size_t k = 0; k < outputs.size(); ++k) {
    int64_t extent = outputs[k].shape[size_t(*axis)];
    b.copy(b.result(int(k)), b.operand(0).sliced(*axis, at, extent));
    at += extent;
  }
  return true;
}

// ---- repetitions

bool shape_tile(const ShapeContext& c, std::vector<TensorType>& outputs, std::string& error) {
  std::vector<int64_t> repeats = attr_ints(c.op, c.attrs, "repeats");
  TensorType y = *c.inputs[0];
  bool fits = repeats.size() == y.shape.size();
  for (size_t d = 0; fits && d < repeats.size(); ++d) {
    fits = repeats[d] >= 0 && repeats[d] < (int64_t(1) << 40);
    y.shape[d] *= repeats[d];
  }
  if (!fits) return fail(error, fmt::format("repeats {} do not fit {}", dims_text(repeats), type_text(y)));
  outputs = {std::move(y)};
  return true;
}

bool loops_tile(const ShapeContext& c, std::span<const TensorType> outputs, LoopProgram& p, std::string&) {
  LoopBuilder b(p, c.inputs, outputs);
  std::vector<int64_t> repeats = attr_ints(c.op, c.attrs, "repeats");
  LoopView x = b.operand(0), y = b.result();
  for (size_t d = 0; d < repeats.size(); ++d) {
    int64_t extent = c.inputs[0]->shape[d];
    y = y.split(int(2 * d), {repeats[d], extent});
    x = x.split(int(2 * d), {1, extent});
  }
  b.copy(y, x);
  return true;
}

bool shape_expand(const ShapeContext& c, std::vector<TensorType>& outputs, std::string& error) {
  Shape want = attr_ints(c.op, c.attrs, "shape");
  std::optional<Shape> s = broadcast(c.inputs[0]->shape, want);
  if (!s)
    return fail(error, fmt::format("{} does not broadcast to {}", type_text(*c.inputs[0]), dims_text(want)));
  outputs = {{c.inputs[0]->dtype, *s}};
  return true;
}

bool loops_expand(const ShapeContext& c, std::span<const TensorType> outputs, LoopProgram& p, std::string&) {
  LoopBuilder b(p, c.inputs, outputs);
  b.copy(b.result(), b.operand(0));
  return true;
}

// ---- triangles

bool shape_trilu(const ShapeContext& c, std::vector<TensorType>& outputs, std::string& error) {
  if (c.inputs[0]->rank() < 2) return fail(error, fmt::format("{} is not a matrix", type_text(*c.inputs[0])));
  outputs = {*c.inputs[0]};
  return true;
}

bool loops_trilu(const ShapeContext& c, std::span<const TensorType> outputs, LoopProgram& p, std::string&) {
  LoopBuilder b(p, c.inputs, outputs);
  LoopView y = b.result();
  // Column - row - k: not negative in the upper triangle.
  std::vector<int64_t> strides(y.shape.size(), 0);
  strides[strides.size() - 2] = -1;
  strides.back() = 1;
  bool upper = attr_int(c.op, c.attrs, "upper") != 0;
  b.statement(y.shape, y.access(), {b.operand(0).access(), counter(-attr_int(c.op, c.attrs, "k"), strides)},
              upper ? "select(x1 >= 0, x0, 0)" : "select(x1 <= 0, x0, 0)");
  return true;
}

// ---- channels and space

bool shape_depth_space(const ShapeContext& c, std::vector<TensorType>& outputs, std::string& error) {
  const TensorType& x = *c.inputs[0];
  int64_t block = attr_int(c.op, c.attrs, "blocksize");
  bool to_space = c.op.name == "depth_to_space";
  bool fits =
      x.rank() == 4 && block > 0 && block < 65536 &&
      (to_space ? x.shape[1] % (block * block) == 0 : x.shape[2] % block == 0 && x.shape[3] % block == 0);
  if (!fits) return fail(error, fmt::format("{} does not split into blocks of {}", type_text(x), block));
  outputs = {
      {x.dtype, to_space
                    ? Shape{x.shape[0], x.shape[1] / (block * block), x.shape[2] * block, x.shape[3] * block}
                    : Shape{x.shape[0], x.shape[1] * block * block, x.shape[2] / block, x.shape[3] / block}}};
  return true;
}

// y[n, c, h, i, w, j] = x[n, i, j, c, h, w] (or x[n, c, i, j, h, w]), and back.
bool loops_depth_space(const ShapeContext& c, std::span<const TensorType> outputs, LoopProgram& p,
                       std::string& error) {
  LoopBuilder b(p, c.inputs, outputs);
  int64_t block = attr_int(c.op, c.attrs, "blocksize");
  bool to_space = c.op.name == "depth_to_space";
  std::string mode = to_space ? attr_text(c.op, c.attrs, "mode") : "DCR";
  if (mode != "DCR" && mode != "CRD")
    return fail(error, fmt::format("mode '{}' is neither DCR nor CRD", mode));
  LoopView deep = to_space ? b.operand(0) : b.result(), wide = to_space ? b.result() : b.operand(0);
  int64_t channels = deep.shape[1] / (block * block);
  deep = deep.split(1, mode == "DCR" ? Shape{block, block, channels} : Shape{channels, block, block});
  wide = wide.split(3, {wide.shape[3] / block, block}).split(2, {wide.shape[2] / block, block});
  if (to_space) {
    const int dcr[] = {0, 3, 4, 1, 5, 2}, crd[] = {0, 1, 4, 2, 5, 3};
    b.copy(wide, deep.permuted(mode == "DCR" ? dcr : crd));
  } else {
    const int back[] = {0, 3, 5, 1, 2, 4};
    b.copy(deep, wide.permuted(back));
  }
  return true;
}

// ---- sequences of different lengths

bool shape_reverse_sequence(const ShapeContext& c, std::vector<TensorType>& outputs, std::string& error) {
  int64_t time = attr_int(c.op, c.attrs, "time_axis"), batch = attr_int(c.op, c.attrs, "batch_axis");
  const TensorType& x = *c.inputs[0];
  if (x.rank() < 2 || time + batch != 1 || time * batch != 0 ||
      c.inputs[1]->shape != Shape{x.shape[size_t(batch)]})
    return fail(error, fmt::format("time axis {}, batch axis {} and lengths {} do not fit {}", time, batch,
                                   type_text(*c.inputs[1]), type_text(x)));
  outputs = {x};
  return true;
}

bool loops_reverse_sequence(const ShapeContext& c, std::span<const TensorType> outputs, LoopProgram& p,
                            std::string&) {
  LoopBuilder b(p, c.inputs, outputs);
  int64_t time = attr_int(c.op, c.attrs, "time_axis");
  LoopView x = b.operand(0), y = b.result(), length = b.operand(1);
  int64_t steps = x.shape[size_t(time)], count = length.shape[0];
  // from[t, b]: the step that comes to t.
  LoopView from = b.temporary("from", DataType::i32, {steps, count});
  b.statement(from.shape, from.access(), {length.broadcast_to(from.shape).access(), counter(0, {1, 0})},
              "select(x1 < x0, x0 - 1 - x1, x1)");
  const int swapped[] = {1, 0};
  if (time == 1) from = from.permuted(swapped);
  LoopAccess index = from.access(), load = x.access();
  index.strides.resize(x.shape.size(), 0);
  load.index = 0;
  load.index_stride = x.strides[size_t(time)];
  load.index_extent = steps;
  load.strides[size_t(time)] = 0;
  b.statement(y.shape, y.access(), {index, load}, "x1");
  return true;
}

}  // namespace

void add_slices(Rows& t) {
  constexpr OpKind kMove = OpKind::movement;
  OpDef slice =
      by_loops(kMove, "slice", {"Slice"}, {"x"}, 0,
               {integers("starts", true), integers("ends", true), integers("axes"), integers("steps")},
               shape_slice, loops_slice);
  slice.onnx_inputs = {{1, "starts"}, {2, "ends"}, {3, "axes"}, {4, "steps"}};
  t.push_back(slice);
  OpDef split =
      by_loops(kMove, "split", {"Split"}, {"x"}, 0,
               {integer("axis", 0), integers("split"), integer("num_outputs", 0)}, shape_split, loops_split);
  split.onnx_inputs = {{1, "split"}};
  split.variadic_results = true;
  t.push_back(split);
  OpDef tile =
      by_loops(kMove, "tile", {"Tile"}, {"x"}, 0, {integers("repeats", true)}, shape_tile, loops_tile);
  tile.onnx_inputs = {{1, "repeats"}};
  t.push_back(tile);
  OpDef expand =
      by_loops(kMove, "expand", {"Expand"}, {"x"}, 0, {integers("shape", true)}, shape_expand, loops_expand);
  expand.onnx_inputs = {{1, "shape"}};
  t.push_back(expand);
  OpDef trilu = by_loops(kMove, "trilu", {"Trilu"}, {"x"}, 0, {integer("k", 0), integer("upper", 1)},
                         shape_trilu, loops_trilu);
  trilu.onnx_inputs = {{1, "k"}};
  t.push_back(trilu);
  AttrDef block{"blocksize", kInt, int64_t(0), true};
  t.push_back(by_loops(kMove, "depth_to_space", {"DepthToSpace"}, {"x"}, 0, {block, text("mode", "DCR")},
                       shape_depth_space, loops_depth_space));
  t.push_back(by_loops(kMove, "space_to_depth", {"SpaceToDepth"}, {"x"}, 0, {block}, shape_depth_space,
                       loops_depth_space));
  t.push_back(by_loops(kMove, "reverse_sequence", {"ReverseSequence"}, {"x", "lengths"}, 0,
                       {integer("batch_axis", 1), integer("time_axis", 0)}, shape_reverse_sequence,
                       loops_reverse_sequence));
}

}  // namespace cs::ops
