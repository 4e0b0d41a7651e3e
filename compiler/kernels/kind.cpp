// The kinds in their order, and what most of them do alike.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "compiler/autogen/autogen.h"
#include "compiler/kernels/resident_reduction.h"
#include "compiler/kernels/role_parts.h"
#include "runtime/support/diag.h"

namespace cs::kernels {

std::span<const Kind* const> kinds() {
  static const Kind* const list[] = {contraction_kind(),
                                     elementwise_kind(),
                                     reduction_kind(),
                                     scan_kind(),
                                     rows_kind(),
                                     region_kind(),
                                     walk_kind(),
                                     lookup_kind(),
                                     attention_kind(),
                                     broadcast_kind(),
                                     relay_kind(),
                                     slack_kind(),
                                     resident_product_kind(),
                                     resident_shift_kind(),
                                     resident_gemv_kind(),
                                     resident_transpose_kind(),
                                     resident_concat_kind(),
                                     resident_convolution_kind(),
                                     resident_lookup_kind(),
                                     resident_pool_kind(),
                                     resident_sum_kind(),
                                     resident_rows_kind(),
                                     resident_attention_kind(),
                                     resident_region_kind()};
  return list;
}

namespace {

// Who prints names; names are interned, so that they are looked up by address.
const std::map<const std::string*, KernelRef>& kernel_refs() {
  static const std::map<const std::string*, KernelRef> all = [] {
    std::map<const std::string*, KernelRef> list;
    const auto add = [&](std::string_view name, KernelRef kernel) {
      const bool fresh = list.emplace(&graph::KernelId(name).name(), kernel).second;
      CS_CHECK(fresh, "kernels have names of their own");
    };
    for (const Kind* kind : kinds()) {
      for (const Row& row : kind->library()) add(row.name, {kind, &row});
      if (!kind->generated().empty()) add(kind->generated(), {kind, nullptr});
    }
    return list;
  }();
  return all;
}

std::optional<Work> first_work(const graph::Graph& g, std::span<const graph::NodeId> nodes,
                               const Machine& machine, std::string& why) {
  std::optional<Work> work = work_of(g, nodes.front(), why);
  if (work) work->kind->add_nodes(g, nodes, machine, *work);
  return work;
}

// A kernel of its first node, by the kind that takes that.
bool take_first(const graph::Graph& g, const graph::Group& group, const Taking& by, Choice& choice,
                Diag& diag) {
  const graph::NodeId front = group.nodes.front();
  std::string why;
  const std::optional<Work> work = work_of(g, front, why);
  if (!work) return refuse(g, front, why, diag);
  if (group.outputs.size() != 1 && group.nodes.size() > 1)
    return refuse(g, front, "its group has more than one result", diag);
  choice.work = *work;
  choice.operands = {graph::source_of(g, g.node(front).inputs[0])};
  choice.results = {g.node(group.nodes.back()).outputs[0]};
  work->kind->fill(g, group, by.machine, choice);
  return true;
}

}  // namespace

KernelRef kernel_of(graph::KernelId id) {
  const auto found = kernel_refs().find(&id.name());
  return found == kernel_refs().end() ? KernelRef{} : found->second;
}

KernelRef kernel_of(const graph::Graph& g, graph::NodeId id) {
  return kernel_of(g.node(id).assignment.kernel);
}

graph::KernelId generated_id(const Kind& kind) { return graph::KernelId(kind.generated()); }

graph::KernelId library_id(const Row& row) {
  return row.kind->generated_layout() ? generated_id(*row.kind) : graph::KernelId(row.name);
}

bool from_loops(const graph::Graph& g, graph::NodeId id) {
  const Kind* kind = kernel_of(g, id).kind;
  return kind != nullptr && kind->from_loops();
}

bool writes_groups(const graph::Graph& g, graph::NodeId id) {
  const Kind* kind = kernel_of(g, id).kind;
  return kind != nullptr && kind->writes_groups();
}

std::optional<Work> work_of_group(const graph::Graph& g, std::span<const graph::NodeId> nodes,
                                  const Machine& machine, std::string& why) {
  const Kind* kind = kernel_of(g, nodes.front()).kind;
  return kind != nullptr ? kind->work_of_group(g, nodes, machine, why) : first_work(g, nodes, machine, why);
}

bool refuse(const graph::Graph& g, graph::NodeId id, const std::string& why, Diag& diag) {
  diag.error_at(g.node(id).where, fmt::format("{} cannot be placed on the wafer: {}", g.node(id).op, why));
  return false;
}

bool take_group(const graph::Graph& g, const graph::Group& group, const Taking& by, Choice& choice,
                Diag& diag) {
  const Kind* kind = kernel_of(g, group.nodes.front()).kind;
  return kind != nullptr ? kind->take(g, group, by, choice, diag) : take_first(g, group, by, choice, diag);
}

const Kind* generator_for(const graph::Graph& g, graph::NodeId id, std::string& why) {
  return autogen::generator_for(g, id, why);
}

const Row* stand_in_for(const graph::Graph& g, graph::NodeId id) {
  for (const Kind* kind : kinds())
    if (kind->stand_in() != nullptr && kind->takes(g, id)) return kind->stand_in();
  return nullptr;
}

bool Kind::take(const graph::Graph& g, const graph::Group& group, const Taking& by, Choice& choice,
                Diag& diag) const {
  return take_first(g, group, by, choice, diag);
}

std::optional<Work> Kind::work_of_group(const graph::Graph& g, std::span<const graph::NodeId> nodes,
                                        const Machine& machine, std::string& why) const {
  return first_work(g, nodes, machine, why);
}

std::optional<Work> Kind::match(const graph::Graph&, graph::NodeId, std::string& why) const {
  why = "no node is a " + std::string(name());
  return std::nullopt;
}

const Row* Kind::choose(const graph::Graph& g, graph::NodeId id, std::string& why) const {
  const std::optional<Work> work = work_of(g, id, why);
  if (!work) return nullptr;
  if (work->half) {
    why = "the library's " + g.node(id).op + " takes f32 streams";
    return nullptr;
  }
  for (const Row& row : library()) {
    if (std::find(row.ops.begin(), row.ops.end(), g.node(id).op) != row.ops.end()) return &row;
  }
  return nullptr;
}

Role Kind::feeder(const Choice& choice, const Setting& at, int k, Coord there) const {
  return slice_feeder(choice, at, k, there);
}

std::vector<PackedPart> Kind::pack(const Choice&, const Cut&, const Layout*) const { return {}; }

std::vector<Exported> Kind::exported(const Choice& choice, const Layout*) const {
  std::vector<Exported> list;
  for (const PackedConstant& c : choice.constants) list.push_back({c.name, c.integer});
  return list;
}

int64_t Kind::operand_words(const Choice& choice, int) const { return choice.work.rows * choice.work.n; }

int64_t Kind::turns(const Choice& choice, const Cut& cut, int) const {
  return choice.work.rows * (footprint(choice.work, cut).out.front().down ? cut.h : cut.w);
}

Plan Kind::plan_by_walk(const Choice& choice, const Cut& cut, const PeRound& round, const Costing& by) const {
  return plan_measured(choice.work, cut, round, by.machine);
}

ResidentText Kind::write_resident(const Choice&, const Setting&) const {
  ResidentText text;
  text.tile = "      @set_tile_code(x, y, \"pe.csl\", .{ .memcpy_params = memcpy.get_params(x) });\n";
  return text;
}

ResidentArrays Kind::resident_arrays(const Choice& choice, const Cut& cut) const {
  ResidentArrays list;
  const int n = cut.n_slice;
  const auto slices = [&](const std::string& array) {
    return ResidentArray{array, choice.work.rows * choice.work.n, int64_t(n) * cut.w, 1, n, cut.w, cut.h};
  };
  for (int k = 0; k < choice.work.operands; ++k)
    list.operands.emplace_back(slices(fmt::format("x{}", k))).half = choice.work.half;
  for (const PackedConstant& c : choice.constants)
    list.constants.emplace_back(slices(c.name)).odd_word = true;
  list.result = list.operands.front();
  return list;
}

bool ResidentArrays::in_place() const {
  return std::any_of(operands.begin(), operands.end(), [&](const auto& a) { return a.name == result.name; });
}

double Kind::resident_words(const Work& work, const Cut& cut) const {
  return double(cut.n_slice) * (work.operands + 1);
}

std::string Kind::resident_sharding(const Work& work, const Cut& cut) const {
  return fmt::format("{} of {} elements; the result takes the place of x0.", cut.n_slice, work.n);
}

std::string Kind::sharding(const Work& work, const Cut& cut) const { return sharding_of_row(work, cut); }

Footprint Kind::footprint(const Work& work, const Cut& cut) const {
  Footprint f;
  const bool several = cut.w * cut.h > 1;
  f.in.assign(size_t(work.operands), {.distribution = several ? Distribution::slices : Distribution::whole});
  f.out.resize(1);
  if (same_slices()) f.out = {{.distribution = f.in.front().distribution, .turns = cut.w > 1}};
  f.feeders = several ? work.operands : 0;
  return f;
}

}  // namespace cs::kernels
