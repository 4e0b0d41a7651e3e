// Resize and upsample: one axis after another, every axis as few pieces with affine addresses.
#include <cmath>

#include <fmt/format.h>

#include "runtime/ops/resampling.h"
#include "runtime/ops/rows.h"
#include "runtime/ops/rules.h"

namespace cs::ops {

namespace {

std::vector<double> reals_of(const ShapeContext& c, std::string_view name) {
  const AttrValue* v = find_attr(c.attrs, name);
  if (v == nullptr) return {};
  if (const auto* list = std::get_if<std::vector<double>>(v)) return *list;
  return {};
}

// What happens to every axis of the operand.
std::optional<std::vector<AxisResize>> axes_of(const ShapeContext& c, std::string& error) {
  const TensorType& x = *c.inputs[0];
  std::vector<double> scales = reals_of(c, "scales"), roi = reals_of(c, "roi");
  std::vector<int64_t> sizes = attr_ints(c.op, c.attrs, "sizes"), axes = attr_ints(c.op, c.attrs, "axes");
  if (axes.empty()) axes = all_axes(x.rank());
  size_t n = axes.size();
  bool by_size = !sizes.empty();
  std::string policy = attr_text(c.op, c.attrs, "keep_aspect_ratio_policy");
  if ((by_size ? sizes.size() != n || !scales.empty() : scales.size() != n) ||
      (!roi.empty() && roi.size() != 2 * n)) {
    error = fmt::format(
        "{} scales, {} sizes and {} values of the region do not fit the {} axes of {}; give scales or sizes",
        scales.size(), sizes.size(), roi.size(), n, type_text(x));
    return std::nullopt;
  }
  std::vector<AxisResize> all;
  for (int64_t extent : x.shape) all.push_back({extent, extent});
  double common = 0;
  for (size_t k = 0; k < n; ++k) {
    std::optional<int> axis = normal_axis(axes[k], x.rank());
    double scale = by_size || scales.empty() ? 1 : scales[k];
    if (!axis || !(scale > 0) || scale > 1e6 || (by_size && sizes[k] < 1) ||
        x.shape[size_t(axis.value_or(0))] < 1) {
      error = fmt::format("axis {} of {} cannot be resized by {}", axes[k], type_text(x),
                          by_size ? double(sizes[k]) : scale);
      return std::nullopt;
    }
    AxisResize& a = all[size_t(*axis)];
    a.out = by_size ? sizes[k] : int64_t(std::floor(double(a.in) * scale));
    a.scale = by_size ? double(sizes[k]) / double(a.in) : scale;
    common = k == 0                   ? a.scale
             : policy == "not_larger" ? std::min(common, a.scale)
                                      : std::max(common, a.scale);
    if (!roi.empty()) {
      a.start = roi[k];
      a.end = roi[k + n];
    }
  }
  for (size_t k = 0; by_size && policy != "stretch" && k < n; ++k) {
    AxisResize& a = all[size_t(*normal_axis(axes[k], x.rank()))];
    a.scale = common;
    a.out = int64_t(std::floor(double(a.in) * common + 0.5));
  }
  return all;
}

ResizeMode mode_of(const ShapeContext& c) {
  return {attr_text(c.op, c.attrs, "mode"),
          attr_text(c.op, c.attrs, "coordinate_transformation_mode"),
          attr_text(c.op, c.attrs, "nearest_mode"),
          attr_real(c.op, c.attrs, "cubic_coeff_a"),
          attr_int(c.op, c.attrs, "exclude_outside") != 0,
          attr_int(c.op, c.attrs, "antialias") != 0};
}

bool shape_resize(const ShapeContext& c, std::vector<TensorType>& outputs, std::string& error) {
  std::optional<std::vector<AxisResize>> axes = axes_of(c, error);
  if (!axes) return false;
  TensorType y = *c.inputs[0];
  for (size_t d = 0; d < axes->size(); ++d) y.shape[d] = (*axes)[d].out;
  outputs = {std::move(y)};
  return true;
}

bool is_same(const std::vector<Piece>& pieces, const std::vector<Taps>& taps) {
  return pieces.size() == 1 && pieces[0].step == 1 && (pieces[0].advance == 1 || taps.size() == 1) &&
         taps[0] == Taps{{0, 1.0}};
}

void copy_pieces(LoopBuilder& b, const LoopView& y, const LoopView& x, int d, const std::vector<Taps>& taps,
                 const std::vector<Piece>& pieces) {
  for (const Piece& p : pieces) {
    const Taps& t = taps[size_t(p.first)];
    std::vector<LoopAccess> loads;
    std::string sum;
    for (const auto& [from, weight] : t) {
      std::string term =
          weight == 1 ? fmt::format("x{}", loads.size()) : fmt::format("x{} * {}", loads.size(), weight);
      sum += (sum.empty() ? "" : " + ") + term;
      loads.push_back(x.sliced(d, from, p.count, p.advance).access());
    }
    if (!loads.empty()) {
      LoopView to = y.sliced(d, p.first, p.count, p.step);
      b.statement(to.shape, to.access(), std::move(loads), sum);
    }
  }
}

bool loops_resize(const ShapeContext& c, std::span<const TensorType> outputs, LoopProgram& p,
                  std::string& error) {
  std::optional<std::vector<AxisResize>> axes = axes_of(c, error);
  if (!axes) return false;
  LoopBuilder b(p, c.inputs, outputs);
  LoopView x = b.operand(0);
  struct Work {
    int dim;
    std::vector<Taps> taps;
    std::vector<Piece> pieces;
  };
  std::vector<Work> work;
  for (size_t d = 0; d < axes->size(); ++d) {
    std::optional<std::vector<Taps>> taps = taps_of((*axes)[d], mode_of(c), error);
    if (!taps) return false;
    std::vector<Piece> pieces = pieces_of(*taps);
    if ((*axes)[d].in != (*axes)[d].out || !is_same(pieces, *taps)) work.push_back({int(d), *taps, pieces});
  }
  for (size_t k = 0; k < work.size(); ++k) {
    Shape shape = x.shape;
    shape[size_t(work[k].dim)] = (*axes)[size_t(work[k].dim)].out;
    LoopView y = k + 1 == work.size()
                     ? b.result()
                     : b.temporary(fmt::format("resized{}", work[k].dim), DataType::f32, shape);
    copy_pieces(b, y, x, work[k].dim, work[k].taps, work[k].pieces);
    x = y;
  }
  if (work.empty()) b.copy(b.result(), x);
  // What lies outside of the region of interest along any axis.
  for (const Work& w : work) {
    for (const Piece& piece : w.pieces) {
      if (w.taps[size_t(piece.first)].empty())
        b.fill(b.result().sliced(w.dim, piece.first, piece.count, piece.step),
               attr_real(c.op, c.attrs, "extrapolation_value"));
    }
  }
  return true;
}

OpDef resize(std::string_view name, std::string_view onnx, std::string coordinates, std::string nearest) {
  AttrDef scales{"scales", AttrKind::reals, std::vector<double>{}, false}, roi = scales;
  roi.name = "roi";
  return by_loops(
      OpKind::loops, name, {onnx}, {"x"}, 0,
      {text("mode", "nearest"), text("coordinate_transformation_mode", std::move(coordinates)),
       text("nearest_mode", std::move(nearest)), real("cubic_coeff_a", -0.75), integer("exclude_outside", 0),
       real("extrapolation_value", 0), integer("antialias", 0), text("keep_aspect_ratio_policy", "stretch"),
       integers("axes"), roi, scales, integers("sizes")},
      shape_resize, loops_resize);
}

}  // namespace

void add_resizes(Rows& t) {
  OpDef row = resize("resize", "Resize", "half_pixel", "round_prefer_floor");
  row.onnx_inputs = {{1, "roi"}, {2, "scales"}, {3, "sizes"}};
  t.push_back(row);
  OpDef up = resize("upsample", "Upsample", "asymmetric", "floor");
  up.onnx_inputs = {{1, "scales"}};
  t.push_back(noted(up, "also Resize of opset 10"));
}

}  // namespace cs::ops
