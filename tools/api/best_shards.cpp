// More shards are more kernels and more PEs; from where on they bring nothing, streams that are put together
// decide.
#include "tools/api/best_shards.h"

#include <optional>

#include "compiler/passes/shards.h"

namespace cs::api {

namespace {

constexpr double kWorth = 1.07;  // as of forms: estimates err by so much

// By formulas; nothing: it has no place, or too many kernels to be placed.
std::optional<double> interval_of(const CompileOptions& options, const passes::PipelineOptions& pipeline,
                                  const Start& start, const Machine& machine, int64_t shards) {
  CompileOptions cut = options;
  cut.rewrites.shards = shards;
  cut.only_estimate = true;
  if (cut.copies == kAllCopies) cut.copies = 1;
  passes::PipelineOptions quiet = pipeline;
  quiet.dump_after.clear(), quiet.stop_after.clear();
  Formed f = begin_form(passes::Form::joined, start, machine);
  if (!compile_form(cut, quiet, start, f) || !f.out.mapped) return std::nullopt;
  return f.out.mapped->estimate.planned_cycles;
}

}  // namespace

int64_t best_shards(const CompileOptions& options, const passes::PipelineOptions& pipeline,
                    const Start& start, const Machine& machine) {
  int64_t best = 1;
  std::optional<double> least = interval_of(options, pipeline, start, machine, 1);
  for (int64_t shards = 2; shards <= passes::kMostShards; shards *= 2) {
    const std::optional<double> interval = interval_of(options, pipeline, start, machine, shards);
    if (!interval || (least && *interval * kWorth >= *least)) continue;
    least = interval, best = shards;
  }
  return best;
}

}  // namespace cs::api
