// Attention as one row: softmax(scale Q Kᵀ + mask) V. No importer makes it; a pass puts it in the place of
// its primitives, which are its decomposition (compiler/passes/find_attention.h).
#include <fmt/format.h>

#include "runtime/ops/rows.h"
#include "runtime/ops/rules.h"
#include "runtime/ops/steps.h"

namespace cs::ops {

namespace {

// q [..., queries, depth], k [..., keys, depth], v [..., keys, values], the dots equal.
bool shape_attention(const ShapeContext& c, std::vector<TensorType>& outputs, std::string& error) {
  const Shape &q = c.input(0)->shape, &k = c.input(1)->shape, &v = c.input(2)->shape;
  const size_t rank = q.size();
  const bool stacks = rank >= 2 && k.size() == rank && v.size() == rank;
  if (!stacks || !std::equal(q.begin(), q.end() - 2, k.begin()) ||
      !std::equal(q.begin(), q.end() - 2, v.begin()) || q[rank - 1] != k[rank - 1] ||
      k[rank - 2] != v[rank - 2])
    return fail(error, fmt::format("queries {}, keys {} and values {} are no attention", dims_text(q),
                                   dims_text(k), dims_text(v)));
  if (!same_dtype(c, 0, error)) return false;
  TensorType y = *c.input(0);
  y.shape.back() = v.back();
  outputs = {y};
  return true;
}

bool steps_attention(const ShapeContext& c, std::vector<DecompositionStep>& steps, std::string&) {
  const int rank = c.input(0)->rank();
  Steps s(steps);
  std::vector<int64_t> turned = all_axes(rank);
  std::swap(turned[size_t(rank - 1)], turned[size_t(rank - 2)]);
  std::string scores = s.add("matmul", {"q", s.transpose("k", turned)});
  const double scale = attr_real(c.op, c.attrs, "scale");
  if (scale != 1) scores = s.add("mul", {scores, s.constant(scale, c.input(0)->dtype)});
  if (c.input(3) != nullptr) scores = s.add("add", {scores, "mask"});
  s.result("y", "matmul", {s.add("softmax", {scores}, {{"axis", int64_t(rank - 1)}}), "v"});
  return true;
}

}  // namespace

void add_attention(Rows& t) {
  t.push_back(noted(by_steps("attention", {}, {"q", "k", "v", "mask"}, 1, {real("scale", 1)}, shape_attention,
                             steps_attention),
                    "softmax(scale q k^T + mask) v of the last two dimensions"));
}

}  // namespace cs::ops
