// --launch is for CSL; --data and states are for training.
#include "tools/cs-sim/options_fit.h"

namespace cs {

bool options_fit(const SimOptions& o, const Program& p, Diag& diag) {
  if (runs_by_itself(p) && !o.launch.empty()) {
    diag.error_at("--launch",
                  "is for programs without a host part; this one is a model and runs its samples by itself",
                  "give its inputs with --inputs");
    return false;
  }
  const bool trains = runs_by_itself(p) && has_states(*p.host);
  if (!trains && !(o.data.empty() && o.state_in.empty() && o.state_out.empty())) {
    diag.error_at(!o.data.empty()       ? "--data"
                  : !o.state_in.empty() ? "--state-in"
                                        : "--state-out",
                  "is for programs that train; this one has no state that goes on from step to step",
                  "give what a model infers from with --inputs");
    return false;
  }
  return true;
}

}  // namespace cs
