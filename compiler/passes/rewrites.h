// Rewrites of the graph that make other kernels of the same values; each can be switched (cs-compile
// --rewrite KEY=VALUE).
//
//   parts=on|off                    split → the same elementwise operators on every part → concat becomes
//   these operators
//                                   on the whole
//   batch_products=N                at least N products of one value with constant matrices become one
//   product whose
//                                   result is split; 0: none do
//   products=whole|rule|estimate    products that memory bounds become broadcast, multiply, sum over the
//   shared dimension:
//                                   never, by a rule about their extents, or where that is estimated to be
//                                   faster
//
//   shards=N                        one sample in N parts beside each other, where operators allow that
//                                   (shards.h); 1: whole; auto: cs-compile
//                                   compares. The same as its --shards
//   columns=N                       products that make outputs in N parts by the columns of their matrices
//                                   (shards.h); 1: whole
//   heads=N                         heads of attention in N parts: the products before them by their columns
//   sums=N                          layers inside of two products in N parts, whose sums are added up
//   attention=on|off                what is left of attention becomes one operator (find_attention.h)
//
// The first two are part of the pass canonicalise, the third and the last of decompose, the four between a pass of
// their own.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "compiler/graph/graph.h"

namespace cs::passes {

struct PassContext;

enum class Products : uint8_t { whole, rule, estimate };

inline constexpr int64_t kBestShards = 0;  // Rewrites::shards: as many as are worth it, which passes never see

struct Rewrites {
  bool parts = true;
  int64_t batch_products = 0;
  Products products = Products::whole;
  int64_t shards = 1;
  int64_t columns = 1, heads = 1, sums = 1;
  bool attention = false;
  bool operator==(const Rewrites&) const = default;
  // "parts=on batch_products=0 products=whole", then shards, columns, heads and sums where there are several, and
  // attention where it is on
  std::string text() const;
};
// KEY=VALUE; false with the reason, which lists what there is.
bool read_rewrite(std::string_view text, Rewrites&, std::string& why);

// Which products the rule takes: `batch` products of m × k by k × n each. Many small ones, or one whose m is
// large and whose k and n are small; so not the gradient of an input, whose m is small and n large.
struct ProductExtents {
  int64_t batch = 1, m = 1, n = 1, k = 1;
};
struct MemoryBoundLimits {
  int64_t least_batch = 16, most_m = 8, most_n = 8, most_k = 8;  // of many
  int64_t least_m = 64, most_other = 8;                          // of one: n and k
};
bool is_memory_bound(const ProductExtents&, const MemoryBoundLimits& = {});
// Of a product of two matrices or of two stacks of them; nothing if it is none.
bool product_extents(const graph::Graph&, graph::NodeId, ProductExtents&);

bool join_parts(graph::Graph&, PassContext&);
bool join_products(graph::Graph&, PassContext&);
bool decompose_products(graph::Graph&, PassContext&);

}  // namespace cs::passes
