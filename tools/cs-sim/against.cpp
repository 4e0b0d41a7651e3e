// The other program runs in a child with the same number of samples; its figures come from its JSON, its
// values from a temporary npz file.
#include "tools/cs-sim/against.h"

#include <fmt/format.h>

#include <filesystem>

#include "runtime/support/temporaries.h"
#include "tools/cs-sim/check.h"
#include "tools/cs-sim/child.h"

namespace cs {
namespace {

using Json = nlohmann::json;

void compare(sim::RunReport& r, const std::string& name, std::optional<double> value, const Json& base) {
  if (value && base.is_number()) r.comparisons.push_back({name, *value, base.get<double>()});
}

template <typename T>
std::optional<double> as_double(const std::optional<T>& v) {
  return v ? std::optional(double(*v)) : std::nullopt;
}

void compare_figures(sim::RunReport& r, const Json& base) {
  const auto other = [&](const char* name) { return base.value(name, Json()); };
  compare(r, "cycles", double(r.cycles), other("cycles"));
  compare(r, "latency_cycles", as_double(r.latency_cycles), other("latency_cycles"));
  compare(r, "interval_cycles", r.interval_cycles, other("interval_cycles"));
  compare(r, "samples_per_second", r.samples_per_second, other("samples_per_second"));
  compare(r, "flops", double(r.flops), other("flops"));
  compare(r, "utilisation", r.utilisation, other("utilisation"));
  compare(r, "wavelet_hops", double(r.wavelet_hops), other("wavelet_hops"));
  compare(r, "pes_used", double(r.pes_used), other("pes_used"));
  compare(r, "busy", double(r.time.busy), other("busy"));
  compare(r, "idle", double(r.time.idle), other("idle"));
  compare(r, "memory_bytes_max", double(r.memory_bytes_max), other("memory_bytes_max"));
  for (const sim::KernelReport& k : r.kernels)
    for (const Json& row : base.value("kernels", Json::array()))
      if (row.value("name", "") == k.row.name)
        compare(r, k.row.name + " cycles", k.cycles, row.value("cycles", Json()));
}

std::string compare_values(const Program& p, const std::vector<NamedArray>& outputs, const std::string& file,
                           int samples) {
  Diag diag;
  const auto base = read_npz(file, diag);
  if (!base) return "The outputs of the other program could not be compared.";
  const CheckResult c = check_outputs(p, outputs, *base, samples);
  if (!c.ok) return "The outputs differ: " + c.mismatch;
  return fmt::format("The outputs agree: largest difference {:.2g} of the largest value (tolerance {:.0e}).",
                     c.max_rel, c.tolerance);
}

}  // namespace

bool run_against(const SimOptions& o, const Program& p, const std::vector<NamedArray>& outputs,
                 sim::RunReport& r, Diag& diag) {
  const Temporary outputs_of_it((std::filesystem::temp_directory_path() / "cs-sim-against.npz").string());
  const std::string& file = outputs_of_it.path();
  std::vector<std::string> arguments{"--quiet", "--outputs", file, "--iterations",
                                     std::to_string(std::max(1, r.iterations))};
  if (!o.inputs.empty()) arguments.insert(arguments.end(), {"--inputs", o.inputs});
  for (const std::string& function : o.launch) arguments.insert(arguments.end(), {"--launch", function});
  const ChildRun base = run_child_sim(o, o.against, arguments);
  if (base.exit_code != kOk) {
    diag.error_at(o.against, "the program to compare with does not run", base.error);
    return false;
  }
  r.against = base.stats.value("model", "");
  if (r.against.empty()) r.against = base.stats.value("program", "");
  if (const std::string policy = base.stats.value("policy", ""); !policy.empty())
    r.against += " (" + policy + ")";
  compare_figures(r, base.stats);
  r.against_note = compare_values(p, outputs, file, r.iterations);
  return true;
}

}  // namespace cs
