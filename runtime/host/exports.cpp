// Walks the rectangles of tile programs that have a symbol.
#include "runtime/host/exports.h"

#include <algorithm>
#include <cstdint>

namespace cs {

std::optional<ExportExtent> extent_of_export(const Program& p, const std::string& name) {
  int left = INT32_MAX, top = INT32_MAX, right = -1, bottom = -1;
  ExportExtent e;
  for (const TileRect& r : p.rects) {
    const Symbol* s = p.tiles[r.tile].symbol(name);
    if (s == nullptr) continue;
    left = std::min(left, r.rect.x);
    top = std::min(top, r.rect.y);
    right = std::max(right, r.rect.x + r.rect.w);
    bottom = std::max(bottom, r.rect.y + r.rect.h);
    e.elements = std::max(e.elements, s->elements);
    e.type = s->type;
  }
  if (right < 0) return std::nullopt;
  e.rect = {left - p.user.x, top - p.user.y, right - left, bottom - top};
  return e;
}

std::optional<NamedArray> read_export(Device& device, const std::string& name) {
  const Program& p = device.program();
  const auto extent = extent_of_export(p, name);
  if (!extent || extent->elements == 0) return std::nullopt;
  const size_t bytes = extent->elements * size_t(data_type_bytes(extent->type));
  ops::Tensor tensor(ops::TensorType{extent->type, {extent->rect.h, extent->rect.w, extent->elements}});
  for (const TileRect& r : p.rects) {
    const Symbol* s = p.tiles[r.tile].symbol(name);
    if (s == nullptr) continue;
    const size_t count = s->elements * size_t(data_type_bytes(s->type));
    for (int y = r.rect.y; y < r.rect.y + r.rect.h; ++y)
      for (int x = r.rect.x; x < r.rect.x + r.rect.w; ++x) {
        const size_t at = size_t(y - p.user.y - extent->rect.y) * size_t(extent->rect.w) +
                          size_t(x - p.user.x - extent->rect.x);
        device.read({x, y}, s->address, std::span(tensor.bytes).subspan(at * bytes, std::min(count, bytes)));
      }
  }
  return NamedArray{name, std::move(tensor)};
}

std::vector<NamedArray> read_exports(Device& device) {
  std::vector<NamedArray> out;
  for (const ExportedName& e : device.program().exports) {
    if (e.is_function) continue;
    if (auto array = read_export(device, e.name)) out.push_back(std::move(*array));
  }
  return out;
}

}  // namespace cs
