// Which rectangles are tried, and what a kernel alone is.
#include "tools/api/kernel_tuner.h"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>

#include "compiler/kernels/kind.h"
#include "tools/api/ladder.h"

namespace cs::api {

namespace {

using graph::Graph;
using graph::NodeId;
using mapping::RectChoice;

// What a level looks at: kernels that take this share of the slowest one's interval, so many rectangles of
// each whose estimates are within this factor, on so many times the PEs.
struct Reach {
  double share;
  size_t rectangles;
  double near, more_pes;
};
constexpr Reach kNormal{0.6, 2, 1.1, 1.1}, kFull{0.3, 5, 1.25, 1.5};
const Reach& reach(const CompileOptions& options) {
  return options.tuning.level == TuneLevel::full ? kFull : kNormal;
}

// PEs times cycles of a candidate; and a candidate that takes so many times as long as estimated is not
// waited for.
constexpr double kMostWork = 64e6, kPatience = 20;

graph::Assignment generated_elementwise() {
  return {Origin::autogen, kernels::generated_id(*kernels::elementwise_kind()), "", "", {}};
}

std::string key_of(Origin origin, graph::KernelId kernel) {
  return std::string(origin_name(origin)) + " " + kernel.name();
}

std::string formal_of(const Graph& kernel) {
  std::string text;
  for (const graph::ValueId v : kernel.inputs)
    text += (text.empty() ? "" : " ") + ops::type_text(kernel.value(v).type);
  text += " ->";
  for (const graph::ValueId v : kernel.outputs) text += " " + ops::type_text(kernel.value(v).type);
  return text;
}

}  // namespace

KernelTuner::KernelTuner(const CompileOptions& options, const Compiled& off, Bench& bench, TuneReport& report)
    : options_(options), machine_(off.machine), bench_(bench), report_(report) {
  const mapping::Mapped& m = *off.mapped;
  for (const mapping::Placement& p : m.placement) {
    const auto nodes = m.nodes_of_kernel.find(p.name);
    if (p.role != "kernel" || nodes == m.nodes_of_kernel.end() || nodes->second.empty()) continue;
    homes_[nodes->second.front()] = {p.rect, p.interval_cycles};
    slowest_ = std::max(slowest_, p.interval_cycles);
  }
}

const KernelTuner::Home* KernelTuner::home_of(const Graph& g, NodeId id) const {
  const auto home = homes_.find(g.node(id).name);
  return home == homes_.end() ? nullptr : &home->second;
}

bool KernelTuner::counts(const Graph& g, NodeId id) const {
  const Home* home = home_of(g, id);
  return home != nullptr && home->interval >= reach(options_).share * slowest_ &&
         double(home->rect.area()) * home->interval * kTrialSamples <= kMostWork;
}

mapping::MapOptions KernelTuner::map_options() const {
  mapping::MapOptions map;
  map.policy = options_.policy_name;
  map.threads = 1;
  return map;
}

// The rectangle of the network first, then those that are better by estimate, then those with fewer PEs.
std::vector<RectChoice> KernelTuner::near_rectangles(const Graph& kernel, const Home& home) const {
  if (options_.rect_width > 0) return {{options_.rect_width, options_.rect_height, home.interval}};
  const Reach& r = reach(options_);
  const auto most_pes = double(home.rect.area()) * r.more_pes;
  std::vector<RectChoice> all = mapping::rectangles_of(kernel, machine_, map_options());
  std::erase_if(all, [&](const RectChoice& c) { return double(c.w) * c.h > most_pes; });
  if (all.empty()) return all;
  const auto is_home = [&](const RectChoice& c) { return c.w == home.rect.w && c.h == home.rect.h; };
  const auto own = std::ranges::find_if(all, is_home);
  const double least = std::ranges::min(all, {}, &RectChoice::interval_cycles).interval_cycles;
  const double from = own == all.end() ? least : own->interval_cycles;
  std::erase_if(all, [&](const RectChoice& c) { return c.interval_cycles > from * r.near; });
  const auto rank = [&](const RectChoice& c) {
    return std::tuple(!is_home(c), c.interval_cycles, c.w * c.h, c.w);
  };
  std::ranges::sort(all, {}, rank);
  all.resize(std::min(all.size(), r.rectangles));
  return all;
}

TuneJob KernelTuner::job(const Graph& kernel, const std::string& phase, const Rect& rect, bool exact,
                         double estimated) const {
  const std::vector<NodeId> nodes = kernel.topological();
  TuneJob job;
  Candidate& c = job.candidate;
  const graph::Node& head = kernel.node(nodes.front());
  c.phase = phase;
  c.kernel = head.name;
  c.op = head.op;
  c.formal = formal_of(kernel);
  c.family = head.assignment.kernel.name();
  c.origin = head.assignment.origin ? std::string(origin_name(*head.assignment.origin)) : "";
  std::string behind;
  for (const NodeId id : nodes) {
    if (id == nodes.front() || graph::is_transparent(kernel, id)) continue;
    behind += (behind.empty() ? "" : "+") + kernel.node(id).op;
  }
  if (!behind.empty()) c.epilogue = behind;
  c.rect = rect;
  c.estimated_cycles = estimated;
  job.key = fmt::format("{} x {} {} {}", rect.w, rect.h, exact, mapping::kernel_text(kernel, nodes));
  job.make = [this, kernel, rect, exact](std::string& why) -> std::optional<MadeCandidate> {
    Diag diag;
    mapping::MapOptions map = map_options();
    std::optional<mapping::Mapped> mapped;
    if (exact) {
      map.force_width = rect.w, map.force_height = rect.h;
      mapped = mapping::map_graph(kernel, machine_, map, diag);
    } else {
      mapped = mapping::map_inside(kernel, rect, machine_, map, diag);
    }
    std::optional<Program> program;
    if (mapped) program = build_program(*mapped, machine_, 1, options_.csl.opt_level, diag);
    if (!program || program->host->kernels.empty()) {
      why = diag.all().empty() ? "it has no place" : diag.all().front().message;
      return std::nullopt;
    }
    const double most = kPatience * (kTrialSamples + 2) * std::max(100.0, mapped->estimate.interval_cycles);
    return MadeCandidate{std::move(*program), std::move(mapped->weights), most};
  };
  return job;
}

void KernelTuner::remember(const std::string& node, Origin origin, const RectChoice& c, double cycles) {
  if (c.interval_cycles <= 0) return;
  std::vector<mapping::MeasuredPlans::Of>& list = plans_->of_node[node];
  std::erase_if(list, [&](const auto& m) { return m.origin == origin && m.w == c.w && m.h == c.h; });
  list.push_back({origin, c.w, c.h, cycles / c.interval_cycles});
}

std::vector<std::vector<std::optional<double>>> KernelTuner::plain(const Graph& g,
                                                                   std::span<const Plain> asked) {
  struct Tried {
    size_t node, as;
    RectChoice rect;
  };
  std::vector<Tried> tried;
  std::vector<TuneJob> jobs;
  std::vector<std::vector<std::optional<double>>> least(asked.size());
  for (size_t i = 0; i < asked.size(); ++i) {
    least[i].resize(asked[i].as.size());
    const std::string& name = g.node(asked[i].node).name;
    for (size_t k = 0; k < asked[i].as.size(); ++k) {
      Graph kernel = mapping::copy_alone(g, {asked[i].node}, name);
      const NodeId copy = *kernel.find_node(name);
      kernel.node(copy).assignment = asked[i].as[k];
      kernel.node(copy).assignment.reason.clear();
      kernel.node(copy).assignment.group.clear();
      for (const RectChoice& c : near_rectangles(kernel, *home_of(g, asked[i].node))) {
        tried.push_back({i, k, c});
        jobs.push_back(job(kernel, "plain", {0, 0, c.w, c.h}, true, c.interval_cycles));
      }
    }
  }
  const std::vector<Measurement> results = bench_.run(jobs);
  for (size_t j = 0; j < jobs.size(); ++j) {
    if (!results[j].trial) continue;
    const auto& [i, k, rect] = tried[j];
    const double cycles = results[j].trial->interval;
    const std::string& name = g.node(asked[i].node).name;
    remember(name, *asked[i].as[k].origin, rect, cycles);
    if (least[i][k] && *least[i][k] <= cycles) continue;
    least[i][k] = cycles;
    best_[{name, key_of(*asked[i].as[k].origin, asked[i].as[k].kernel)}] = {0, 0, rect.w, rect.h};
  }
  return least;
}

std::vector<passes::Measured::Result> KernelTuner::together(const Graph& g, const std::vector<NodeId>& nodes,
                                                            std::span<const passes::KernelCandidate> ways) {
  std::vector<TuneJob> jobs;
  const std::string& head = g.node(nodes.front()).name;
  for (const passes::KernelCandidate& way : ways) {
    Graph kernel = mapping::copy_alone(g, nodes, head);
    const bool loops = way.kernel == kernels::generated_id(*kernels::region_kind());
    for (const NodeId id : kernel.topological()) {
      graph::Assignment& a = kernel.node(id).assignment;
      const std::string group = a.group;
      if (kernel.node(id).name == head)
        a = {way.origin, way.kernel, "", "", {}};
      else if (!graph::is_transparent(kernel, id))
        a = loops ? graph::Assignment{Origin::autogen, way.kernel, "", "", {}} : generated_elementwise();
      a.group = group;
    }
    const auto best = best_.find({head, key_of(way.origin, way.kernel)});
    const Rect rect = best != best_.end() ? best->second : home_of(g, nodes.front())->rect;
    double estimated = 0;
    for (const RectChoice& c : mapping::rectangles_of(kernel, machine_, map_options()))
      if (c.w == rect.w && c.h == rect.h) estimated = c.interval_cycles;
    jobs.push_back(job(kernel, "epilogue", rect, true, estimated));
  }
  std::vector<Result> results;
  fused_ = {head, {}};
  const std::vector<Measurement> measured = bench_.run(jobs);
  for (size_t i = 0; i < measured.size(); ++i) {
    const Measurement& m = measured[i];
    if (!m.trial) {
      results.push_back({std::nullopt, m.why.empty() ? std::string(measure_status_name(m.status)) : m.why});
      continue;
    }
    const Candidate& c = jobs[i].candidate;
    results.push_back({m.trial->interval, ""});
    if (c.estimated_cycles > 0)
      fused_.second.push_back({ways[i].origin, c.rect.w, c.rect.h, m.trial->interval / c.estimated_cycles});
  }
  return results;
}

passes::Measured::Result KernelTuner::alone(const Graph& g, const std::vector<NodeId>& nodes) {
  const std::string& last = g.node(nodes.back()).name;
  Graph kernel = mapping::copy_alone(g, {nodes.back()}, last);
  graph::Assignment& a = kernel.node(*kernel.find_node(last)).assignment;
  if (a.origin != Origin::handwritten && a.origin != Origin::autogen) a = generated_elementwise();
  a.group.clear();
  const graph::Assignment& head = g.node(nodes.front()).assignment;
  const auto best =
      best_.find({g.node(nodes.front()).name, key_of(head.origin.value_or(Origin::autogen), head.kernel)});
  const Rect rect = best != best_.end() ? best->second : home_of(g, nodes.front())->rect;
  const Measurement m = bench_.run({job(kernel, "alone", rect, false, 0)}).front();
  if (!m.trial) return {std::nullopt, m.why};
  return {m.trial->interval, ""};
}

void KernelTuner::decided(std::string_view kernel, std::string_view epilogue, bool fused,
                          std::string_view by) {
  // What the kernel takes with its epilogue counts from now on.
  if (fused && fused_.first == kernel) plans_->of_node[fused_.first] = fused_.second;
  std::string text = fmt::format("{} with {}: {}", kernel, epilogue, by);
  std::vector<std::string>& all = report_.decisions;  // a network is compiled several times
  if (std::ranges::find(all, text) == all.end()) all.push_back(std::move(text));
}

// Kernels that nobody has measured yet, since nothing can join them or they were joined of several operators.
void KernelTuner::footprints(const Graph& g) {
  if (options_.rect_width > 0) return;
  std::vector<TuneJob> jobs;
  std::vector<std::pair<NodeId, RectChoice>> tried;
  for (const graph::Group& group : graph::groups(g)) {
    const NodeId first = group.nodes.front();
    const graph::Assignment& a = g.node(first).assignment;
    const bool on_wafer = a.origin == Origin::handwritten || a.origin == Origin::autogen;
    if (!on_wafer || !counts(g, first) || plans_->of_node.contains(g.node(first).name)) continue;
    Graph kernel = mapping::copy_alone(g, group.nodes, g.node(first).name);
    for (const NodeId id : kernel.topological()) kernel.node(id).assignment.reason.clear();
    for (const RectChoice& c : near_rectangles(kernel, *home_of(g, first))) {
      tried.emplace_back(first, c);
      jobs.push_back(job(kernel, "plain", {0, 0, c.w, c.h}, true, c.interval_cycles));
    }
  }
  const std::vector<Measurement> results = bench_.run(jobs);
  for (size_t j = 0; j < jobs.size(); ++j)
    if (results[j].trial)
      remember(g.node(tried[j].first).name, *g.node(tried[j].first).assignment.origin, tried[j].second,
               results[j].trial->interval);
}

}  // namespace cs::api
