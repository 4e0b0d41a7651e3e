// See attention_mask.h.
#include "compiler/kernels/attention_mask.h"

#include <algorithm>
#include <cmath>

#include "compiler/kernels/attention_graph.h"
#include "runtime/numerics/numerics.h"

namespace cs::kernels {

namespace {

constexpr double kLowest = -0x1p100;  // as attention_row.csl hides: no product changes it
// A score so much less than another one has no part in the sum, with room for scores of that size.
constexpr double kNoPart = -200;

// Keys more than so many behind their query are hidden, in each of the matrices; nothing if others are.
std::optional<int64_t> hidden_behind(const ops::Tensor& mask, int64_t queries, int64_t keys) {
  std::optional<int64_t> behind;
  for (int64_t row = 0; row < mask.elements() / keys; ++row) {
    const int64_t i = row % queries;
    int64_t seen = 0;
    while (seen < keys && mask.get(row * keys + seen) > kHidden) ++seen;
    for (int64_t j = seen; j < keys; ++j)
      if (!(mask.get(row * keys + j) <= kHidden)) return std::nullopt;
    if (seen == 0) return std::nullopt;
    if (seen == keys && behind) {
      if (i + *behind + 1 < keys) return std::nullopt;
      continue;
    }
    if (behind && seen != std::min(keys, i + *behind + 1)) return std::nullopt;
    if (!behind) behind = seen - 1 - i;
  }
  return behind;
}

}  // namespace

std::optional<ScoreMask> read_score_mask(const ops::Tensor& mask, int64_t heads, int64_t queries,
                                         int64_t keys) {
  const int64_t matrix = queries * keys;
  if (mask.elements() != matrix && mask.elements() != heads * matrix) return std::nullopt;
  ScoreMask what;
  const int matrices = int(mask.elements() / matrix);
  bool hides = false, adds = false;
  for (int64_t i = 0; i < mask.elements(); ++i) (mask.get(i) <= kHidden ? hides : adds) |= mask.get(i) != 0;
  if (hides) what.hidden_behind = hidden_behind(mask, queries, keys);
  if (adds || (hides && !what.hidden_behind)) what.heads = matrices;
  return what;
}

bool keeps_in_halves(const ops::Tensor& mask, double scale) {
  const double most = double(numerics::half_max(Fp16Format::f16)) * scale;
  if (-most > kNoPart) return false;
  for (int64_t i = 0; i < mask.elements(); ++i)
    if (const double x = mask.get(i); x > kHidden && std::abs(x) > most) return false;
  return true;
}

std::shared_ptr<const ops::Tensor> first_scores(const ops::Tensor& mask, const ScoreMask& what, double factor,
                                                DataType type) {
  auto scores = std::make_shared<ops::Tensor>(ops::TensorType{type, mask.type.shape});
  const double lowest = data_type_bytes(type) == 2 ? -double(numerics::half_max(Fp16Format::f16)) : kLowest;
  for (int64_t i = 0; i < mask.elements(); ++i) {
    const double x = mask.get(i);
    scores->set(i, what.hidden_behind && x <= kHidden ? 0 : std::max(x * factor, lowest));
  }
  return scores;
}

int64_t score_bytes(const Work& work, const Cut& cut) {
  return int64_t(work.constants) * cut.rounds * cut.m_slice * cut.n_slice * (work.native ? 2 : 4);
}

std::vector<uint32_t> words_of_scores(const ConstantView& scores, const Work& work, const Cut& cut, int x,
                                      int y) {
  const int64_t queries = work.m / work.row, keys = work.n / work.row, block = cut.m_slice;
  const int64_t here = x + 1 == cut.w ? cut.n_last : cut.n_slice;
  std::vector<uint32_t> words;
  std::vector<uint16_t> halves;
  for (int64_t row = 0; row < work.constants * queries; row += queries)
    for (int64_t round = 0; round < cut.rounds; ++round)
      for (int64_t key = int64_t(x) * cut.n_slice, last = key + here; key < last; ++key) {
        const int64_t first = (round * cut.h + y) * block, count = std::min(block, queries - first);
        const int64_t at = (row + first) * keys + key;
        if (work.native) {
          scores.append_halves(at, count, keys, halves);
          halves.resize(halves.size() + size_t(block - count));
        } else {
          scores.append_floats(at, count, keys, words);
          words.resize(words.size() + size_t(block - count));
        }
      }
  for (size_t i = 0; i < halves.size(); i += 2) words.push_back(halves[i] | uint32_t(halves[i + 1]) << 16);
  words.resize(size_t(score_bytes(work, cut) / 4));
  return words;
}

}  // namespace cs::kernels
