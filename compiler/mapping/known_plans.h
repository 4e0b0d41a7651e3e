// Rectangles of kernels that were sized before, and floorplans: a model is compiled in several forms, down the ladder
// of its fallbacks and for its advice, and most kernels are the same each time. Of one machine.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "compiler/mapping/known_floorplans.h"
#include "compiler/mapping/known_layouts.h"
#include "compiler/mapping/plan.h"

namespace cs::mapping {

// May be used by several threads.
class KnownPlans {
 public:
  // What plans depend on beside the kernel's work.
  struct Sizing {
    Extent limit, forced, most;  // as in MapOptions
    int64_t pes = 0;             // of a kernel, at most
    uint32_t memory = 0;         // of a PE, for what estimates count
    bool alone = false;          // the network's only kernel
  };
  struct Plans {
    PlanList list;
    std::string why;  // there are none
  };
  std::optional<Plans> find(const Instance&, const Sizing&) const;
  void add(const Instance&, const Sizing&, Plans);
  KnownFloorplans& floorplans() { return floorplans_; }
  KnownLayouts& layouts() { return layouts_; }

 private:
  using Key = std::array<int64_t, 11>;
  struct Known {
    Instance instance;  // what alike() compares
    Plans plans;
  };
  static Key key_of(const Instance&, const Sizing&);

  mutable std::mutex mutex_;
  std::map<Key, std::vector<Known>> known_;
  KnownFloorplans floorplans_;
  KnownLayouts layouts_;
};

}  // namespace cs::mapping
