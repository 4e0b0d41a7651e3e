// See description.h.
#include "compiler/kernels/description.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "compiler/kernels/choice.h"
#include "runtime/support/yaml.h"

namespace cs::kernels {

namespace {

constexpr int kMostOperands = 64;  // of an epilogue
constexpr int64_t kMost = int64_t(1) << 40;

std::string order_name(TileOrder order) {
  switch (order) {
    case TileOrder::straight: return "rows";
    case TileOrder::ring: return "ring";
    case TileOrder::skewed_columns: return "skewed columns";
    case TileOrder::skewed_rows: return "skewed rows";
  }
  return "rows";
}

std::string port_name(Distribution d, bool turns) {
  if (turns) return "turns";
  return d == Distribution::whole ? "whole" : d == Distribution::slices ? "slices" : "selected";
}

void streamed_layouts(const Choice& choice, const Cut& cut, ProductDescription& d) {
  const Footprint f = choice.work.kind->footprint(choice.work, cut);
  d.x_layout = port_name(f.in.front().distribution, false);
  d.w_layout = "columns";
  d.y_layout = port_name(f.out.front().distribution, f.out.front().turns);
  d.order = order_name(TileOrder::straight);
}

void resident_layouts(const Choice& choice, const Cut& cut, ProductDescription& d) {
  const ResidentArrays arrays = choice.work.kind->resident_arrays(choice, cut);
  const auto name = [](const ResidentArray& a) {
    return fmt::format("tiles of {} x {}, {}", a.tile_rows, a.tile_columns, order_name(a.order));
  };
  d.x_layout = name(arrays.operands.front());
  d.y_layout = name(arrays.result);
  d.w_layout = arrays.operands.size() > 1 ? name(arrays.operands[1]) : "";
  for (const ResidentArray& a : arrays.constants)
    if (a.name == "w") d.w_layout = name(a);
  d.order = order_name(arrays.result.order);
}

bool read_epilogue(const std::string& text, SourceLoc loc, ProductDescription& d, Diag& diag) {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list;
    for (int i = 0; i < kMostOperands; ++i) list.push_back(fmt::format("in{}", i));
    return list;
  }();
  const std::vector<std::string_view> operands(names.begin(), names.end());
  std::string error;
  d.epilogue = ops::parse_expr(text, operands, {}, error);
  if (!d.epilogue) diag.error(loc, "'epilogue': " + error);
  return d.epilogue.has_value();
}

// Numbers of two, and each at least 1.
bool pair(const std::vector<int64_t>& list, const char* key, int64_t& first, int64_t& second, SourceLoc loc,
          Diag& diag) {
  const auto fits = [](int64_t n) { return n >= 1 && n <= kMost; };
  if (list.size() != 2 || !std::ranges::all_of(list, fits)) {
    diag.error(loc, fmt::format("'{}' must be two numbers from 1 on", key));
    return false;
  }
  first = list[0], second = list[1];
  return true;
}

}  // namespace

std::optional<ProductDescription> describe_product(const Choice& choice, const Cut& cut) {
  const Work& work = choice.work;
  const std::array<const Kind*, 4> products{contraction_kind(), resident_product_kind(), resident_shift_kind(),
                                            resident_gemv_kind()};
  if (std::ranges::find(products, work.kind) == products.end()) return std::nullopt;
  ProductDescription d;
  d.kernel = choice.kernel;
  d.rows = work.rows, d.inputs = work.n, d.outputs = work.m;
  d.blocking = kernels::blocking(choice, cut);
  work.resident ? resident_layouts(choice, cut, d) : streamed_layouts(choice, cut, d);
  d.x_type = d.y_type = work.half ? "f16" : "f32";
  d.w_type = work.bytes ? "i8" : work.native ? "f16" : "f32";
  d.sum_type = "f32";
  if (choice.expr) d.epilogue = ops::prune(*choice.expr);
  return d;
}

std::string description_text(const ProductDescription& d) {
  const Blocking& b = d.blocking;
  std::string text = fmt::format(
      "{{kernel: {}, rows: {}, inputs: {}, outputs: {}, plane: [{}, {}], parts: [{}, {}], tile: [{}, {}], "
      "layouts: [{}, {}, {}], types: [{}, {}, {}, {}], order: {}",
      yaml_quote(d.kernel), d.rows, d.inputs, d.outputs, b.rows, b.columns, b.parts_down, b.parts_across, b.tile_rows,
      b.tile_columns, yaml_quote(d.x_layout), yaml_quote(d.w_layout), yaml_quote(d.y_layout), yaml_quote(d.x_type),
      yaml_quote(d.w_type), yaml_quote(d.sum_type), yaml_quote(d.y_type), yaml_quote(d.order));
  if (d.epilogue) text += fmt::format(", epilogue: \"{}\"", ops::expr_text(*d.epilogue));
  return text + "}";
}

std::optional<ProductDescription> parse_description(std::string text, const std::string& name, Diag& diag) {
  const std::optional<YamlDoc> doc = YamlDoc::parse_text(std::move(text), name, diag);
  if (!doc) return std::nullopt;
  YamlMap m(doc->root(), "description", diag);
  if (!m.valid()) return std::nullopt;
  ProductDescription d;
  std::vector<std::string> layouts, types;
  std::vector<int64_t> plane, parts, tile;
  bool good = m.required("kernel", d.kernel) & m.required("rows", d.rows) & m.required("inputs", d.inputs) &
              m.required("outputs", d.outputs) & m.required("plane", plane) & m.required("parts", parts) &
              m.required("tile", tile) & m.required("layouts", layouts) & m.required("types", types) &
              m.required("order", d.order);
  std::string epilogue;
  good &= m.optional("epilogue", epilogue);
  m.finish();
  if (!good || !diag.ok()) return std::nullopt;
  int64_t down = 1, across = 1, ignored = 1;
  good = pair({d.rows, d.inputs}, "rows' and 'inputs", ignored, ignored, m.loc(), diag) &
         pair({d.outputs, 1}, "outputs", ignored, ignored, m.loc(), diag) &
         pair(plane, "plane", d.blocking.rows, d.blocking.columns, m.loc(), diag) &
         pair(parts, "parts", down, across, m.loc(), diag) &
         pair(tile, "tile", d.blocking.tile_rows, d.blocking.tile_columns, m.loc(), diag);
  if (std::max(down, across) > INT32_MAX) good = false, diag.error(m.loc(), "'parts' are more than PEs are counted in");
  if (layouts.size() != 3) good = false, diag.error(m.loc(), "'layouts' must be those of two operands and the result");
  if (types.size() != 4)
    good = false, diag.error(m.loc(), "'types' must be those of two operands, of sums and of the result");
  if (!good) return std::nullopt;
  d.blocking.parts_down = int(down), d.blocking.parts_across = int(across);
  d.x_layout = layouts[0], d.w_layout = layouts[1], d.y_layout = layouts[2];
  d.x_type = types[0], d.w_type = types[1], d.sum_type = types[2], d.y_type = types[3];
  if (const YamlNode* node = m.child("epilogue"))
    if (!read_epilogue(epilogue, node->loc(), d, diag)) return std::nullopt;
  return d;
}

}  // namespace cs::kernels
