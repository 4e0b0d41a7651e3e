// Words of weights.bin for a region: what each PE holds of its constants, its streams and its turns.
#include <algorithm>
#include <bit>
#include <map>
#include <memory>

#include <fmt/format.h>

#include "compiler/autogen/byte_rows.h"
#include "compiler/kernels/byte_weights.h"
#include "compiler/mapping/emit.h"
#include "runtime/support/diag.h"

namespace cs::mapping {

namespace {

using Words = std::vector<uint32_t>;

class Packer {
 public:
  Packer(const Instance& inst, Weights& weights, HostPart& host)
      : inst_(inst), weights_(weights), rows_(host.constants), host_(host) {}

  void run() {
    const RegionLayout& l = inst_.layout;
    for (size_t k = 0; k < inst_.constants.size(); ++k) {
      constant(k, inst_.constants[k].values);
      if (!inst_.constants[k].state.empty()) state(k);
    }
    data();
    for (int y = 0; y < l.h && l.in_rows(); ++y) {
      for (int k = 0; k < inst_.work.operands; ++k)
        stream(fmt::format("walk{}", k), inst_.entry(k).x, y, l.feeders[size_t(y)][size_t(k)]);
      for (size_t j = 0; j < inst_.results.size(); ++j)
        stream(fmt::format("turns{}", j), inst_.rect.x + l.w, y, l.collectors[size_t(y)][j]);
    }
  }

 private:
  // Rows of PEs that hold the same of a constant have the same place in the weights: those of a convolution
  // whose rows of PEs have rows of the picture are there once.
  void constant(size_t k, const kernels::ConstantView& all) {
    std::map<std::vector<autogen::Runs>, uint64_t> places;
    std::vector<autogen::Runs> written;
    uint64_t words = 0;
    const auto runs_at = [&](size_t pe) -> const autogen::Runs& { return inst_.layout.pes[pe].constants[k]; };
    each_span([&](size_t pe) { return size_t(words_at(pe, k)); },
              [&](size_t first, size_t pes, uint64_t per_pe) {
                std::vector<autogen::Runs> span;
                for (size_t pe = first; pe < first + pes; ++pe) span.push_back(runs_at(pe));
                const auto [place, fresh] = places.try_emplace(std::move(span), weights_.size() + 4 * words);
                if (fresh) {
                  written.insert(written.end(), place->first.begin(), place->first.end());
                  words += per_pe * pes;
                }
                begin(inst_.constants[k].name, rect_of(first, pes), per_pe, place->second);
              });
    const size_t pes = written.size();
    weights_.append(4 * words, source_of_words(pes, [values = all, runs = std::move(written),
                                                     bytes = bytes_of(k)](size_t pe, Words& list) {
                      if (autogen::in_bytes(bytes, runs[pe].words()))
                        return append_bytes(values, runs[pe], bytes, list);
                      for (int64_t at : runs[pe].starts()) values.append_words(at, runs[pe].run(), list);
                    }));
  }

  autogen::ByteRows bytes_of(size_t k) const {
    const auto it = inst_.region->bytes.find(inst_.region->constant_buffer[k]);
    return it == inst_.region->bytes.end() ? autogen::ByteRows{} : it->second;
  }
  int64_t words_at(size_t pe, size_t k) const {
    const int64_t words = inst_.layout.pes[pe].constants[k].words();
    const autogen::ByteRows bytes = bytes_of(k);
    return autogen::in_bytes(bytes, words) ? autogen::words_in_bytes(bytes, words) : words;
  }
  // As byte_rows.csl reads them.
  static void append_bytes(const kernels::ConstantView& values, const autogen::Runs& runs,
                           const autogen::ByteRows& bytes, Words& list) {
    constexpr int kZero = 128;
    const size_t n = size_t(bytes.row), end = list.size() + size_t(autogen::words_in_bytes(bytes, runs.words()));
    std::vector<float> row(n);
    std::vector<uint8_t> packed;
    for (int64_t at = runs.first(); at <= runs.last(); at += bytes.row) {
      values.copy(at, bytes.row, 1, row.data());
      const float scale = kernels::byte_scales(row, 1, bytes.row)->front();
      list.push_back(std::bit_cast<uint32_t>(scale));
      for (float w : row) packed.push_back(uint8_t(kernels::byte_of(w, scale) + kZero));
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
    const kernels::PackedConstant& c = inst_.constants[k];
    auto numbers = std::make_shared<ops::Tensor>(ops::TensorType{DataType::i32, {int64_t(c.values.size())}});
    for (int64_t i = 0; i < numbers->elements(); ++i) numbers->set_int(i, i);
    const size_t first = rows_.size();
    constant(k, kernels::ConstantView(std::move(numbers)));
    const auto state = std::find_if(host_.states.begin(), host_.states.end(),
                                    [&](const HostState& s) { return s.name == c.state; });
    for (size_t r = first; r < rows_.size(); ++r)
      state->parts.push_back({rows_[r].symbol, rows_[r].rect, rows_[r].bytes_per_pe, rows_[r].offset});
    rows_.resize(first);
  }

  void data() {
    const std::vector<RegionPe>& pes = inst_.layout.pes;
    each_span([&](size_t pe) { return pes[pe].data.size(); },
              [&](size_t first, size_t count, uint64_t per_pe) {
                begin("pe", rect_of(first, count), per_pe, weights_.size());
                for (size_t pe = first; pe < first + count; ++pe) put(pes[pe].data);
              });
  }

  // PEs beside each other with equally many words: the first one, how many they are, words of each.
  template <typename Words, typename F>
  void each_span(const Words& words_of, const F& f) {
    const auto w = size_t(inst_.layout.w);
    for (size_t row = 0; row < w * size_t(inst_.layout.h); row += w) {
      for (size_t first = row, end = row; first < row + w; first = end) {
        const size_t words = words_of(first);
        while (end < row + w && words_of(end) == words) ++end;
        if (words > 0) f(first, end - first, words);
      }
    }
  }
  Rect rect_of(size_t first, size_t pes) const {
    const auto w = size_t(inst_.layout.w);
    return {inst_.rect.x + int(first % w), inst_.rect.y + int(first / w), int(pes), 1};
  }

  void stream(const std::string& name, int x, int y, const Words& words) {
    begin(name, {x, inst_.rect.y + y, 1, 1}, words.size(), weights_.size());
    put(words);
  }

  void begin(const std::string& name, const Rect& rect, size_t words, uint64_t offset) {
    rows_.push_back({inst_.name + "_" + name, rect, uint32_t(4 * words), offset});
  }
  void put(const Words& words) {
    weights_.append({reinterpret_cast<const char*>(words.data()), 4 * words.size()});
  }

  const Instance& inst_;
  Weights& weights_;
  std::vector<Constant>& rows_;
  HostPart& host_;
};

}  // namespace

void pack_region(const Instance& inst, Weights& weights, HostPart& host) {
  Packer(inst, weights, host).run();
}

std::vector<std::string> region_symbols(const Instance& inst) {
  std::vector<std::string> list = {"pe"};
  for (int i = 0; inst.in_rows() && i < inst.work.operands; ++i) list.push_back(fmt::format("walk{}", i));
  for (size_t j = 0; inst.in_rows() && j < inst.results.size(); ++j)
    list.push_back(fmt::format("turns{}", j));
  return list;
}

}  // namespace cs::mapping
