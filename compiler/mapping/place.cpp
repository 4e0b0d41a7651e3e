// Placing: shelves along the dataflow. Instances stand in their order from west to east; when a shelf is
// full, the next one starts south of it. A block is the kernel's rectangle with its feeders to the west of
// it.
//
// The shelf width is the widest block or about twice the side of a square with the whole area, whichever is
// larger: streams stay short and the fabric that has to be simulated stays compact.
#include <algorithm>
#include <cmath>

#include "compiler/mapping/plan.h"

namespace cs::mapping {

namespace {

int block_width(const Instance& inst) { return inst.feeders() + inst.plan.cut.w + inst.collectors(); }

bool fill_shelves(std::vector<Instance>& instances, int shelf_width, const Extent& limit, Extent& used) {
  int x = 0, y = 0, shelf_height = 0;
  used = {};
  for (Instance& inst : instances) {
    int width = block_width(inst), height = inst.plan.cut.h;
    if (width > limit.width) return false;
    if (x > 0 && x + width > shelf_width) {
      y += shelf_height;
      x = 0;
      shelf_height = 0;
    }
    if (y + height > limit.height) return false;
    inst.rect = {x + inst.feeders(), y, inst.plan.cut.w, height};
    x += width;
    shelf_height = std::max(shelf_height, height);
    used.width = std::max(used.width, x);
    used.height = std::max(used.height, y + height);
  }
  return true;
}

}  // namespace

bool place_instances(std::vector<Instance>& instances, const Extent& limit, Extent& used) {
  int64_t area = 0;
  int widest = 1;
  for (const Instance& inst : instances) {
    area += int64_t(block_width(inst)) * inst.plan.cut.h;
    widest = std::max(widest, block_width(inst));
  }
  int wanted = std::max(widest, int(std::ceil(2 * std::sqrt(double(area)))));
  for (int width = std::min(wanted, limit.width);; width = std::min(limit.width, width * 2)) {
    if (fill_shelves(instances, width, limit, used)) return true;
    if (width >= limit.width) return false;
  }
}

}  // namespace cs::mapping
