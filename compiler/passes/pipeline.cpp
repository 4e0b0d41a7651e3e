// The ordered pass table and its manager.
#include <algorithm>
#include <chrono>
#include <filesystem>

#include <fmt/format.h>

#include "compiler/graph/fold.h"
#include "compiler/graph/graph_yaml.h"
#include "compiler/graph/sample.h"
#include "compiler/passes/known_costs.h"
#include "compiler/passes/passes.h"
#include "runtime/support/files.h"
#include "runtime/support/progress.h"

namespace cs::passes {

namespace {

constexpr Pass kPasses[] = {
    {"shapes", "infer the type of every value and follow the sample dimension", infer_shapes},
    {"unroll", "make a kernel of every step of a recurrence, where that is faster or with --unroll",
     unroll_recurrences},
    {"fold", "evaluate nodes whose operands are constant", fold_constants},
    {"canonicalise", "remove identities, fold alpha and beta of gemm, move bias additions into products",
     canonicalise},
    {"shards", "compute parts of a sample beside each other, with --shards", cut_in_shards},
    {"decompose", "replace compounds that have no kernel by primitives", decompose_compounds},
    {"tables", "split tables of gathers whose columns are longer than a PE's memory", split_tables},
    {"split", "cut operators that no rectangle of PEs held into parts", split_operators},
    {"policy", "choose handwritten, generated or host for every node", choose_origins},
    {"pieces", "let inputs and outputs cross the edge in pieces where one stream would be the slowest", cross_in_pieces,
     true},
    {"host", "warn of operators on the host, or refuse them, as --host-ops says", judge_host},
    {"rows", "make one kernel of operators over whole rows with sums or maxima of them", fuse_rows, true},
    {"fuse", "join elementwise nodes to the kernel whose result they use", fuse_elementwise, true},
    {"regions", "join operators to the region that makes their operands", fuse_regions, true},
    {"finalise", "make the choices that waited for something to join their kernels", finalise_choices},
    {"map", "size, place, route and color the kernels, write their CSL", map_to_fabric},
};

bool dump(const graph::Graph& g, const PassContext& context, const PipelineOptions& options, size_t index,
          std::string_view pass, Diag& diag) {
  std::string stem = fmt::format("{:02}-{}", index + 1, pass);
  graph::GraphText text = graph::graph_text(g, stem + ".bin", plan_header(context, pass));
  std::filesystem::path folder(options.dump_dir);
  std::error_code ignored;
  std::filesystem::create_directories(folder, ignored);
  if (!write_file_atomic((folder / (stem + ".yaml")).string(), text.yaml, diag)) return false;
  std::string_view weights(reinterpret_cast<const char*>(text.weights.data()), text.weights.size());
  return text.weights.empty() || write_file_atomic((folder / (stem + ".bin")).string(), weights, diag);
}

size_t index_of(std::string_view name) {
  size_t i = 0;
  while (i < std::size(kPasses) && kPasses[i].name != name) ++i;
  return i;
}

// Placement is no key that mapping reads, so that map runs whatever the plan says.
size_t first_pass(const PipelineOptions& options, Diag& diag) {
  constexpr size_t kMap = std::size(kPasses) - 1;
  if (options.start_after.empty()) return 0;
  const size_t done = index_of(options.start_after);
  if (done > kMap) {
    diag.error_at("plan", fmt::format("'after' names '{}', which is no pass", options.start_after),
                  "cs-compile --list-passes lists them");
  } else if (!options.stop_after.empty() && std::min(done + 1, kMap) > index_of(options.stop_after)) {
    diag.error_at("plan", fmt::format("it is already past the pass '{}', at '{}'", options.stop_after,
                                      options.start_after));
  }
  return std::min(done + 1, kMap);
}

// Nearly all the time goes into joining regions and into mapping; what is left after that is the CSL half's.
void show_stage(size_t pass) {
  constexpr double kFirst = 0.03, kOther = 0.005, kRegions = 0.15, kMapped = 0.8;
  const auto share = [](size_t i) { return kPasses[i].run == fuse_regions ? kRegions : kOther; };
  double from = kFirst;
  for (size_t i = 0; i < pass; ++i) from += share(i);
  progress::stage(kPasses[pass].name, from, kPasses[pass].run == map_to_fabric ? kMapped : from + share(pass));
}

}  // namespace

graph::PlanHeader plan_header(const PassContext& context, std::string_view after) {
  const std::string form(context.form == Form::joined ? "" : form_name(context.form));
  return {std::string(policy_name(context.policy)), std::string(after), form, context.map.copies.count, context.pace};
}

KnownCosts& PassContext::known_costs() {
  if (!known) known = std::make_shared<KnownCosts>(machine);
  return *known;
}

std::span<const Pass> pass_table() { return kPasses; }

bool is_pass(std::string_view name) { return index_of(name) < std::size(kPasses); }

bool is_optional_pass(std::string_view name) { return is_pass(name) && kPasses[index_of(name)].optional; }

bool run_passes(graph::Graph& g, PassContext& context, const PipelineOptions& options,
                std::vector<PassRecord>& records) {
  bool compare = !options.dump_after.empty();
  std::string before = compare ? graph::graph_yaml(g, "") : "";
  const size_t first = first_pass(options, context.diag);
  if (!context.diag.ok()) return false;
  for (size_t i = first; i < std::size(kPasses); ++i) {
    const Pass& pass = kPasses[i];
    if (std::find(options.without.begin(), options.without.end(), pass.name) != options.without.end()) {
      if (options.stop_after == pass.name) break;
      continue;
    }
    auto start = std::chrono::steady_clock::now();
    show_stage(i);
    bool ok = pass.run(g, context) && graph::verify(g, context.diag);
    PassRecord record{std::string(pass.name)};
    if (pass.run == map_to_fabric && context.mapped) record.steps = context.mapped->seconds;
    record.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (compare) {
      std::string after = graph::graph_yaml(g, "");
      record.changed = after != before;
      before = std::move(after);
    }
    records.push_back(record);
    bool wanted = options.dump_after == "all" || options.dump_after == pass.name ||
                  (options.dump_after == "changed" && record.changed);
    if (wanted && !dump(g, context, options, i, pass.name, context.diag)) return false;
    if (!ok) return false;
    if (options.stop_after == pass.name) break;
  }
  return true;
}

bool infer_shapes(graph::Graph& g, PassContext& context) {
  bool ok = true;
  for (graph::NodeId id : g.topological()) {
    for (graph::ValueId v : g.node(id).outputs) g.value(v).typed = false;
    bool ready = true;
    for (graph::ValueId v : g.node(id).inputs) ready = ready && (!v.valid() || g.value(v).typed);
    ok = ready && graph::infer_node(g, id, context.diag) && ok;
  }
  return ok && graph::propagate_samples(g, context.diag);
}

bool fold_constants(graph::Graph& g, PassContext& context) {
  for (graph::NodeId id : g.topological()) {
    if (graph::can_fold(g, id) && !graph::fold_node(g, id, context.diag)) return false;
  }
  return true;
}

bool map_to_fabric(graph::Graph& g, PassContext& context) {
  context.map.more_bytes = context.fallbacks.more_bytes();
  context.map.statements = context.known_costs().statements();
  context.map.known_plans = context.known_costs().plans();
  context.misfits.clear();
  if (context.measured != nullptr) {
    context.measured->footprints(g);
    context.map.measured = context.measured->plans();
  }
  context.mapped = mapping::map_graph(g, context.machine, context.map, context.diag, &context.misfits);
  if (!context.mapped) return false;
  for (const KernelRow& row : context.mapped->host.kernels) {
    if (row.rect.area() == 0 || row.copy > 0) continue;
    for (const std::string& name : row.nodes) {
      if (std::optional<graph::NodeId> id = g.find_node(name)) g.node(*id).assignment.rect = row.rect;
    }
  }
  return true;
}

}  // namespace cs::passes
