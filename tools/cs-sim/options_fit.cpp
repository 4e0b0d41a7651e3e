// --launch is for CSL; --data and states are for training.
#include "tools/cs-sim/options_fit.h"

#include "runtime/host/training_data.h"

namespace cs {

bool options_fit(const SimOptions& o, const Program& p, Diag& diag) {
  if (runs_by_itself(p) && !o.launch.empty()) {
    diag.error_at("--launch",
                  "is for programs without a host part; this one is a model and runs its samples by itself",
                  "give its inputs with --inputs");
    return false;
  }
  const bool steps = runs_by_itself(p) && runs_in_steps(*p.host), trains = steps && has_states(*p.host);
  const std::string states = !o.state_in.empty() ? "--state-in" : !o.state_out.empty() ? "--state-out" : "";
  if (steps && !trains && !states.empty()) {
    diag.error_at(states, "is for programs that train; this one evaluates with the weights that it was compiled with",
                  "runconfig.checkpoint_path names a file of others");
    return false;
  }
  if (steps || (o.data.empty() && o.eval_data.empty() && states.empty())) return true;
  diag.error_at(!o.data.empty() ? "--data" : !o.eval_data.empty() ? "--eval-data" : states,
                "is for programs that train; this one has no state that goes on from step to step",
                "give what a model infers from with --inputs");
  return false;
}

}  // namespace cs
