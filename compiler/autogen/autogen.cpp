// What the generators can make, asked by policy and fusion.
#include "compiler/autogen/autogen.h"

#include <algorithm>

#include <fmt/format.h>

#include "compiler/autogen/expression.h"
#include "compiler/autogen/region.h"
#include "compiler/kernels/kind.h"
#include "compiler/kernels/library.h"

namespace cs::autogen {

namespace {

using graph::Graph;
using graph::NodeId;
using graph::ValueId;

constexpr int kMaxRegionIn = 8, kMaxRegionOut = 4;  // streams of a region: each takes a queue and a color
constexpr int64_t kMostCopies = 0x7fff;             // of an element, by one instruction of broadcast.csl
constexpr int kMaxOperands = 3;  // streams into one PE: each takes an input queue, a microthread and a color

// An operand reaches every element of the result by repeating each of its elements in place: its shape ends
// in ones.
bool repeats_inner(const ops::TensorType& from, const ops::TensorType& to) {
  std::vector<int64_t> strides = ops::broadcast_strides(from.shape, to.shape);
  bool inner = true;
  for (size_t d = strides.size(); d-- > 0;) {
    if (to.shape[d] == 1) continue;
    if (strides[d] != 0) inner = false;
    if (strides[d] == 0 && !inner) return false;
  }
  return true;
}

bool elementwise_operands(const Graph& g, NodeId id, std::string& why) {
  const graph::Node& node = g.node(id);
  const ops::TensorType& result = g.value(node.outputs[0]).type;
  int streams = 0;
  for (ValueId v : node.inputs) {
    if (!v.valid() || g.value(v).is_constant()) continue;
    ++streams;
    const ops::TensorType& type = g.value(v).type;
    if (type.elements() != result.elements() && !repeats_inner(type, result)) {
      why = fmt::format("operand '{}' {} would have to be repeated along an outer dimension", g.value(v).name,
                        ops::type_text(type));
      return false;
    }
    if (result.elements() / type.elements() > kMostCopies) {
      why = fmt::format("operand '{}' {} would have to be repeated more than {} times", g.value(v).name,
                        ops::type_text(type), kMostCopies);
      return false;
    }
  }
  if (streams > kMaxOperands) {
    why = fmt::format("{} operands are not constant, a PE takes {} streams", streams, kMaxOperands);
    return false;
  }
  return true;
}

// Elements of constants of an epilogue must not differ from row to row of the contraction.
bool constants_fit_rows(const Graph& g, NodeId id, int64_t m, std::string& why) {
  for (ValueId v : g.node(id).inputs) {
    if (!v.valid() || !g.value(v).is_constant()) continue;
    const ops::TensorType& type = g.value(v).type;
    if (type.elements() == 1) continue;
    if (type.elements() != m || type.shape.back() != m) {
      why = fmt::format("constant '{}' differs from row to row", g.value(v).name);
      return false;
    }
  }
  return true;
}

// Values from outside that are not constant, in the elementwise nodes of the group plus `next`. What the
// product at the head of a group multiplies is not among them, unless the chain behind it uses it once more.
int outside_operands(const Graph& g, std::span<const NodeId> group, NodeId next) {
  std::vector<NodeId> inside(group.begin(), group.end());
  inside.push_back(next);
  std::vector<ValueId> seen;
  for (NodeId id : inside) {
    if (g.op(id).kind == ops::OpKind::contraction) continue;
    for (ValueId v : g.node(id).inputs) {
      if (!v.valid() || g.value(v).is_constant()) continue;
      NodeId producer = g.value(v).producer;
      if (producer.valid() && std::find(inside.begin(), inside.end(), producer) != inside.end()) continue;
      if (std::find(seen.begin(), seen.end(), v) == seen.end()) seen.push_back(v);
    }
  }
  return int(seen.size());
}

// An elementwise node that the chain generator takes, behind a contraction or with f32 streams.
bool is_chain(const Graph& g, NodeId id, bool epilogue, std::string& why) {
  const ops::OpDef& op = g.op(id);
  const std::optional<kernels::Work> work = kernels::work_of(g, id, why);
  if (work && work->half && !epilogue) {
    why = "its streams are not f32";
    return false;
  }
  return work && elementwise_operands(g, id, why) &&
         expression_supported(
             ops::bind_attrs(ops::op_expression(op), ops::with_defaults(op, g.node(id).attrs)), why);
}

// f32 words are combined as they arrive, which no instruction does with the lesser of two.
bool is_reduction(const Graph& g, NodeId id, std::string& why) {
  const std::string& op = g.node(id).op;
  const std::optional<kernels::Work> work = kernels::work_of(g, id, why);
  return work && !work->half && (op == "reduce_sum" || op == "reduce_mean" || op == "reduce_max");
}

}  // namespace

const kernels::Kind* generator_for(const Graph& g, NodeId id, std::string& why) {
  const ops::OpDef& op = g.op(id);
  if (op.kind == ops::OpKind::elementwise && is_chain(g, id, false, why)) return kernels::elementwise_kind();
  if (op.kind == ops::OpKind::contraction && kernels::work_of(g, id, why)) return kernels::contraction_kind();
  if (op.kind == ops::OpKind::reduction && is_reduction(g, id, why)) return kernels::reduction_kind();
  if (op.kind == ops::OpKind::source) {
    why = fmt::format("no generator for operators of kind {}", ops::op_kind_name(op.kind));
    return nullptr;
  }
  Region region;
  return make_region(g, std::span(&id, 1), region, why) ? kernels::region_kind() : nullptr;
}

std::vector<const kernels::Kind*> generators_for(const Graph& g, NodeId id, std::string& why) {
  const kernels::Kind *first = generator_for(g, id, why), *loops = kernels::region_kind();
  if (first == nullptr) return {};
  std::vector<const kernels::Kind*> list = {first};
  Region region;
  std::string ignored;
  const bool product = g.op(id).kind == ops::OpKind::contraction && first != loops;
  if (product && make_region(g, std::span(&id, 1), region, ignored)) list.push_back(loops);
  return list;
}

bool can_fuse(const Graph& g, std::span<const NodeId> group, NodeId next, std::string& why) {
  const bool epilogue = !group.empty() && g.op(group.front()).kind == ops::OpKind::contraction;
  if (group.empty() || g.op(next).kind != ops::OpKind::elementwise || !is_chain(g, next, epilogue, why)) {
    if (why.empty()) why = "only elementwise operators can join a kernel";
    return false;
  }
  if (kernels::writes_groups(g, group.front())) {
    why =
        fmt::format("its operand comes from a kernel of {}", g.node(group.front()).assignment.kernel.name());
    return false;
  }
  const kernels::Row* row = kernels::kernel_of(g, group.front()).row;
  if (epilogue && row != nullptr) {
    why = kernels::library().lacks(row->name, "epilogue");
    if (!why.empty()) return false;
  }
  const graph::Node& last = g.node(group.back());
  const graph::Node& node = g.node(next);
  const graph::Value& between = g.value(last.outputs[0]);
  bool used = std::find(node.inputs.begin(), node.inputs.end(), last.outputs[0]) != node.inputs.end();
  bool only =
      std::all_of(between.users.begin(), between.users.end(), [&](NodeId user) { return user == next; });
  if (!used || !only || between.is_output) {
    why = "the value between them is needed elsewhere";
    return false;
  }
  if (between.type.elements() != g.value(node.outputs[0]).type.elements()) {
    why = "the shape changes between them";
    return false;
  }
  ops::OpKind kind = g.op(group.front()).kind;
  int outside = outside_operands(g, group, next);
  if (epilogue) {
    std::optional<kernels::Work> work = kernels::work_of(g, group.front(), why);
    if (outside > 0) why = "an epilogue can only have constants as further operands";
    return work && outside == 0 && constants_fit_rows(g, next, work->m, why);
  }
  if (kind != ops::OpKind::elementwise) {
    why = "only contractions and elementwise chains take an epilogue";
    return false;
  }
  if (outside > kMaxOperands) {
    why = fmt::format("together they need {} streams, a PE takes {}", outside, kMaxOperands);
    return false;
  }
  return true;
}

bool make_region(const Graph& g, std::span<const NodeId> nodes, Region& region, std::string& why) {
  if (!build_region(g, nodes, region, why)) return false;
  if (region.operands.size() > size_t(kMaxRegionIn) || region.results.size() > size_t(kMaxRegionOut)) {
    why = fmt::format("{} streams in and {} out, a PE has queues for {} and {}", region.operands.size(),
                      region.results.size(), kMaxRegionIn, kMaxRegionOut);
    return false;
  }
  return true;
}

}  // namespace cs::autogen
