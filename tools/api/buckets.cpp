// Sizes at which another gradient joins the first bucket; not all of them, if there are many.
#include "tools/api/buckets.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "compiler/frontend/frontend.h"
#include "compiler/frontend/model_config.h"
#include "runtime/support/progress.h"
#include "tools/api/trial.h"

namespace cs::api {

namespace {

constexpr const char* kBytes = "runconfig.bucket_bytes";
constexpr const char* kFusion = "runconfig.allreduce_fusion";
constexpr size_t kMostSizes = 6;
// A step that takes so many times as long as was estimated is not waited for; nor is one whose PEs times cycles are
// more than that simulated: it is estimated.
constexpr double kPatience = 50, kMostWork = 512e6;

// A way to reduce gradients, and what came of it.
struct Way {
  std::string fusion;
  int64_t bytes = 0;
  std::optional<double> estimated = {}, simulated = {};
};

std::string word(const CompileOptions& o, const char* key) {
  const std::string extension = std::filesystem::path(o.input).extension().string();
  if (extension != ".yaml" && extension != ".yml") return "";
  Diag ignored;  // the model is read later, with its complaints
  const auto doc = YamlDoc::parse_file(o.input, ignored);
  if (!doc || !frontend::is_model_config(doc->root())) return "";
  auto config = frontend::ModelConfig::read(o.input, doc->root(), o.set_config, ignored);
  return config ? config->text(key, "") : "";
}

CompileOptions with(const CompileOptions& options, const Way& way) {
  CompileOptions o = options;
  o.set_config.push_back(fmt::format("{}={}", kFusion, way.fusion));
  o.set_config.push_back(fmt::format("{}={}", kBytes, way.bytes));
  return o;
}

// Bytes of the gradients of the last layers, more and more of them; a gradient has as many as its weight, or half of
// that where the network computes in 16 bits: then these sizes are every other one of its own.
std::vector<int64_t> sizes_of(const graph::Graph& g) {
  std::vector<int64_t> sums;
  for (auto s = g.states.rbegin(); s != g.states.rend(); ++s)
    if (s->purpose == "weights") sums.push_back((sums.empty() ? 0 : sums.back()) + s->initial->type.bytes());
  std::vector<int64_t> sizes;
  const size_t n = std::min(sums.size(), kMostSizes);
  for (size_t i = 0; i < n; ++i) sizes.push_back(sums[(i + 1) * sums.size() / n - 1]);
  return sizes;
}

// The same graph again is no other way.
std::vector<Way> ways_of(const CompileOptions& options, Diag& diag) {
  const std::string asked = word(options, kFusion);
  const bool all = asked.empty() || asked == "auto";
  std::vector<Way> list;
  const auto first = frontend::load_model(options.input, {options.dims, with(options, {"off", 1}).set_config}, diag);
  if (!first) return list;
  std::vector<std::string> seen;
  const auto add = [&](const std::string& fusion, int64_t bytes) {
    Diag ignored;
    const Way way{fusion, bytes};
    const auto g = frontend::load_model(options.input, {options.dims, with(options, way).set_config}, ignored);
    if (!g) return;
    std::string text = graph::graph_yaml(*g, "weights.bin");
    if (std::find(seen.begin(), seen.end(), text) != seen.end()) return;
    seen.push_back(std::move(text));
    list.push_back(way);
  };
  if (all || asked == "off") add("off", 1);
  for (const char* fusion : {"coalesced", "concat"})
    if (all || asked == fusion)
      for (const int64_t bytes : sizes_of(*first)) add(fusion, bytes);
  return list;
}

void measure(const CompileOptions& options, Way& way) {
  CompileOptions o = with(options, way);
  o.baselines = false;
  o.choices = false;
  o.command.clear();
  o.only_passes = o.only_mapping = false;
  o.pipeline.stop_after.clear();
  o.pipeline.dump_after.clear();
  if (o.host_ops == passes::HostOps::warn) o.host_ops = passes::HostOps::allow;
  Diag ignored;
  const auto made = compile(o, ignored);
  if (!made || !made->program || !made->mapped) return;
  way.estimated = made->mapped->estimate.interval_cycles;
  if (double(made->mapped->figures.area) * kTrialSamples * *way.estimated > kMostWork) return;
  const auto tried =
      try_out_steps(*made->program, made->weights, made->machine, kPatience * kTrialSamples * *way.estimated);
  if (tried) way.simulated = tried->interval;
}

// By simulated cycles where there are any: estimated ones are not compared with them.
const Way* best_of(const std::vector<Way>& all) {
  const Way* best = nullptr;
  for (const auto cycles : {&Way::simulated, &Way::estimated}) {
    for (const Way& way : all)
      if (way.*cycles && (best == nullptr || *(way.*cycles) < *(best->*cycles))) best = &way;
    if (best != nullptr) return best;
  }
  return &all.front();  // compiling it says what is wrong
}

}  // namespace

bool wants_buckets(const CompileOptions& options) { return word(options, kBytes) == "auto"; }

bool choose_buckets(CompileOptions& options, std::vector<ConsideredForm>& considered, Diag& diag) {
  std::vector<Way> all = ways_of(options, diag);
  if (!diag.ok()) return false;
  if (all.size() < 2) return true;  // there is nothing to choose
  for (size_t i = 0; i < all.size(); ++i) {
    const progress::Within turn(double(i) / double(all.size()), double(i + 1) / double(all.size()));
    measure(options, all[i]);
  }
  const Way* best = best_of(all);
  for (const Way& way : all) {
    ConsideredForm& form = considered.emplace_back();
    form.form = way.fusion == "off" ? "gradients apart"
                                    : fmt::format("gradients {} in buckets of {} bytes", way.fusion, way.bytes);
    form.planned = way.estimated.value_or(0);
    form.simulated = way.simulated;
    form.taken = &way == best;
    if (!way.estimated) form.left = "it cannot be compiled";
  }
  options = with(options, *best);
  return true;
}

}  // namespace cs::api
