// The kinds in their order, and what most of them do alike.
#include <algorithm>

#include <fmt/format.h>

#include "compiler/kernels/resident_reduction.h"
#include "compiler/kernels/role_parts.h"

namespace cs::kernels {

std::span<const Kind* const> kinds() {
  static const Kind* const list[] = {contraction_kind(),
                                     elementwise_kind(),
                                     reduction_kind(),
                                     rows_kind(),
                                     region_kind(),
                                     walk_kind(),
                                     lookup_kind(),
                                     broadcast_kind(),
                                     relay_kind(),
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

std::vector<PackedPart> Kind::pack(const Choice&, const Cut&) const { return {}; }

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
