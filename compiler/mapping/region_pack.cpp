// Words of weights.bin for a region: what each PE holds of its constants, its streams and its turns.
#include <fmt/format.h>

#include "compiler/mapping/emit.h"

namespace cs::mapping {

namespace {

using Words = std::vector<uint32_t>;

class Packer {
 public:
  Packer(const Instance& inst, Weights& weights, std::vector<Constant>& rows)
      : inst_(inst), weights_(weights), rows_(rows) {}

  void run() {
    const RegionLayout& l = inst_.layout;
    for (size_t k = 0; k < inst_.constants.size(); ++k) constant(k);
    each_pe("pe", [](const RegionPe& pe) { return pe.data.size(); });
    for (const RegionPe& pe : l.pes) put(pe.data);
    for (int y = 0; y < l.h && l.in_rows(); ++y) {
      column("walk", inst_.rect.x - 1, y, l.feeders[size_t(y)]);
      column("turns", inst_.rect.x + l.w, y, l.collectors[size_t(y)]);
    }
  }

 private:
  void constant(size_t k) {
    const uint64_t words =
        each_pe(inst_.constants[k].name, [&](const RegionPe& pe) { return size_t(pe.constants[k].words()); });
    std::vector<autogen::Runs> runs;
    for (const RegionPe& pe : inst_.layout.pes)
      if (!pe.constants[k].empty()) runs.push_back(pe.constants[k]);
    const size_t pes = runs.size();
    weights_.append(4 * words, source_of_words(pes, [values = inst_.constants[k].values,
                                                     runs = std::move(runs)](size_t pe, Words& list) {
      for (int64_t at : runs[pe].starts()) values.append_words(at, runs[pe].run(), list);
    }));
  }

  // PEs beside each other with equally many words are one entry. How many words there are together.
  template <typename F>
  uint64_t each_pe(const std::string& name, const F& words_of) {
    uint64_t all = 0;
    for (int y = 0; y < inst_.layout.h; ++y) {
      bool open = false;
      for (int x = 0; x < inst_.layout.w; ++x) {
        const size_t words = words_of(inst_.layout.pes[size_t(y) * size_t(inst_.layout.w) + size_t(x)]);
        open = open && rows_.back().bytes_per_pe == 4 * words;
        if (words == 0) continue;
        if (open) {
          ++rows_.back().rect.w;
        } else {
          begin(name, {inst_.rect.x + x, inst_.rect.y + y, 1, 1}, words, weights_.size() + 4 * all);
        }
        all += words;
        open = true;
      }
    }
    return all;
  }

  void column(const char* name, int x, int y, const StreamWords& streams) {
    for (size_t i = 0; i < streams.size(); ++i) {
      begin(fmt::format("{}{}", name, i), {x, inst_.rect.y + y, 1, 1}, streams[i].size(), weights_.size());
      put(streams[i]);
    }
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
};

}  // namespace

void pack_region(const Instance& inst, Weights& weights, std::vector<Constant>& rows) {
  Packer(inst, weights, rows).run();
}

std::vector<std::string> region_symbols(const Instance& inst) {
  std::vector<std::string> list = {"pe"};
  for (int i = 0; inst.in_rows() && i < inst.work.operands; ++i) list.push_back(fmt::format("walk{}", i));
  for (size_t j = 0; inst.in_rows() && j < inst.results.size(); ++j)
    list.push_back(fmt::format("turns{}", j));
  return list;
}

}  // namespace cs::mapping
