// Words of a region: what each PE holds of its constants, its streams and its turns.
#include <algorithm>
#include <bit>
#include <map>
#include <memory>

#include <fmt/format.h>

#include "compiler/autogen/byte_rows.h"
#include "compiler/kernels/byte_weights.h"
#include "compiler/kernels/region_parts.h"
#include "runtime/support/diag.h"

namespace cs::kernels {

namespace {

using Words = std::vector<uint32_t>;

class Packer {
 public:
  Packer(const Choice& choice, const RegionLayout& layout) : choice_(choice), l_(layout) {}

  std::vector<PackedPart> run() {
    for (size_t k = 0; k < choice_.constants.size(); ++k) {
      constant(k, choice_.constants[k].values, "");
      if (!choice_.constants[k].state.empty()) state(k);
    }
    data();
    for (int y = 0; y < l_.h && l_.in_rows(); ++y) {
      for (int k = 0; k < choice_.work.operands; ++k)
        stream(fmt::format("walk{}", k), -1 - k, y, l_.feeders[size_t(y)][size_t(k)]);
      for (size_t j = 0; j < choice_.results.size(); ++j)
        stream(fmt::format("turns{}", j), l_.w, y, l_.collectors[size_t(y)][j]);
    }
    return std::move(parts_);
  }

 private:
  // Rows of PEs that hold the same of a constant have the same place in the weights: those of a convolution
  // whose rows of PEs have rows of the picture are there once.
  void constant(size_t k, const ConstantView& all, const std::string& state) {
    std::map<std::vector<autogen::Runs>, size_t> places;
    each_span([&](size_t pe) { return size_t(words_at(pe, k)); },
              [&](size_t first, size_t pes, size_t per_pe) {
                std::vector<autogen::Runs> span;
                for (size_t pe = first; pe < first + pes; ++pe) span.push_back(l_.pes[pe].constants[k]);
                PackedPart part{
                    choice_.constants[k].name, rect_of(first, pes), uint32_t(4 * per_pe), {}, {}, state};
                const auto [place, fresh] = places.try_emplace(std::move(span), parts_.size());
                if (fresh)
                  part.append = words_of(all, place->first, bytes_of(k));
                else
                  part.as = place->second;
                parts_.push_back(std::move(part));
              });
  }
  static std::function<void(size_t, Words&)> words_of(const ConstantView& all,
                                                      std::vector<autogen::Runs> runs,
                                                      const autogen::ByteRows& bytes) {
    return [all, runs = std::move(runs), bytes](size_t pe, Words& list) {
      if (autogen::in_bytes(bytes, runs[pe].words())) return append_bytes(all, runs[pe], bytes, list);
      for (int64_t at : runs[pe].starts()) all.append_words(at, runs[pe].run(), list);
    };
  }

  autogen::ByteRows bytes_of(size_t k) const {
    const auto it = choice_.region->bytes.find(choice_.region->constant_buffer[k]);
    return it == choice_.region->bytes.end() ? autogen::ByteRows{} : it->second;
  }
  int64_t words_at(size_t pe, size_t k) const {
    const int64_t words = l_.pes[pe].constants[k].words();
    const autogen::ByteRows bytes = bytes_of(k);
    return autogen::in_bytes(bytes, words) ? autogen::words_in_bytes(bytes, words) : words;
  }
  // As byte_rows.csl reads them.
  static void append_bytes(const ConstantView& values, const autogen::Runs& runs,
                           const autogen::ByteRows& bytes, Words& list) {
    constexpr int kZero = 128;
    const size_t n = size_t(bytes.row),
                 end = list.size() + size_t(autogen::words_in_bytes(bytes, runs.words()));
    std::vector<float> row(n);
    std::vector<uint8_t> packed;
    for (int64_t at = runs.first(); at <= runs.last(); at += bytes.row) {
      values.copy(at, bytes.row, 1, row.data());
      const float scale = byte_scales(row, 1, bytes.row)->front();
      list.push_back(std::bit_cast<uint32_t>(scale));
      for (float w : row) packed.push_back(uint8_t(byte_of(w, scale) + kZero));
      if (n % 2 != 0) packed.push_back(kZero);
    }
    packed.resize(4 * ((packed.size() + 3) / 4), kZero);
    for (size_t i = 0; i < packed.size(); i += 4)
      list.push_back(uint32_t(packed[i]) | uint32_t(packed[i + 1]) << 8 | uint32_t(packed[i + 2]) << 16 |
                     uint32_t(packed[i + 3]) << 24);
    CS_CHECK(list.size() == end, "the words of bytes are counted as they are packed");
  }

  // Where each element is, packed as the values are: then those who read them back need not know how that is.
  void state(size_t k) {
    const PackedConstant& c = choice_.constants[k];
    auto numbers = std::make_shared<ops::Tensor>(ops::TensorType{DataType::i32, {int64_t(c.values.size())}});
    for (int64_t i = 0; i < numbers->elements(); ++i) numbers->set_int(i, i);
    constant(k, ConstantView(std::move(numbers)), c.state);
  }

  void data() {
    each_span([&](size_t pe) { return l_.pes[pe].data.size(); },
              [&](size_t first, size_t count, size_t per_pe) {
                std::vector<Words> words;
                for (size_t pe = first; pe < first + count; ++pe) words.push_back(l_.pes[pe].data);
                put("pe", rect_of(first, count), per_pe, std::move(words));
              });
  }

  // PEs beside each other with equally many words: the first one, how many they are, words of each.
  template <typename WordsOf, typename F>
  void each_span(const WordsOf& words_of, const F& f) {
    const auto w = size_t(l_.w);
    for (size_t row = 0; row < w * size_t(l_.h); row += w) {
      for (size_t first = row, end = row; first < row + w; first = end) {
        const size_t words = words_of(first);
        while (end < row + w && words_of(end) == words) ++end;
        if (words > 0) f(first, end - first, words);
      }
    }
  }
  Rect rect_of(size_t first, size_t pes) const {
    const auto w = size_t(l_.w);
    return {int(first % w), int(first / w), int(pes), 1};
  }

  void stream(const std::string& name, int x, int y, const Words& words) {
    put(name, {x, y, 1, 1}, words.size(), {words});
  }
  void put(const std::string& name, const Rect& rect, size_t per_pe, std::vector<Words> words) {
    const auto append = [words = std::move(words)](size_t pe, Words& list) {
      list.insert(list.end(), words[pe].begin(), words[pe].end());
    };
    parts_.push_back({name, rect, uint32_t(4 * per_pe), append});
  }

  const Choice& choice_;
  const RegionLayout& l_;
  std::vector<PackedPart> parts_;
};

}  // namespace

std::vector<PackedPart> pack_region(const Choice& choice, const RegionLayout& layout) {
  return Packer(choice, layout).run();
}

std::vector<std::string> region_symbols(const Choice& choice, const RegionLayout& layout) {
  std::vector<std::string> list = {"pe"};
  if (!layout.in_rows()) return list;
  for (int i = 0; i < choice.work.operands; ++i) list.push_back(fmt::format("walk{}", i));
  for (size_t j = 0; j < choice.results.size(); ++j) list.push_back(fmt::format("turns{}", j));
  return list;
}

}  // namespace cs::kernels
