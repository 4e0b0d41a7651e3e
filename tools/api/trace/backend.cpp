// Names of backends, the programs that they have, and what their times say.
#include "tools/api/trace/backend.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "compiler/passes/passes.h"
#include "runtime/machine/machine.h"
#include "tools/api/trace/backend_state.h"

namespace cs {

namespace {

constexpr int64_t kMany = 10;  // traces from which on their share says something
constexpr double kLargeShare = 0.5;
constexpr const char* kDefaultMachine = "wse2";

std::weak_ptr<tracing::BackendState>& last_made() {
  static std::weak_ptr<tracing::BackendState> last;
  return last;
}

void check(const BackendOptions& o) {
  if (!passes::policy_from_name(o.policy))
    throw BackendError(fmt::format("policy '{}'; there are disabled, default, medium, aggressive", o.policy));
  if (!passes::host_ops_from_name(o.host_ops))
    throw BackendError(fmt::format("host_ops '{}'; there are forbid, warn, allow", o.host_ops));
  if (o.fabric && (o.fabric->first < 1 || o.fabric->second < 1))
    throw BackendError(
        fmt::format("fabric {}x{}: width and height are at least 1", o.fabric->first, o.fabric->second));
}

void check_machine(const std::string& name, const std::string& machine) {
  Diag diag;
  if (load_machine(machine, diag)) return;
  const Diagnostic& first = diag.all().front();
  throw BackendError(fmt::format("unknown backend '{}': there are host, sim ({}) and the machines {}; {}",
                                 name, kDefaultMachine, fmt::join(machine_names(), ", "), first.message));
}

}  // namespace

double Statistics::trace_share() const {
  const double whole = trace_seconds + execute_seconds;
  return whole > 0 ? trace_seconds / whole : 0;
}

std::string Statistics::hint() const {
  if (traces < kMany || trace_share() <= kLargeShare) return "";
  return fmt::format(
      "tracing takes {:.0f} % of the time; without retrace_every_iteration a step is traced once",
      100 * trace_share());
}

std::string Statistics::text() const {
  std::string text =
      fmt::format("{} iterations, {} traces\ntrace {:.3f} s, compile {:.3f} s, execute {:.3f} s", iterations,
                  traces, trace_seconds, compile_seconds, execute_seconds);
  if (cycles > 0) text += fmt::format("\n{} cycles in the last step", cycles);
  return hint().empty() ? text : text + "\nhint: " + hint();
}

const std::string& Backend::name() const { return state_->name; }
const BackendOptions& Backend::options() const { return state_->options; }
const Statistics& Backend::statistics() const { return state_->statistics; }

Backend backend(const std::string& name, const BackendOptions& options) {
  check(options);
  auto state = std::make_shared<tracing::BackendState>();
  state->name = name;
  state->machine = name == "sim" || name == "host" ? kDefaultMachine : name;
  state->options = options;
  check_machine(name, state->machine);
  if (!state->is_host()) last_made() = state;
  return Backend(std::move(state));
}

namespace tracing {

std::shared_ptr<BackendState> latest_backend() { return last_made().lock(); }

std::shared_ptr<GraphProgram> BackendState::program(const std::shared_ptr<const Tracer>& tracer,
                                                    const std::vector<Line>& lines) {
  const std::string key = digest(lines);
  const auto found = programs.find(key);
  std::shared_ptr<GraphProgram> known = found == programs.end() ? nullptr : found->second;
  const std::string stale = known ? known->stale() : "";
  if (known && known == loaded && stale.empty()) return known;
  if (loaded && !options.reload && !is_host()) {
    const std::string why = !stale.empty()
                                ? fmt::format("{} has changed since", stale)
                                : fmt::format("the graph of {}() is another one", tracer->graph.name);
    throw ReloadError(
        fmt::format("this wafer has been programmed with {}(), and {}; a wafer is programmed once, unless "
                    "the option `reload` of backend(\"{}\") allows more",
                    loaded->name(), why, name));
  }
  if (!known || !stale.empty()) known = programs[key] = std::make_shared<GraphProgram>(tracer, *this);
  return loaded = known;
}

}  // namespace tracing
}  // namespace cs
