// Window k of the result reads from k * stride - padding on.
#include "compiler/passes/shard_windows.h"

#include <algorithm>
#include <string>

#include "compiler/passes/shard_design.h"
#include "runtime/ops/windows.h"

namespace cs::passes {

namespace {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::ValueId;

constexpr size_t kBefore = 2;  // dimensions of samples and channels

std::vector<const ops::TensorType*> types_of(const Graph& g, const Node& n) {
  std::vector<const ops::TensorType*> types;
  for (const ValueId v : n.inputs) types.push_back(v.valid() ? &g.value(v).type : nullptr);
  return types;
}

std::optional<ops::Window> window_of(const Graph& g, NodeId id) {
  const Node& n = g.node(id);
  const std::vector<const ops::TensorType*> types = types_of(g, n);
  if (types.empty() || types[0] == nullptr || n.outputs.size() != 1) return std::nullopt;
  ops::Shape kernel;
  if (n.op == "conv")
    kernel.assign(types[1]->shape.begin() + kBefore, types[1]->shape.end());
  else if (n.op == "max_pool" || n.op == "average_pool" || n.op == "lp_pool")
    kernel = ops::attr_ints(g.op(id), n.attrs, "kernel_shape");
  else
    return std::nullopt;
  std::string why;
  return ops::window_of({g.op(id), n.attrs, types}, kernel, why);
}

// Nothing if the windows read behind the padding, as they may where their number is rounded up: what a mean
// divides by would change.
std::optional<WindowShare> share_of(const ops::WindowAxis& a, int64_t first, int64_t count) {
  const int64_t begin = first * a.stride - a.begin,
                end = (first + count - 1) * a.stride - a.begin + a.reach();
  WindowShare share{std::max<int64_t>(begin, 0), std::min(end, a.in), std::max<int64_t>(-begin, 0),
                    std::max<int64_t>(end - a.in, 0)};
  if (count < 1 || share.begin >= share.end || share.pad_end > a.end) return std::nullopt;
  return share;
}

// Parts of so many of an extent in which elements of the share lie.
size_t parts_read(const WindowShare& share, int64_t extent, int64_t shards) {
  size_t parts = 0;
  for (int64_t k = 0; k < shards; ++k)
    parts += begin_of(extent, shards, k) < share.end && begin_of(extent, shards, k + 1) > share.begin;
  return parts;
}

// Of so many elements: a part of the result that needs most of the operand saves nothing, and one that takes its
// operand in many small pieces costs more than it saves (a window over 7 of 8 rows, in 8 parts).
int64_t most_read(int64_t extent, int64_t shards) {
  return std::min(3 * (extent + shards - 1) / shards, 3 * extent / 4);
}

// Does the node of this share make so many results?
bool makes(const Graph& g, NodeId id, int dim, const WindowShare& share, int64_t count) {
  Node part = g.node(id);
  slide_over_share(g, id, part, dim, share);
  std::vector<const ops::TensorType*> types = types_of(g, part);
  ops::TensorType operand = *types[0], wanted = g.value(part.outputs[0]).type;
  operand.shape[size_t(dim)] = share.end - share.begin;
  wanted.shape[size_t(dim)] = count;
  types[0] = &operand;
  std::vector<ops::TensorType> results;
  std::string why;
  return ops::infer_types(g.op(id), part.attrs, types, results, why) && results[0] == wanted;
}

}  // namespace

std::optional<std::vector<WindowShare>> window_shares(const Graph& g, NodeId id, int dim, int64_t shards) {
  const auto window = window_of(g, id);
  if (!window || dim < int(kBefore) || size_t(dim) >= kBefore + window->size()) return std::nullopt;
  const ops::WindowAxis& axis = (*window)[size_t(dim) - kBefore];
  const int64_t most = most_read(axis.in, shards);
  std::vector<WindowShare> shares;
  for (int64_t k = 0; k < shards; ++k) {
    const int64_t count = extent_of(axis.out, shards, k);
    const auto share = share_of(axis, begin_of(axis.out, shards, k), count);
    if (!share || share->end - share->begin > most || parts_read(*share, axis.in, shards) > kMostJoined ||
        !makes(g, id, dim, *share, count))
      return std::nullopt;
    shares.push_back(*share);
  }
  return shares;
}

void slide_over_share(const Graph& g, NodeId of, Node& n, int dim, const WindowShare& share) {
  const auto window = window_of(g, of);
  std::vector<int64_t> pads;
  for (const ops::WindowAxis& a : *window) pads.push_back(a.begin);
  for (const ops::WindowAxis& a : *window) pads.push_back(a.end);
  pads[size_t(dim) - kBefore] = share.pad_begin;
  pads[window->size() + size_t(dim) - kBefore] = share.pad_end;
  ops::set_attr(n.attrs, "auto_pad", std::string("NOTSET"));
  ops::set_attr(n.attrs, "pads", pads);
}

}  // namespace cs::passes
