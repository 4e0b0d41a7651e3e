// What is added to the scores of an attention, a constant, as its PEs have it: keys that later queries alone
// see are a number; everything else is kept, a score each.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler/kernels/constant_view.h"
#include "compiler/kernels/kernels.h"

namespace cs::kernels {

struct ScoreMask {
  std::optional<int64_t> hidden_behind;  // a query sees keys up to its own number and so many more
  int heads = 0;  // of whose scores others are kept: 0 none, 1 the same of all heads, else each one's
};

// A mask of queries x keys, or of heads x queries x keys; nothing if it is of another size.
std::optional<ScoreMask> read_score_mask(const ops::Tensor& mask, int64_t heads, int64_t queries,
                                         int64_t keys);

// Whether scores that are kept in 16 bits, divided by the scale, hide what they hide and lose nothing else.
bool keeps_in_halves(const ops::Tensor& mask, double scale);

// What scores begin with, those that `hidden_behind` hides aside: the mask times a factor, in this type, no
// less than what still hides.
std::shared_ptr<const ops::Tensor> first_scores(const ops::Tensor& mask, const ScoreMask& what, double factor,
                                                DataType type);

// The words of a PE, for each head that is kept and each of its blocks key by key; of attention_row.csl.
std::vector<uint32_t> words_of_scores(const ConstantView& scores, const Work& work, const Cut& cut, int x,
                                      int y);
int64_t score_bytes(const Work& work, const Cut& cut);

}  // namespace cs::kernels
