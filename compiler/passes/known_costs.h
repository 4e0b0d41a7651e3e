// Costs that are pure functions of a kernel's work and the machine, found once: layers of a network are alike, a group
// of operators is asked for its cost with every neighbour, and a model is compiled again in other forms and where
// kernels found no place.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "compiler/autogen/region.h"
#include "compiler/autogen/statement_costs.h"
#include "compiler/kernels/region_parts.h"
#include "compiler/mapping/known_plans.h"
#include "runtime/machine/machine.h"

namespace cs::passes {

// May be used by several threads.
class KnownCosts {
 public:
  explicit KnownCosts(const Machine& machine)
      : machine_(machine),
        statements_(std::make_shared<autogen::StatementCosts>(machine)),
        plans_(std::make_shared<mapping::KnownPlans>()) {}
  const Machine& machine() const { return machine_; }
  const std::shared_ptr<autogen::StatementCosts>& statements() const { return statements_; }
  const std::shared_ptr<mapping::KnownPlans>& plans() const { return plans_; }

  // What is known of regions that compute the same as this one; it stays where it is.
  struct OfRegion {
    std::optional<kernels::RegionCosts> costs;
  };
  OfRegion& find(const autogen::Region&);
  // On a row of PEs if its interval is enough, else on any rectangle; `known` is what find() returned.
  kernels::Cost of(const autogen::Region&, OfRegion& known, double enough);
  kernels::Cost of(const kernels::Work&);

 private:
  const Machine machine_;
  const std::shared_ptr<autogen::StatementCosts> statements_;
  const std::shared_ptr<mapping::KnownPlans> plans_;
  std::mutex mutex_;
  std::unordered_map<std::string, OfRegion> regions_;  // by LoopKey
  std::vector<std::pair<kernels::Work, kernels::Cost>> works_;
};

}  // namespace cs::passes
