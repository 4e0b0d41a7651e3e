// More shards are more kernels and more PEs; from where on they bring nothing, streams that are put together
// decide.
#include "tools/api/best_shards.h"

#include <utility>

#include "compiler/passes/shards.h"

namespace cs::api {

namespace {

constexpr double kWorth = 1.07;  // as of forms: estimates err by so much
// Columns help where outputs decide, and then by much: gpt in 2 shards and 4 columns is estimated at 0.83 of the
// interval without columns, and simulated at 1.03.
constexpr double kWorthColumns = 1.5;

// Nothing: it has no place, or too many kernels to be placed.
std::optional<Formed> estimate(const CompileOptions& options, const passes::PipelineOptions& pipeline,
                               const Start& start, const Machine& machine, int64_t shards, int64_t columns) {
  CompileOptions cut = options;
  cut.rewrites.shards = shards, cut.rewrites.columns = columns;
  cut.only_estimate = true;
  if (cut.copies == kAllCopies) cut.copies = 1;
  passes::PipelineOptions quiet = pipeline;
  quiet.dump_after.clear(), quiet.stop_after.clear();
  Formed f = begin_form(passes::Form::joined, start, machine);
  if (!compile_form(cut, quiet, start, f) || !f.out.mapped) return std::nullopt;
  return f;
}

// By formulas.
double interval_of(const Formed& f) { return f.out.mapped->estimate.planned_cycles; }

size_t kernels_of(const Formed& f) { return f.out.mapped->host.kernels.size(); }

}  // namespace

BestShards best_shards(const CompileOptions& options, const passes::PipelineOptions& pipeline, const Start& start,
                       const Machine& machine) {
  const int64_t given = options.rewrites.columns;
  BestShards best{1, given, estimate(options, pipeline, start, machine, 1, given)};
  const auto take = [&](std::optional<Formed> made, int64_t shards, int64_t columns, double worth) {
    if (!made || (best.made && interval_of(*made) * worth >= interval_of(*best.made))) return;
    best = {shards, columns, std::move(made)};
  };
  for (int64_t shards = 2; shards <= passes::kMostShards; shards *= 2)
    take(estimate(options, pipeline, start, machine, shards, given), shards, given, kWorth);
  if (given != 1) return best;
  const int64_t shards = best.shards;
  const size_t kernels = best.made ? kernels_of(*best.made) : 0;
  for (int64_t columns = 2; columns <= passes::kMostShards; columns *= 2) {
    std::optional<Formed> made = estimate(options, pipeline, start, machine, shards, columns);
    if (made && kernels_of(*made) == kernels) break;  // there is nothing to cut
    take(std::move(made), shards, columns, best.columns > 1 ? kWorth : kWorthColumns);
  }
  return best;
}

}  // namespace cs::api
