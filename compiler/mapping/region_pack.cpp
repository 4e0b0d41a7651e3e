// Words of weights.bin for a region: what each PE holds of its constants, its streams and its turns.
#include <fmt/format.h>

#include "compiler/mapping/emit.h"

namespace cs::mapping {

namespace {

using Words = std::vector<uint32_t>;

class Packer {
 public:
  Packer(const Instance& inst, std::vector<uint8_t>& weights, std::vector<Constant>& rows)
      : inst_(inst), weights_(weights), rows_(rows) {}

  void run() {
    const RegionLayout& l = inst_.layout;
    for (size_t k = 0; k < inst_.constants.size(); ++k) {
      each_pe(inst_.constants[k].name, [&](const RegionPe& pe) { return part(k, pe.constants[k]); });
    }
    each_pe("pe", [](const RegionPe& pe) { return pe.data; });
    for (int y = 0; y < l.h && l.in_rows(); ++y) {
      column("walk", inst_.rect.x - 1, y, l.feeders[size_t(y)]);
      column("turns", inst_.rect.x + l.w, y, l.collectors[size_t(y)]);
    }
  }

 private:
  Words part(size_t constant, const autogen::Runs& runs) const {
    const Words& all = *inst_.constants[constant].words;
    Words list;
    for (int64_t at : runs.starts()) list.insert(list.end(), all.begin() + at, all.begin() + at + runs.run());
    return list;
  }

  // PEs beside each other with equally many words are one entry.
  template <typename F>
  void each_pe(const std::string& name, const F& words_of) {
    for (int y = 0; y < inst_.layout.h; ++y) {
      bool open = false;
      for (int x = 0; x < inst_.layout.w; ++x) {
        Words words = words_of(inst_.layout.pes[size_t(y) * size_t(inst_.layout.w) + size_t(x)]);
        open = open && rows_.back().bytes_per_pe == 4 * words.size();
        if (words.empty()) continue;
        if (open) {
          ++rows_.back().rect.w;
        } else {
          begin(name, {inst_.rect.x + x, inst_.rect.y + y, 1, 1}, words.size());
        }
        put(words);
        open = true;
      }
    }
  }

  void column(const char* name, int x, int y, const StreamWords& streams) {
    for (size_t i = 0; i < streams.size(); ++i) {
      begin(fmt::format("{}{}", name, i), {x, inst_.rect.y + y, 1, 1}, streams[i].size());
      put(streams[i]);
    }
  }

  void begin(const std::string& name, const Rect& rect, size_t words) {
    rows_.push_back({inst_.name + "_" + name, rect, uint32_t(4 * words), weights_.size()});
  }
  void put(const Words& words) {
    for (uint32_t word : words) {
      for (int byte = 0; byte < 4; ++byte) weights_.push_back(uint8_t(word >> (8 * byte)));
    }
  }

  const Instance& inst_;
  std::vector<uint8_t>& weights_;
  std::vector<Constant>& rows_;
};

}  // namespace

void pack_region(const Instance& inst, std::vector<uint8_t>& weights, std::vector<Constant>& rows) {
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
