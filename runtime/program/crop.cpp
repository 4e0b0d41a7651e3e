// Rectangles are intersected and moved; tile programs stay as they are.
#include "runtime/program/crop.h"

#include <algorithm>

namespace cs {
namespace {

// The part of `r` inside the block, in its coordinates; no area if there is none.
Rect inside(const Rect& r, const Rect& block) {
  const int left = std::max(r.x, block.x), top = std::max(r.y, block.y);
  const auto right = int(std::min(r.right(), block.right())),
             bottom = int(std::min(r.bottom(), block.bottom()));
  if (left >= right || top >= bottom) return {};
  return {left - block.x, top - block.y, right - left, bottom - top};
}

bool at_edge(const HostPort& port, const Program& p, const Rect& block) {
  const bool row = port.side == Port::west || port.side == Port::east;
  const int from = row ? block.y : block.x, count = row ? block.h : block.w;
  if (port.position < from || port.position >= from + count) return false;
  switch (port.side) {
    case Port::west:
      return block.x == 0;
    case Port::east:
      return block.right() == p.fabric_width;
    case Port::north:
      return block.y == 0;
    default:
      return block.bottom() == p.fabric_height;
  }
}

}  // namespace

Program crop(const Program& whole, const Rect& block) {
  Program p = whole;
  p.fabric_width = block.w;
  p.fabric_height = block.h;
  p.user = {whole.user.x - block.x, whole.user.y - block.y, whole.user.w, whole.user.h};
  p.host.reset();
  p.rects.clear();
  for (const TileRect& r : whole.rects)
    if (const Rect part = inside(r.rect, block); part.area() > 0) p.rects.push_back({part, r.tile});
  p.routes.clear();
  for (const RouteRun& r : whole.routes)
    if (const Rect part = inside(r.rect, block); part.area() > 0)
      p.routes.push_back({part, r.color, r.config});
  p.ports.clear();
  for (const HostPort& port : whole.ports) {
    if (!at_edge(port, whole, block)) continue;
    p.ports.push_back(port);
    p.ports.back().position -= port.side == Port::west || port.side == Port::east ? block.y : block.x;
  }
  return p;
}

}  // namespace cs
