// Where the user rectangle lies in the fabric: given by options, else behind the margins that memcpy needs.
#pragma once

#include "compiler/csl/csl.h"

namespace cs::csl {

struct Placement {
  int fabric_width = 0, fabric_height = 0, x = 0, y = 0;
  int need_width = 0, need_height = 0;  // with the margins behind the rectangle
};

inline Placement placement_of(const CslOptions& options, const Machine& m, int width, int height, bool memcpy) {
  Placement p;
  p.x = options.offset_x >= 0 ? options.offset_x : memcpy ? m.memcpy.margin_west : 0;
  p.y = options.offset_y >= 0 ? options.offset_y : memcpy ? m.memcpy.margin_north : 0;
  p.need_width = p.x + width + (memcpy ? m.memcpy.margin_east : 0);
  p.need_height = p.y + height + (memcpy ? m.memcpy.margin_south : 0);
  p.fabric_width = options.fabric_width > 0 ? options.fabric_width : p.need_width;
  p.fabric_height = options.fabric_height > 0 ? options.fabric_height : p.need_height;
  return p;
}

}  // namespace cs::csl
